package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/decide/rewind"
	"pawl/internal/history"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
	"pawl/internal/stepenv"
)

// Rollback takes a run back to a checkpoint. It runs the undo commands of the work finished since, newest first, and
// then restores the files. PrepareRollback plans it and changes no file of the project's; it holds the engine lock until Close.
//
// Each step is journaled before and after, so an interrupted rollback can continue.
type Rollback struct {
	Target      history.SavedCheckpoint
	Run         pawl.RunID
	Continued   bool // it continues an interrupted rollback
	Undos       []Undo
	WithoutUndo []Undo            // finished work without an undo command
	InDoubt     []pawl.AttemptRef // interrupted attempts, settled before anything is undone
	Unfinished  []string          // steps and items that started but never finished; no undo runs for them
	Reopened    []pawl.StepID
	Changes     []snapshot.Change // files that the restore would change
	Ignored     []string          // ignored files, which are not restored
	Stopped     string            // why the rollback was given up; set by Do

	engine  *Engine
	preview bool // nothing is locked, and nothing may be written
	store   *snapshot.Store
	rewind  *rewind.Rewind
	due     []*rewind.Work
	plans   map[string]*pawl.Plan
}

// Undo is finished work that a rollback undoes.
type Undo struct {
	Step     pawl.StepID `json:"step"`
	Item     pawl.ItemID `json:"item,omitempty"`
	Items    int         `json:"items,omitempty"` // number of items, for work without an undo command
	Command  string      `json:"command,omitempty"`
	Finished time.Time   `json:"finished_at"`
	Status   string      `json:"stands,omitempty"` // to do, in doubt, failed, done or skipped
}

// PrepareRollback plans a rollback. It fails while an attempt runs, and, unless otherHead is set, if git's HEAD has
// moved since the checkpoint.
func PrepareRollback(ctx context.Context, cfg Config, store *snapshot.Store, target history.SavedCheckpoint, otherHead bool) (*Rollback, error) {
	if _, err := target.SnapshotRecord(); err != nil {
		return nil, err
	}
	e, err := openWith(ctx, cfg, nil, func() (pawl.RunID, error) { return target.Run, nil })
	if err != nil {
		return nil, err
	}
	r := &Rollback{Target: target, Run: target.Run, engine: e, store: store, plans: map[string]*pawl.Plan{}}
	if err := r.prepare(ctx, otherHead); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// PreviewRollback is PrepareRollback for a dry run: with a read-only store it changes nothing, and it ignores git's HEAD.
func PreviewRollback(ctx context.Context, cfg Config, store *snapshot.Store, target history.SavedCheckpoint) (*Rollback, error) {
	if _, err := target.SnapshotRecord(); err != nil {
		return nil, err
	}
	if err := cmp.Or(cfg.Project.RequireNoEngine(), runs.RequireNoRestore(ctx, cfg.Project)); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg.withDefaults(), run: target.Run}
	if _, err := e.read(ctx); err != nil {
		return nil, err
	}
	r := &Rollback{Target: target, Run: target.Run, engine: e, store: store, preview: true, plans: map[string]*pawl.Plan{}}
	err := e.checkCache(ctx)
	if err == nil {
		err = r.prepare(ctx, true)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close releases the engine lock.
func (r *Rollback) Close() error {
	if r.preview {
		return r.engine.log.Close()
	}
	return r.engine.Close()
}

func (r *Rollback) prepare(ctx context.Context, otherHead bool) error {
	e := r.engine
	back := e.state.Rollback
	r.Continued = back != nil
	switch {
	case r.Continued && back.Checkpoint != r.Target.ID:
		return &pawl.Error{
			Kind: pawl.KindUsage, Hint: "pawl rollback",
			Err: fmt.Errorf("the rollback to checkpoint %s is unfinished", back.Checkpoint),
		}
	case r.Continued:
		if err := history.RequireIdle(ctx, e.cfg.Project, r.Run); err != nil { // in this run, only an undo can be running
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

// compareFiles finds the files that a restore would change.
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

// readJournal finds the work to undo.
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
	r.rewind = rewind.New(r.Target.Seq, min(record.Seq, r.Target.Seq))
	if err := history.EachEvent(ctx, r.engine.cfg.Project, r.Run, r.rewind.Apply); err != nil {
		return err
	}
	if r.due, err = r.rewind.Due(unproven, r.plan); err != nil {
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
	if err == nil {
		plan = stepenv.Resolve(plan, r.engine.state.Given)
	}
	r.plans[planned.File] = plan
	return plan, err
}

// describe fills the exported fields.
func (r *Rollback) describe() {
	r.Undos, r.WithoutUndo, r.InDoubt, r.Unfinished = nil, nil, runs.RefsOf(r.engine.state.Live()), nil
	for _, f := range r.due {
		if f.Undo != "" {
			r.Undos = append(r.Undos, Undo{Step: f.Step, Item: f.Item, Command: f.Undo, Finished: f.Time.UTC(), Status: f.Status()})
			continue
		}
		r.addWithoutUndo(f)
	}
	r.Unfinished = slices.Sorted(maps.Keys(r.rewind.Begun))
	for _, live := range r.InDoubt {
		r.Unfinished = slices.DeleteFunc(r.Unfinished, func(name string) bool { return name == live.Name() })
	}
	r.Reopened = slices.Sorted(maps.Keys(r.rewind.Touched))
}

// addWithoutUndo adds work without an undo command. Items of a step share one entry.
func (r *Rollback) addWithoutUndo(f *rewind.Work) {
	at := slices.IndexFunc(r.WithoutUndo, func(u Undo) bool { return u.Step == f.Step })
	if at < 0 {
		at, r.WithoutUndo = len(r.WithoutUndo), append(r.WithoutUndo, Undo{Step: f.Step, Finished: f.Time.UTC()})
	}
	if f.Item != "" {
		r.WithoutUndo[at].Items++
	}
}

// Do starts or continues the rollback. An error of KindAtGate means that an undo failed, or its outcome is unknown, and
// a person must decide.
func (r *Rollback) Do(ctx context.Context) error {
	return r.engine.work(ctx, func(helpers context.Context) error {
		r.engine.announce(helpers, "rollback", pawl.Parallel{})
		if err := r.engine.settleAbandoned(ctx, helpers); err != nil {
			return err
		}
		if err := r.readJournal(ctx); err != nil { // an interrupted attempt may turn out to be finished
			return err
		}
		return r.carryOut(ctx, helpers)
	})
}

// Stop gives up an unfinished rollback. Work undone so far stays undone; no file is changed.
func (r *Rollback) Stop(ctx context.Context, why string) error {
	return r.engine.work(ctx, func(helpers context.Context) error {
		r.engine.announce(helpers, "rollback", pawl.Parallel{})
		if err := r.engine.flush(helpers); err != nil {
			return err
		}
		for _, f := range r.due {
			if f.Running == nil {
				continue
			}
			if err := r.await(ctx, helpers, f); err != nil {
				return err
			}
		}
		return r.giveUp(helpers, why)
	})
}

// settleAbandoned settles the attempts of earlier engines without starting any.
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
	return &pawl.Error{Kind: pawl.KindInterrupted, Err: errors.New("interrupted; the running undo command continues under its supervisor"), Hint: "pawl rollback"}
}

func (r *Rollback) carryOut(ctx, helpers context.Context) error {
	e := r.engine
	if e.state.Rollback == nil {
		begin := []pawl.Payload{pawl.RollbackStarted{Checkpoint: r.Target.ID, Undos: len(r.Undos)}}
		if e.state.Ended() {
			begin = append(begin, pawl.RunReopened{Why: "rollback to checkpoint " + string(r.Target.ID)})
		}
		if err := r.emit(helpers, begin...); err != nil {
			return err
		}
		if e.state.Rollback == nil {
			return errors.New("the state rejects the rollback; run pawl verify")
		}
	}
	for _, f := range r.due {
		if err := r.undo(ctx, helpers, f); err != nil || r.Stopped != "" {
			return err
		}
	}
	return r.finish(ctx, helpers)
}

// finish restores the files and reopens the affected steps.
func (r *Rollback) finish(ctx, helpers context.Context) error {
	e := r.engine
	if err := r.restore(ctx, helpers); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(r.rewind.Touched)) {
		e.emit(r.reopenings(id)...)
	}
	e.emit(pawl.RollbackEnded{Checkpoint: r.Target.ID})
	return e.flush(helpers)
}

// restore saves the current files as a checkpoint and then restores the target's. The event is emitted with the next
// batch; if the engine dies before that, restoring again gives the same result.
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
			Err: fmt.Errorf("all work is undone, but not all files are restored (previous state saved as checkpoint %s): %w", before.ID, err),
		}
	}
	e.emit(pawl.FilesRestored{Checkpoint: r.Target.ID, From: r.Run, Before: before.ID, Changed: len(found.Changes)})
	return nil
}

// reopenings returns the events that reopen a step as far as it was undone.
func (r *Rollback) reopenings(id pawl.StepID) []pawl.Payload {
	st := r.engine.state.Steps[id]
	if st == nil {
		return nil
	}
	said := runs.WithdrawGates(r.engine.state, id, "was rolled back")
	again := pawl.StepReopened{Step: id, Why: "rolled back to checkpoint " + string(r.Target.ID)}
	if st.Items == nil || r.rewind.Relisted[id] {
		return append(said, again)
	}
	var items []int
	for _, f := range r.due {
		if f.Step == id && f.Item != "" && f.Index < st.Items.Total && st.Items.Done.At(f.Index) == f.Seq {
			items = append(items, f.Index)
		}
	}
	for some := range slices.Chunk(items, resume.MaxReruns) {
		again.Items = some
		said = append(said, again)
	}
	again.Items, again.Keep = nil, true // retry what failed
	return append(said, again)
}

// undoDir returns the folder of an undo attempt.
func (r *Rollback) undoDir(ref pawl.UndoRef) string {
	return r.engine.cfg.Project.UndoDir(ref, r.Run)
}

// relative returns a path as people type it in the project's folder.
func (r *Rollback) relative(path string) string {
	if rel, err := filepath.Rel(r.engine.cfg.Project.Root, path); err == nil {
		return rel
	}
	return path
}

// undoJob returns the supervisor's job for an undo. It has the directory, environment and limits of the step at the
// time the work finished.
func (r *Rollback) undoJob(f *rewind.Work, ref pawl.UndoRef) (pawl.Job, error) {
	e := r.engine
	plan, err := r.plan(f.Planned)
	if err != nil {
		return pawl.Job{}, err
	}
	step := plan.Step(f.Step)
	w := runs.Work{Step: step, Index: -1, Value: f.Value}
	if f.Item != "" {
		w.Index = f.Index
	}
	job := pawl.Job{
		AttemptRef: ref.AttemptRef, Run: r.Run, Script: f.Undo, Shell: step.Shell, RunShell: e.state.Shell,
		Dir: filepath.Join(e.cfg.Project.Root, filepath.FromSlash(step.Dir)), Root: e.cfg.Project.Root,
		Timeout: step.Timeout, Grace: step.Grace, Stall: step.Stall,
		OutputCap: e.cfg.OutputCap, Beat: pawl.Duration(e.cfg.Watchdog.Heartbeat), PIDNamespace: e.cfg.PIDNamespace,
	}
	env, err := e.variables(&job, plan, w, pawl.AttemptRef{Step: f.Step, Item: f.Item, Attempt: f.Attempt, Token: ref.Token}, f.Key)
	if err != nil {
		return pawl.Job{}, err
	}
	env["PAWL_ATTEMPT_DIR"] = r.undoDir(ref)
	env["PAWL_UNDO"] = fmt.Sprint(ref.Attempt)
	job.Env = asList(env)
	return job, nil
}

// Notes returns warnings for the user, one line each. It is complete after Do.
func (r *Rollback) Notes() []string { return r.engine.Notes() }
