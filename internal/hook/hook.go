// Package hook is what agents call at each thing that happens to them: it journals what they are about to do and what came
// of it, tells a session what it has to know, and never gets in an agent's way.
//
// Whatever goes wrong with us, the agent gets an answer that its parser takes, in time, and exit code 0; one line in
// .pawl/hook.log says what it was. Where no project is, nothing is done.
package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/agents"
	"pawl/internal/engine"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
)

const (
	// Verb is the command by which agents call a hook, and KeeperVerb that of the process that takes checkpoints for them.
	Verb       = "hook"
	KeeperVerb = "hook-keeper"

	maxPayload = 32 << 20 // bytes; what is longer is not read
)

// Config is what hooks are told by main.
type Config struct {
	Environ   []string
	Version   string
	Snapshots func(*project.Project) (engine.Snapshots, error) // as the project's settings say
}

// limits are how long an agent waits for us, at most, by what happened.
var limits = map[agents.Kind]time.Duration{agents.Start: 8 * time.Second, agents.Stop: 50 * time.Second}

const usualLimit = 2 * time.Second

// Run answers one call: the payload comes from in, the answer goes to out.
func Run(ctx context.Context, agent string, in io.Reader, out io.Writer, cfg Config) {
	d, err := agents.Find(agent)
	if err != nil {
		note(here(cfg.Environ), err)
		return
	}
	c := &call{Config: cfg, dialect: d, redact: redact.New(cfg.Environ)}
	answer := c.answer(ctx, in)
	if _, err := out.Write(answer); err != nil {
		note(c.project, fmt.Errorf("answer: %w", err))
	}
}

// call is one call of a hook.
type call struct {
	Config
	dialect *agents.Dialect
	redact  *redact.Redactor
	event   agents.Event
	project *project.Project // nil: there is none
	session pawl.SessionID
	kept    *kept // what is kept of the session

	stranger bool // the session's run has not heard of it
}

// answer returns what is printed. Where the work takes too long, or panics, that is nothing.
func (c *call) answer(ctx context.Context, in io.Reader) []byte {
	if err := c.read(in); err != nil {
		note(c.project, err)
		return c.dialect.Nothing()
	}
	if c.project == nil || c.event.Kind == agents.Other {
		return c.dialect.Nothing()
	}
	limit := limits[c.event.Kind]
	if limit == 0 {
		limit = usualLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		answer []byte
		err    error
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
		r.answer, r.err = c.hear(ctx)
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done(): // a lock that is not given back, a disk that hangs
		r.err = fmt.Errorf("%s took longer than %s", c.event.Name, limit)
	}
	if r.err != nil {
		note(c.project, fmt.Errorf("%s: %w", c.event.Name, r.err))
	}
	if r.answer == nil {
		return c.dialect.Nothing()
	}
	return r.answer
}

// read takes the payload in and finds the project that it is about.
func (c *call) read(in io.Reader) error {
	c.project = here(c.Environ)
	data, err := io.ReadAll(io.LimitReader(in, maxPayload+1))
	if err != nil {
		return fmt.Errorf("read the payload: %w", err)
	}
	if len(data) > maxPayload {
		_, _ = io.Copy(io.Discard, in) // an agent that writes on would be killed by a closed pipe
		return fmt.Errorf("a payload of more than %d bytes", maxPayload)
	}
	if c.event, err = c.dialect.Parse(data); err != nil {
		return err
	}
	c.session = pawl.SessionIDOf(c.dialect.Name, c.event.Session, c.event.Sub)
	c.project = c.place()
	return nil
}

// place returns the project that a session belongs to; nil: none. An agent may go elsewhere in between, so where it was started
// counts more than where it is.
func (c *call) place() *project.Project {
	if variable(c.Environ, "PAWL_PROJECT") != "" {
		return here(c.Environ)
	}
	for _, dir := range []string{variable(c.Environ, strings.ToUpper(c.dialect.Name)+"_PROJECT_DIR"), c.event.Dir} {
		if dir == "" || !filepath.IsAbs(dir) {
			continue
		}
		if p := projectAt(dir); p != nil {
			return p
		}
	}
	return here(c.Environ)
}

// here returns the project that the environment names, or that the process stands in; nil: there is none.
func here(environ []string) *project.Project {
	if root := variable(environ, "PAWL_PROJECT"); root != "" {
		return projectAt(root)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	return projectAt(dir)
}

// projectAt returns the project that a folder lies in, which may be gone.
func projectAt(dir string) *project.Project {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	p, err := project.Find(dir)
	if err != nil {
		return nil // without a project there is nothing to do, and a damaged one is seen by every other command
	}
	return p
}

func variable(environ []string, name string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// by is the author of what hooks journal.
func (c *call) by() pawl.Author {
	return pawl.Author{Kind: pawl.ByHook, Name: c.dialect.Name, Session: c.event.Session}
}

// run returns the run that the session belongs to, until that has ended. It is looked for once, and kept. A run that has not
// heard of the session is to be told of it first.
func (c *call) run(ctx context.Context) (pawl.RunID, error) {
	if run := pawl.RunID(variable(c.Environ, "PAWL_RUN")); run != "" {
		c.kept.Run = run
		return run, nil
	}
	if c.kept.Run != "" && !c.over() {
		return c.kept.Run, nil
	}
	run, known, err := engine.RunOfSession(ctx, c.project, c.session, c.Version)
	if err != nil {
		return "", err
	}
	c.kept.Run, c.kept.Looked, c.stranger = run, c.lookedAt(run), !known
	return run, c.kept.save(c.project)
}

// add journals events. A run that is gone, set aside perhaps, is looked for anew.
func (c *call) add(ctx context.Context, payloads ...pawl.Payload) error {
	if len(payloads) == 0 {
		return nil
	}
	err := c.addOnce(ctx, payloads)
	if errors.Is(err, pawl.ErrNoRun) && c.kept.Run != "" {
		c.kept.Run = ""
		err = c.addOnce(ctx, payloads)
	}
	return err
}

func (c *call) addOnce(ctx context.Context, payloads []pawl.Payload) error {
	run, err := c.run(ctx)
	if err != nil {
		return err
	}
	if c.stranger {
		payloads = append([]pawl.Payload{c.began()}, payloads...)
	}
	events, err := c.events(payloads...)
	if err != nil {
		return err
	}
	if err = journal.Add(ctx, c.project.Runs(), run, events...); err == nil {
		c.stranger = false
	}
	return err
}

func (c *call) events(payloads ...pawl.Payload) ([]pawl.Event, error) {
	events := make([]pawl.Event, len(payloads))
	for i, payload := range payloads {
		var err error
		if events[i], err = pawl.NewEvent(c.by(), payload); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// nearEnd is how much of a journal's end is looked at for its run's end although the run was just seen to go on: it may
// have ended meanwhile.
const nearEnd = 16 << 10

// lookedAt returns up to where a run's journal need not be looked at any more for the run's end.
func (c *call) lookedAt(run pawl.RunID) int64 {
	info, err := os.Stat(filepath.Join(c.project.RunDir(run), journal.FileName))
	if err != nil {
		return 0
	}
	return max(0, info.Size()-nearEnd)
}

// farBehind is how much of a journal is looked at each time before it is kept that it was.
const farBehind = 256 << 10

// over reports whether the session's run has ended since it was looked for.
func (c *call) over() bool {
	ended, end, err := journal.Ended(c.project.Runs(), c.kept.Run, c.kept.Looked)
	if err == nil && !ended && end-c.kept.Looked > farBehind {
		c.kept.Looked = end
		_ = c.kept.save(c.project) // else it is looked at once more
	}
	return ended
}
