package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// workspace is the files of the project as a walk finds them. The walk takes longer than all else in a brief, so it runs while the run is
// loaded and checked.
type workspace struct {
	stop  context.CancelFunc
	ended chan struct{} // closed when the walk has ended

	begun    chan struct{}              // closed when journals is set
	journals map[pawl.RunID]fs.FileInfo // before all that follows

	store   *snapshot.Store
	records []snapshot.Record   // of all runs; nil if they could not be read
	found   *snapshot.Workspace // nil if err is not
	err     error
}

// walk begins a walk.
func (g *briefer) walk(ctx context.Context) *workspace {
	ctx, stop := context.WithCancel(ctx)
	w := &workspace{stop: stop, begun: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		w.journals = runs.NewestJournals(g.project)
		close(w.begun)
		w.err = w.run(ctx, g)
	}()
	return w
}

func (w *workspace) run(ctx context.Context, g *briefer) error {
	if _, err := disk.Lstat(g.project.Snapshots()); errors.Is(err, fs.ErrNotExist) {
		return errors.New("there is no snapshot")
	}
	if err := g.project.Trusted(); err != nil { // comparing writes caches
		return errors.New("the project is not trusted")
	}
	var err error
	if w.store, err = g.snapshots.Open(ctx); err != nil {
		return err
	}
	if w.records, err = w.store.Records(); err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	if w.found, err = w.store.Walk(patient); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("comparing takes longer than %s", g.Timeout)
	}
	return err
}

// wait returns the workspace after the walk.
func (w *workspace) wait() *workspace {
	<-w.ended
	return w
}

// close ends the walk and discards what it found.
func (w *workspace) close() {
	w.stop()
	if w.wait().found != nil {
		_ = w.found.Close() // it has added nothing that counts
	}
}

// begin begins a walk. The caller calls the function that it returns at the end.
func (g *briefer) begin(ctx context.Context) (end func()) {
	g.snapshots = runs.SnapshotsOf(g.project, g.Snapshots)
	g.workspace = g.walk(ctx)
	return func() {
		g.workspace.close()
		_ = g.snapshots.Close() // it was only read
	}
}

// walkAgain replaces the walk by one that begins now.
func (g *briefer) walkAgain(ctx context.Context) {
	g.workspace.close()
	g.workspace = g.walk(ctx)
}

// load loads the run; nil if there is none. The journal may name files and snapshots that were not there yet when the walk began. Then the
// walk begins again.
func (g *briefer) load(ctx context.Context, run pawl.RunID) (*runs.Run, error) {
	load := g.Load
	if load == nil {
		load = func(ctx context.Context) (*runs.Run, error) { return runs.Load(ctx, g.project, run) }
	}
	r, err := load(ctx)
	if <-g.workspace.begun; err == nil && r != nil && !r.UnchangedSince(g.project, g.workspace.journals) {
		g.walkAgain(ctx)
	}
	return r, err
}

// changes returns what differs from a snapshot.
func (g *briefer) changes(ctx context.Context, from snapshot.Record) ([]snapshot.Change, bool) {
	if !slices.ContainsFunc(g.workspace.wait().records, func(r snapshot.Record) bool { return r.ID == from.ID }) { // it is newer than the walk
		g.walkAgain(ctx)
	}
	w := g.workspace.wait()
	var changes []snapshot.Change
	err := w.err
	if err == nil {
		changes, err = w.found.Since(from)
	}
	if err != nil {
		g.unchecked("which files changed: %v", err)
	}
	return changes, err == nil
}
