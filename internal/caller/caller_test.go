package caller

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/supervise"
	"pawl/internal/supervise/process"
)

// TestMain prints who this program's caller is, for the tests that start it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("CALLER_TEST") != "" || len(os.Args) > 1 && os.Args[1] == "who" {
		c := Under(os.Environ(), "")
		os.Stdout.WriteString(strings.Join([]string{string(c.Kind), string(c.Step), c.Name, c.Session}, "|"))
		return
	}
	os.Exit(m.Run())
}

// who starts this program below a shell and returns who it says its caller is.
func who(t *testing.T, environ []string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], append(command[1:], os.Args[0], "who")...)
	cmd.Env = environ
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, mark := range marks {
		if got := who(t, []string{mark + "=deploy"}, "env"); !strings.HasPrefix(got, "step|") {
			t.Errorf("%s: %s", mark, got)
		}
	}
	shell := []string{"sh", "-c", `env -i "$0" "$@"; exit $?`} // the shell has the variable, its child has not
	if got := who(t, []string{"PAWL_STEP=deploy", "PATH=" + os.Getenv("PATH")}, shell...); got != "step|deploy||" {
		t.Errorf("an ancestor's environment: %s", got)
	}
	if got := who(t, []string{"PAWL_PROJECT=/x", "PATH=" + os.Getenv("PATH")}, shell...); got != "person|||" {
		t.Errorf("a project is no attempt: %s", got)
	}
}

func TestSupervisor(t *testing.T) {
	t.Parallel()
	dir := "/p/.pawl/runs/demo-1/steps/deploy/1"
	above := []ancestor{
		{Stat: process.Stat{PID: 30}, args: []string{"sh"}, program: "/bin/sh"},
		{Stat: process.Stat{PID: 20}, args: []string{"pawl", supervise.Verb, dir}, program: "/usr/bin/pawl-hook"},
		{Stat: process.Stat{PID: 10}, args: []string{"/usr/bin/pawl", "-C", "/p", "resume"}, program: "/usr/bin/pawl"},
	}
	c := fromSupervisors(supervisors(above))
	if c.Kind != Step || c.Step != "deploy" || c.Run != "demo-1" || c.root != "/p" || !strings.Contains(c.Evidence, "process 20") {
		t.Errorf("%+v", c)
	}
	if c := fromEngines(above[2:]); c.Kind != Step || !c.Orphan || c.InOwnProject("/p") {
		t.Errorf("below an engine only: %+v", c)
	}
	for _, verb := range harmless {
		if c := fromEngines([]ancestor{{args: []string{"pawl", verb}, program: "/usr/bin/pawl"}}); c.Kind != Person {
			t.Errorf("below pawl %s: %+v", verb, c)
		}
	}
}

func TestOwnProject(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		caller Caller
		want   bool
	}{
		"a person":          {Caller{Kind: Person}, false},
		"its own":           {Caller{Kind: Step, projects: []string{root}}, true},
		"another":           {Caller{Kind: Step, projects: []string{t.TempDir()}}, false},
		"a step in a step":  {Caller{Kind: Step, projects: []string{t.TempDir(), root}}, true},
		"unknown":           {Caller{Kind: Step}, true},
		"one that is moved": {Caller{Kind: Step, projects: []string{root + "/gone"}}, true},
	} {
		if got := c.caller.InOwnProject(root); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	for groups, want := range map[string]Kind{
		"0::/user.slice/pawl-0123456789abcdef\n": Step, "0::/a/pawl-0123456789abcdef/sub\n": Step,
		"0::/user.slice/pawl-server\n": Person, "0::/pawl-0123456789abcdeg\n": Person, "": Person,
	} {
		if c := fromGroup(groups); c.Kind != want {
			t.Errorf("%q: %s", groups, c.Kind)
		}
	}
}

// TestSession records this process as an agent. Its children belong to it, whichever state folder they name.
func TestSession(t *testing.T) {
	state := t.TempDir()
	t.Setenv("PAWL_STATE", state)
	self, err := process.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	gone := pawl.Process{PID: 1 << 22, Start: 1, BootID: self.BootID, PIDNS: self.PIDNS}
	for _, p := range []pawl.Process{gone, self} {
		if err := Record(Session{Process: p, Agent: "claude", Session: "s1"}); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(state, folder)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: the record of a process that has ended stays", entries, err)
	}
	environ := []string{"PAWL_STATE=" + state, "PATH=" + os.Getenv("PATH")}
	if got := who(t, environ, "env"); got != "agent||claude|s1" {
		t.Error(got)
	}
	if got := who(t, append(environ, "PAWL_STEP=a"), "env"); got != "step|a||" {
		t.Errorf("a step of a run that an agent started: %s", got)
	}
	if by := (Caller{Kind: Agent, Name: "claude", Session: "s1"}).Author("ann"); by != (pawl.Author{Kind: pawl.ByAgent, Name: "claude", Session: "s1"}) {
		t.Errorf("%+v", by)
	}
}
