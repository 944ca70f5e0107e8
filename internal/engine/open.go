package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// Open takes the project's engine lock and opens a run that runs.LoadToContinue has returned. If another engine holds the lock, the
// error is of KindHeld.
func Open(ctx context.Context, cfg Config, r *runs.Run) (*Engine, error) {
	e, err := openWith(ctx, cfg, r, func() (pawl.RunID, error) { return r.State.Run, nil })
	if err != nil {
		return nil, err
	}
	if err := runs.RequireNoRollback(e.state); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// OpenNew is like Open but creates the run, after it has the lock.
func OpenNew(ctx context.Context, cfg Config, n runs.CreateOptions) (*Engine, error) {
	return openWith(ctx, cfg, nil, func() (pawl.RunID, error) { return runs.Create(ctx, cfg.Project, n) })
}

func openWith(ctx context.Context, cfg Config, loaded *runs.Run, choose func() (pawl.RunID, error)) (*Engine, error) {
	if err := cfg.findAccount(); err != nil {
		return nil, err
	}
	holder := project.Holder{PID: os.Getpid(), Since: time.Now().UTC()}
	lock, err := cfg.Project.LockEngine(holder)
	if err != nil {
		return nil, err
	}
	if err := runs.RequireNoRestore(ctx, cfg.Project); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	e := &Engine{
		cfg: cfg.withDefaults(), lock: lock, loaded: loaded,
		results:  make(chan func()),
		watching: map[pawl.Token]bool{}, settling: map[pawl.Token]bool{}, preparing: map[string]bool{}, prepared: map[string]preparation{}, saved: map[string]history.PendingCheckpoint{}, stopping: map[pawl.Token]bool{},
		lists: map[pawl.StepID]workList{}, sending: map[string]context.CancelCauseFunc{},
	}
	if e.run, err = choose(); err == nil {
		holder.Run, e.pool = e.run, supervise.NewPool(filepath.Join(cfg.Project.RunDir(e.run), "steps"))
		err = errors.Join(lock.SetHolder(holder), e.load(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return e, nil
}

// read reads the run, which an engine can continue.
func (e *Engine) read(ctx context.Context) (*runs.Run, error) {
	if err := runs.RequireOwn(e.cfg.Project, e.run); err != nil {
		return nil, err
	}
	r, err := e.loaded, error(nil)
	if r != nil {
		err = r.RefreshAll(e.cfg.Project)
	} else {
		r, err = runs.LoadToContinue(ctx, e.cfg.Project, e.run)
	}
	if err != nil {
		return nil, err
	}
	if kind := r.State.Kind; kind != pawl.PlanRun && kind != pawl.CommandRun {
		why := fmt.Errorf("run %s is a %s run; only the program that created it can continue it", e.run, kind)
		if kind == pawl.SessionRun {
			why = fmt.Errorf("run %s is a session without a plan: it has no steps to run or undo", e.run)
		}
		err := &pawl.Error{Kind: pawl.KindUsage, Err: why}
		return nil, errors.Join(err, r.Log.Close())
	}
	if err := r.Log.Lease(ctx); err != nil {
		return nil, errors.Join(err, r.Log.Close())
	}
	e.log, e.state, e.plan, e.checkCache = r.Log, r.State, runs.NewOutline(r.Plan), r.CheckCache
	e.text = r.Text
	e.inherit()
	e.notes = append(e.notes, r.Notes...)
	return r, nil
}

func (e *Engine) load(ctx context.Context) error {
	r, err := e.read(ctx)
	if err != nil {
		return err
	}
	if err := r.RestorePlan(e.cfg.Project); err != nil {
		return err
	}
	e.openSaver(ctx)
	e.views = runs.NewViewWriter(e.cfg.Project, e.run)
	if e.mirror = e.cfg.Mirror(e.state, e.log, e.saver.Store); e.mirror == nil {
		e.mirror = noMirror{}
	} else {
		e.saver.DropAhead() // it may write files
	}
	return nil
}
