package storytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// condition adds [mounts]: whether a story can mount file systems of its own.
func condition(name string) (bool, error) {
	switch name {
	case "mounts":
		return exec.Command("unshare", "-rm", "true").Run() == nil, nil
	case "root":
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("no condition %q", name)
}

// story is what the commands of one story share.
type story struct {
	env      *testscript.Env
	programs string // the folder of pawl and of fake-agent
	started  map[string]*program
}

type storyKey struct{}

// program is one that a story has started, and that runs beside it.
type program struct {
	*exec.Cmd
	ended    chan struct{}
	terminal any // at which it was started; nil for none
}

func storyOf(ts *testscript.TestScript) *story { return ts.Value(storyKey{}).(*story) }

// start starts a program beside the story: start NAME COMMAND…. What it prints goes to NAME.out and NAME.err.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: start NAME COMMAND…")
	}
	s := storyOf(ts)
	path := args[1]
	if path == "pawl" || path == FakeAgent {
		path = filepath.Join(s.programs, path)
	}
	p := &program{Cmd: exec.Command(path, args[2:]...), ended: make(chan struct{})}
	p.Dir, p.Env = ts.MkAbs("."), append(slices.Clone(s.env.Vars), "PATH="+ts.Getenv("PATH")) // the others stay as they began
	for suffix, to := range map[string]*io.Writer{".out": &p.Stdout, ".err": &p.Stderr} {
		f, err := os.Create(ts.MkAbs(args[0] + suffix))
		ts.Check(err)
		defer f.Close()
		*to = f
	}
	ts.Check(p.Start())
	s.started[args[0]] = p
	go func() {
		p.Wait() // the story reads ProcessState
		close(p.ended)
	}()
}

// finish waits until a started program has ended, and checks its exit code: finish NAME N|killed.
func finish(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: finish NAME N|killed")
	}
	p := storyOf(ts).started[args[0]]
	if p == nil {
		ts.Fatalf("no program %s was started", args[0])
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		ts.Fatalf("%s has not ended in %s", args[0], patience)
	}
	got := strconv.Itoa(p.ProcessState.ExitCode())
	if got == "-1" {
		got = "killed"
	}
	if got != args[1] {
		ts.Fatalf("%s: exit code %s, want %s\n%s%s", args[0], got, args[1], ts.ReadFile(args[0]+".out"), ts.ReadFile(args[0]+".err"))
	}
}

// leftBehind ends what still runs in the story's folder, and fails the story for it.
func leftBehind(env *testscript.Env) {
	EndKeepers(env.WorkDir)
	var left []string
	gone := Until(func() bool {
		left = RunningIn(env.WorkDir)
		return len(left) == 0 || env.T().(testing.TB).Failed()
	})
	for _, pid := range left {
		if n, err := strconv.Atoi(pid); err == nil {
			syscall.Kill(n, syscall.SIGKILL)
		}
	}
	if !gone {
		env.T().Fatal("still running after the story: ", left)
	}
}

// waitFor waits until a file (or a match of a pattern) is there or, with text, until it holds the text:
// waitfor FILE [TEXT]. With "!", until it is gone.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: waitfor FILE [TEXT]")
	}
	var data []byte
	there := func() bool {
		names, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, name := range names {
			data, err = os.ReadFile(name)
			empty := strings.HasSuffix(name, "pid") && len(data) == 0 // the shell creates the file before it writes the number
			if err == nil && !empty && (len(args) == 1 || strings.Contains(string(data), args[1])) {
				return true
			}
		}
		return false
	}
	if !Until(func() bool { return there() != neg }) {
		ts.Fatalf("waited %s in vain for %s; it has:\n%s", patience, strings.Join(args, " "), data)
	}
}

// signals are those that stories send.
var signals = map[string]syscall.Signal{"KILL": syscall.SIGKILL, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}

// sendSignal signals a started program, the supervisor or child of a step's newest attempt, or a process whose number
// stands in a file: signal KILL NAME|supervisor:STEP|child:STEP|FILE. After KILL it waits until the process is gone.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || signals[args[0]] == 0 || neg {
		ts.Fatalf("usage: signal KILL|INT|TERM|STOP|CONT NAME|supervisor:STEP|child:STEP|FILE")
	}
	pid := processOf(ts, args[1])
	ts.Check(syscall.Kill(pid, signals[args[0]]))
	if args[0] == "KILL" && !Until(func() bool { return !alive(pid) }) {
		ts.Fatalf("process %d outlived SIGKILL", pid)
	}
}

func processOf(ts *testscript.TestScript, who string) int {
	if p := storyOf(ts).started[who]; p != nil {
		return p.Process.Pid
	}
	var pid int
	if role, step, ok := strings.Cut(who, ":"); ok {
		return begunProcess(ts, role, step)
	}
	if _, err := fmt.Sscan(ts.ReadFile(who), &pid); err != nil {
		ts.Fatalf("%s: %v", who, err)
	}
	return pid
}

// begunProcess reads a process's number from what the supervisor wrote of the newest attempt at a step or step/item.
func begunProcess(ts *testscript.TestScript, role, step string) int {
	var names []string
	if !Until(func() bool {
		var err error
		names, err = filepath.Glob(ts.MkAbs(filepath.Join(".pawl/runs/*/steps", step, "*/begun.json")))
		ts.Check(err)
		return len(names) > 0
	}) {
		ts.Fatalf("waited %s in vain for an attempt at %s", patience, step)
	}
	// Names do not order the runs of one second.
	newest := slices.MaxFunc(names, func(a, b string) int { return modified(ts, a).Compare(modified(ts, b)) })
	var pid float64
	if !Until(func() bool {
		lines := strings.Split(strings.TrimSpace(ts.ReadFile(newest)), "\n")
		var begun map[string]any
		ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &begun))
		process, _ := begun[role].(map[string]any)
		pid, _ = process["pid"].(float64)
		return pid > 0
	}) {
		ts.Fatalf("%s does not name the %s", newest, role)
	}
	return int(pid)
}

func modified(ts *testscript.TestScript, name string) time.Time {
	info, err := os.Stat(name)
	ts.Check(err)
	return info.ModTime()
}

// checkAlive checks that a process runs: alive NAME|supervisor:STEP|child:STEP|FILE. With "!", that it does not, or soon.
func checkAlive(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: alive NAME|supervisor:STEP|child:STEP|FILE")
	}
	pid := processOf(ts, args[0])
	switch {
	case neg && !Until(func() bool { return !alive(pid) }):
		ts.Fatalf("process %d still runs", pid)
	case !neg && !alive(pid):
		ts.Fatalf("process %d does not run", pid)
	}
}

// capture sets a variable to the first group of a pattern in a file, and waits until the file has it: capture NAME PATTERN FILE.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: capture NAME PATTERN FILE")
	}
	pattern := regexp.MustCompile(args[1])
	var m []string
	matches := func() bool {
		m = pattern.FindStringSubmatch(ts.ReadFile(args[2]))
		return len(m) > 1
	}
	if printed := args[2] == "stdout" || args[2] == "stderr"; !matches() && (printed || !Until(matches)) {
		ts.Fatalf("%s does not match %s", args[2], args[1])
	}
	ts.Setenv(args[0], m[1])
}

// exitCode runs a program and checks its exit code: code 3 pawl resume.
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// reseal gives each line of an edited journal the checksum that it would have had: reseal JOURNAL.
func reseal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: reseal JOURNAL")
	}
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, name := range names {
		data, err := os.ReadFile(name)
		ts.Check(err)
		var sealed strings.Builder
		before := "00000000"
		for line := range strings.Lines(string(data)) {
			body, _, _ := strings.Cut(line, `,"crc":"`)
			before = fmt.Sprintf("%08x", crc32.Checksum([]byte(before+body), crc32.MakeTable(crc32.Castagnoli)))
			fmt.Fprintf(&sealed, "%s,\"crc\":\"%s\"}\n", body, before)
		}
		ts.Check(os.WriteFile(name, []byte(sealed.String()), 0o600))
	}
}
