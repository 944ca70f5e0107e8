package engine

import (
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/resume"
)

// rewind folds the journal into what a rollback needs: the work finished after a checkpoint, and the outcome of undoing
// it.
type rewind struct {
	to    pawl.Seq // the checkpoint's event
	since pawl.Seq // the snapshot contains everything up to this event

	began    pawl.Seq // the event of the unfinished rollback; 0 for none
	work     []*finishedWork
	bySeq    map[pawl.Seq]*finishedWork
	tries    map[string]int         // number of undo attempts by step or item name
	touched  map[pawl.StepID]bool   // steps with events after the checkpoint
	relisted map[pawl.StepID]bool   // foreach steps whose item list was journaled after it
	begun    map[string]pawl.StepID // steps and items that started after it and are not finished, by name
	asked    map[string]pawl.GateID // newest gate of the unfinished rollback by step or item name, until its undo is tried again

	planned pawl.RunPlanned
	values  map[pawl.StepID][]string
}

// finishedWork is a finished step or item and the state of its undo.
type finishedWork struct {
	pawl.AttemptRef // the attempt that finished it
	seq             pawl.Seq
	time            time.Time
	key             pawl.Key
	value           string          // the item's value
	undo            string          // undo command; "" for none
	planned         pawl.RunPlanned // the plan at that time

	running    *pawl.UndoStarted // the undo attempt whose end is not journaled
	last       *pawl.UndoFailed  // how the newest undo attempt failed
	lostInARow int               // undo attempts in a row with unknown outcome
	resolved   string            // "done" or "skipped"; "" while it is not undone
}

func newRewind(to, since pawl.Seq) *rewind {
	return &rewind{
		to: to, since: since, bySeq: map[pawl.Seq]*finishedWork{}, tries: map[string]int{}, touched: map[pawl.StepID]bool{},
		relisted: map[pawl.StepID]bool{}, begun: map[string]pawl.StepID{}, asked: map[string]pawl.GateID{}, values: map[pawl.StepID][]string{},
	}
}

// rewindEvents are the event types that a rewind folds.
var rewindEvents = []pawl.EventType{
	pawl.RunPlanned{}.Event(), pawl.StepListed{}.Event(), pawl.AttemptStarted{}.Event(), pawl.ItemDone{}.Event(),
	pawl.StepDone{}.Event(), pawl.StepFailed{}.Event(), pawl.StepSkipped{}.Event(), pawl.GateOpened{}.Event(),
	pawl.RollbackStarted{}.Event(), pawl.RollbackEnded{}.Event(), pawl.UndoStarted{}.Event(), pawl.UndoDone{}.Event(),
	pawl.UndoFailed{}.Event(), pawl.UndoSkipped{}.Event(),
}

func (w *rewind) apply(event pawl.Event) {
	if !slices.Contains(rewindEvents, event.Type) {
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
			w.begun[p.Name()] = p.Step
		}
	case pawl.ItemDone:
		w.finish(event, &finishedWork{AttemptRef: p.AttemptRef, key: p.Key, value: w.value(p.AttemptRef)})
	case pawl.StepDone:
		ref := pawl.AttemptRef{Step: p.Step, Attempt: p.Attempt, Token: p.Token}
		w.finish(event, &finishedWork{AttemptRef: ref, key: p.Key, undo: p.Undo})
	case pawl.StepFailed:
		w.touch(event, p.Step)
	case pawl.StepSkipped:
		w.touch(event, p.Step)
	case pawl.GateOpened:
		w.touch(event, p.Step)
		if p.Purpose == pawl.ForUndo {
			w.asked[pawl.AttemptRef{Step: p.Step, Item: p.Item}.Name()] = p.ID
		}
	default:
		w.applyUndo(event, payload)
	}
}

func (w *rewind) touch(event pawl.Event, step pawl.StepID) {
	if event.Seq > w.to && step != "" {
		w.touched[step] = true
	}
}

func (w *rewind) listed(event pawl.Event, p pawl.StepListed) {
	w.touch(event, p.Step)
	if p.From == 0 {
		w.values[p.Step] = nil
		w.relisted[p.Step] = event.Seq > w.to
	}
	w.values[p.Step] = append(w.values[p.Step], p.Items...)
}

func (w *rewind) value(ref pawl.AttemptRef) string {
	if values := w.values[ref.Step]; ref.Index >= 0 && ref.Index < len(values) {
		return values[ref.Index]
	}
	return string(ref.Item)
}

// finish records finished work, including work that finished while the snapshot was being taken.
func (w *rewind) finish(event pawl.Event, f *finishedWork) {
	w.touch(event, f.Step)
	delete(w.begun, f.Name())
	if event.Seq <= w.since {
		return
	}
	f.seq, f.time, f.planned = event.Seq, event.Time, w.planned
	w.work = append(w.work, f)
	w.bySeq[f.seq] = f
}

// applyUndo folds the events of undo attempts. A failed undo counts only for its own rollback. An undo with unknown
// outcome counts for good.
func (w *rewind) applyUndo(event pawl.Event, payload pawl.Payload) {
	switch p := payload.(type) {
	case pawl.RollbackStarted:
		w.began = event.Seq
		clear(w.asked)
		for _, f := range w.work {
			if f.last != nil && f.last.Outcome == pawl.Failed {
				f.last = nil
			}
		}
	case pawl.RollbackEnded:
		w.began = 0
	case pawl.UndoStarted:
		w.tries[p.Name()] = max(w.tries[p.Name()], p.Attempt)
		delete(w.asked, p.Name())
		w.update(p.UndoRef, func(f *finishedWork) { f.running, f.last = &p, nil })
	case pawl.UndoFailed:
		w.update(p.UndoRef, func(f *finishedWork) { f.failed(p) })
	case pawl.UndoDone:
		w.update(p.UndoRef, func(f *finishedWork) { f.running, f.last, f.resolved = nil, nil, "done" })
		delete(w.asked, p.Name())
	case pawl.UndoSkipped:
		w.update(p.UndoRef, func(f *finishedWork) { f.running, f.last, f.resolved = nil, nil, "skipped" })
		delete(w.asked, p.Name())
	}
}

func (w *rewind) update(ref pawl.UndoRef, note func(*finishedWork)) {
	if f := w.bySeq[ref.Of]; f != nil {
		note(f)
	}
}

func (f *finishedWork) failed(p pawl.UndoFailed) {
	f.running, f.last = nil, &p
	if f.lostInARow++; p.Outcome == pawl.Failed {
		f.lostInARow = 0
	}
}

// due returns the work to undo, newest first: what finished after the checkpoint, or finished during the snapshot
// without proof that the snapshot contains it. Repeated work that is safe to rerun counts once. plans returns the plan
// that was in force.
func (w *rewind) due(unproven []history.Redo, plans func(pawl.RunPlanned) (*pawl.Plan, error)) ([]*finishedWork, error) {
	var found []*finishedWork
	seen := map[string]bool{}
	for _, f := range slices.Backward(w.work) {
		if f.seq == w.to || f.seq < w.to && !isRedo(unproven, f) {
			continue
		}
		plan, err := plans(f.planned)
		if err != nil {
			return nil, err
		}
		step := plan.Step(f.Step)
		if step == nil {
			return nil, fmt.Errorf("event %d finishes step %s, which is not in the plan of that time", f.seq, f.Step)
		}
		if f.Item != "" {
			f.undo = step.Undo
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

func isRedo(list []history.Redo, f *finishedWork) bool {
	return slices.ContainsFunc(list, func(r history.Redo) bool {
		return r.Step == f.Step && (f.Item == "" && len(r.Items) == 0 || slices.Contains(r.Items, f.Item))
	})
}

// undoStep is the next thing to do for a piece of work.
type undoStep string

const (
	undoResolved undoStep = "over"  // nothing: it is undone or skipped
	undoWait     undoStep = "wait"  // wait for the undo attempt without a journaled end
	undoRun      undoStep = "run"   // run the undo command
	undoAsk      undoStep = "ask"   // ask a person, or wait for the answer
	undoSkip     undoStep = "skip"  // mark it as skipped by a person
	undoGiveUp   undoStep = "leave" // give up the rollback
)

// Answers to the gate of an undo that failed or whose outcome is unknown.
const (
	retryUndo = "retry"
	skipUndo  = "skip"
	stopUndo  = "stop"
)

// next decides what to do. An undo that is proven never runs again. An undo with unknown outcome runs again only if the
// step is safe to rerun. gate is the newest gate that asks about it, or nil. next is pure.
func (f *finishedWork) next(mayRepeat bool, gate *pawl.GateState) undoStep {
	switch {
	case f.resolved != "" || f.undo == "":
		return undoResolved
	case f.running != nil:
		return undoWait
	case f.last == nil:
		return undoRun
	case f.lostInARow < resume.MaxLosses && (f.last.Outcome == pawl.NotStarted || f.last.Outcome == pawl.Lost && mayRepeat):
		return undoRun
	case gate == nil || gate.Open() || gate.Answer == nil:
		return undoAsk
	case gate.Answer.Option == retryUndo:
		return undoRun
	case gate.Answer.Option == skipUndo:
		return undoSkip
	}
	return undoGiveUp
}

// gate returns the gate that asks about a failed undo or one with unknown outcome. output is the folder of its output.
func (f *finishedWork) gate(output string) pawl.Gate {
	how := "failed"
	if f.last.Outcome != pawl.Failed {
		how = "was killed midway, and may have taken effect"
	}
	ask := fmt.Sprintf("The undo command of step %s %s (attempt %d): %s. Its output is in %s. Run it again, skip it, or stop the rollback?", f.Name(), how, f.last.Attempt, f.last.Why, output)
	g := pawl.Gate{
		Step: f.Step, Item: f.Item, Type: pawl.DecisionFor, Purpose: pawl.ForUndo, Ask: ask, Options: []string{retryUndo, skipUndo, stopUndo},
		Expect: "skip: it is already undone, or need not be; stop: end the rollback; undone steps stay undone, and no file changes",
	}
	g.ID = g.Identify()
	return g
}
