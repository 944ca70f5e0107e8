// Package hook is what agents call at each thing that happens to them: it journals what they are about to do and what came
// of it, tells a session what it has to know, and never gets in an agent's way.
//
// Whatever goes wrong with us, the agent gets an answer that its parser takes, in time, and exit code 0; one line in
// .pawl/hook.log says what it was. Where no project is, nothing is done.
package hook

import (
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
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/sessions"
)

const (
	// Verb is the command by which agents call a hook, and KeeperVerb that of the process that takes checkpoints for them.
	Verb       = "hook"
	KeeperVerb = "hook-keeper"

	maxPayload = 32 << 20 // bytes; what is longer is not read
)

// Config is what hooks are told by main.
type Config struct {
	Environ []string
	Version string
}

// How long an agent waits for us, at most.
const (
	readLimit  = 5 * time.Second // for the payload to come
	usualLimit = 2 * time.Second
	startLimit = 8 * time.Second  // while what is in doubt is found out
	checkLimit = 50 * time.Second // while a step's checks run
	noteLimit  = time.Second      // for a line in the log
)

// limit returns how long this call may take.
func (c *call) limit() time.Duration {
	switch {
	case c.event.Kind == agents.Start:
		return startLimit
	case c.event.Kind == agents.Stop && c.attempt() != nil:
		return checkLimit
	}
	return usualLimit
}

// Run answers one call: the payload comes from in, the answer goes to out.
func Run(ctx context.Context, agent string, in io.Reader, out io.Writer, cfg Config) {
	d, err := agents.Find(agent)
	if err != nil {
		noteHere(ctx, cfg, err)
		return
	}
	c := &call{Config: cfg, dialect: d, redact: redact.New(cfg.Environ)}
	if d.Hides() {
		c.redact = redact.New(append(agentEnviron(os.Getppid()), cfg.Environ...))
	}
	if _, err := out.Write(c.answer(ctx, in)); err != nil {
		noteHere(ctx, cfg, fmt.Errorf("answer: %w", err))
		return
	}
	if err := c.told(ctx); err != nil {
		c.note(err)
	}
}

// call is one call of a hook.
type call struct {
	Config
	dialect *agents.Dialect
	redact  *redact.Redactor
	said
	session pawl.SessionID
	kept    *kept // what is kept of the session

	stranger bool              // the session's run has not heard of it
	welcome  *sessions.Welcome // what it is told at its beginning
	answered bool              // what is printed is the answer
}

// said is what an agent said, and of what project. No project: nothing is to be done.
type said struct {
	event   agents.Event
	project *project.Project
}

// answer returns what is printed. Where the work fails, panics or takes too long, that is nothing.
func (c *call) answer(ctx context.Context, in io.Reader) []byte {
	heard, err := within(ctx, readLimit, func(context.Context) (said, error) { return c.read(in) })
	if err != nil {
		noteHere(ctx, c.Config, c.clean(fmt.Errorf("hear %s: %w", c.dialect.Name, err)))
		return c.dialect.Nothing()
	}
	c.said = heard
	if c.project == nil || c.event.Kind == agents.Other {
		return c.dialect.Nothing()
	}
	c.session = pawl.SessionIDOf(c.dialect.Name, c.event.Session, c.event.Sub)
	answer, err := within(ctx, c.limit(), c.hear)
	if err != nil {
		c.note(fmt.Errorf("%s: %w", c.event.Name, err))
	}
	if answer == nil {
		return c.dialect.Nothing()
	}
	c.answered = true
	return answer
}

// told journals what the session was told, once that is printed.
func (c *call) told(ctx context.Context) error {
	if !c.answered || c.welcome == nil {
		return nil
	}
	_, err := within(ctx, usualLimit, func(ctx context.Context) (any, error) {
		return nil, c.welcome.MarkReported(ctx, c.project, c.by(), c.redact.Text)
	})
	return err
}

// within returns what a deed returns, unless it takes too long, as it does where a lock is not given back or a disk hangs.
// Then the deed is left to itself, until the process ends.
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
		return none, fmt.Errorf("it took longer than %s", limit)
	}
}

// noteHere notes what went wrong before it was known what project it is about.
func noteHere(ctx context.Context, cfg Config, what error) {
	_, _ = within(ctx, noteLimit, func(context.Context) (any, error) { // nobody else could be told
		p, err := here(cfg.Environ)
		if err != nil {
			p = damagedHere()
		}
		note(p, what)
		return nil, nil
	})
}

// damagedHere returns the project that the process stands in although it cannot be opened, to note things in its log only.
func damagedHere() *project.Project {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if p := (&project.Project{Root: dir}); isFolder(p.Home()) {
			return p
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// read takes the payload in, as soon as it is whole, and finds the project that it is about.
func (c *call) read(in io.Reader) (said, error) {
	var data json.RawMessage
	limited := &io.LimitedReader{R: in, N: maxPayload}
	err := json.NewDecoder(limited).Decode(&data)
	if limited.N == 0 {
		_, _ = io.Copy(io.Discard, in) // an agent that writes on would be killed by a closed pipe
		return said{}, fmt.Errorf("a payload of %d bytes or more", maxPayload)
	}
	if err != nil {
		return said{}, fmt.Errorf("read the payload: %w", err)
	}
	event, err := c.dialect.Parse(data)
	if err != nil {
		return said{}, err
	}
	place, err := c.place(event)
	return said{event, place}, err
}

// place returns the project that a session belongs to; nil: none. An agent may go elsewhere in between, so where it was started
// counts more than where it is.
func (c *call) place(e agents.Event) (*project.Project, error) {
	if variable(c.Environ, "PAWL_PROJECT") != "" {
		return here(c.Environ)
	}
	for _, dir := range []string{variable(c.Environ, strings.ToUpper(c.dialect.Name)+"_PROJECT_DIR"), e.Dir} {
		if dir == "" || !filepath.IsAbs(dir) {
			continue
		}
		if p, err := projectAt(dir); p != nil || err != nil {
			return p, err
		}
	}
	return here(c.Environ)
}

// here returns the project that the environment names, or that the process stands in; nil: there is none.
func here(environ []string) (*project.Project, error) {
	if root := variable(environ, "PAWL_PROJECT"); root != "" {
		return projectAt(root)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil // it is gone
	}
	return projectAt(dir)
}

// projectAt returns the project that a folder lies in, which may be gone; nil: there is none.
func projectAt(dir string) (*project.Project, error) {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	p, err := project.Find(dir)
	if errors.Is(err, pawl.ErrNoProject) {
		return nil, nil // there is nothing to do
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
	run, known, err := sessions.RunOfSession(ctx, c.project, c.session, c.Version)
	if err != nil {
		return "", err
	}
	c.kept.Run, c.kept.Looked, c.stranger = run, c.lookedAt(run), !known
	c.keep()
	return run, nil
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
const farBehind = 32 << 10

// over reports whether the session's run has ended since it was looked for.
func (c *call) over() bool {
	ended, end, err := journal.Ended(c.project.Runs(), c.kept.Run, c.kept.Looked)
	if err == nil && !ended && end-c.kept.Looked > farBehind {
		c.kept.Looked = end
		c.keep()
	}
	return ended
}
