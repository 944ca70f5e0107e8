package hook

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessions"
	"pawl/internal/supervise/process"
)

// start journals that a session began, and tells it what it has to know.
func (c *call) start(ctx context.Context) ([]byte, error) {
	if c.event.Source != "compact" {
		c.kept.Run = "" // a session that goes on may belong elsewhere by now
	}
	run, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	began := c.began()
	w, err := sessions.BeginSession(ctx, c.project, run, began, sessions.Briefing{
		Options: brief.Options{For: brief.Audience(c.dialect.Name), Redact: c.redact.Text}, Attempt: c.attempt(), Snapshots: c.snapshots(),
	})
	if err != nil {
		return nil, err
	}
	c.kept.Process = began.Process
	if c.event.Sub != "" {
		c.keep()
		return nil, nil // a subagent's parent tells it what to do
	}
	c.kept.Others = w.Runs
	c.keep()
	err = c.warn(w.Others)
	if c.event.Source != "compact" { // there was one before it
		err = errors.Join(err, c.want(pawl.CheckpointTool, "a session of "+c.dialect.Name+" began"))
	}
	c.welcome = &w
	return c.dialect.Add(c.event, besides(w.Others)+w.Brief), err
}

// began says that the session begins.
func (c *call) began() pawl.SessionBegan {
	return pawl.SessionBegan{
		Session: c.session, Source: c.words(c.event.Source), Dir: c.words(c.event.Dir), Transcript: c.words(c.event.Transcript), Model: c.words(c.event.Model),
		Process: agentProcess(os.Getppid()), Step: pawl.StepID(variable(c.Environ, "PAWL_STEP")),
	}
}

// unheard says that the session is there, where the journal does not know of this process of its agent: the hook of its
// start was not heard, or was cut off. nil: it does.
func (c *call) unheard() *pawl.SessionBegan {
	began := c.began()
	if began.Process == nil || c.kept.Process != nil && *c.kept.Process == *began.Process {
		return nil
	}
	began.Source = ""
	return &began
}

// attempt returns the attempt that the session works for; nil: it works for none.
func (c *call) attempt() *pawl.AttemptRef {
	inside := runs.StepClientOf(func(name string) string { return variable(c.Environ, name) })
	if inside == nil {
		return nil
	}
	return &inside.Attempt
}

// shells are programs that only stand between an agent and us.
var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "env": true, "pawl": true}

// agentProcess returns the process that called us; nil: it cannot be told.
func agentProcess(pid int) *pawl.Process {
	p, err := process.Identify(agentPID(pid))
	if err != nil {
		return nil
	}
	return &p
}

// agentPID returns the nearest process from one upwards that is no shell, 0 where there is none.
func agentPID(pid int) int {
	for range 8 {
		stat, err := process.Of(pid)
		if err != nil || pid <= 1 {
			return 0
		}
		name, _, _ := strings.Cut(process.Command(pid), " ")
		if !shells[filepath.Base(name)] {
			return pid
		}
		pid = stat.Parent
	}
	return 0
}

// agentEnviron returns the environment that the agent was started with.
func agentEnviron(pid int) []string {
	if pid = agentPID(pid); pid == 0 {
		return nil
	}
	return process.Environ(pid)
}

// besides says which other sessions live.
func besides(others []pawl.SessionID) string {
	if len(others) == 0 {
		return ""
	}
	var names []string
	for _, id := range others {
		names = append(names, "`"+string(id)+"`")
	}
	return fmt.Sprintf("pawl: you are not alone: %s works on the same files at this moment. Agree with the person on who changes what.\n\n", strings.Join(names, ", "))
}

// warn has the others told of this session, each at its next prompt.
func (c *call) warn(others []pawl.SessionID) error {
	for _, id := range others {
		if err := disk.MakeFolders(c.project.Sessions()); err != nil {
			return err
		}
		if err := disk.Put(tellPath(c.project, id, c.session), []byte(c.session)); err != nil {
			return err
		}
	}
	return nil
}

// tellPath is a file that says that a session is to be told of another one.
func tellPath(p *project.Project, id, of pawl.SessionID) string {
	return strings.TrimSuffix(keptPath(p, id), ".json") + ".tell-" + filepath.Base(keptPath(p, of))
}

// tellOthers returns what tells the session of those that began beside it; nil where none did.
func (c *call) tellOthers() []byte {
	if !c.dialect.Tells(c.event.Kind) {
		return nil
	}
	paths, err := filepath.Glob(strings.TrimSuffix(keptPath(c.project, c.session), ".json") + ".tell-*.json")
	if err != nil {
		return nil
	}
	var others []pawl.SessionID
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err == nil && len(data) > 0 {
			others = append(others, pawl.SessionID(data))
		}
		if err := disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.note(err)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return c.dialect.Add(c.event, besides(others))
}
