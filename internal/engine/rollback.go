package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// Rollback takes a run back to where it stood at a checkpoint: it runs the undo commands of what was finished since, the
// newest first, and then brings the files back. It is thought through here, and not begun. Nobody else works in the
// project until Close.
//
// Each of its steps is journaled before and after, so that a rollback that was cut off goes on where it was.
type Rollback struct {
	Target      history.SavedCheckpoint
	Run         pawl.RunID
	Continued   bool // it was begun before
	Undos       []Undo
	WithoutUndo []Undo            // finished work that has no undo command
	InDoubt     []pawl.AttemptRef // attempts of which is judged first how they ended
	Unfinished  []string          // steps and items that were begun and never finished: nothing is run for them
	Reopened    []pawl.StepID
	Changes     []snapshot.Change // of files, as they are now
	Ignored     []string          // ignored, so they stay
	Stopped     string            // after Do: why it was given up

	engine *Engine
	store  *snapshot.Store
	rewind *rewind
	due    []*finishedWork
	plans  map[string]*pawl.Plan
}

// Undo is finished work that a rollback undoes.
type Undo struct {
	Step     pawl.StepID `json:"step"`
	Item     pawl.ItemID `json:"item,omitempty"`
	Items    int         `json:"items,omitempty"` // of work that has nothing to undo: how many
	Command  string      `json:"command,omitempty"`
	Finished time.Time   `json:"finished_at"`
	Status   string      `json:"stands,omitempty"` // to do, in doubt, failed, done or skipped
}

// PrepareRollback thinks a rollback through. It refuses while anybody works in the project, and unless otherHead where
// git stands elsewhere than then.
func PrepareRollback(ctx context.Context, cfg Config, store *snapshot.Store, target history.SavedCheckpoint, otherHead bool) (*Rollback, error) {
	if _, err := target.SnapshotRecord(); err != nil {
		return nil, err
	}
	e, err := openWith(ctx, cfg, func() (pawl.RunID, error) { return target.Run, nil })
	if err != nil {
		return nil, err
	}
	r := &Rollback{Target: target, Run: target.Run, engine: e, store: store, plans: map[string]*pawl.Plan{}}
	if err := r.prepare(ctx, otherHead); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close lets others work again.
func (r *Rollback) Close() error { return r.engine.Close() }

func (r *Rollback) prepare(ctx context.Context, otherHead bool) error {
	e := r.engine
	back := e.state.Rollback
	r.Continued = back != nil
	switch {
	case r.Continued && back.Checkpoint != r.Target.ID:
		return &pawl.Error{
			Kind: pawl.KindUsage, Hint: "pawl rollback, or pawl rollback --stop",
			Err: fmt.Errorf("the rollback to checkpoint %s has not ended", back.Checkpoint),
		}
	case r.Continued:
		if err := history.RequireIdle(ctx, e.cfg.Project, r.Run); err != nil { // of its own, only an undo can run
			return err
		}
	default:
		if err := history.RequireIdle(ctx, e.cfg.Project); err != nil {
			return err
		}
	}
	if err := r.readJournal(ctx); err != nil {
		return err
	}
	return r.compareFiles(ctx, otherHead || r.Continued)
}

// compareFiles finds out which files would change.
func (r *Rollback) compareFiles(ctx context.Context, otherHead bool) error {
	record, err := r.Target.SnapshotRecord()
	if err != nil {
		return err
	}
	found, err := r.store.Prepare(ctx, record, nil)
	if err != nil {
		return err
	}
	r.Changes, r.Ignored = found.Changes, found.Kept
	if !otherHead {
		restore := &history.Restore{Restoration: found, Target: r.Target, Command: "pawl rollback --to"}
		err = restore.RequireSameHead(ctx)
	}
	return errors.Join(err, found.Close())
}

// readJournal reads from the journal what is to be undone.
func (r *Rollback) readJournal(ctx context.Context) error {
	record, err := r.Target.SnapshotRecord()
	if err != nil {
		return err
	}
	past, err := history.OpenReplay(ctx, r.engine.cfg.Project, r.Target)
	if err != nil {
		return err
	}
	unproven, err := past.Unproven(r.store, record)
	if err != nil {
		return err
	}
	r.rewind = newRewind(r.Target.Seq, min(record.Seq, r.Target.Seq))
	if err := history.EachEvent(ctx, r.engine.cfg.Project, r.Run, r.rewind.apply); err != nil {
		return err
	}
	if r.due, err = r.rewind.due(unproven, r.plan); err != nil {
		return err
	}
	r.describe()
	return nil
}

// plan returns a revision of the run's plan.
func (r *Rollback) plan(planned pawl.RunPlanned) (*pawl.Plan, error) {
	if plan := r.plans[planned.File]; plan != nil {
		return plan, nil
	}
	plan, err := runs.ReadPlan(r.engine.cfg.Project.RunDir(r.Run), &pawl.State{Plan: planned})
	r.plans[planned.File] = plan
	return plan, err
}

// describe says what is to be done for those who are asked.
func (r *Rollback) describe() {
	r.Undos, r.WithoutUndo, r.InDoubt, r.Unfinished = nil, nil, runs.RefsOf(r.engine.state.Live()), nil
	for _, f := range r.due {
		if f.undo != "" {
			r.Undos = append(r.Undos, Undo{Step: f.Step, Item: f.Item, Command: f.undo, Finished: f.time.UTC(), Status: f.status()})
			continue
		}
		r.addWithoutUndo(f)
	}
	r.Unfinished = slices.Sorted(maps.Keys(r.rewind.begun))
	for _, live := range r.InDoubt {
		r.Unfinished = slices.DeleteFunc(r.Unfinished, func(name string) bool { return name == live.Name() })
	}
	r.Reopened = slices.Sorted(maps.Keys(r.rewind.touched))
}

// addWithoutUndo adds work that has nothing to undo; the items of a step stand there as one.
func (r *Rollback) addWithoutUndo(f *finishedWork) {
	at := slices.IndexFunc(r.WithoutUndo, func(u Undo) bool { return u.Step == f.Step })
	if at < 0 {
		at, r.WithoutUndo = len(r.WithoutUndo), append(r.WithoutUndo, Undo{Step: f.Step, Finished: f.time.UTC()})
	}
	if f.Item != "" {
		r.WithoutUndo[at].Items++
	}
}

func (f *finishedWork) status() string {
	switch {
	case f.resolved != "":
		return f.resolved
	case f.running != nil || f.last != nil && f.last.Outcome == pawl.Lost:
		return "in doubt"
	case f.last != nil && f.last.Outcome == pawl.Failed:
		return "failed"
	}
	return "to do"
}

// Do rolls back, or goes on with it. An error of KindAtGate: an undo failed, or may have been done, and a person is asked.
func (r *Rollback) Do(ctx context.Context) error {
	return r.engine.work(ctx, func(helpers context.Context) error {
		r.engine.announce("rollback")
		if err := r.engine.settleAbandoned(ctx, helpers); err != nil {
			return err
		}
		if err := r.readJournal(ctx); err != nil { // what was in doubt may turn out to be finished
			return err
		}
		return r.carryOut(ctx, helpers)
	})
}

// Stop gives up a rollback that has not ended. What was undone so far stays undone; no file is changed.
func (r *Rollback) Stop(ctx context.Context, why string) error {
	return r.engine.work(ctx, func(helpers context.Context) error {
		r.engine.announce("rollback")
		if err := r.engine.flush(helpers); err != nil {
			return err
		}
		for _, f := range r.due {
			if f.running == nil {
				continue
			}
			if err := r.await(ctx, helpers, f); err != nil {
				return err
			}
		}
		return r.giveUp(helpers, why)
	})
}

// settleAbandoned finds out how the attempts ended that an engine before this one left, and starts nothing.
func (e *Engine) settleAbandoned(ctx, helpers context.Context) error {
	if err := e.flush(helpers); err != nil {
		return err
	}
	e.reattach(helpers)
	for len(e.state.Live()) > 0 || e.saving > 0 {
		select {
		case f := <-e.results:
			f()
		case <-ctx.Done():
			return rollbackInterrupted()
		}
		if err := errors.Join(e.flush(helpers), e.fatal); err != nil {
			return err
		}
	}
	return e.fatal
}

func rollbackInterrupted() error {
	return &pawl.Error{Kind: pawl.KindInterrupted, Err: errors.New("interrupted; an undo that runs is left to its supervisor"), Hint: "pawl rollback"}
}

func (r *Rollback) carryOut(ctx, helpers context.Context) error {
	e := r.engine
	if e.state.Rollback == nil {
		begin := []pawl.Payload{pawl.RollbackStarted{Checkpoint: r.Target.ID, Undos: len(r.Undos)}}
		if e.state.Ended() {
			begin = append(begin, pawl.RunReopened{Why: "it is rolled back to checkpoint " + string(r.Target.ID)})
		}
		if err := r.emit(helpers, begin...); err != nil {
			return err
		}
		if e.state.Rollback == nil {
			return errors.New("the rollback does not fit the run; see pawl verify")
		}
	}
	for _, f := range r.due {
		if err := r.undo(ctx, helpers, f); err != nil || r.Stopped != "" {
			return err
		}
	}
	return r.finish(ctx, helpers)
}

// finish brings the files back, and then says that the run stands where it stood.
func (r *Rollback) finish(ctx, helpers context.Context) error {
	e := r.engine
	if err := r.restore(ctx, helpers); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(r.rewind.touched)) {
		e.emit(r.reopenings(id)...)
	}
	e.emit(pawl.RollbackEnded{Checkpoint: r.Target.ID})
	return e.flush(helpers)
}

// restore keeps what is there as a checkpoint of its own, and then brings the files back. That it did is said with the
// next batch: cut off before, it is done again, which ends the same.
func (r *Rollback) restore(ctx, helpers context.Context) (err error) {
	e := r.engine
	record, err := r.Target.SnapshotRecord()
	if err != nil {
		return err
	}
	found, err := r.store.Prepare(ctx, record, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	if len(found.Changes) == 0 {
		return nil
	}
	why := "before the rollback to " + string(r.Target.ID)
	before, _, err := history.TakeCheckpoint(ctx, r.Run, pawl.CheckpointBeforeRestore, why, e.position(), found.Save)
	if err != nil {
		return err
	}
	e.emit(pawl.CheckpointSaved{Checkpoint: before})
	if err := e.flush(helpers); err != nil {
		return err
	}
	if err := found.Apply(ctx); err != nil {
		return &pawl.Error{
			Kind: pawl.KindInternal, Hint: "pawl rollback",
			Err: fmt.Errorf("all is undone, but not all files are back; what was there is in checkpoint %s: %w", before.ID, err),
		}
	}
	e.emit(pawl.FilesRestored{Checkpoint: r.Target.ID, From: r.Run, Before: before.ID, Changed: len(found.Changes)})
	return nil
}

// reopenings returns what makes a step stand as it stood, or at least run again.
func (r *Rollback) reopenings(id pawl.StepID) []pawl.Payload {
	st := r.engine.state.Steps[id]
	if st == nil {
		return nil
	}
	said := runs.WithdrawGates(r.engine.state, id, "was rolled back")
	again := pawl.StepReopened{Step: id, Why: "rolled back to checkpoint " + string(r.Target.ID)}
	if st.Items == nil || r.rewind.relisted[id] {
		return append(said, again)
	}
	var items []int
	for _, f := range r.due {
		if f.Step == id && f.Item != "" && f.Index < st.Items.Total && st.Items.Done.At(f.Index) == f.seq {
			items = append(items, f.Index)
		}
	}
	for some := range slices.Chunk(items, resume.MaxReruns) {
		again.Items = some
		said = append(said, again)
	}
	again.Items, again.Keep = nil, true // what failed is tried again
	return append(said, again)
}

// undoDir is where a try to undo has its files.
func (r *Rollback) undoDir(ref pawl.UndoRef) string {
	return r.engine.cfg.Project.UndoDir(ref, r.Run)
}

// undoJob returns what the supervisor of an undo is told: the undo command, in the folder, the environment and the limits
// of the step as the plan had it when the work was finished.
func (r *Rollback) undoJob(f *finishedWork, ref pawl.UndoRef) (pawl.Job, error) {
	e := r.engine
	plan, err := r.plan(f.planned)
	if err != nil {
		return pawl.Job{}, err
	}
	step := plan.Step(f.Step)
	command, err := e.command(&pawl.Step{ID: f.Step, Run: f.undo})
	if err != nil {
		return pawl.Job{}, err
	}
	w := runs.Work{Step: step, Index: -1, Value: f.value}
	if f.Item != "" {
		w.Index = f.Index
	}
	env := e.variables(plan, w, pawl.AttemptRef{Step: f.Step, Item: f.Item, Attempt: f.Attempt, Token: ref.Token}, f.key)
	env["PAWL_ATTEMPT_DIR"] = r.undoDir(ref)
	env["PAWL_UNDO"] = fmt.Sprint(ref.Attempt)
	return pawl.Job{
		AttemptRef: ref.AttemptRef, Run: r.Run, Command: command, Env: asList(env),
		Dir: filepath.Join(e.cfg.Project.Root, filepath.FromSlash(step.Dir)), Root: e.cfg.Project.Root,
		Timeout: step.Timeout, Grace: step.Grace, Stall: step.Stall,
		OutputCap: e.cfg.OutputCap, Beat: pawl.Duration(e.cfg.Watchdog.Heartbeat), PIDNamespace: e.cfg.PIDNamespace,
	}, nil
}

// Notes returns what people should know, one line each, that is no fault of the rollback. It may be used after Do.
func (r *Rollback) Notes() []string { return r.engine.Notes() }
