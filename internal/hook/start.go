package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/agents"
	"pawl/internal/brief"
	"pawl/internal/caller"
	"pawl/internal/discover"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessions"
	"pawl/internal/supervise/process"
)

// start journals the start of a session and returns its brief.
func (c *call) start(ctx context.Context) ([]byte, error) {
	if c.event.Source != "compact" {
		c.cache.Run = "" // a resumed session may belong to another run now
	}
	run, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	began := c.began()
	w, err := sessions.BeginSession(ctx, c.project, run, began, c.briefing())
	if err != nil {
		return nil, err
	}
	c.cache.Process = began.Process
	c.recordProcess(began)
	if c.event.Sub != "" {
		c.saveCache()
		return nil, nil // a subagent gets its instructions from its parent
	}
	c.cache.Others, c.cache.Untold = w.Runs, c.dialect.TellsLate(c.event.Source)
	c.saveCache()
	err = c.notify(w.Others)
	if c.event.Source != "compact" { // PreCompact has requested one
		err = errors.Join(err, c.requestCheckpoint(pawl.CheckpointTool, "start of a "+c.dialect.Name+" session"))
	}
	if c.cache.Untold {
		return nil, err
	}
	c.welcome = &w
	return c.dialect.Add(c.event, c.importNotice(ctx)+concurrentNotice(w.Others)+c.briefOf(w)), err
}

// briefOf returns the brief for the start of a session; "" if the prompt of its step has it.
func (c *call) briefOf(w sessions.Welcome) string {
	continued := c.event.Source == "compact" || c.event.Source == "clear" || c.event.Source == "resume"
	if c.attempt() != nil && !continued && variable(c.Environ, agents.BriefedVar) != "" {
		return ""
	}
	return w.Brief
}

func (c *call) briefing() sessions.Briefing {
	return sessions.Briefing{
		Options: brief.Options{For: brief.Audience(c.dialect.Name), Redact: c.redact.Text}, Attempt: c.attempt(), Snapshots: c.snapshots(),
	}
}

// prompt journals a prompt, and returns the brief and notices that the session has not got yet.
func (c *call) prompt(ctx context.Context) ([]byte, error) {
	text := ""
	if c.cache.Untold {
		run, err := c.run(ctx)
		if err != nil {
			return nil, err
		}
		w, err := sessions.TellSession(ctx, c.project, run, c.began(), c.briefing())
		if err != nil {
			return nil, err
		}
		text, c.welcome, c.cache.Untold = c.importNotice(ctx)+w.Brief, &w, false
		c.saveCache()
	}
	err := c.add(ctx, c.prompted())
	if text = c.takeNotices(ctx) + text; text == "" {
		return nil, err
	}
	return c.dialect.Add(c.event, text), err
}

// began returns the event for the start of the session.
func (c *call) began() pawl.SessionBegan {
	return pawl.SessionBegan{
		Session: c.session, Source: c.clean(c.event.Source), Dir: c.clean(c.event.Dir), Worktree: c.clean(c.project.WorktreeOf(c.event.Dir)), Transcript: c.clean(c.event.Transcript), Model: c.clean(c.event.Model),
		Process: c.process, Step: pawl.StepID(variable(c.Environ, "PAWL_STEP")),
	}
}

// missedStart returns a start event if the journal does not have the agent's process, because the start hook did not run or
// was killed; nil otherwise.
func (c *call) missedStart() *pawl.SessionBegan {
	began := c.began()
	if began.Process == nil || c.cache.Process != nil && *c.cache.Process == *began.Process {
		return nil
	}
	began.Source = ""
	return &began
}

// recordProcess records the agent's process in the user's state folder, so that its commands are not taken for a person's.
func (c *call) recordProcess(began pawl.SessionBegan) {
	if began.Process == nil {
		return
	}
	if err := caller.Record(caller.Session{Process: *began.Process, Agent: began.Session.Agent(), Session: began.Session.Native()}); err != nil {
		c.logError(fmt.Errorf("record the session's process: %w", err))
	}
}

// attempt returns the attempt that the session belongs to; nil if there is none.
func (c *call) attempt() *pawl.AttemptRef {
	inside := runs.StepClientOf(func(name string) string { return variable(c.Environ, name) })
	if inside == nil {
		return nil
	}
	return &inside.Attempt
}

// identify returns the identity of a process; nil if it does not exist.
func identify(pid int) *pawl.Process {
	p, err := process.Identify(pid)
	if err != nil {
		return nil
	}
	return &p
}

// agentPID returns the agent's process: the nearest ancestor of pid, or pid itself, that is not a shell. It returns 0 if there is none, or if
// the agent has died and another program adopted its hook.
func agentPID(pid int) int {
	for range 8 {
		stat, err := process.Of(pid)
		if err != nil || pid <= 1 {
			return 0
		}
		name, _, _ := strings.Cut(process.Command(pid), " ")
		switch name = filepath.Base(name); {
		case caller.SharedParents[name], caller.SharedParents[filepath.Base(process.Program(pid))]:
			return 0
		case !caller.Shells[name]:
			return pid
		}
		pid = stat.Parent
	}
	return 0
}

// importNotice returns a notice about unfinished work of other systems that no run was imported from. It holds no text from their files.
func (c *call) importNotice(ctx context.Context) string {
	if c.event.Source == "compact" || c.event.Source == "resume" || c.attempt() != nil {
		return ""
	}
	return discover.Notice(discover.Unimported(ctx, c.project))
}

// concurrentNotice returns a notice about the other sessions that are alive.
func concurrentNotice(others []pawl.SessionID) string {
	if len(others) == 0 {
		return ""
	}
	var names []string
	for _, id := range others {
		names = append(names, "`"+string(id)+"`")
	}
	are := "another agent session is active in this project: "
	if len(names) > 1 {
		are = "other agent sessions are active in this project: "
	}
	return "pawl: " + are + strings.Join(names, ", ") + ". Agree with the user on who edits which files.\n\n"
}

// notify leaves a notice of this session for each of the others, to be shown at its next prompt.
func (c *call) notify(others []pawl.SessionID) error {
	for _, id := range others {
		if err := disk.MakeFolders(c.project.Sessions()); err != nil {
			return err
		}
		if err := disk.Put(noticePath(c.project, id, c.session), []byte(c.session)); err != nil {
			return err
		}
	}
	return nil
}

// noticePath is the file of a notice for session id about session of.
func noticePath(p *project.Project, id, of pawl.SessionID) string {
	return strings.TrimSuffix(cachePath(p, id), ".json") + ".tell-" + filepath.Base(cachePath(p, of))
}

// takeNotices removes the session's notices and returns the text about those sessions that are alive; "" for none.
func (c *call) takeNotices(ctx context.Context) string {
	if !c.dialect.Adds(c.event.Kind) {
		return ""
	}
	paths, err := disk.Glob(c.project.Sessions(), strings.TrimSuffix(filepath.Base(cachePath(c.project, c.session)), ".json")+".tell-*.json")
	if err != nil || len(paths) == 0 {
		return ""
	}
	var others []pawl.SessionID
	for _, path := range paths {
		data, err := disk.ReadFile(path, disk.RecordLimit)
		if err == nil && len(data) > 0 {
			others = append(others, pawl.SessionID(data))
		}
		if err := disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.logError(err)
		}
	}
	alive, err := sessions.Alive(ctx, c.project, c.cache.Run, others)
	if err != nil {
		c.logError(err)
	}
	return concurrentNotice(alive)
}
