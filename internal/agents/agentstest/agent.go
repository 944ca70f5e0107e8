package agentstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Agent is a session of a coding agent. Its hooks call the first pawl in PATH.
type Agent struct {
	Name    string // claude, codex, gemini, opencode or copilot
	Session string // its own id
	Dir     string // where it works
	Out     io.Writer

	speech
	home  string // where it was started
	calls atomic.Int64
	held  bool       // a hook prevented the end of the turn
	mu    sync.Mutex // guards Out
}

// New returns an agent that works in a folder and writes the context it gets to out.
func New(name, session, dir string, out io.Writer) (*Agent, error) {
	s, ok := speeches[name]
	if !ok {
		return nil, fmt.Errorf("no agent %q", name)
	}
	return &Agent{Name: name, Session: session, Dir: dir, Out: out, speech: s, home: dir}, nil
}

// fields are the fields of a payload that replace those of the example.
type fields map[string]any

// tell calls the hook for an event and returns the answer. It does nothing if the agent does not have the event.
func (a *Agent) tell(ctx context.Context, example, sub string, set fields) (Answer, error) {
	if example == "" {
		return Answer{}, nil
	}
	payload, err := a.Payload(example, sub, set)
	if err != nil {
		return Answer{}, err
	}
	printed, err := a.hook(ctx, payload)
	event, _, _ := strings.Cut(example, " ")
	if err != nil {
		return Answer{}, fmt.Errorf("%s: hook of %s: %w", a.Name, event, err)
	}
	answer, err := Read(a.Name, event, printed)
	if answer.Context != "" {
		a.print("== told at %s:\n%s\n", event, answer.Context)
	}
	if answer.Hold != "" {
		a.print("== held: %s\n", answer.Hold)
	}
	return answer, err
}

func (a *Agent) print(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.Out, format, args...)
}

// Payload returns the payload of the agent, or of a subagent, for an event: the example with the session and folder, and with
// the given fields if the example has them.
func (a *Agent) Payload(example, sub string, set map[string]any) ([]byte, error) {
	p, err := shaped(a.Name, example)
	if err != nil {
		return nil, err
	}
	p["cwd"] = a.Dir
	if p["sessionId"] != nil { // Copilot CLI's PermissionRequest
		p["sessionId"], p["toolName"], p["toolInput"] = a.Session, set["tool_name"], set["tool_input"]
		return json.Marshal(p)
	}
	p["session_id"] = a.Session
	switch {
	case sub != "" && a.Name == "opencode":
		p["session_id"], p["parent_id"] = sub, a.Session
	case sub != "":
		p["agent_id"], p["agent_type"] = sub, "explorer"
	}
	for key, value := range set {
		if _, has := p[key]; has || key == a.result || key == "error" {
			p[key] = value
		}
	}
	return json.Marshal(p)
}

// hookTimeout is how long an agent waits for a hook before it continues without it.
const hookTimeout = 30 * time.Second

// hook calls the hook as the agent does. The hook must succeed in time.
func (a *Agent) hook(ctx context.Context, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "pawl", "hook", a.Name)
	if a.byWord {
		cmd = exec.CommandContext(ctx, "/bin/sh", "-c", "pawl hook "+a.Name)
	}
	var out, stderr bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.environ(), bytes.NewReader(payload), &out, &stderr
	if _, err := os.Stat(a.Dir); err == nil { // otherwise the folder of the test
		cmd.Dir = a.Dir
	}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	if stderr.Len() > 0 {
		return nil, fmt.Errorf("it says %q", stderr.Bytes())
	}
	return out.Bytes(), nil
}

// secretNames are parts of the names of variables that Gemini CLI removes from the environment of its hooks.
var secretNames = []string{"TOKEN", "SECRET", "PASSWORD", "KEY", "AUTH", "CREDENTIAL"}

func (a *Agent) environ() []string {
	named := map[string][]string{
		"claude": {"CLAUDE_PROJECT_DIR=" + a.home},
		"gemini": {"GEMINI_PROJECT_DIR=" + a.home, "CLAUDE_PROJECT_DIR=" + a.home, "GEMINI_CWD=" + a.Dir, "GEMINI_SESSION_ID=" + a.Session},
	}[a.Name]
	visible := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(v), "=")
		return a.clean && slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) })
	})
	return append(visible, named...)
}

// call runs a tool between its two hooks.
func (a *Agent) call(ctx context.Context, sub string, u use, do func() (string, error)) error {
	set := fields{"tool_name": u.tool, "tool_input": u.input, "tool_use_id": fmt.Sprintf("call-%s-%d-%d", sub, os.Getpid(), a.calls.Add(1))}
	if _, err := a.tell(ctx, a.before, sub, set); err != nil {
		return err
	}
	begun := time.Now()
	said, failure := do()
	set["duration_ms"] = time.Since(begun).Milliseconds()
	event := a.after
	switch {
	case failure == nil:
	case a.failed != "":
		event = a.failed
		set["error"] = fmt.Sprintf("%v\n%s", failure, said)
		if a.Name == "copilot" {
			set["error"] = map[string]any{"name": "ToolError", "message": fmt.Sprintf("%v\n%s", failure, said)}
		}
	case a.Name == "gemini":
		set[a.result] = map[string]any{"llmContent": said, "returnDisplay": said, "error": map[string]any{"message": failure.Error()}}
	}
	if set[a.result] == nil {
		set[a.result] = a.answer(said)
	}
	_, err := a.tell(ctx, event, sub, set)
	return err
}

// run runs a command as the agent's shell tool does.
func (a *Agent) run(ctx context.Context, sub, command string) error {
	return a.call(ctx, sub, a.shell(command), func() (string, error) {
		out, err := a.output(command)
		a.print("$ %s\n%s", command, out)
		return out, err
	})
}

// refused asks for a tool call that the user refuses.
func (a *Agent) refused(ctx context.Context, command string) error {
	u := a.shell(command)
	set := fields{"tool_name": u.tool, "tool_input": u.input, "tool_use_id": fmt.Sprintf("call-%d-%d", os.Getpid(), a.calls.Add(1))}
	if _, err := a.tell(ctx, a.before, "", set); err != nil {
		return err
	}
	_, err := a.tell(ctx, a.asks, "", set)
	return err
}

// inBackground are the inputs with which the agents' shell tools run a command in the background. Those of the others do not.
var inBackground = map[string]fields{"claude": {"run_in_background": true}, "gemini": {"is_background": true}, "copilot": {"mode": "async"}}

// background runs a command in the background.
func (a *Agent) background(ctx context.Context, command string) error {
	set, has := inBackground[a.Name]
	if !has {
		return a.run(ctx, "", command+" &")
	}
	u := a.shell(command)
	maps.Copy(u.input, set)
	return a.call(ctx, "", u, func() (string, error) {
		cmd := exec.Command("/bin/sh", "-c", command)
		cmd.Dir, cmd.SysProcAttr = a.Dir, &syscall.SysProcAttr{Setpgid: true}
		return "started", cmd.Start()
	})
}

// output runs a command and returns its output. It uses a file, so that the command can outlive the agent.
func (a *Agent) output(command string) (string, error) {
	file, err := os.CreateTemp("", "fake-agent-")
	if err != nil {
		return "", err
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return "", err
	}
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = a.Dir, file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	a.die(cmd)
	runtime.LockOSThread() // a thread's end counts as its parent's
	defer runtime.UnlockOSThread()
	failure := cmd.Run()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	out, err := io.ReadAll(file)
	return string(out), errors.Join(failure, err)
}

// put writes a file as the agent's write or patch tool does.
func (a *Agent) put(ctx context.Context, sub, path, content string) error {
	full := a.path(path)
	_, err := os.Lstat(full)
	return a.call(ctx, sub, a.write(full, content, err == nil), func() (string, error) {
		return "written", errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(content), 0o644))
	})
}

// change replaces a text in a file.
func (a *Agent) change(ctx context.Context, sub, path, old, now string) error {
	full := a.path(path)
	return a.call(ctx, sub, a.edit(full, old, now), func() (string, error) {
		data, err := os.ReadFile(full)
		if err != nil {
			return "", err
		}
		return "changed", os.WriteFile(full, []byte(strings.Replace(string(data), old, now, 1)), 0o644)
	})
}

// look reads a file.
func (a *Agent) look(ctx context.Context, sub, path string) error {
	full := a.path(path)
	return a.call(ctx, sub, a.read(full), func() (string, error) {
		data, err := os.ReadFile(full)
		return string(data), err
	})
}

// list reports the agent's task list.
func (a *Agent) list(ctx context.Context, tasks []task) error {
	if a.tasks == nil {
		_, err := a.tell(ctx, "TodoUpdated", "", fields{"todos": todos(tasks, "content")})
		return err
	}
	return a.call(ctx, "", a.tasks(tasks), func() (string, error) { return "kept", nil })
}

// path returns a path as the agent names it.
func (a *Agent) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Dir, name)
}

// turnsEnd ends the turn. If a hook prevents that, the turn continues until its next end.
func (a *Agent) turnsEnd(ctx context.Context, said string) error {
	set := fields{"last_assistant_message": said, "prompt_response": said, "stop_hook_active": a.held}
	answer, err := a.tell(ctx, a.stop, "", set)
	if err == nil && answer.Hold != "" && a.held {
		err = errors.New("the turn is held for ever")
	}
	a.held = answer.Hold != ""
	return err
}
