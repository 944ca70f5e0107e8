package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// secrets are patterns of files that are made to hold secrets. They are in no snapshot unless a .pawlignore brings them
// back, or git has them anyway.
var secrets = []string{
	".env", ".env.local", ".env.*.local", ".env.dev", ".env.development", ".env.prod", ".env.production", ".env.staging", ".env.test",
	".envrc", ".netrc", ".pgpass", ".git-credentials",
}

// OpenSnapshots opens the project's snapshots.
func OpenSnapshots(ctx context.Context, p *project.Project, cfg config.Snapshots) (*snapshot.Store, error) {
	return snapshot.Open(ctx, snapshot.Config{Root: p.Root, Dir: p.Snapshots(), Patterns: cfg.Ignore, Defaults: secrets, Quota: int64(cfg.Quota)})
}

// keeper takes the run's checkpoints. Whatever goes wrong with a snapshot is no fault of the work: the checkpoint then
// says why it has none.
type keeper struct {
	project *project.Project
	run     pawl.RunID
	store   *snapshot.Store // nil: why says why
	why     string
}

func openKeeper(ctx context.Context, p *project.Project, run pawl.RunID, cfg config.Snapshots) *keeper {
	k := &keeper{project: p, run: run}
	if cfg.Off {
		k.why = "switched off in .pawl/config.yaml"
		return k
	}
	var err error
	if k.store, err = OpenSnapshots(ctx, p, cfg); err != nil {
		k.why = clip(err.Error())
	}
	return k
}

func (k *keeper) close() error {
	if k.store == nil {
		return nil
	}
	return k.store.Close()
}

// save takes a snapshot. It returns the checkpoint that names it.
func (k *keeper) save(ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, at standing) saved {
	c := pawl.Checkpoint{
		ID: newCheckpointID(), Kind: kind, Step: ref.Step, Item: ref.Item, Why: clip(why), Live: at.besides(kind, ref),
		Snapshot: &pawl.Snapshot{None: k.why},
	}
	if k.store == nil {
		return saved{Checkpoint: c}
	}
	record, err := k.store.Take(ctx, snapshot.Stamp{
		Checkpoint: c.ID, Kind: kind, Run: k.run, Step: ref.Step, Item: ref.Item, Attempt: ref.Attempt, Token: ref.Token,
		Why: c.Why, Seq: at.seq, Live: c.Live,
	})
	if err != nil {
		c.Snapshot.None = noneFor(err)
		return saved{Checkpoint: c}
	}
	c.Snapshot = record.Snapshot()
	return saved{Checkpoint: c, fault: makeRoom(ctx, k.project, k.store)}
}

// saved is a checkpoint that was taken and is not journaled yet.
type saved struct {
	pawl.Checkpoint
	fault error // why the store could not be brought back within its quota
}

// noneFor says in a few words why there is no snapshot.
func noneFor(err error) string {
	if errors.Is(err, snapshot.ErrQuota) {
		return "quota"
	}
	return clip(err.Error())
}

// standing is where the run stands while a snapshot is taken.
type standing struct {
	seq  pawl.Seq
	live []pawl.AttemptRef
}

// besides returns the live attempts but for the one whose end the checkpoint is of.
func (at standing) besides(kind pawl.CheckpointKind, ref pawl.AttemptRef) []pawl.AttemptRef {
	if kind != pawl.CheckpointStep && kind != pawl.CheckpointEmergency {
		return at.live
	}
	return slices.DeleteFunc(slices.Clone(at.live), func(l pawl.AttemptRef) bool { return l.Token == ref.Token })
}

func (e *Engine) standing() standing {
	return standing{seq: e.state.Seq, live: refs(e.state.Live())}
}

// standingNow is standing for a helper, which asks the engine's own goroutine.
func (e *Engine) standingNow(ctx context.Context) (at standing) {
	e.ask(ctx, func() { at = e.standing() })
	return at
}

// ask has the engine's own goroutine do something for a helper that waits for it, unless ctx ends before.
func (e *Engine) ask(ctx context.Context, do func()) {
	done := make(chan struct{})
	select {
	case e.posted <- func() { do(); close(done) }:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// saveLater takes a checkpoint, off the engine's own path, and says it when it is there.
func (e *Engine) saveLater(ctx context.Context, kind pawl.CheckpointKind, ref pawl.AttemptRef, why string, then func()) {
	e.saving++
	at := e.standing()
	e.help(func() func() {
		s := e.keeper.save(ctx, kind, ref, why, at)
		return func() {
			e.saving--
			e.say(pawl.CheckpointSaved{Checkpoint: s.Checkpoint})
			e.noteFull(s)
			then()
		}
	})
}

// noteFull notes that there was no making room after a snapshot.
func (e *Engine) noteFull(s saved) {
	if s.fault != nil {
		e.note("snapshots take more than their quota: %v", s.fault)
	}
}

// itemPause is the least time between two checkpoints of a step's finished items.
const itemPause = 5 * time.Second

// itemSaves says when finished items are to have a checkpoint again.
type itemSaves struct {
	waiting int // items finished since the last one
	busy    bool
	next    time.Time
}

// saveItems takes a checkpoint of the items that finished since the last one, unless that was just now, or is being
// taken: the next item or the step's end will have them.
func (e *Engine) saveItems(ctx context.Context, ref pawl.AttemptRef) {
	s := &e.items
	s.waiting++
	if s.busy || time.Now().Before(s.next) {
		return
	}
	why := fmt.Sprintf("items finished: %d", s.waiting)
	s.waiting, s.busy = 0, true
	start := time.Now()
	e.saveLater(ctx, pawl.CheckpointItem, ref, why, func() {
		s.busy = false
		s.next = time.Now().Add(max(itemPause, 20*time.Since(start)))
	})
}
