// Package enginetest runs whole plans inside a package's tests: a project in a temporary folder, the journal in files,
// and steps that are real processes under real supervisors. Nothing of pawl is mocked.
//
// A package that uses it calls Main from its TestMain: its test binary is also the supervisor of each attempt, and an
// engine that can be killed at a chosen event.
package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/executor/agent"
	kernelstep "pawl/internal/executor/kernel"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// Project is a project in a temporary folder. When its test ends, its attempts are ended, and its journals are checked.
type Project struct {
	testing.TB
	*project.Project
	Config engine.Config // of each engine that is opened
	Run    pawl.RunID    // the newest run
	Reject bool          // whether the journal may hold events that the state rejects
}

// New makes a project.
func New(t testing.TB) *Project {
	t.Helper()
	found, err := project.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &Project{TB: t, Project: found, Config: configOf(found)}
	t.Cleanup(p.finish)
	return p
}

func configOf(p *project.Project) engine.Config {
	return engine.Config{Project: p, Executors: []engine.Executor{agent.Executor{}, kernelstep.Executor{}}, Parallel: 4}
}

// Check fails the test if an error is not nil.
func (p *Project) Check(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// Path returns the path of a file in the project.
func (p *Project) Path(name string) string { return filepath.Join(p.Root, filepath.FromSlash(name)) }

// Write writes a file in the project.
func (p *Project) Write(name, text string) {
	p.Helper()
	p.Check(os.MkdirAll(filepath.Dir(p.Path(name)), 0o700))
	p.Check(os.WriteFile(p.Path(name), []byte(text), 0o600))
}

// Text returns what is in a file of the project; empty where there is none.
func (p *Project) Text(name string) string {
	data, err := os.ReadFile(p.Path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.Error(err)
	}
	return string(data)
}

// Exists reports whether there is a file of that name in the project.
func (p *Project) Exists(name string) bool {
	_, err := os.Lstat(p.Path(name))
	return err == nil
}

// WantText fails the test if a file does not have a text.
func (p *Project) WantText(name, want string) {
	p.Helper()
	if got := p.Text(name); got != want {
		p.Errorf("%s: %q, want %q", name, got, want)
	}
}

// Create creates a run of a plan, which it writes to plan.yaml.
func (p *Project) Create(plan string) pawl.RunID {
	p.Helper()
	run, err := runs.Create(p.Context(), p.Project, p.newRun(plan))
	p.Check(err)
	p.Run = run
	return run
}

func (p *Project) newRun(text string) runs.CreateOptions {
	p.Helper()
	p.Write("plan.yaml", text)
	plan, err := planfile.Read("plan.yaml", []byte(text))
	p.Check(err)
	return runs.CreateOptions{Kind: pawl.PlanRun, Plan: plan, Data: []byte(text), Source: p.Path("plan.yaml"), Version: "test"}
}

// Start creates a run of a plan and runs it in the background.
func (p *Project) Start(plan string) *Engine {
	p.Helper()
	opened, err := engine.OpenNew(p.Context(), p.Config, p.newRun(plan))
	p.Check(err)
	p.Run = opened.State().Run
	return p.carryOn(opened)
}

// Resume continues the run in the background, as `pawl resume --yes` does.
func (p *Project) Resume() *Engine {
	p.Helper()
	opened, err := open(p.Context(), p.Config, p.Run)
	p.Check(err)
	return p.carryOn(opened)
}

// Do creates a run of a plan and runs it. It returns why the engine stopped, nil for completed.
func (p *Project) Do(plan string) error {
	p.Helper()
	return p.Start(plan).Wait()
}

// GoOn continues the run. It returns why the engine stopped, nil for completed.
func (p *Project) GoOn() error {
	p.Helper()
	return p.Resume().Wait()
}

// Open opens an engine for a run.
func Open(ctx context.Context, cfg engine.Config, run pawl.RunID) (*engine.Engine, error) {
	r, err := runs.LoadToContinue(ctx, cfg.Project, run)
	if err != nil {
		return nil, err
	}
	e, err := engine.Open(ctx, cfg, r)
	if err != nil {
		return nil, errors.Join(err, r.Log.Close())
	}
	return e, nil
}

// open opens an engine for a run and adopts changes of the plan and its inputs.
func open(ctx context.Context, cfg engine.Config, run pawl.RunID) (*engine.Engine, error) {
	r, err := runs.LoadToContinue(ctx, cfg.Project, run)
	if err != nil {
		return nil, err
	}
	diff, err := resume.DiffPlan(cfg.Project, r, pawl.GivenValues{})
	if err != nil {
		return nil, errors.Join(err, r.Log.Close())
	}
	cfg.Saver = resume.OpenSaver(ctx, cfg.Project, r, diff, cfg.Snapshots)
	found, err := resume.Examine(ctx, cfg.Project, r, diff, cfg.Snapshots, nil, false)
	if err != nil {
		return nil, errors.Join(err, cfg.Saver.Close(), r.Log.Close())
	}
	e, err := engine.Open(ctx, cfg, r)
	if err != nil {
		return nil, errors.Join(err, cfg.Saver.Close(), r.Log.Close())
	}
	e.Examined(found)
	if err := e.Adopt(ctx, diff, pawl.Author{Kind: pawl.ByPerson}); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// State returns the run as its journal says that it stands.
func (p *Project) State() *pawl.State {
	p.Helper()
	s, err := runs.LoadState(p.Context(), p.Project, p.Run)
	p.Check(err)
	return s
}

// Step returns the state of a step; the zero one if it was never started.
func (p *Project) Step(id pawl.StepID) pawl.StepState {
	p.Helper()
	if st := p.State().Steps[id]; st != nil {
		return *st
	}
	return pawl.StepState{}
}

// WantStatus fails the test if steps do not have a status.
func (p *Project) WantStatus(want pawl.StepStatus, steps ...pawl.StepID) {
	p.Helper()
	for _, id := range steps {
		if st := p.Step(id); st.Status != want {
			p.Errorf("step %s is %q, want %q (%s)", id, st.Status, want, st.Why)
		}
	}
}

// WantKind fails the test if an error is not of a kind.
func (p *Project) WantKind(err error, want pawl.Kind, contains ...string) {
	p.Helper()
	if pawl.KindOf(err) != want {
		p.Fatalf("error %v of kind %v, want %v", err, pawl.KindOf(err), want)
	}
	for _, text := range contains {
		if !strings.Contains(err.Error(), text) {
			p.Errorf("error %q says nothing of %q", err, text)
		}
	}
}

// Act has a person do something to the run.
func (p *Project) Act(act runs.Act) {
	p.Helper()
	p.Check(p.Try(act))
}

// Try has a person do something to the run that may be refused.
func (p *Project) Try(act runs.Act) error {
	r, err := runs.Perform(p.Context(), p.Project, p.Run, pawl.Author{Kind: pawl.ByPerson, Name: "ann"}, act)
	if err != nil {
		return err
	}
	return r.Log.Close()
}

// Gate returns the only open gate.
func (p *Project) Gate() pawl.Gate {
	p.Helper()
	open := p.State().OpenGates()
	if len(open) != 1 {
		p.Fatalf("%d open gates, want one; newest events: %v", len(open), p.newest())
	}
	return open[0].Gate
}

// Until waits for a condition and fails the test after a timeout.
func (p *Project) Until(what string, is func() bool) {
	p.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline.C:
			p.Fatalf("timed out waiting for: %s; newest events: %v", what, p.newest())
		}
	}
}

// UntilEvent waits until the journal holds n events of a type.
func (p *Project) UntilEvent(kind pawl.EventType, n int) {
	p.Helper()
	p.Until(fmt.Sprintf("%d times %s", n, kind), func() bool { return p.Count(kind) >= n })
}

// Events returns the run's events.
func (p *Project) Events() []pawl.Event {
	p.Helper()
	var all []pawl.Event
	p.Check(history.EachEvent(context.WithoutCancel(p.Context()), p.Project, p.Run, func(e pawl.Event) { all = append(all, e) }))
	return all
}

// Count returns how many events of a type there are.
func (p *Project) Count(kind pawl.EventType) (n int) {
	p.Helper()
	for _, e := range p.Events() {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// Payloads returns what the events of a type say.
func Payloads[T pawl.Payload](p *Project) []T {
	p.Helper()
	var all []T
	for _, e := range p.Events() {
		payload, err := e.Payload()
		p.Check(err)
		if is, ok := payload.(T); ok {
			all = append(all, is)
		}
	}
	return all
}

// Story returns one word an event, such as "step.done:build", or "attempt.started:each/x". With types it leaves out others.
func (p *Project) Story(types ...pawl.EventType) []string {
	p.Helper()
	var words []string
	for _, e := range p.Events() {
		if len(types) > 0 && !slices.Contains(types, e.Type) {
			continue
		}
		var about pawl.AttemptRef
		_ = json.Unmarshal(e.Data, &about) // an event that is about no step has no such keys
		word := string(e.Type)
		if name := about.Name(); name != "" {
			word += ":" + name
		}
		words = append(words, word)
	}
	return words
}

// newest returns the end of the story.
func (p *Project) newest() []string {
	story := p.Story()
	return story[max(0, len(story)-20):]
}

// WantStory fails the test if the story of these types is another.
func (p *Project) WantStory(want string, types ...pawl.EventType) {
	p.Helper()
	if got := strings.Join(p.Story(types...), " "); got != want {
		p.Errorf("story\n%s\nwant\n%s", got, want)
	}
}

// finish ends running attempts and checks the journals.
func (p *Project) finish() {
	ctx := context.WithoutCancel(p.Context())
	ids, err := runs.List(p.Project)
	if err != nil {
		p.Error(err)
	}
	for _, run := range ids {
		state, err := runs.LoadState(ctx, p.Project, run)
		switch {
		case errors.Is(err, journal.ErrEmpty), pawl.KindOf(err) == pawl.KindDamaged:
			continue
		case err != nil:
			p.Error(err)
			continue
		}
		if !p.Reject && state.RejectedCount > 0 {
			p.Errorf("run %s has %d rejected events: %+v", run, state.RejectedCount, state.RejectedEvents)
		}
		for _, live := range state.Live() {
			p.end(ctx, p.AttemptDir(live.AttemptRef, run))
		}
	}
}

// end ends an attempt.
func (p *Project) end(ctx context.Context, dir string) {
	if err := supervise.RequestAbort(dir, pawl.Abort{Reason: pawl.ReasonAbort, Why: "the test is over"}); err != nil {
		p.Error(err)
	}
	if err := supervise.Attach(dir).Wait(ctx); err != nil {
		p.Error(err)
	}
	if _, _, err := supervise.Sweep(dir, ""); err != nil {
		p.Error(err)
	}
}
