package engine

import (
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/resume"
)

// rewind is what a run's journal says of going back to a checkpoint: what was finished after it, and what came of
// undoing that. It is a fold of events.
type rewind struct {
	to    pawl.Seq // the checkpoint's event
	since pawl.Seq // up to which event its snapshot surely has everything

	began    pawl.Seq // the rollback that has not ended; 0: there is none
	work     []*finishedWork
	bySeq    map[pawl.Seq]*finishedWork
	tries    map[string]int         // how often it was tried to undo a step or item, by its name
	touched  map[pawl.StepID]bool   // steps of which something happened after the checkpoint
	relisted map[pawl.StepID]bool   // steps whose work list was begun after it
	begun    map[string]pawl.StepID // steps and items that were started after it and are not finished, by their names
	asked    map[pawl.GateID]bool   // by the rollback that has not ended

	planned pawl.RunPlanned
	values  map[pawl.StepID][]string
}

// finishedWork is a step or an item that was finished, and how it stands with undoing it.
type finishedWork struct {
	pawl.AttemptRef // that finished it
	seq             pawl.Seq
	time            time.Time
	key             pawl.Key
	value           string          // the item's
	undo            string          // empty: there is nothing to undo
	planned         pawl.RunPlanned // the plan that was in force

	running    *pawl.UndoRef    // the newest try to undo it has not ended, as far as the journal says
	last       *pawl.UndoFailed // how the newest one ended, where it did not do
	lostInARow int              // tries in a row of which nobody knows how they ended
	resolved   string           // "done" or "skipped"
}

func newRewind(to, since pawl.Seq) *rewind {
	return &rewind{
		to: to, since: since, bySeq: map[pawl.Seq]*finishedWork{}, tries: map[string]int{}, touched: map[pawl.StepID]bool{},
		relisted: map[pawl.StepID]bool{}, begun: map[string]pawl.StepID{}, asked: map[pawl.GateID]bool{}, values: map[pawl.StepID][]string{},
	}
}

// rewindEvents are the types of events that a rewind is about.
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
		return // it is kept and reported by the fold
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
		w.asked[p.ID] = true
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

// finish takes up finished work, also such as was finished while the snapshot was taken.
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

// applyUndo takes up what came of undoing. That an undo failed counts for its own rollback only; that nobody knows how it
// ended holds for ever.
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
		w.update(p.UndoRef, func(f *finishedWork) { f.running, f.last = &p.UndoRef, nil })
	case pawl.UndoFailed:
		w.update(p.UndoRef, func(f *finishedWork) { f.failed(p) })
	case pawl.UndoDone:
		w.update(p.UndoRef, func(f *finishedWork) { f.running, f.last, f.resolved = nil, nil, "done" })
	case pawl.UndoSkipped:
		w.update(p.UndoRef, func(f *finishedWork) { f.running, f.last, f.resolved = nil, nil, "skipped" })
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

// due returns the work that is to be undone, the newest first: what was finished after the checkpoint, or while its
// snapshot was taken and is not proven to be in it. What may be repeated and was repeated counts once. plans returns the
// plan that was in force.
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
			return nil, fmt.Errorf("event %d finishes step %s, which is not in the plan of its time", f.seq, f.Step)
		}
		if f.Item != "" {
			f.undo = step.Undo
		} else if step.Foreach != nil {
			continue // its items count
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

// undoStep says what is to be done next about undoing some work.
type undoStep string

const (
	undoResolved undoStep = "over"  // nothing: it was undone, or a person answers for it
	undoWait     undoStep = "wait"  // for a try of which the journal does not say how it ended
	undoRun      undoStep = "run"   // the undo command
	undoAsk      undoStep = "ask"   // a person, or wait for their answer
	undoSkip     undoStep = "skip"  // say that a person answers for it
	undoGiveUp   undoStep = "leave" // the rollback is given up
)

// The answers to the gate of an undo that failed, or may have been done.
const (
	retryUndo = "retry"
	skipUndo  = "skip"
	stopUndo  = "stop"
)

// next decides. An undo that is proven done never runs again; one that may have been done runs again only where the plan
// says that repeating does no harm. gate is the newest that asks about it, nil for none. It is pure.
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

// gate is what a person is asked about an undo that failed, or may have been done.
func (f *finishedWork) gate() pawl.Gate {
	ask := fmt.Sprintf("Undo %d of %s failed: %s. Run it again, skip it, or stop the rollback?", f.last.Attempt, f.Name(), f.last.Why)
	if f.last.Outcome != pawl.Failed {
		ask = fmt.Sprintf("Undo %d of %s was lost after it began: %s. Run it again, skip it, or stop the rollback?", f.last.Attempt, f.Name(), f.last.Why)
	}
	g := pawl.Gate{
		Step: f.Step, Item: f.Item, Type: pawl.DecisionFor, Purpose: pawl.ForUndo, Ask: ask, Options: []string{retryUndo, skipUndo, stopUndo},
		Expect: "skip: it is undone, or need not be; stop: what was undone so far stays undone, and no file is changed",
	}
	g.ID = g.Identify()
	return g
}
