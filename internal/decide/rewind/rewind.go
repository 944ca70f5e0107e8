// Package rewind derives from the events of a run which finished work a rollback undoes, and what is to be done about each piece. It is pure.
package rewind

import (
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/resume"
)

// Rewind folds the journal into what a rollback needs: the work finished after a checkpoint, and the outcome of undoing it.
type Rewind struct {
	to    pawl.Seq // the checkpoint's event
	since pawl.Seq // the snapshot contains everything up to this event

	work     []*Work
	bySeq    map[pawl.Seq]*Work
	Tries    map[string]int         // number of undo attempts by step or item name
	Touched  map[pawl.StepID]bool   // steps with events after the checkpoint
	Relisted map[pawl.StepID]bool   // foreach steps whose item list was journaled after it
	Begun    map[string]pawl.StepID // steps and items that started after it and are not finished, by name
	Asked    map[string]pawl.GateID // newest gate of the unfinished rollback by step or item name, until its undo is tried again

	planned pawl.RunPlanned
	values  map[pawl.StepID][]string
}

// Work is a finished step or item and the state of its undo.
type Work struct {
	pawl.AttemptRef // the attempt that finished it
	Seq             pawl.Seq
	Time            time.Time
	Key             pawl.Key
	Value           string          // the item's value
	Undo            string          // undo command; "" for none
	Planned         pawl.RunPlanned // the plan at that time

	Running    *pawl.UndoStarted // the undo attempt whose end is not journaled
	Last       *pawl.UndoFailed  // how the newest undo attempt failed
	lostInARow int               // undo attempts in a row with unknown outcome
	Resolved   string            // "done" or "skipped"; "" while it is not undone
}

// New returns the fold for a checkpoint: to is its event, and the snapshot contains everything up to the event since.
func New(to, since pawl.Seq) *Rewind {
	return &Rewind{
		to: to, since: since, bySeq: map[pawl.Seq]*Work{}, Tries: map[string]int{}, Touched: map[pawl.StepID]bool{},
		Relisted: map[pawl.StepID]bool{}, Begun: map[string]pawl.StepID{}, Asked: map[string]pawl.GateID{}, values: map[pawl.StepID][]string{},
	}
}

// events are the event types that a Rewind folds.
var events = []pawl.EventType{
	pawl.RunPlanned{}.Event(), pawl.StepListed{}.Event(), pawl.AttemptStarted{}.Event(), pawl.ItemDone{}.Event(),
	pawl.StepDone{}.Event(), pawl.StepFailed{}.Event(), pawl.StepSkipped{}.Event(), pawl.GateOpened{}.Event(),
	pawl.RollbackStarted{}.Event(), pawl.UndoStarted{}.Event(), pawl.UndoDone{}.Event(),
	pawl.UndoFailed{}.Event(), pawl.UndoSkipped{}.Event(),
}

// Apply folds one event.
func (w *Rewind) Apply(event pawl.Event) {
	if !slices.Contains(events, event.Type) {
		return
	}
	payload, err := event.Payload()
	if err != nil {
		return // the fold records it as rejected
	}
	switch p := payload.(type) {
	case pawl.RunPlanned:
		w.planned = p
	case pawl.StepListed:
		w.listed(event, p)
	case pawl.AttemptStarted:
		w.touch(event, p.Step)
		if event.Seq > w.to {
			w.Begun[p.Name()] = p.Step
		}
	case pawl.ItemDone:
		w.finish(event, &Work{AttemptRef: p.AttemptRef, Key: p.Key, Value: w.value(p.AttemptRef)})
	case pawl.StepDone:
		ref := pawl.AttemptRef{Step: p.Step, Attempt: p.Attempt, Token: p.Token}
		w.finish(event, &Work{AttemptRef: ref, Key: p.Key, Undo: p.Undo})
	case pawl.StepFailed:
		w.touch(event, p.Step)
	case pawl.StepSkipped:
		w.touch(event, p.Step)
	case pawl.GateOpened:
		w.touch(event, p.Step)
		if p.Purpose == pawl.ForUndo {
			w.Asked[pawl.AttemptRef{Step: p.Step, Item: p.Item}.Name()] = p.ID
		}
	default:
		w.ApplyUndo(payload)
	}
}

func (w *Rewind) touch(event pawl.Event, step pawl.StepID) {
	if event.Seq > w.to && step != "" {
		w.Touched[step] = true
	}
}

func (w *Rewind) listed(event pawl.Event, p pawl.StepListed) {
	w.touch(event, p.Step)
	if p.From == 0 {
		w.values[p.Step] = nil
		w.Relisted[p.Step] = event.Seq > w.to
	}
	w.values[p.Step] = append(w.values[p.Step], p.Items...)
}

func (w *Rewind) value(ref pawl.AttemptRef) string {
	if values := w.values[ref.Step]; ref.Index >= 0 && ref.Index < len(values) {
		return values[ref.Index]
	}
	return string(ref.Item)
}

// finish records finished work, including work that finished while the snapshot was being taken.
func (w *Rewind) finish(event pawl.Event, f *Work) {
	w.touch(event, f.Step)
	delete(w.Begun, f.Name())
	if event.Seq <= w.since {
		return
	}
	f.Seq, f.Time, f.Planned = event.Seq, event.Time, w.planned
	w.work = append(w.work, f)
	w.bySeq[f.Seq] = f
}

// ApplyUndo folds the events of undo attempts. A failed undo counts only for its own rollback. An undo with unknown
// outcome counts for good.
func (w *Rewind) ApplyUndo(payload pawl.Payload) {
	switch p := payload.(type) {
	case pawl.RollbackStarted:
		clear(w.Asked)
		for _, f := range w.work {
			if f.Last != nil && f.Last.Outcome == pawl.Failed {
				f.Last = nil
			}
		}
	case pawl.UndoStarted:
		w.Tries[p.Name()] = max(w.Tries[p.Name()], p.Attempt)
		delete(w.Asked, p.Name())
		w.update(p.UndoRef, func(f *Work) { f.Running, f.Last = &p, nil })
	case pawl.UndoFailed:
		w.update(p.UndoRef, func(f *Work) { f.failed(p) })
	case pawl.UndoDone:
		w.update(p.UndoRef, func(f *Work) { f.Running, f.Last, f.Resolved = nil, nil, "done" })
		delete(w.Asked, p.Name())
	case pawl.UndoSkipped:
		w.update(p.UndoRef, func(f *Work) { f.Running, f.Last, f.Resolved = nil, nil, "skipped" })
		delete(w.Asked, p.Name())
	}
}

func (w *Rewind) update(ref pawl.UndoRef, note func(*Work)) {
	if f := w.bySeq[ref.Of]; f != nil {
		note(f)
	}
}

func (f *Work) failed(p pawl.UndoFailed) {
	f.Running, f.Last = nil, &p
	if f.lostInARow++; p.Outcome == pawl.Failed {
		f.lostInARow = 0
	}
}

// Due returns the work to undo, newest first: what finished after the checkpoint, or finished during the snapshot
// without proof that the snapshot contains it. Repeated work that is safe to rerun counts once. plans returns the plan
// that was in force.
func (w *Rewind) Due(unproven []history.Redo, plans func(pawl.RunPlanned) (*pawl.Plan, error)) ([]*Work, error) {
	var found []*Work
	seen := map[string]bool{}
	for _, f := range slices.Backward(w.work) {
		if f.Seq == w.to || f.Seq < w.to && !isRedo(unproven, f) {
			continue
		}
		plan, err := plans(f.Planned)
		if err != nil {
			return nil, err
		}
		step := plan.Step(f.Step)
		if step == nil {
			return nil, fmt.Errorf("event %d finishes step %s, which is not in the plan of that time", f.Seq, f.Step)
		}
		if f.Item != "" {
			f.Undo = step.Undo
		} else if step.Foreach != nil {
			continue // its items are undone instead
		}
		if !seen[f.Name()] || !step.MayRepeat() {
			found = append(found, f)
		}
		seen[f.Name()] = true
	}
	return found, nil
}

func isRedo(list []history.Redo, f *Work) bool {
	return slices.ContainsFunc(list, func(r history.Redo) bool {
		return r.Step == f.Step && (f.Item == "" && len(r.Items) == 0 || slices.Contains(r.Items, f.Item))
	})
}

// Action is the next thing to do for a piece of work.
type Action string

// What Next decides.
const (
	Resolved Action = "over"  // nothing: it is undone or skipped
	Wait     Action = "wait"  // wait for the undo attempt without a journaled end
	Run      Action = "run"   // run the undo command
	Ask      Action = "ask"   // ask a person, or wait for the answer
	Skip     Action = "skip"  // mark it as skipped by a person
	GiveUp   Action = "leave" // give up the rollback
)

// Answers to the gate of an undo that failed or whose outcome is unknown.
const (
	retryUndo = "retry"
	skipUndo  = "skip"
	stopUndo  = "stop"
)

// Next decides what to do. An undo that is proven never runs again. An undo with unknown outcome runs again only if the
// step is safe to rerun. gate is the newest gate that asks about it, or nil.
func (f *Work) Next(mayRepeat bool, gate *pawl.GateState) Action {
	switch {
	case f.Resolved != "" || f.Undo == "":
		return Resolved
	case f.Running != nil:
		return Wait
	case f.Last == nil:
		return Run
	case f.lostInARow < resume.MaxLosses && (f.Last.Outcome == pawl.NotStarted || f.Last.Outcome == pawl.Lost && mayRepeat):
		return Run
	case gate == nil || gate.Open() || gate.Answer == nil:
		return Ask
	case gate.Answer.Option == retryUndo:
		return Run
	case gate.Answer.Option == skipUndo:
		return Skip
	}
	return GiveUp
}

// Gate returns the gate that asks about a failed undo or one with unknown outcome. output is the folder of its output.
func (f *Work) Gate(output string) pawl.Gate {
	how := "failed"
	if f.Last.Outcome != pawl.Failed {
		how = "was killed midway, and may have taken effect"
	}
	ask := fmt.Sprintf("The undo command of step %s %s (attempt %d): %s. Its output is in %s. Run it again, skip it, or stop the rollback?", f.Name(), how, f.Last.Attempt, f.Last.Why, output)
	g := pawl.Gate{
		Step: f.Step, Item: f.Item, Type: pawl.DecisionFor, Purpose: pawl.ForUndo, Ask: ask, Options: []string{retryUndo, skipUndo, stopUndo},
		Expect: "skip: it is already undone, or need not be; stop: end the rollback; undone steps stay undone, and no file changes",
	}
	g.ID = g.Identify()
	return g
}

// Status describes how far the undo is.
func (f *Work) Status() string {
	switch {
	case f.Resolved != "":
		return f.Resolved
	case f.Running != nil || f.Last != nil && f.Last.Outcome == pawl.Lost:
		return "in doubt"
	case f.Last != nil && f.Last.Outcome == pawl.Failed:
		return "failed"
	}
	return "to do"
}
