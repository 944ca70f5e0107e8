package main

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
	"strings"
	"syscall"
	"time"
)

// agentVerb is the command by which this program is an agent.
const agentVerb = "agent"

// A script is the input of an agent's process: the session and its folders.
type script struct {
	Session session  `json:"session"`
	ID      string   `json:"id"`
	Project string   `json:"project"`
	Home    string   `json:"home"`
	Half    string   `json:"half"`  // the file that `halfway` makes
	Ready   string   `json:"ready"` // the file that a session that stays creates when it is ready
	Environ []string `json:"environ"`
}

// agent is a coding agent without a model. It really executes its script, calls the hooks as Claude Code does, and writes a transcript in
// its format.
type agent struct {
	script
	ctx   context.Context
	hooks *hooks
	cwd   string
	talk  *transcript // of the session, or of the running sub-agent
	sub   string      // the id of the running sub-agent
	calls int
}

// runAgent follows the script in a file. It returns when its session is over; one that stays ends when its input does.
func runAgent(ctx context.Context, path string, in io.Reader) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	a := &agent{ctx: ctx}
	if err := json.Unmarshal(data, &a.script); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if a.hooks, err = readHooks(a.Project, a.Home, a.Environ); err != nil {
		return err
	}
	a.cwd = filepath.Join(a.Project, a.Session.Folder)
	a.talk = &transcript{path: transcriptPath(a.Home, a.Project, a.ID), session: a.ID, cwd: a.cwd}
	source := "startup"
	if a.Session.Resumes {
		source = "resume"
		if err := a.talk.follow(); err != nil {
			return err
		}
	}
	if _, err := a.tell("SessionStart", map[string]any{"source": source, "model": "scripted"}); err != nil {
		return err
	}
	if err := a.all(a.Session.Does); err != nil {
		return err
	}
	return a.end(in)
}

// end ends the session as the script says.
func (a *agent) end(in io.Reader) error {
	switch a.Session.End {
	case dies:
		return a.die()
	case stays:
		if err := os.WriteFile(a.Ready, nil, 0o600); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, in)
		return err
	}
	_, err := a.tell("SessionEnd", map[string]any{"reason": "prompt_input_exit"})
	return err
}

// die kills the agent with SIGKILL.
func (a *agent) die() error {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is pending
}

// tell sends an event to the hooks.
func (a *agent) tell(name string, fields map[string]any) (string, error) {
	payload := map[string]any{
		"session_id": a.ID, "transcript_path": transcriptPath(a.Home, a.Project, a.ID), "cwd": a.cwd, "hook_event_name": name, "permission_mode": "default",
	}
	if a.sub != "" {
		payload["agent_id"], payload["agent_type"] = a.sub, "general-purpose"
	}
	maps.Copy(payload, fields)
	return a.hooks.run(a.ctx, payload)
}

// all does events one after the other.
func (a *agent) all(events []event) error {
	for _, e := range events {
		for n := range max(e.Times, 1) {
			if err := a.event(e.numbered(n + 1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbered replaces N in the texts of an event that happens several times.
func (e event) numbered(n int) event {
	if e.Times == 0 {
		return e
	}
	number := fmt.Sprint(n)
	e.Shell, e.Prompt, e.Stops = strings.ReplaceAll(e.Shell, "N", number), strings.ReplaceAll(e.Prompt, "N", number), strings.ReplaceAll(e.Stops, "N", number)
	if e.Write != nil {
		e.Write = &write{Path: strings.ReplaceAll(e.Write.Path, "N", number), Content: strings.ReplaceAll(e.Write.Content, "N", number)}
	}
	return e
}

// event does one thing.
func (a *agent) event(e event) error {
	switch {
	case e.Prompt != "":
		if _, err := a.tell("UserPromptSubmit", map[string]any{"prompt": e.Prompt}); err != nil {
			return err
		}
		return a.talk.user(e.Prompt)
	case e.Says != "":
		return a.talk.assistant(textPart(e.Says))
	case e.Stops != "":
		return a.stop(e.Stops)
	case e.Limit != "":
		if err := a.talk.limited(e.Limit); err != nil {
			return err
		}
		_, err := a.tell("StopFailure", map[string]any{"error": "rate_limit", "error_details": e.Limit})
		return err
	case e.Compacts != "":
		return a.compact(e.Compacts)
	case len(e.Parallel) > 0:
		return a.parallel(e.Parallel)
	}
	return a.call(e)
}

func textPart(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

// stop ends a turn.
func (a *agent) stop(text string) error {
	if err := a.talk.assistant(textPart(text)); err != nil {
		return err
	}
	_, err := a.tell("Stop", map[string]any{"stop_hook_active": false, "last_assistant_message": text, "background_tasks": []any{}, "session_crons": []any{}})
	return err
}

// compact replaces the conversation by a summary, as the client does.
func (a *agent) compact(summary string) error {
	if _, err := a.tell("PreCompact", map[string]any{"trigger": "auto", "custom_instructions": ""}); err != nil {
		return err
	}
	if err := a.talk.compact(summary); err != nil {
		return err
	}
	_, err := a.tell("SessionStart", map[string]any{"source": "compact", "model": "scripted"})
	return err
}

// parallel makes concurrent calls: all are announced before the first tool starts.
func (a *agent) parallel(events []event) error {
	uses := make([]use, len(events))
	for i, e := range events {
		uses[i] = a.use(e)
	}
	if err := a.announce(uses...); err != nil {
		return err
	}
	for i, e := range events {
		if err := a.carryOut(e, uses[i]); err != nil {
			return err
		}
	}
	return nil
}

// call makes one call.
func (a *agent) call(e event) error {
	u := a.use(e)
	if err := a.announce(u); err != nil {
		return err
	}
	if e.Refused != "" || e.Denied != "" {
		return a.refuse(e, u)
	}
	return a.carryOut(e, u)
}

// use is a call of one of Claude Code's tools.
type use struct {
	id, tool string
	input    map[string]any
}

func (u use) fields() map[string]any {
	return map[string]any{"tool_name": u.tool, "tool_input": u.input, "tool_use_id": u.id}
}

// use returns the call that an event is.
func (a *agent) use(e event) use {
	a.calls++
	u := use{id: fmt.Sprintf("toolu_%d_%03d", os.Getpid(), a.calls)}
	switch {
	case e.Write != nil:
		u.tool, u.input = "Write", map[string]any{"file_path": a.path(e.Write.Path), "content": e.Write.Content}
	case e.Edit != nil:
		u.tool, u.input = "Edit", map[string]any{"file_path": a.path(e.Edit.Path), "old_string": e.Edit.Old, "new_string": e.Edit.New, "replace_all": false}
	case e.Agent != nil:
		u.tool, u.input = "Agent", map[string]any{"description": e.Agent.Task, "prompt": e.Agent.Prompt, "subagent_type": "general-purpose"}
	case len(e.Todo) > 0:
		u.tool, u.input = "TodoWrite", map[string]any{"todos": todos(e.Todo)}
	default:
		u.tool, u.input = "Bash", map[string]any{"command": e.Shell, "description": fmt.Sprintf("Run %.60s", e.Shell)}
		if e.Background {
			u.input["run_in_background"] = true
		}
	}
	return u
}

// path returns the absolute path of a file in the working folder, as the real client does.
func (a *agent) path(name string) string { return filepath.Join(a.cwd, name) }

// todos returns a task list in Claude Code's format.
func todos(list []string) []any {
	status := map[string]string{"[x] ": "completed", "[>] ": "in_progress", "[ ] ": "pending"}
	var all []any
	for _, entry := range list {
		all = append(all, map[string]any{"content": entry[4:], "activeForm": entry[4:], "status": status[entry[:4]]})
	}
	return all
}

// announce writes the calls of one answer into the transcript, and reports them to the hooks.
func (a *agent) announce(uses ...use) error {
	var parts []map[string]any
	for _, u := range uses {
		parts = append(parts, map[string]any{"type": "tool_use", "id": u.id, "name": u.tool, "input": u.input})
	}
	if err := a.talk.assistant(parts...); err != nil {
		return err
	}
	for _, u := range uses {
		if _, err := a.tell("PreToolUse", u.fields()); err != nil {
			return err
		}
	}
	return nil
}

// The texts that Claude Code's model gets for a call that was not allowed.
const (
	refusedText = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
	deniedText  = "Permission to use this tool has been denied: "
)

// refuse ends a call that a person or a policy does not allow. A person's refusal is not reported to hooks.
func (a *agent) refuse(e event, u use) error {
	if e.Denied != "" {
		fields := u.fields()
		fields["reason"] = e.Denied
		if _, err := a.tell("PermissionDenied", fields); err != nil {
			return err
		}
		return a.talk.result(u.id, deniedText+e.Denied, true)
	}
	if _, err := a.tell("PermissionRequest", map[string]any{"tool_name": u.tool, "tool_input": u.input, "permission_suggestions": []any{}}); err != nil {
		return err
	}
	return a.talk.result(u.id, refusedText+e.Refused, true)
}

// carryOut runs the tool of a call, and reports its outcome.
func (a *agent) carryOut(e event, u use) error {
	if e.Dies == diesBefore {
		return a.die()
	}
	out, failure, err := a.tool(e)
	if err != nil {
		return err
	}
	if e.Dies == diesAfter {
		return a.die()
	}
	return a.report(u, out, failure)
}

// report reports an outcome to the hooks and writes it into the transcript.
func (a *agent) report(u use, out, failure string) error {
	fields := u.fields()
	name, result := "PostToolUse", out
	if failure != "" {
		name, result = "PostToolUseFailure", failure+"\n"+out
		fields["error"], fields["is_interrupt"] = strings.TrimSpace(result), false
	} else {
		fields["tool_response"] = response(u, out)
	}
	if _, err := a.tell(name, fields); err != nil {
		return err
	}
	return a.talk.result(u.id, strings.TrimSpace(result), failure != "")
}

// response is the result of a call as hooks get it.
func response(u use, out string) any {
	switch u.tool {
	case "Bash":
		r := map[string]any{"stdout": out, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false}
		if u.input["run_in_background"] == true {
			r["backgroundTaskId"] = "b" + u.id[len(u.id)-3:]
		}
		return r
	case "Write", "Edit":
		return map[string]any{"filePath": u.input["file_path"], "type": "update"}
	}
	return map[string]any{"content": []any{textPart(out)}}
}

// tool runs the tool of a call. A failure is the text that the client would send to the model.
func (a *agent) tool(e event) (out, failure string, err error) {
	switch {
	case e.Write != nil:
		path := a.path(e.Write.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", "", err
		}
		return "File created successfully at: " + path, "", os.WriteFile(path, []byte(e.Write.Content), 0o644)
	case e.Edit != nil:
		return a.edit(e.Edit)
	case e.Agent != nil:
		return "The sub-agent reports: ready.", "", a.delegate(e.Agent)
	case len(e.Todo) > 0:
		return "Todos have been modified successfully.", "", nil
	}
	return a.shell(e)
}

func (a *agent) edit(e *edit) (out, failure string, err error) {
	path := a.path(e.Path)
	data, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	if !strings.Contains(string(data), e.Old) {
		return "", "String to replace not found in file.", nil
	}
	changed := strings.Replace(string(data), e.Old, e.New, 1)
	return "The file " + path + " has been updated successfully.", "", os.WriteFile(path, []byte(changed), 0o644)
}

// delegate runs a sub-agent.
func (a *agent) delegate(h *helper) error {
	parent := a.talk
	id := "a" + newID()[:8]
	folder := strings.TrimSuffix(parent.path, ".jsonl")
	a.sub, a.talk = id, &transcript{path: filepath.Join(folder, "subagents", "agent-"+id+".jsonl"), session: a.ID, cwd: a.cwd, sub: id}
	defer func() { a.sub, a.talk = "", parent }()
	if _, err := a.tell("SubagentStart", nil); err != nil {
		return err
	}
	if err := a.talk.user(h.Prompt); err != nil {
		return err
	}
	if err := a.all(h.Does); err != nil {
		return err
	}
	_, err := a.tell("SubagentStop", map[string]any{"stop_hook_active": false, "agent_transcript_path": a.talk.path, "last_assistant_message": "ready"})
	return err
}

// shell runs a command in a process group of its own, as the real client does.
func (a *agent) shell(e event) (out, failure string, err error) {
	cmd := exec.Command("bash", "-c", "eval "+quoteWord(e.Shell)+" < /dev/null")
	cmd.Dir, cmd.Env = a.cwd, append(a.Environ, "CLAUDECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, 100*time.Millisecond
	if e.Background || e.Dies == diesDuring {
		cmd.Stdout, cmd.Stderr = nil, nil // it may outlive us
	}
	if err := cmd.Start(); err != nil {
		return "", "", err
	}
	if err := noteGroup(a.Half, cmd.Process.Pid); err != nil {
		return "", "", err
	}
	switch {
	case e.Background:
		return "Command running in background with ID: b1.", "", nil
	case e.Dies == diesDuring:
		return "", "", a.dieIn(cmd, e.Survives)
	}
	failure, err = exitOf(cmd.Wait())
	if out = said.String(); out == "" && failure == "" {
		out = "(Bash completed with no output)"
	}
	return out, failure, err
}

// exitOf returns how a command failed, in the real client's wording.
func exitOf(err error) (failure string, other error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Sprintf("Exit code %d", exit.ExitCode()), nil
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return "", nil // a process that it left holds its output
	}
	return "", err
}

// dieIn waits until a command is halfway, and dies; with the command, unless that survives.
func (a *agent) dieIn(cmd *exec.Cmd, survives bool) error {
	if err := awaitFile(a.ctx, a.Half); err != nil {
		return fmt.Errorf("the command did not reach halfway: %w", err)
	}
	if !survives {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
			return err
		}
		_ = cmd.Wait()
	}
	return a.die()
}

// quoteWord makes a text one word of the shell.
func quoteWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// awaitFile waits until a file exists.
func awaitFile(ctx context.Context, path string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// noteGroup appends the number of a process group to the file next to half, so that the bench can end leftover processes.
func noteGroup(half string, pid int) error {
	file, err := os.OpenFile(filepath.Join(filepath.Dir(half), "groups"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, pid)
	return err
}
