// Package hook answers the calls of agent hooks: it journals the intent and the outcome of tool calls, gives new sessions
// their brief, and never blocks an agent.
//
// Whatever fails in pawl, the agent gets an answer that it can parse, in time, and exit code 0; the error is a line in
// hook.log, in .pawl or, before the project is known and trusted, in the user's state folder. Outside of a project a hook does
// nothing. In an untrusted one it shows the user a message at the start of a session, and does nothing else.
package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/agents"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/sessions"
	"pawl/internal/supervise/process"
	"pawl/internal/userdir"
)

const (
	// Verb is the command that agents call as a hook. KeeperVerb is the command of the process that takes their checkpoints.
	Verb       = "hook"
	KeeperVerb = "hook-keeper"

	maxPayload = 16 << 20 // bytes; longer payloads are rejected
)

// Config is the configuration that main passes to hooks.
type Config struct {
	Environ []string
	Version string
	Parent  int // the process that called the hook. Defaults to the parent process
}

// Time limits of a call.
const (
	readLimit  = 5 * time.Second  // to receive the payload
	usualLimit = 8 * time.Second  // agents wait for 30 s or longer; a loaded machine must not cost a record
	checkLimit = 50 * time.Second // includes running a step's checks
	noteLimit  = time.Second      // to write a line to the log
)

// limit returns the time limit of this call.
func (c *call) limit() time.Duration {
	if c.event.Kind == agents.Stop && c.attempt() != nil {
		return checkLimit
	}
	return usualLimit
}

// Run answers one call: it reads the payload from in and writes the answer to out.
func Run(ctx context.Context, name string, in io.Reader, out io.Writer, cfg Config) {
	d, err := agents.Find(name)
	if err != nil {
		logOutside(ctx, cfg, err)
		return
	}
	agent := agentPID(cmp.Or(cfg.Parent, os.Getppid())) // first of all: the agent may die while its hook runs
	c := &call{Config: cfg, dialect: d, process: identify(agent), redact: redact.New(cfg.Environ)}
	if d.Hides() {
		c.redact = redact.New(append(process.Environ(agent), cfg.Environ...))
	}
	if _, err := out.Write(c.answer(ctx, in)); err != nil {
		logOutside(ctx, cfg, fmt.Errorf("answer: %w", err))
		return
	}
	if err := c.recordWelcome(ctx); err != nil {
		c.logError(err)
	}
}

// call is one call of a hook.
type call struct {
	Config
	dialect *agents.Dialect
	redact  *redact.Redactor
	input
	process *pawl.Process // of the agent; nil if unknown, for example because the agent has died
	session pawl.SessionID
	cache   *sessionCache

	unknown  bool              // the run's journal does not have the session yet
	welcome  *sessions.Welcome // the brief and notices for a new session
	answered bool              // the printed answer came from handle
}

// input is the event of a call and its project; nil if it is outside of any project.
type input struct {
	event   agents.Event
	project *project.Project
	payload []byte // as received
}

// answer returns the text to print. It is the agent's empty answer if the work fails, panics or exceeds its time limit.
func (c *call) answer(ctx context.Context, in io.Reader) []byte {
	received, err := within(ctx, readLimit, func(context.Context) (input, error) { return c.read(in) })
	if _, isLink := errors.AsType[project.LinkError](err); isLink {
		c.input = received
		return c.refuse(ctx, linked)
	}
	if err != nil {
		logOutside(ctx, c.Config, c.redactError(fmt.Errorf("receive %s hook: %w", c.dialect.Name, err)))
		return c.dialect.Empty()
	}
	c.input = received
	if c.project == nil || c.event.Kind == agents.Other {
		return c.dialect.Empty()
	}
	if !c.project.Trust.Trusted() {
		return c.refuse(ctx, untrusted)
	}
	if c.dialect.MixesSubagents() {
		c.event = c.parented(c.event)
		c.noteSubagents()
	}
	c.session = pawl.SessionIDOf(c.dialect.Name, c.event.Session, c.event.Sub)
	answer, err := within(ctx, c.limit(), c.handle)
	if answer, done := c.handOver(ctx, err); done {
		return answer
	}
	if err != nil {
		c.logError(fmt.Errorf("%s: %w", c.event.Name, err))
	}
	if answer == nil {
		return c.dialect.Empty()
	}
	c.answered = true
	return answer
}

// What a session's start shows the user where nothing is recorded. It holds no text from the project.
const (
	untrusted = "pawl: not recording here, this folder's .pawl is not trusted"
	linked    = "pawl: not recording here, this folder's .pawl is a symbolic link, which pawl does not follow"
)

// refuse returns the answer where nothing is recorded. If the agent cannot show the user a message, the message is logged.
func (c *call) refuse(ctx context.Context, why string) []byte {
	if c.event.Kind == agents.Start && !c.dialect.Tells() {
		logOutside(ctx, c.Config, errors.New(why))
	}
	return c.dialect.Tell(c.event, why)
}

// recordWelcome journals that the session got its brief, after the brief is printed.
func (c *call) recordWelcome(ctx context.Context) error {
	if !c.answered || c.welcome == nil {
		return nil
	}
	_, err := within(ctx, usualLimit, func(ctx context.Context) (any, error) {
		return nil, c.welcome.MarkReported(ctx, c.project, c.by(), c.redact.Text)
	})
	return err
}

// within runs do with a time limit. If the limit passes, for example because a lock is held or a disk hangs, it abandons do
// and returns an error; the goroutine ends with the process.
func within[T any](ctx context.Context, limit time.Duration, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{err: fmt.Errorf("panic: %v", p)}
			}
			done <- r
		}()
		r.value, r.err = do(ctx)
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("timed out after %s", limit)
	}
}

// logOutside logs an error that occurred before the project of the call was known: in the log of the project here if that is trusted,
// else in the user's state folder.
func logOutside(ctx context.Context, cfg Config, what error) {
	_, _ = within(ctx, noteLimit, func(context.Context) (any, error) { // there is nowhere else to report it
		if p, err := here(cfg.Environ); err == nil && p != nil && p.Trust.Trusted() {
			appendLog(p.HookLog(), what)
			return nil, nil
		}
		path, err := userdir.State("hook.log")
		if err == nil {
			err = disk.MakeFolders(filepath.Dir(path))
		}
		if err == nil {
			appendLog(path, what)
		}
		return nil, err
	})
}

// read reads the payload as soon as it is complete, and finds its project.
func (c *call) read(in io.Reader) (input, error) {
	var data json.RawMessage
	limited := &io.LimitedReader{R: in, N: maxPayload}
	err := json.NewDecoder(limited).Decode(&data)
	if limited.N == 0 {
		_, _ = io.Copy(io.Discard, in) // a closed pipe would kill an agent that is still writing
		return input{}, fmt.Errorf("payload is larger than %d bytes", maxPayload)
	}
	if err != nil {
		return input{}, fmt.Errorf("read the payload: %w", err)
	}
	event, err := c.dialect.Parse(data)
	if err != nil {
		return input{}, err
	}
	p, err := c.projectOf(event)
	return input{event, p, data}, err
}

// projectOf returns the project of a session; nil if there is none. The folder that the agent was started in takes
// precedence over its working folder, which may change.
func (c *call) projectOf(e agents.Event) (*project.Project, error) {
	if variable(c.Environ, "PAWL_PROJECT") != "" {
		return here(c.Environ)
	}
	for _, dir := range []string{variable(c.Environ, strings.ToUpper(c.dialect.Name)+"_PROJECT_DIR"), e.Dir} {
		if dir == "" || !filepath.IsAbs(dir) {
			continue
		}
		if p, err := c.startedIn(e, dir); p != nil || err != nil {
			return p, err
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil // the folder was removed
	}
	return c.startedIn(e, dir)
}

// startedIn returns the project of a session whose agent is in a folder; nil if there is none.
func (c *call) startedIn(e agents.Event, dir string) (*project.Project, error) {
	p, err := projectAt(dir)
	if link, isLink := errors.AsType[project.LinkError](err); isLink {
		above, _ := projectAt(filepath.Dir(link.Root)) // what cannot be read is not trusted
		if above = c.startedAbove(e, above); above != nil && above.Trust.Trusted() && c.hasSession(e, above) {
			return above, nil
		}
	}
	return c.startedAbove(e, p), err
}

// hasSession reports whether a trusted project has a session.
func (c *call) hasSession(e agents.Event, p *project.Project) bool {
	return readCache(p, pawl.SessionIDOf(c.dialect.Name, e.Session, e.Sub)).Run != ""
}

// startedAbove returns the trusted project above an untrusted one, if the session has started there: a folder that the agent enters
// does not end the recording. Otherwise it returns p.
func (c *call) startedAbove(e agents.Event, p *project.Project) *project.Project {
	for above := p; above != nil; {
		if above.Trust.Trusted() {
			if above == p || c.hasSession(e, above) {
				return above
			}
			return p
		}
		above, _ = projectAt(filepath.Dir(above.Root)) // what cannot be read is not trusted
	}
	return p
}

// here returns the project named in the environment, or else the one of the working folder; nil if there is none.
func here(environ []string) (*project.Project, error) {
	if root := variable(environ, "PAWL_PROJECT"); root != "" {
		return projectAt(root)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil // the folder was removed
	}
	return projectAt(dir)
}

// projectAt returns the project that contains a folder, which may no longer exist, or that of a linked worktree's main worktree; nil if
// there is none.
func projectAt(dir string) (*project.Project, error) {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	p, err := project.FindOrMain(dir)
	if errors.Is(err, pawl.ErrNoProject) {
		return nil, nil
	}
	return p, err
}

func variable(environ []string, name string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// by returns the author of the events that this call journals.
func (c *call) by() pawl.Author {
	return pawl.Author{Kind: pawl.ByHook, Name: c.dialect.Name, Session: c.event.Session}
}

// run returns the run of the session and caches it until the run ends. It sets c.unknown if the run's journal does not have
// the session yet.
func (c *call) run(ctx context.Context) (pawl.RunID, error) {
	if run := pawl.RunID(variable(c.Environ, "PAWL_RUN")); run != "" {
		c.cache.Run = run
		return run, nil
	}
	if c.cache.Run != "" && !c.runEnded() {
		return c.cache.Run, nil
	}
	run, known, err := sessions.RunOfSession(ctx, c.project, c.session, c.Version)
	if err != nil {
		return "", err
	}
	c.cache.Run, c.cache.Looked, c.unknown = run, c.endUnseenBefore(run), !known
	c.saveCache()
	return run, nil
}

// add journals events. If the cached run no longer exists, for example because it was archived, it finds the run again.
func (c *call) add(ctx context.Context, payloads ...pawl.Payload) error {
	if len(payloads) == 0 {
		return nil
	}
	err := c.addOnce(ctx, payloads)
	if errors.Is(err, pawl.ErrNoRun) && c.cache.Run != "" {
		c.cache.Run = ""
		err = c.addOnce(ctx, payloads)
	}
	return err
}

func (c *call) addOnce(ctx context.Context, payloads []pawl.Payload) error {
	run, err := c.run(ctx)
	if err != nil {
		return err
	}
	if c.unknown {
		payloads = append([]pawl.Payload{c.began()}, payloads...)
	}
	events, err := c.events(payloads...)
	if err != nil {
		return err
	}
	if err = journal.Add(ctx, c.project.Runs(), run, events...); err == nil {
		c.unknown = false
	}
	return err
}

func (c *call) events(payloads ...pawl.Payload) ([]pawl.Event, error) {
	events := make([]pawl.Event, len(payloads))
	for i, payload := range payloads {
		var err error
		if events[i], err = c.redact.Event(c.by(), payload); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// nearEnd is the size of the journal's tail, in bytes, that is searched for the end of a run that was just seen unfinished:
// it may have ended since.
const nearEnd = 16 << 10

// endUnseenBefore returns the position in a run's journal before which the run's end need not be searched.
func (c *call) endUnseenBefore(run pawl.RunID) journal.Position {
	at, err := journal.End(c.project.Runs(), run, nearEnd)
	if err != nil {
		return journal.Position{}
	}
	return at
}

// farBehind is the number of journal bytes that are searched again at each call before the cache is updated.
const farBehind = 32 << 10

// runEnded reports whether the cached run has ended since.
func (c *call) runEnded() bool {
	ended, end, err := journal.Ended(c.project.Runs(), c.cache.Run, c.cache.Looked)
	far := end.Segment != c.cache.Looked.Segment || end.Offset-c.cache.Looked.Offset > farBehind
	if err == nil && !ended && far {
		c.cache.Looked = end
		c.saveCache()
	}
	return ended
}
