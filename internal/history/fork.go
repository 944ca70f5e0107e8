package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// Fork is a new run that begins where another one stood at a checkpoint: thought through, and not made yet. In place,
// nobody else works in the project until Close.
type Fork struct {
	*Restore        // of the files, in place; nil for a fork into another folder
	Redo     []Redo // finished work that the new run does again, because it is not in the snapshot

	source  *replay
	project *project.Project // whose run is forked
	store   *snapshot.Store
	to      string // the other folder, empty in place
	version string
}

// Redo is work that was finished while the snapshot was being taken, and is not proven to be in it.
type Redo struct {
	Step  pawl.StepID   `json:"step"`
	Items []pawl.ItemID `json:"items,omitempty"` // only these
	index []int
}

// ForkOptions says where a fork is to be.
type ForkOptions struct {
	Folder    string // empty or not there. Defaults to the project itself.
	OtherHead bool   // in place: also where git stands elsewhere than then
	Version   string // of this program
}

// PrepareFork thinks a fork through.
func PrepareFork(ctx context.Context, p *project.Project, store *snapshot.Store, target SavedCheckpoint, into ForkOptions) (*Fork, error) {
	record, err := target.SnapshotRecord()
	if err != nil {
		return nil, err
	}
	f := &Fork{project: p, store: store, to: into.Folder, version: into.Version}
	if f.source, err = OpenReplay(ctx, p, target); err != nil {
		return nil, err
	}
	if f.Redo, err = f.source.Unproven(store, record); err != nil {
		return nil, err
	}
	if into.Folder != "" {
		return f, RequireEmpty(into.Folder)
	}
	f.Restore = &Restore{project: p, Target: target, version: into.Version, Command: "pawl fork"}
	if err := f.prepare(ctx, store, into.OtherHead); err != nil {
		return nil, err
	}
	return f, nil
}

// RequireEmpty refuses a folder in which something is.
func RequireEmpty(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	return runs.UsageError("", "%s is to be a new or an empty folder", folder)
}

// Close lets others work again.
func (f *Fork) Close() error {
	if f.Restore == nil {
		return nil
	}
	return f.Restore.Close()
}

// Forked is what a fork has made.
type Forked struct {
	Run    pawl.RunID
	Kind   pawl.RunKind
	Root   string            // of the project that the run is in
	Before pawl.CheckpointID // what was there, where files were changed
}

// Do brings the files to what they were, and then makes the run: cut off before that, there is none.
func (f *Fork) Do(ctx context.Context, by pawl.Author) (Forked, error) {
	done := Forked{Kind: f.source.state.Kind}
	home, err := f.files(ctx, by, &done)
	if err != nil {
		return done, err
	}
	done.Root = home.Root
	done.Run, err = f.createRun(ctx, home, by)
	return done, err
}

// files brings the files to where the run is to be, and returns the project there.
func (f *Fork) files(ctx context.Context, by pawl.Author, done *Forked) (home *project.Project, err error) {
	if f.to == "" {
		if len(f.Changes) > 0 {
			done.Before, err = f.Restore.Do(ctx, by)
		}
		return f.project, err
	}
	record, err := f.source.target.SnapshotRecord()
	if err != nil {
		return nil, err
	}
	if _, err := f.store.Export(ctx, record, nil, f.to); err != nil {
		return nil, err
	}
	if home, err = project.Init(f.to); err != nil {
		return nil, err
	}
	for from, to := range map[string]string{f.project.Config(): home.Config(), f.project.Memory(): home.Memory()} {
		if err := copyIfThere(from, to); err != nil {
			return nil, err
		}
	}
	return home, nil
}

func copyIfThere(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return disk.Replace(to, data)
}

// createRun makes the run, under a name that is no run's until all of it is durable.
func (f *Fork) createRun(ctx context.Context, home *project.Project, by pawl.Author) (pawl.RunID, error) {
	run := pawl.NewRunID(f.source.state.Name, time.Now(), disk.RandomHex(2))
	if err := disk.RemoveTree(home.Making()); err != nil { // what a fork that was cut off left: nobody else makes one now
		return "", fmt.Errorf("make run %s: %w", run, err)
	}
	events, err := f.source.inherited(run, home.ID, f.version)
	if err != nil {
		return "", err
	}
	ending, err := f.closingEvents(by)
	if err != nil {
		return "", err
	}
	if events = append(events, ending...); f.source.rejectsMore(events) {
		return "", fmt.Errorf("make run %s: the events before checkpoint %s do not fit together in a new run", run, f.source.target.ID)
	}
	if err := f.source.writeRun(ctx, home.Making(), run, events); err != nil {
		return "", fmt.Errorf("make run %s: %w", run, err)
	}
	if err := f.source.linkArtifacts(home, run); err != nil {
		return "", fmt.Errorf("make run %s: %w", run, err)
	}
	if err := disk.MakeFolders(home.Runs()); err != nil {
		return "", err
	}
	if err := disk.Rename(filepath.Join(home.Making(), string(run)), home.RunDir(run)); err != nil {
		return "", fmt.Errorf("make run %s: %w", run, err)
	}
	return run, disk.SyncFolder(home.Making())
}

// closingEvents returns what the new run says by itself: attempts that were live are the old run's, and what is not in the
// snapshot is done again.
func (f *Fork) closingEvents(by pawl.Author) ([]pawl.Event, error) {
	var said []pawl.Payload
	for _, live := range f.source.state.Live() {
		said = append(said, f.source.abandonedEnd(f.project, live))
	}
	for _, again := range f.Redo {
		why := fmt.Sprintf("it was finished while checkpoint %s was taken, and is not in it", f.source.target.ID)
		said = append(said, pawl.StepReopened{Step: again.Step, Why: why, Items: again.index})
	}
	if back := f.source.state.Rollback; back != nil {
		said = append(said, pawl.RollbackEnded{Checkpoint: back.Checkpoint, Stopped: "it is the rollback of run " + string(f.source.target.Run)})
	}
	said = append(said, pawl.EngineStopped{Why: "forked from run " + string(f.source.target.Run)})
	events := make([]pawl.Event, len(said))
	for i, payload := range said {
		var err error
		if events[i], err = pawl.NewEvent(by, payload); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// addRedo adds a step, or one item of it, to a list in which each step stands once.
func addRedo(list []Redo, step pawl.StepID, item pawl.ItemID, index int) []Redo {
	at := slices.IndexFunc(list, func(r Redo) bool { return r.Step == step })
	if at < 0 {
		at, list = len(list), append(list, Redo{Step: step})
	}
	if item != "" {
		list[at].Items, list[at].index = append(list[at].Items, item), append(list[at].index, index)
	}
	return list
}

// writeRun writes a run whole: its plans, its blobs, and its journal in one batch.
func (h *replay) writeRun(ctx context.Context, folder string, run pawl.RunID, events []pawl.Event) (err error) {
	log, err := journal.Create(folder, run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	for name, data := range h.plans {
		if err := disk.Replace(filepath.Join(folder, string(run), name), data); err != nil {
			return err
		}
	}
	for _, data := range h.blobs {
		if _, err := log.PutBlob(data); err != nil {
			return err
		}
	}
	_, err = log.Append(ctx, h.state.Epoch, events...)
	return err
}
