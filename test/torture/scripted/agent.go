package scripted

import (
	"bufio"
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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"pawl/internal/agents/agentstest"
)

// CallVar marks the processes of a call with its number.
const CallVar = "TORTURE_CALL"

// AskToDie is what an agent writes to its parent to have everything killed.
const AskToDie = "die"

// AskForMore is what an agent writes to its parent when a session is over and its process waits for another one. It writes AskForGuest
// when another agent may come and go.
const (
	AskForMore  = "more"
	AskForGuest = "guest"
)

// agent is the process that follows a script.
type agent struct {
	*Session
	dialect *Dialect
	ledger  *os.File
	in      io.Reader
	lines   *bufio.Reader // of in
	out     io.Writer
	dying   sync.Once
	doomed  chan struct{} // closed when the death has begun
}

// Run follows the script at path. After its start it waits for a line from in.
func Run(path string, in io.Reader, out io.Writer) error {
	s, err := ReadSession(path)
	if err != nil {
		return err
	}
	ledger, err := os.OpenFile(s.Ledger, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer ledger.Close()
	a := &agent{Session: s, dialect: Find(s.Dialect), ledger: ledger, in: in, out: out, doomed: make(chan struct{})}
	return a.lives()
}

// lives runs one session after the other in this process.
func (a *agent) lives() error {
	lines := bufio.NewReader(a.in)
	for {
		a.lines = lines
		if err := a.live(); err != nil || !a.Stays {
			return err
		}
		fmt.Fprintln(a.out, AskForMore)
		path, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if a.Session, err = ReadSession(strings.TrimSpace(path)); err != nil {
			return err
		}
	}
}

// live runs the session. If its death has begun, it waits for it at the end.
func (a *agent) live() error {
	if err := a.start(); err != nil {
		return err
	}
	if err := a.await(); err != nil {
		return err
	}
	a.dieAt(AnyTime, 0)
	for _, turn := range a.Turns {
		if err := a.turn(turn); err != nil {
			return err
		}
	}
	a.dieAt(Idle, 0)
	select {
	case <-a.doomed:
		time.Sleep(time.Minute) // it dies long before
	default:
	}
	if !a.Stays || a.Dialect == "claude" || a.Dialect == "gemini" { // the others do not report the end of a replaced conversation
		reason := map[bool]string{true: "clear", false: "other"}[a.Stays]
		if _, err := a.hook(Ends, 0, map[string]any{"reason": reason}); err != nil {
			return err
		}
	}
	return a.note(Line{What: Over})
}

// await waits for permission to continue.
func (a *agent) await() error {
	if _, err := a.lines.ReadString('\n'); err != nil {
		return fmt.Errorf("wait for permission to continue: %w", err)
	}
	return nil
}

// start reports the session to the hook, and saves the hook's answer.
func (a *agent) start() error {
	a.dieAt(AtStart, 0)
	told, err := a.hook(Starts, a.Cut, map[string]any{"source": a.Source})
	if err != nil && !errors.Is(err, errCut) {
		return err
	}
	if err := os.WriteFile(a.Told, told, 0o600); err != nil {
		return err
	}
	return a.note(Line{What: Started, Well: err == nil})
}

func (a *agent) turn(t Turn) error {
	if err := a.note(Line{What: Prompting, Text: t.Prompt}); err != nil {
		return err
	}
	if _, err := a.hook(Prompts, 0, map[string]any{"prompt": t.Prompt}); err != nil {
		return err
	}
	switch err := a.groups(t.Groups, ""); {
	case errors.Is(err, errBroken):
		return nil
	case err != nil:
		return err
	}
	if err := a.note(Line{What: Halting}); err != nil {
		return err
	}
	a.dieAt(Stopping, 0)
	_, err := a.hook(Stops, 0, map[string]any{"stop_hook_active": false, "last_assistant_message": "That is what I did."})
	if err != nil {
		return err
	}
	return a.note(Line{What: Halted, Well: true})
}

// groups makes calls, those of a group concurrently.
func (a *agent) groups(groups [][]*Call, sub string) error {
	for _, group := range groups {
		errs := make([]error, len(group))
		var all sync.WaitGroup
		for i, c := range group {
			all.Go(func() { errs[i] = a.call(c, sub) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// call announces a call, runs its tool, and reports the outcome.
func (a *agent) call(c *Call, sub string) error {
	before, err := Observe(a.Root, c.Paths)
	if err != nil {
		return err
	}
	if err := a.note(Line{Call: c.N, What: Announced, Seen: before}); err != nil {
		return err
	}
	a.dieAt(Announcing, c.N)
	_, err = a.hook(Announces, c.CutIntent, a.about(c, sub))
	if err := a.returned(err, Line{Call: c.N, What: Meant}); err != nil {
		return err
	}
	if err := a.ask(c, sub); err != nil || c.Ask == Denied {
		return err
	}
	a.dieAt(Between, c.N)
	said, failed, err := a.tool(c)
	if err != nil {
		return err
	}
	a.dieAt(Done, c.N)
	if c.Silent {
		return nil
	}
	return a.report(c, sub, said, failed)
}

// errBroken means that a person refused a call and ended the turn.
var errBroken = errors.New("the turn was interrupted")

// ask asks a person for permission, as the script has it.
func (a *agent) ask(c *Call, sub string) error {
	if c.Ask == "" {
		return nil
	}
	if a.dialect.names[Asks] != "" {
		fields := a.about(c, sub)
		delete(fields, "tool_use_id")
		if a.Dialect == "gemini" {
			fields = map[string]any{"message": "Tool requires confirmation"}
		}
		if err := a.note(Line{Call: c.N, What: AskedFor}); err != nil {
			return err
		}
		_, err := a.hook(Asks, 0, fields)
		if err := a.returned(err, Line{Call: c.N, What: Asked}); err != nil {
			return err
		}
	}
	a.dieAt(Asking, c.N)
	if !c.Ask.Refuses() {
		return nil
	}
	err := a.note(Line{Call: c.N, What: Refused})
	if c.Ask == Broken {
		err = errors.Join(err, errBroken)
	}
	return err
}

// returned records that a hook has returned.
func (a *agent) returned(err error, l Line) error {
	if err != nil && !errors.Is(err, errCut) {
		return err
	}
	l.Well = err == nil
	return a.note(l)
}

// report reports a call's outcome to a hook.
func (a *agent) report(c *Call, sub, said string, failed error) error {
	if c.Sort == Background && !c.Serves {
		defer time.Sleep(c.Pause) // the effects of its background process cannot be distinguished from those of the next call
	}
	if err := a.note(Line{Call: c.N, What: Telling}); err != nil {
		return err
	}
	a.dieAt(Reporting, c.N)
	fields := a.about(c, sub)
	moment := Reports
	if failed != nil {
		moment = Fails
		if a.dialect.names[Fails] != a.dialect.names[Reports] {
			fields["error"] = failed.Error()
			if a.Dialect == "copilot" {
				fields["error"] = map[string]any{"name": "ToolError", "message": failed.Error()}
			}
		}
	}
	key, answer := a.dialect.answer(said)
	if given, is := answer.(map[string]any); is && a.Dialect == "gemini" && failed != nil {
		given["error"] = map[string]any{"message": failed.Error(), "type": "shell_execute_error"}
	}
	fields[key] = answer
	_, err := a.hook(moment, c.CutReport, fields)
	return a.returned(err, Line{Call: c.N, What: Told})
}

// about returns the fields of both hooks of a call.
func (a *agent) about(c *Call, sub string) map[string]any {
	fields := map[string]any{"tool_name": c.Tool, "tool_input": c.Input}
	if c.ID != "" {
		fields["tool_use_id"] = c.ID
	}
	a.from(fields, sub)
	return fields
}

// from marks an event as that of a subagent.
func (a *agent) from(fields map[string]any, sub string) {
	switch {
	case sub == "":
	case a.Dialect == "opencode":
		fields["session_id"], fields["parent_id"] = sub, a.ID
	case a.Dialect == "copilot" && fields["tool_name"] != nil:
		fields["session_id"] = sub // without its parent
	default:
		fields["agent_id"], fields["agent_type"] = sub, "general-purpose"
	}
}

// tool runs the tool of a call.
func (a *agent) tool(c *Call) (said string, failed, err error) {
	if err := a.note(Line{Call: c.N, What: Begun}); err != nil {
		return "", nil, err
	}
	if c.Command == "" {
		a.dieAt(Running, c.N)
	}
	if c.Holds {
		fmt.Fprintln(a.out, AskForGuest)
		if err := a.await(); err != nil {
			return "", nil, err
		}
	}
	switch {
	case c.Command != "":
		said, failed, err = a.shell(c)
	case c.Sub != nil:
		err = a.delegate(c.Sub)
	case len(c.Changes) > 0:
		failed = makeChanges(c.Base, c.Changes, c.Style, c.Pause, func(path string) error {
			return a.note(Line{Call: c.N, What: Effect, Text: path})
		})
	default:
		time.Sleep(c.Pause)
	}
	if err != nil {
		return "", nil, err
	}
	seen, err := Observe(a.Root, c.Paths)
	if err != nil {
		return "", nil, err
	}
	return said, failed, a.note(Line{Call: c.N, What: Ended, Well: failed == nil, Seen: seen})
}

// shell runs a command. Its output goes to a file or to a pipe, because agents differ in that.
func (a *agent) shell(c *Call) (said string, failed, err error) {
	line := a.dialect.commandLine(c.Command)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(append([]string{}, a.Environ...), fmt.Sprintf("%s=%d", CallVar, c.N))
	cmd.WaitDelay = 20 * time.Millisecond
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if a.dialect.wrap != "" || c.Serves {
		name := filepath.Join(filepath.Dir(a.Ledger), fmt.Sprintf("out-%d", c.N))
		file, err := os.Create(name)
		if err != nil {
			return "", nil, err
		}
		defer file.Close()
		cmd.Stdout, cmd.Stderr = file, file
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	a.dieAt(Running, c.N)
	if c.Serves && !strings.HasSuffix(strings.TrimSuffix(c.Command, ")"), "&") {
		go cmd.Wait() // the agent's own tool runs it in the background
		return "started", nil, ready(c.Paths[0])
	}
	failed = cmd.Wait()
	if c.Serves {
		return "started", failed, ready(c.Paths[0])
	}
	if errors.Is(failed, exec.ErrWaitDelay) {
		failed = nil // a background process holds the pipe
	}
	return out.String(), failed, nil
}

// ready waits until a service has written its file: later its effects could not be distinguished from those of the next call.
func ready(path string) error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
			return nil
		}
	}
	return nil // its folder may be gone
}

// delegate makes the calls of a subagent.
func (a *agent) delegate(s *Subagent) error {
	fields := map[string]any{"source": "startup"}
	a.from(fields, s.ID)
	if _, err := a.hook(SubStarts, 0, fields); err != nil {
		return err
	}
	if err := a.groups(s.Groups, s.ID); err != nil {
		return err
	}
	_, err := a.hook(SubStops, 0, fields)
	return err
}

// hookEnviron is the environment of a hook. Claude Code names the project there, wherever it works.
func (a *agent) hookEnviron() []string {
	if a.Dialect != "claude" {
		return a.Environ
	}
	return append(slices.Clone(a.Environ), "CLAUDE_PROJECT_DIR="+a.Root)
}

// errCut means that a hook was killed, as the script has it.
var errCut = errors.New("the hook was killed")

// hook calls a hook with an event and returns its answer. The hook must exit with 0, and its answer must be parseable.
func (a *agent) hook(m Moment, cut time.Duration, fields map[string]any) ([]byte, error) {
	payload, err := a.dialect.payload(m, a.ID, a.Session.Dir)
	if err != nil {
		return nil, err
	}
	maps.Copy(payload, fields)
	data, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := exec.CommandContext(ctx, a.Hook, "hook", a.Dialect)
	if a.dialect.hook {
		cmd = exec.CommandContext(ctx, "sh", "-c", "exec '"+a.Hook+"' hook "+a.Dialect)
	}
	cmd.Dir, cmd.Env, cmd.Stdin = a.Session.Dir, a.hookEnviron(), bytes.NewReader(data)
	var said, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complaint
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if cut > 0 {
		time.AfterFunc(cut, cancel)
	}
	err = cmd.Wait()
	switch {
	case cut > 0 && err != nil:
		return said.Bytes(), errCut
	case err == nil && complaint.Len() == 0:
		_, err = agentstest.Read(a.Dialect, a.dialect.names[m], said.Bytes())
	}
	if err != nil || complaint.Len() > 0 {
		return nil, errors.Join(a.note(Line{What: Fault, Text: fmt.Sprintf("hook %s: %v: %q %q", m, err, said.String(), complaint.String())}), err)
	}
	return said.Bytes(), nil
}

// note appends a line to the ledger, and syncs it.
func (a *agent) note(l Line) error {
	l.Session, l.At = a.N, time.Now()
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := a.ledger.Write(slices.Concat([]byte("\n"), data, []byte("\n"))); err != nil { // separates an incomplete line of a killed agent
		return err
	}
	return a.ledger.Sync()
}

// dieAt begins the agent's death, if this is its moment.
func (a *agent) dieAt(at When, call int) {
	if d := a.Death; d == nil || d.At != at || d.Call != call {
		return
	}
	a.dying.Do(func() {
		if a.Death.After == 0 {
			close(a.doomed)
			a.die()
			return
		}
		close(a.doomed)
		time.AfterFunc(a.Death.After, a.die)
	})
}

// die kills the agent, or asks its parent to kill everything.
func (a *agent) die() {
	_ = a.note(Line{What: Dying, Text: strings.Join([]string{string(a.Death.At), string(a.Death.How)}, ", ")})
	switch a.Death.How {
	case Machine:
		fmt.Fprintln(a.out, AskToDie)
	case Group:
		_ = syscall.Kill(0, syscall.SIGKILL)
	default:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}
