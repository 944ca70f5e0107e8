package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
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

	"pawl/internal/agents/agentstest"
	"pawl/internal/agents/headless/headlesstest"
	"pawl/internal/hook"
)

// update has the stories' own texts rewritten to what `cmp stdout` and `cmp stderr` find: go test ./cmd/pawl -update.
var update = flag.Bool("update", false, "rewrite the stories' expected outputs")

// binary is the real program, built once.
var binary string

// fakeAgent is the name by which this test binary is a coding agent without a model: fake-agent AGENT SESSION SCRIPT.
const fakeAgent = "fake-agent"

// agents is a folder with agents that headlesstest plays.
var agents string

func TestMain(m *testing.M) {
	if headlesstest.Plays(os.Args[0]) {
		os.Exit(headlesstest.Main(os.Args))
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	if filepath.Base(os.Args[0]) == fakeAgent && len(os.Args) > 2 && os.Args[1] == callWithout {
		return callClean(strings.Split(os.Args[2], ","), os.Args[3:])
	}
	if filepath.Base(os.Args[0]) == fakeAgent {
		if err := agentstest.Main(context.Background(), os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "fake-agent:", err)
			return 1
		}
		return 0
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "pawl-script-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "pawl")
	build := exec.Command("go", "build", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	self, err := os.Executable()
	if err == nil {
		err = os.Chmod(dir, 0o755) // some tests run it as another user
	}
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, fakeAgent))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "mortal"), []byte(mortal), 0o700)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	agents = filepath.Join(dir, "agents")
	if err := installAgents(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func installAgents() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Mkdir(agents, 0o700); err != nil {
		return err
	}
	return headlesstest.Install(agents, self)
}

// callWithout has the fake agent do no more than call a program without some of its own variables.
const callWithout = "-call-without"

func callClean(names, args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "fake-agent:", err)
		return 1
	}
	return 0
}

// mortal runs a program as someone whom the permissions of files hold back: root too, without the right to override them.
const mortal = `#!/bin/sh
[ "$(id -u)" = 0 ] || exec "$@"
exec setpriv --bounding-set=-dac_override,-dac_read_search "$@"
`

// TestScript tells whole stories with the real program, real processes and real signals, one a file. After each, nothing
// that it started may still run.
func TestScript(t *testing.T) {
	stories, err := filepath.Glob(filepath.Join(root, "test", "stories", "*", "testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: stories,
		Setup: setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start":   start,
			"finish":  finish,
			"waitfor": waitFor,
			"signal":  sendSignal,
			"alive":   checkAlive,
			"capture": capture,
			"code":    exitCode,
			"json":    checkJSON,
			"reseal":  reseal,
		},
		Condition:           condition,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
	})
}

func setUp(env *testscript.Env) error {
	examples, err := filepath.Abs(filepath.Join(root, "examples"))
	if err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, "home")
	for name, value := range map[string]string{
		"PATH":   filepath.Dir(binary) + string(os.PathListSeparator) + env.Getenv("PATH"),
		"AGENTS": agents, "EXAMPLES": examples, "FAKE_AGENT": filepath.Join(env.WorkDir, "fake"),
		"HOME": home, "USER": "tester", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "", "TZ": "UTC",
	} {
		env.Setenv(name, value)
	}
	env.Values[storyKey{}] = &story{env: env, started: map[string]*program{}}
	env.Defer(func() { leftBehind(env) })
	return os.MkdirAll(home, 0o755)
}

// condition adds [mounts]: whether a story can mount file systems of its own.
func condition(name string) (bool, error) {
	if name != "mounts" {
		return false, fmt.Errorf("no condition %q", name)
	}
	return exec.Command("unshare", "-rm", "true").Run() == nil, nil
}

// patience is how long a story waits for something to happen.
const patience = 20 * time.Second

// until waits until something has happened, and reports whether it did in time.
func until(happened func() bool) bool {
	for end := time.Now().Add(patience); !happened(); {
		if time.Now().After(end) {
			return false
		}
		<-time.After(5 * time.Millisecond)
	}
	return true
}

// story is what the commands of one story share.
type story struct {
	env     *testscript.Env
	started map[string]*program
}

type storyKey struct{}

// program is one that a story has started, and that runs beside it.
type program struct {
	*exec.Cmd
	ended chan struct{}
}

func storyOf(ts *testscript.TestScript) *story { return ts.Value(storyKey{}).(*story) }

// start starts a program beside the story: start NAME COMMAND…. What it prints goes to NAME.out and NAME.err.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: start NAME COMMAND…")
	}
	s := storyOf(ts)
	path := args[1]
	if path == "pawl" || path == fakeAgent {
		path = filepath.Join(filepath.Dir(binary), path)
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

// endKeepers ends the processes that take checkpoints for hooks. They stay for a while on purpose, and may die at any time.
func endKeepers(dir string) {
	for _, pid := range runningIn(dir) {
		command, err := os.ReadFile("/proc/" + pid + "/cmdline")
		n, _ := strconv.Atoi(pid) // it is a number
		if err == nil && strings.Contains(string(command), "\x00"+hook.KeeperVerb+"\x00") {
			syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// leftBehind ends what still runs in the story's folder, and fails the story for it.
func leftBehind(env *testscript.Env) {
	endKeepers(env.WorkDir)
	var left []string
	gone := until(func() bool {
		left = runningIn(env.WorkDir)
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

// runningIn returns the processes whose working folder is dir or below.
func runningIn(dir string) []string {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is right
	var pids []string
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			pids = append(pids, filepath.Base(filepath.Dir(link)))
		}
	}
	return pids
}

// waitFor waits until a file (or a match of a pattern) is there or, with text, until it holds the text:
// waitfor FILE [TEXT]. With "!", until it is gone.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: waitfor FILE [TEXT]")
	}
	there := func() bool {
		names, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err == nil && (len(args) == 1 || strings.Contains(string(data), args[1])) {
				return true
			}
		}
		return false
	}
	if !until(func() bool { return there() != neg }) {
		ts.Fatalf("waited %s in vain for %s", patience, strings.Join(args, " "))
	}
}

// signals are those that stories send.
var signals = map[string]syscall.Signal{"KILL": syscall.SIGKILL, "INT": syscall.SIGINT, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}

// sendSignal signals a started program, the supervisor or child of a step's newest attempt, or a process whose number
// stands in a file: signal KILL NAME|supervisor:STEP|child:STEP|FILE. After KILL it waits until the process is gone.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || signals[args[0]] == 0 || neg {
		ts.Fatalf("usage: signal KILL|INT|STOP|CONT NAME|supervisor:STEP|child:STEP|FILE")
	}
	pid := processOf(ts, args[1])
	ts.Check(syscall.Kill(pid, signals[args[0]]))
	if args[0] == "KILL" && !until(func() bool { return !alive(pid) }) {
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
	names, err := filepath.Glob(ts.MkAbs(filepath.Join(".pawl/runs/*/steps", step, "*/begun.json")))
	ts.Check(err)
	if len(names) == 0 {
		ts.Fatalf("no attempt at %s has begun", step)
	}
	var pid float64
	if !until(func() bool {
		lines := strings.Split(strings.TrimSpace(ts.ReadFile(names[len(names)-1])), "\n")
		var begun map[string]any
		ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &begun))
		process, _ := begun[role].(map[string]any)
		pid, _ = process["pid"].(float64)
		return pid > 0
	}) {
		ts.Fatalf("%s does not name the %s", names[len(names)-1], role)
	}
	return int(pid)
}

// alive reports whether a process runs. A zombie does not, unless other threads than its first still end.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // gone meanwhile: none
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") || len(threads) > 1
}

// checkAlive checks that a process runs: alive NAME|supervisor:STEP|child:STEP|FILE. With "!", that it does not, or soon.
func checkAlive(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: alive NAME|supervisor:STEP|child:STEP|FILE")
	}
	pid := processOf(ts, args[0])
	switch {
	case neg && !until(func() bool { return !alive(pid) }):
		ts.Fatalf("process %d still runs", pid)
	case !neg && !alive(pid):
		ts.Fatalf("process %d does not run", pid)
	}
}

// capture sets a variable to the first group of a pattern in a file: capture NAME PATTERN FILE.
func capture(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: capture NAME PATTERN FILE")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[2]))
	if len(m) < 2 {
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

// checkJSON checks that a file holds one JSON value, or several, which count as an array; that each path is there and,
// with =, what it is: json stdout steps.0.items.total=3. With "!", the paths must not be there.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: json FILE PATH[=VALUE]…")
	}
	value, err := decodeAll(ts.ReadFile(args[0]))
	ts.Check(err)
	for _, arg := range args[1:] {
		path, want, compare := strings.Cut(arg, "=")
		got, err := at(value, path)
		if neg != (err != nil) {
			ts.Fatalf("%s: is it there? %v", path, err == nil)
		}
		if compare && !neg && fmt.Sprint(got) != want {
			ts.Fatalf("%s is %v, want %s", path, got, want)
		}
	}
}

func decodeAll(text string) (any, error) {
	var values []any
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) && len(values) == 1 {
			return values[0], nil
		}
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		values = append(values, v)
	}
}

// at returns what stands at a path of keys and indexes; "len" at its end is an array's length.
func at(value any, path string) (any, error) {
	for key := range strings.SplitSeq(path, ".") {
		var ok bool
		switch v := value.(type) {
		case map[string]any:
			value, ok = v[key]
		case []any:
			if key == "len" {
				return len(v), nil
			}
			if i, err := strconv.Atoi(key); err == nil && i < len(v) {
				value, ok = v[i], true
			}
		}
		if !ok {
			return nil, fmt.Errorf("no %s in %s", key, path)
		}
	}
	return value, nil
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
