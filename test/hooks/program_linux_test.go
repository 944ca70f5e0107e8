package hooks

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"pawl/test/stories/storytest"
	"strings"
	"sync"
	"testing"
)

// hookPrograms makes a folder with pawl and pawl-hook of the same build, and below it "other" with two of different builds.
var hookPrograms = sync.OnceValues(func() (string, error) {
	folder := filepath.Join(filepath.Dir(storytest.Agents()), "fast") // storytest.Main removes it
	for path, stamp := range map[string]string{"pawl": "1", "pawl-hook": "1", "other/pawl-hook": "2"} {
		flags := "-s -w -X pawl/internal/version.stamp=pawl-sources:test" + stamp
		cmd := exec.Command("go", "build", "-ldflags", flags, "-o", filepath.Join(folder, path), "pawl/cmd/"+filepath.Base(path))
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", path, err, out)
		}
	}
	return folder, os.Link(filepath.Join(folder, "pawl"), filepath.Join(folder, "other", "pawl"))
})

// hookUser is a project of a user who has nothing else.
type hookUser struct {
	*testing.T
	bin, home, project string
}

func newHookUser(t *testing.T, bin string) *hookUser {
	t.Helper()
	programs, err := hookPrograms()
	if err != nil {
		t.Fatal(err)
	}
	w := &hookUser{t, filepath.Join(programs, bin), t.TempDir(), ""}
	w.project = filepath.Join(w.home, "project")
	if err := os.Mkdir(w.project, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs a program in the project and returns what it prints.
func (w *hookUser) run(input, program string, args ...string) string {
	w.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdin = w.project, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "HOME="+w.home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "CLAUDE_CONFIG_DIR=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (w *hookUser) pawl(args ...string) string {
	w.Helper()
	return w.run("", filepath.Join(w.bin, "pawl"), args...)
}

func (w *hookUser) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.project, name), []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *hookUser) read(name string) string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.project, name))
	if err != nil {
		w.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// Hooks start pawl-hook, and what it journals is what pawl reads.
func TestHooksStartPawlHook(t *testing.T) {
	t.Parallel()
	w := newHookUser(t, "")
	w.pawl("init")
	w.pawl("attach", "claude", "--scope", "project")
	hook := filepath.Join(w.bin, "pawl-hook")
	if settings := w.read(".claude/settings.local.json"); !strings.Contains(settings, `"command": "`+hook+`", "args": ["hook", "claude"]`) {
		t.Fatalf("the hooks do not start %s:\n%s", hook, settings)
	}
	if servers := w.read(".mcp.json"); !strings.Contains(servers, filepath.Join(w.bin, "pawl")+`"`) {
		t.Errorf("the MCP server is not pawl:\n%s", servers)
	}
	w.run(`{"session_id": "s", "cwd": "`+w.project+`", "hook_event_name": "PreToolUse", "tool_name": "Read", "tool_use_id": "t1",
		"tool_input": {"file_path": "a.txt"}}`, hook, "hook", "claude")
	if log := w.pawl("log", "--json"); !strings.Contains(log, `"operation.begun"`) {
		t.Errorf("nothing is journaled:\n%s", log)
	}
	if findings := w.pawl("doctor"); !strings.Contains(findings, "claude is attached") {
		t.Errorf("doctor:\n%s", findings)
	}
	w.pawl("detach", "claude", "--scope", "project")
	if _, err := os.Stat(filepath.Join(w.project, ".claude", "settings.local.json")); err == nil {
		t.Errorf("left: %s", w.read(".claude/settings.local.json"))
	}
}

// Supervisors are pawl-hook too, but for steps that run pawl itself.
func TestSupervisorsArePawlHook(t *testing.T) {
	t.Parallel()
	w := newHookUser(t, "")
	w.write("plan.yaml", `name: demo
steps:
  - id: shell
    run: readlink /proc/$PPID/exe > shell.txt
  - id: agent
    agent: {use: command, command: readlink /proc/$PPID/exe > agent.txt, prompt: say who you are}
`)
	w.pawl("run", "plan.yaml")
	if got, want := w.read("shell.txt"), filepath.Join(w.bin, "pawl-hook"); got != want {
		t.Errorf("the supervisor is %s, want %s", got, want)
	}
	if got, want := w.read("agent.txt"), filepath.Join(w.bin, "pawl"); got != want {
		t.Errorf("the agent's runner is %s, want %s", got, want)
	}
}

// A pawl-hook of another build may write what this pawl cannot read.
func TestOtherBuildIsNotStarted(t *testing.T) {
	t.Parallel()
	w := newHookUser(t, "other")
	w.write("plan.yaml", "name: demo\nsteps:\n  - {id: shell, run: readlink /proc/$PPID/exe > exe.txt}\n")
	w.pawl("run", "plan.yaml")
	if got, want := w.read("exe.txt"), filepath.Join(w.bin, "pawl"); got != want {
		t.Errorf("the supervisor is %s, want %s", got, want)
	}
	w.pawl("attach", "claude", "--scope", "project")
	if settings := w.read(".claude/settings.local.json"); strings.Contains(settings, "pawl-hook") {
		t.Errorf("the hooks start it:\n%s", settings)
	}
}

// Somebody updates pawl-hook alone, or pawl alone: pawl doctor says that hooks start the other build.
func TestDoctorFindsOtherPawlHook(t *testing.T) {
	t.Parallel()
	w := newHookUser(t, "")
	built := w.bin
	w.bin = t.TempDir()
	install := func(from, name string) {
		path := filepath.Join(w.bin, name)
		if err := errors.Join(os.RemoveAll(path), os.Link(filepath.Join(built, from, name), path)); err != nil {
			t.Fatal(err)
		}
	}
	install("", "pawl")
	install("", "pawl-hook")
	w.pawl("init")
	w.pawl("attach", "claude", "--scope", "project")
	if got := w.pawl("doctor"); !strings.Contains(got, "claude is attached") {
		t.Errorf("doctor, of the same build:\n%s", got)
	}
	install("other", "pawl-hook")
	if got := w.pawl("doctor"); !strings.Contains(got, "its hooks start "+filepath.Join(w.bin, "pawl-hook")+", another pawl than this one") {
		t.Errorf("doctor, of another build:\n%s", got)
	}
}

func TestPawlHookRefusesOtherCommands(t *testing.T) {
	t.Parallel()
	w := newHookUser(t, "")
	hook := filepath.Join(w.bin, "pawl-hook")
	if got := w.run("", hook, "version"); !strings.HasPrefix(got, "pawl-hook version ") {
		t.Errorf("version: %s", got)
	}
	for _, args := range [][]string{{}, {"status"}, {"hook"}, {"hook", "--help"}} {
		out, err := exec.Command(hook, args...).CombinedOutput()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), "pawl --help") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}
