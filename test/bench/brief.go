package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/config"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/sessions"
)

// briefs is the row "brief": how long it takes to check and write a brief, and how long that is, by the length of the run.
func (b *bench) briefs() ([]line, error) {
	var lines []line
	for _, events := range []int{10, 1000, 100_000} {
		p, run, err := b.briefedRun(events)
		if err != nil {
			return nil, err
		}
		var told brief.Brief
		make := func() error {
			told, err = sessions.Brief(b, p, run, sessions.Briefing{Options: brief.Options{For: brief.Claude}})
			return err
		}
		rounds := b.full(21, 3)
		inside, err := inTurns(rounds, 1, afresh(make), afresh(func() error { return openRun(b, p, run) }))
		if err != nil {
			return nil, err
		}
		whole, err := inTurns(rounds, 1, timed(func() error {
			return quiet(exec.Command(b.pawl, "-C", p.Root, "brief", "--for", "claude"))
		}), timed(func() error { return quiet(exec.Command(b.pawl, "-C", p.Root, "status")) }))
		if err != nil {
			return nil, err
		}
		if len(told.Doubts) > 0 || len(told.Findings) > 0 || strings.Contains(told.Text, "not checked:") {
			return nil, fmt.Errorf("the run of %d events is not as it was left:\n%s", events, told.Text)
		}
		process := timed(func() error { return quiet(exec.Command(b.pawl, "-C", p.Root, "brief", "--for", "claude")) })
		if err := b.settle(process); err != nil {
			return nil, err
		}
		nothing, err := inTurns(rounds, 1, process, b.startNothing)
		if err != nil {
			return nil, err
		}
		after, err := inTurns(rounds, 1, func() (time.Duration, error) {
			if err := b.decide(p, run); err != nil {
				return 0, err
			}
			return process()
		}, b.startNothing)
		if err != nil {
			return nil, err
		}
		cut := map[bool]string{true: "cut", false: "whole"}[told.Cut]
		lines = append(lines,
			inside.line(fmt.Sprintf("brief of a run of %d events: %d bytes, %s", events, len(told.Text), cut), "opening that run", goal{}),
			whole.line("the same by `pawl brief`, whole process", "`pawl status` of that run", goal{}),
			nothing.line("the same by `pawl brief`, whole process", "a do-nothing Go program", goal{ratio: 12}),
			after.line("the same, each after a new event", "a do-nothing Go program", goal{}))
	}
	return lines, nil
}

// decide adds an event to a run, and waits until its journal may be remembered.
func (b *bench) decide(p *project.Project, run pawl.RunID) error {
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		return err
	}
	e, err := event(pawl.DecisionMade{Decision: pawl.Decision{Choice: "on"}})
	if err == nil {
		_, err = log.Append(b, 0, e)
	}
	time.Sleep(50 * time.Millisecond)
	return errors.Join(err, log.Close())
}

func openRun(b *bench, p *project.Project, run pawl.RunID) error {
	r, err := runs.Load(b, p, run)
	if err != nil {
		return err
	}
	return r.Log.Close()
}

// briefedRun makes a run that was left in the middle of a work list, with the files of what is finished, and a checkpoint
// of them. A hundredth of its events are steps, a twentieth finished items, the rest progress.
func (b *bench) briefedRun(events int) (*project.Project, pawl.RunID, error) {
	p, err := b.project(fmt.Sprint("brief-", events))
	if err != nil {
		return nil, "", err
	}
	steps, items := max(1, events/100), events/10
	var text strings.Builder
	text.WriteString("version: 1\nname: brief\ngoal: Something that takes long\nsteps:\n")
	for i := range steps {
		fmt.Fprintf(&text, "  - {id: step-%d, run: \":\", outputs: [out/step-%d.txt]}\n", i, i)
	}
	text.WriteString("  - {id: list, run: \":\", foreach: {lines: list.txt}, outputs: [items/$PAWL_ITEM.txt]}\n  - {id: last, run: \":\"}\n")
	plan, err := planfile.Read("plan.yaml", []byte(text.String()))
	if err != nil {
		return nil, "", err
	}
	run, err := runs.Create(b, p, runs.CreateOptions{Kind: pawl.PlanRun, Plan: plan, Data: []byte(text.String())})
	if err != nil {
		return nil, "", err
	}
	said, err := briefedEvents(p.Root, steps, items, events)
	if err != nil {
		return nil, "", err
	}
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		return nil, "", err
	}
	if err := errors.Join(b.append(p, log, said), log.Close()); err != nil {
		return nil, "", err
	}
	_, err = history.SaveNow(b, p, run, config.Snapshots{}, pawl.Author{Kind: pawl.ByPerson}, "for the measurement")
	return p, run, err
}

// append appends the events and caches the state behind them.
func (b *bench) append(p *project.Project, log *journal.Log, said []pawl.Payload) error {
	list := make([]pawl.Event, len(said))
	for i, p := range said {
		var err error
		if list[i], err = event(p); err != nil {
			return err
		}
	}
	if _, err := log.Append(b, 1, list...); err != nil {
		return err
	}
	state, err := log.State(b)
	if err != nil {
		return err
	}
	if state.RejectedCount > 0 {
		return fmt.Errorf("%d misfits: %+v", state.RejectedCount, state.RejectedEvents)
	}
	return runs.SaveState(p, log, state)
}

// briefedEvents returns what happened, and leaves the files of it.
func briefedEvents(root string, steps, items, events int) ([]pawl.Payload, error) {
	said := []pawl.Payload{pawl.EngineStarted{Epoch: 1, PID: 1, Why: "run"}}
	fixed := 3 + 2 + steps*2 + 1 + items/2*2
	for i := range steps {
		ref := pawl.AttemptRef{Step: pawl.StepID(fmt.Sprint("step-", i)), Attempt: 1, Token: "0123456789abcdef"}
		outputs, err := leave(root, fmt.Sprintf("out/step-%d.txt", i))
		if err != nil {
			return nil, err
		}
		said = append(said, pawl.AttemptStarted{AttemptRef: ref})
		for range max(0, events-fixed) / steps {
			said = append(said, pawl.Progressed{AttemptRef: ref, Text: "a part of what there is to do"})
		}
		said = append(said, pawl.StepDone{Step: ref.Step, Attempt: 1, Token: ref.Token, Outputs: outputs, Summary: "what it came to"})
	}
	values := make([]string, max(1, items))
	for i := range values {
		values[i] = fmt.Sprint("item-", i)
	}
	for from := 0; from < len(values); from += 2000 {
		said = append(said, pawl.StepListed{Step: "list", From: from, Items: values[from:min(from+2000, len(values))]})
	}
	for i, value := range values[:items/2] {
		outputs, err := leave(root, "items/"+value+".txt")
		if err != nil {
			return nil, err
		}
		ref := pawl.AttemptRef{Step: "list", Item: pawl.ItemIDOf(value), Index: i, Attempt: 1, Token: "0123456789abcdef"}
		said = append(said, pawl.AttemptStarted{AttemptRef: ref}, pawl.ItemDone{AttemptRef: ref, Outputs: outputs})
	}
	return append(said, pawl.EngineStopped{Why: "interrupted"}), nil
}

// leave writes an output and returns what is to be recorded of it.
func leave(root, path string) (pawl.Outputs, error) {
	full, data := filepath.Join(root, filepath.FromSlash(path)), []byte(strings.Repeat(path+"\n", 20))
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(full, data, 0o600); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return pawl.Outputs{path: {SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}}, nil
}
