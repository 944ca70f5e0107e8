package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/journal"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// The run of row 5: of its steps, every 50th has a work list; the last step is still to be done.
const (
	openSteps  = 1000
	openEvents = 100_000
	listEvery  = 50
	listItems  = 1000 // of each work list
)

// opening is row 5.
func (b *bench) opening() ([]line, error) {
	p, run, err := b.bigRun("opening")
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(p.RunDir(run), "journal*.jsonl")) // all segments
	if err != nil {
		return nil, err
	}
	read := afresh(func() error { return each(paths, func(path string) error { _, err := os.ReadFile(path); return err }) })
	open := afresh(func() error { return openTo(b, p, run, "last") })
	status := timed(func() error { return exec.Command(b.pawl, "-C", p.Root, "status").Run() })
	if err := b.settle(status); err != nil {
		return nil, err
	}
	rounds := b.full(31, 3)
	m, err := inTurns(rounds, 1, open, read)
	if err != nil {
		return nil, err
	}
	c, err := inTurns(rounds, 1, open, timed(func() error { return each(paths, readThrough) }))
	if err != nil {
		return nil, err
	}
	s, err := inTurns(rounds, 1, status, read)
	if err != nil {
		return nil, err
	}
	n, err := inTurns(rounds, 1, status, b.startNothing)
	if err != nil {
		return nil, err
	}
	if err := b.cacheUpTo(p, run, openEvents-behind); err != nil {
		return nil, err
	}
	k, err := inTurns(rounds, 1, open, read)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(p.RunDir(run), "state.json")); err != nil {
		return nil, err
	}
	u, err := inTurns(rounds, 1, open, read)
	if err != nil {
		return nil, err
	}
	f, err := inTurns(rounds, 1, afresh(func() error { return refold(b, p, run) }), read)
	work := fmt.Sprintf("opening a run of %d events to the first step due", openEvents)
	return []line{
		m.line(work, "reading that file", goal{ratio: 2, limit: 40 * time.Millisecond}),
		k.line(fmt.Sprintf("the same, the cached state %d events behind, as at worst after `kill -9`", behind), "reading that file", goal{}),
		u.line("the same, without the cached state", "reading that file", goal{}),
		f.line("folding all of it again, as a resume does concurrently, or first where there are gates", "reading that file", goal{}),
		c.line("the same, with it", "reading that file through one buffer of 256 KiB", goal{}),
		s.line("`pawl status` of that run, whole process", "reading that file", goal{}),
		n.line("`pawl status` of that run, whole process", "a do-nothing Go program", goal{ratio: 8}),
	}, err
}

// settle has a command remember what it reads, which it does only of files that have not changed for a while.
func (b *bench) settle(command func() (time.Duration, error)) error {
	for range 3 {
		if _, err := command(); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

// afresh is timed, but pays for no garbage of others, as in a process of its own.
func afresh(do func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		runtime.GC()
		return timed(do)()
	}
}

// behind is how many events an engine lets pass before it caches the state again.
const behind = 2000

// cacheUpTo caches the state as it was at an event.
func (b *bench) cacheUpTo(p *project.Project, run pawl.RunID, seq pawl.Seq) error {
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		return err
	}
	state := pawl.NewState()
	for e, err := range log.Events(0) {
		if err != nil {
			return errors.Join(err, log.Close())
		}
		if e.Seq <= seq {
			state.Apply(e)
		}
	}
	return errors.Join(log.SaveState(state), log.Close())
}

// refold folds the whole journal, from all its segments.
func refold(b *bench, p *project.Project, run pawl.RunID) error {
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		return err
	}
	_, wrong, err := log.Refold(b)
	if err == nil && len(wrong) > 0 {
		err = wrong[0]
	}
	return errors.Join(err, log.Close())
}

func each(paths []string, do func(string) error) error {
	for _, path := range paths {
		if err := do(path); err != nil {
			return err
		}
	}
	return nil
}

// readThrough reads a file without keeping it.
func readThrough(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	for {
		if _, err := f.Read(buf); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// openTo opens a run and decides what is due, which must be step.
func openTo(b *bench, p *project.Project, run pawl.RunID, step pawl.StepID) error {
	r, err := runs.LoadToContinue(b, p, run)
	if err != nil {
		return err
	}
	if due := engine.Due(r, time.Now(), 1); len(due) != 1 || due[0] != step {
		err = fmt.Errorf("due is %v, not step %s", due, step)
	}
	return errors.Join(err, r.Log.Close())
}

// bigRun makes a run as an engine leaves it that was asked to stop before the last step.
func (b *bench) bigRun(name string) (*project.Project, pawl.RunID, error) {
	p, err := b.project(name)
	if err != nil {
		return nil, "", err
	}
	data := bigPlan()
	plan, err := planfile.Read("plan.yaml", data)
	if err != nil {
		return nil, "", err
	}
	run, err := runs.Create(b, p, runs.CreateOptions{Kind: pawl.PlanRun, Plan: plan, Data: data})
	if err != nil {
		return nil, "", err
	}
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		return nil, "", err
	}
	err = b.fill(p, log, bigEvents(plan))
	return p, run, errors.Join(err, log.Close())
}

// project makes a project in a folder of its own.
func (b *bench) project(name string) (*project.Project, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	return project.Init(dir)
}

func bigPlan() []byte {
	var text strings.Builder
	text.WriteString("version: 1\nname: big\nsteps:\n")
	for i := range openSteps {
		fmt.Fprintf(&text, "  - id: %s\n    run: \":\"\n", bigStep(i))
		if i%listEvery == 0 {
			text.WriteString("    foreach:\n      lines: list.txt\n")
		}
	}
	return []byte(text.String())
}

func bigStep(i int) pawl.StepID {
	if i == openSteps-1 {
		return "last"
	}
	return pawl.StepID(fmt.Sprintf("step-%d", i))
}

// bigEvents returns what happened to all steps but the last. Events that are left over are progress.
func bigEvents(plan *pawl.Plan) []pawl.Payload {
	const lists = openSteps / listEvery
	const rest = openEvents - 2 - 2 - lists*(2+2*listItems) - (openSteps-lists)*2
	said := []pawl.Payload{pawl.EngineStarted{Epoch: 1, PID: 1, Why: "run"}}
	outputs := pawl.Outputs{"artifacts/part.txt": {SHA256: strings.Repeat("a", 64), Size: 1234}}
	for i := range openSteps - 1 {
		id := bigStep(i)
		key := pawl.Key{Definition: pawl.DefinitionOf(plan, plan.Step(id), "")}
		ref := pawl.AttemptRef{Step: id, Attempt: 1, Token: "0123456789abcdef"}
		if i%listEvery == 0 {
			said = append(said, bigList(ref, key, outputs)...)
			continue
		}
		said = append(said, pawl.AttemptStarted{AttemptRef: ref, Key: key})
		for range rest / (openSteps - lists) {
			done, total := 0.5, 1.0
			said = append(said, pawl.Progressed{AttemptRef: ref, Text: "half of what there is to do", Done: &done, Total: &total})
		}
		said = append(said, pawl.StepDone{Step: id, Attempt: 1, Token: ref.Token, Key: key, Outputs: outputs, Stats: &pawl.AttemptStats{Seconds: 1}})
	}
	for len(said) < openEvents-3 {
		said = append(said, pawl.DecisionMade{Decision: pawl.Decision{Choice: "on"}})
	}
	return append(said, pawl.EngineStopped{Why: "interrupted"})
}

func bigList(ref pawl.AttemptRef, key pawl.Key, outputs pawl.Outputs) []pawl.Payload {
	values := make([]string, listItems)
	for i := range values {
		values[i] = fmt.Sprint("item-", i)
	}
	said := []pawl.Payload{pawl.StepListed{Step: ref.Step, Key: key, Items: values}}
	for i, value := range values {
		ref.Item, ref.Index = pawl.ItemIDOf(value), i
		said = append(said, pawl.AttemptStarted{AttemptRef: ref, Key: key}, pawl.ItemDone{AttemptRef: ref, Key: key, Outputs: outputs})
	}
	return append(said, pawl.StepDone{Step: ref.Step, Key: key, Digest: strings.Repeat("d", 64)})
}

// fill appends the events and caches the state behind them, as an engine does when it leaves.
func (b *bench) fill(p *project.Project, log *journal.Log, said []pawl.Payload) error {
	events := make([]pawl.Event, len(said))
	for i, p := range said {
		var err error
		if events[i], err = event(p); err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(events, 1000) {
		if _, err := log.Append(b, 1, batch...); err != nil {
			return err
		}
	}
	state, err := log.State(b)
	if err != nil {
		return err
	}
	if state.RejectedCount > 0 || state.Seq < openEvents-1 || state.Seq > openEvents {
		return fmt.Errorf("the run has %d events and %d misfits: %+v", state.Seq, state.RejectedCount, state.RejectedEvents)
	}
	return runs.SaveState(p, log, state)
}
