package kernels

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

	"pawl/test/stories/storytest"
)

// parts are the parts of a run that are killed.
var parts = []string{"kernel", "verifier", "runner", "step", "supervisor", "engine", "all"}

// story is a run of the notebook in a project of its own. A ledger outside of the project has the truth about its cells.
type story struct {
	*testing.T
	pawl, driver       string
	dir, home, outside string

	said      bytes.Buffer
	strikes   []strike
	variables []variable // that pawl listed when the notebook was done
	found     findings
}

// strike is what was killed at a moment.
type strike struct {
	at   time.Time
	part string
	pids []int
}

func newStory(t *testing.T, driver string) *story {
	t.Helper()
	base := t.ArtifactDir()
	s := &story{T: t, pawl: storytest.Pawl(t), driver: driver, dir: filepath.Join(base, "project"), home: filepath.Join(base, "home"),
		outside: filepath.Join(base, "outside")}
	for _, dir := range []string{s.dir, s.home, s.outside} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, p := range s.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	})
	s.mustRun("init")
	s.write("book.ipynb", string(notebook(driver)))
	s.write("plan.yaml", s.plan())
	return s
}

// plan is the plan of a story: the notebook, a step that lets the test look at the variables, and one that uses them.
func (s *story) plan() string {
	kernel := fmt.Sprintf("driver: %s, python: %s", s.driver, python())
	return fmt.Sprintf(`name: book
steps:
  - id: book
    kernel: {%s, file: book.ipynb}
  - id: look
    run: touch '%s'; until [ -e '%s' ]; do sleep 0.02; done
  - id: digest
    kernel:
      {%s, code: %q}
`, kernel, s.file("reached"), s.file("go"), kernel, digest)
}

func (s *story) file(name string) string { return filepath.Join(s.outside, name) }

func (s *story) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *story) command(args ...string) *exec.Cmd {
	c := exec.Command(s.pawl, args...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "HOME="+s.home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
	return c
}

func (s *story) mustRun(args ...string) string {
	s.Helper()
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		s.Fatalf("pawl %s: %v\n%s\nbefore:\n%s", strings.Join(args, " "), err, out, s.said.Bytes())
	}
	return string(out)
}

// patience is how long an engine may take after a kill.
const patience = 10 * time.Minute

// tell runs the plan to its end. harm is called again and again while an engine works, except while the test looks at the variables.
func (s *story) tell(harm func()) {
	s.Helper()
	for args := []string{"run", "plan.yaml"}; ; {
		before := len(s.strikes)
		err := s.engine(args, harm)
		if err == nil {
			return
		}
		var failed *exec.ExitError
		args = []string{"resume", "--yes"}
		switch {
		case !errors.As(err, &failed):
			s.Fatal(err)
		case failed.ExitCode() == codeNotFound && bytes.Contains(s.said.Bytes(), []byte("is already complete")): // the engine was killed after that
			_ = s.command("kernel", "stop", "--session", s.session()).Run() // else the next engine of the project ends it; it may be dead
			return
		case failed.ExitCode() == codeNotFound && len(s.strikes) > 0: // the engine was killed before there was a run
			args = []string{"run", "plan.yaml"}
		case failed.ExitCode() == codeAtGate && len(s.strikes) > 0: // attempts were killed too often
			s.approve()
		case failed.ExitCode() == codeFailed && s.isStarved(): // the machine is busy
			s.retry()
		case len(s.strikes) == before:
			s.Fatalf("without a kill: %v\n%s\n%s", err, s.said.Bytes(), s.history())
		case failed.ExitCode() == codeFailed: // the kernel was killed too often
			s.retry()
		}
	}
}

// approve approves all gates.
func (s *story) approve() {
	s.Helper()
	var gates []struct{ ID string }
	if err := json.Unmarshal([]byte(s.mustRun("gates", "--json")), &gates); err != nil {
		s.Fatal(err)
	}
	for _, g := range gates {
		s.said.WriteString(s.mustRun("approve", g.ID, "--yes"))
	}
}

// late is how the drivers say that a kernel did not start within its limit.
var late = regexp.MustCompile(`is not ready after|was not ready for cells within`)

// isStarved reports whether the last engine failed because a kernel did not start within its limit.
func (s *story) isStarved() bool {
	said := s.said.Bytes()
	return late.Match(said[bytes.LastIndex(said, []byte("$ pawl ")):])
}

// retryHint is how pawl says what to do about a step that failed.
var retryHint = regexp.MustCompile(`(?m)^pawl: hint: pawl retry (\S+)$`)

// retry retries the step that failed.
func (s *story) retry() {
	s.Helper()
	hints := retryHint.FindAllSubmatch(s.said.Bytes(), -1)
	if len(hints) == 0 {
		s.Fatalf("a failed run without a hint\n%s", s.said.Bytes())
	}
	s.said.WriteString(s.mustRun("retry", string(hints[len(hints)-1][1])))
}

// Exit codes of pawl.
const (
	codeAtGate   = 3
	codeFailed   = 4
	codeNotFound = 7
)

// engine runs an engine to its end, or until it is killed.
func (s *story) engine(args []string, harm func()) error {
	fmt.Fprintf(&s.said, "$ pawl %s\n", strings.Join(args, " "))
	cmd := s.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case err := <-ended:
			s.said.Write(out.Bytes())
			return err
		case <-limit.C:
			_ = cmd.Process.Signal(syscall.SIGQUIT)
			<-ended
			s.Fatalf("pawl %s takes more than %s\n%s%s\n%s", strings.Join(args, " "), patience, s.said.Bytes(), out.Bytes(), s.history())
		case <-tick.C:
		}
		if s.isThere("reached") && !s.isThere("go") {
			s.look()
			continue
		}
		before := len(s.strikes)
		if harm(); len(s.strikes) > before {
			limit.Reset(patience)
		}
	}
}

// journal returns the path of the journal of the run. An engine that is killed at the start leaves an empty folder of a run.
func (s *story) journal() string {
	list, _ := filepath.Glob(filepath.Join(s.dir, ".pawl", "runs", "*", "journal.jsonl")) // the pattern is right
	list = slices.DeleteFunc(list, func(path string) bool {
		data, err := os.ReadFile(path)
		return err == nil && bytes.IndexByte(data, '\n') < 0
	})
	if len(list) != 1 {
		s.Fatalf("journals: %q", list)
	}
	return list[0]
}

// session names the session of the run's kernel.
func (s *story) session() string { return filepath.Base(filepath.Dir(s.journal())) + "/main" }

func (s *story) isThere(name string) bool {
	_, err := os.Stat(s.file(name))
	return err == nil
}

// look has pawl list the variables, and lets the run go on. If the kernel was killed after its last cell, there are none.
func (s *story) look() {
	var failed *exec.ExitError
	out, err := s.command("kernel", "variables", "--json", "--session", s.session()).Output()
	switch {
	case err == nil:
		err = json.Unmarshal(out, &s.variables)
		s.variables = slices.DeleteFunc(s.variables, func(v variable) bool { return v.Name == unsaved })
	case errors.As(err, &failed) && s.kernelDiedIdle():
		err = nil
	}
	if err != nil {
		s.Errorf("pawl kernel variables: %v\n%s", err, s.history())
	}
	s.writeOutside("go")
}

// kernelDiedIdle reports whether a kernel was killed after the last cell had ended.
func (s *story) kernelDiedIdle() bool {
	var last time.Time
	for _, r := range s.records() {
		if r.End != nil {
			last = r.End.Time
		}
	}
	return slices.ContainsFunc(s.strikes, func(k strike) bool { return k.endsKernel() && k.at.After(last) })
}

func (s *story) writeOutside(name string) {
	if err := os.WriteFile(s.file(name), nil, 0o600); err != nil {
		s.Fatal(err)
	}
}

// strike kills a part of the run, and reports whether anything was there to kill.
func (s *story) strike(part string) bool {
	k := strike{at: time.Now(), part: part}
	for _, p := range s.processes() {
		if (p.part == part || part == "all") && syscall.Kill(p.pid, syscall.SIGKILL) == nil {
			k.pids = append(k.pids, p.pid)
		}
	}
	if len(k.pids) > 0 {
		s.strikes = append(s.strikes, k)
	}
	return len(k.pids) > 0
}

// endsKernel reports whether a strike ends a kernel.
func (k strike) endsKernel() bool {
	return slices.Contains([]string{"kernel", "runner", "supervisor", "all"}, k.part)
}

// history says what was killed when, and what pawl said.
func (s *story) history() string {
	var b strings.Builder
	for _, k := range s.strikes {
		fmt.Fprintf(&b, "%s killed %s %d\n", k.at.UTC().Format("15:04:05.000"), k.part, k.pids)
	}
	return b.String()
}

// process is a process of a story, and which part of the run it is.
type process struct {
	pid  int
	part string
}

// processes returns the processes with the story's home folder.
func (s *story) processes() (list []process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if !bytes.Contains(environ, []byte("HOME="+s.home+"\x00")) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		list = append(list, process{pid, partOf(string(line))})
	}
	return list
}

// partOf returns which part of a run a process is, by its command line.
func partOf(line string) string {
	for _, each := range []struct{ text, part string }{
		{"kernel-runner\x00", "runner"}, {"kernel-step\x00", "step"}, {"supervise\x00", "supervisor"},
		{"pawl\x00run\x00", "engine"}, {"pawl\x00resume\x00", "engine"}, {"'pawl', 'exec'", "verifier"}, {"\x00-u\x00-\x00", "kernel"},
		{"ipykernel", "kernel"},
	} {
		if strings.Contains(line, each.text) {
			return each.part
		}
	}
	return "other"
}

// python returns the interpreter that has ipykernel.
func python() string {
	if path := os.Getenv("PAWL_TEST_PYTHON"); path != "" {
		return path
	}
	return "/usr/bin/python3"
}
