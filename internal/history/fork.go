package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
	"pawl/internal/snapshot"
)

// Fork is a planned new run that starts from another run's checkpoint. PrepareFork plans it and changes nothing. A fork
// in place holds the engine lock until Close.
type Fork struct {
	*Restore        // of the files, in place; nil for a fork into another folder
	Redo     []Redo // finished work that the new run repeats because the snapshot does not contain it

	source  *replay
	project *project.Project // the project of the original run
	store   *snapshot.Store
	to      string // target folder; "" in place
	version string
	config  config.Snapshots
}

// Redo is work that finished while the snapshot was being taken and is not proven to be in it.
type Redo struct {
	Step  pawl.StepID   `json:"step"`
	Items []pawl.ItemID `json:"items,omitempty"` // only these items; empty for the whole step
	index []int
}

// ForkOptions says where to fork.
type ForkOptions struct {
	Folder    string // empty or nonexistent folder. Defaults to the project itself.
	OtherHead bool   // in place: allow it even if HEAD has moved since the checkpoint
	Version   string // of this program
	Snapshots config.Snapshots
}

// PrepareFork plans a fork.
func PrepareFork(ctx context.Context, p *project.Project, store *snapshot.Store, target SavedCheckpoint, into ForkOptions) (*Fork, error) {
	record, err := target.SnapshotRecord()
	if err == nil {
		_, err = record.Within([]string{"."})
	}
	if err != nil {
		return nil, err
	}
	f := &Fork{project: p, store: store, to: into.Folder, version: into.Version, config: into.Snapshots}
	if f.source, err = OpenReplay(ctx, p, target); err != nil {
		return nil, err
	}
	if f.Redo, err = f.source.Unproven(store, record); err != nil {
		return nil, err
	}
	if into.Folder != "" {
		return f, RequireEmpty(into.Folder)
	}
	f.Restore = newRestore(p, target, "pawl fork", RestoreOptions{OtherHead: into.OtherHead, Version: into.Version})
	if err := f.prepare(ctx, store); err != nil {
		return nil, err
	}
	return f, nil
}

// RequireEmpty fails if the folder has entries.
func RequireEmpty(folder string) error {
	if disk.Exists(filepath.Join(folder, snapshot.Unfinished)) {
		return runs.UsageError("rm -r "+shellwords.Word(folder), "%s is incomplete: a pawl that wrote files there was interrupted; remove the folder first", folder)
	}
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	return runs.UsageError("", "%s must be a new or empty folder", folder)
}

// Close releases the engine lock.
func (f *Fork) Close() error {
	if f.Restore == nil {
		return nil
	}
	return f.Restore.Close()
}

// Forked is the result of a fork.
type Forked struct {
	Run    pawl.RunID
	Kind   pawl.RunKind
	Root   string            // of the new run's project
	Before pawl.CheckpointID // the saved previous state; "" if no file was changed
	Start  pawl.CheckpointID // the new run's first checkpoint in another folder; "" in place, where it has the old run's

	LeftOut   []snapshot.LeftOut // in another folder: what the checkpoint, and thus the folder, does not contain
	Variables []string           // with secrets that the run needs and pawl does not store
	Dotenv    []string           // files with secrets that the run needs and its project does not have
	Notes     []string           // for the user
}

// Do restores the files and then creates the run. If it is interrupted, no run exists.
func (f *Fork) Do(ctx context.Context, by pawl.Author) (Forked, error) {
	done := Forked{Kind: f.source.state.Kind}
	home, err := f.files(ctx, by, &done)
	if err != nil {
		return done, err
	}
	done.Root = home.Root
	f.listSecrets(home, &done)
	return done, f.createRun(ctx, home, by, &done)
}

// listSecrets lists what a user must supply before the new run can continue.
func (f *Fork) listSecrets(home *project.Project, done *Forked) {
	given := f.source.state.Given
	for name, v := range given.Params {
		if v.Hash != "" {
			done.Variables = append(done.Variables, pawl.ParamVar(name))
		}
	}
	for name, v := range given.Env {
		if v.Hash != "" {
			done.Variables = append(done.Variables, name)
		}
	}
	slices.Sort(done.Variables)
	for _, file := range f.source.plan.Dotenv {
		if _, err := disk.Lstat(filepath.Join(home.Root, filepath.FromSlash(file))); err != nil {
			done.Dotenv = append(done.Dotenv, file)
		}
	}
}

// files restores the files where the run will be, and returns the project there.
func (f *Fork) files(ctx context.Context, by pawl.Author, done *Forked) (home *project.Project, err error) {
	if f.to == "" {
		if len(f.Changes) > 0 || f.Unfinished != nil {
			done.Before, err = f.Restore.Do(ctx, by)
		}
		return f.project, err
	}
	record, err := f.source.target.SnapshotRecord()
	if err != nil {
		return nil, err
	}
	if done.LeftOut, err = f.store.LeftOutOf(record); err != nil {
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
	return home, f.shareSecrets(home)
}

// shareSecrets makes the new project leave out the same dotenv files, and recognize the secrets that the run began with.
func (f *Fork) shareSecrets(home *project.Project) error {
	if err := runs.RecordDotenv(home, f.source.plan.Dotenv); err != nil || f.source.state.Given.Empty() {
		return err
	}
	return home.UseSecretKeyOf(f.project)
}

func copyIfThere(from, to string) error {
	data, err := disk.ReadFile(from, disk.MemoryLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return disk.Replace(to, data)
}

// createRun creates the run under a temporary name, which it changes once everything is durable.
func (f *Fork) createRun(ctx context.Context, home *project.Project, by pawl.Author, done *Forked) error {
	if err := runs.RequireOwn(f.project, f.source.target.Run); err != nil {
		return err
	}
	run := pawl.NewRunID(f.source.state.Name, time.Now(), disk.RandomHex(2))
	events, err := f.stage(ctx, home, run, by, done)
	if err != nil {
		return fmt.Errorf("make run %s: %w", run, err)
	}
	if err := cmp.Or(runs.Claim(home, run, events), disk.MakeFolders(home.Runs())); err != nil {
		return err
	}
	if err := disk.Rename(filepath.Join(home.Staging(), string(run)), home.RunDir(run)); err != nil {
		return fmt.Errorf("make run %s: %w", run, err)
	}
	done.Run = run
	if err := disk.SyncFolder(home.Staging()); err != nil {
		return err
	}
	return journal.Place(ctx, home.Runs(), run)
}

// stage writes the whole run under its temporary name, and returns its events.
func (f *Fork) stage(ctx context.Context, home *project.Project, run pawl.RunID, by pawl.Author, done *Forked) ([]pawl.Event, error) {
	if err := disk.RemoveTree(home.Staging()); err != nil { // left by an interrupted fork; nobody else makes one now
		return nil, err
	}
	events, err := f.source.inherited(run, home.ID, f.version)
	if err != nil {
		return nil, err
	}
	said := f.closing()
	if f.to != "" {
		start := f.saveStart(ctx, home, run, pawl.Seq(len(events)), done)
		said = append([]pawl.Payload{pawl.CheckpointSaved{Checkpoint: start}}, said...)
	}
	for _, payload := range said {
		event, err := redact.OfProcess().Event(by, payload)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	if f.source.rejectsMore(events) {
		return nil, fmt.Errorf("the events before checkpoint %s do not form a valid run", f.source.target.ID)
	}
	if err := f.source.writeRun(ctx, home.Staging(), run, events); err != nil {
		return nil, err
	}
	return events, f.source.linkArtifacts(home, run)
}

// saveStart saves the files of the new project as the run's first checkpoint: those that it inherits have their snapshots
// in the old project.
func (f *Fork) saveStart(ctx context.Context, home *project.Project, run pawl.RunID, seq pawl.Seq, done *Forked) pawl.Checkpoint {
	saver := OpenSaver(ctx, home, run, f.config)
	target := f.source.target
	saved := saver.Save(ctx, pawl.CheckpointManual, pawl.AttemptRef{Step: target.Step, Item: target.Item},
		fmt.Sprintf("forked from run %s at checkpoint %s", target.Run, target.ID), Position{Seq: seq})
	err := errors.Join(saved.QuotaErr, saver.Close())
	if done.Start = saved.ID; saved.Unsaved() != "" {
		err = errors.Join(err, fmt.Errorf("the run's first checkpoint has no snapshot: %s", saved.Unsaved()))
	}
	if err != nil {
		done.Notes = append(done.Notes, err.Error())
	}
	return saved.Checkpoint
}

// closing returns what the new run's own first events say. Live attempts and some blockers belong to the original run, and work missing
// from the snapshot is reopened.
func (f *Fork) closing() []pawl.Payload {
	var said []pawl.Payload
	for _, live := range f.source.state.Live() {
		said = append(said, f.source.abandonedEnd(f.project, live))
	}
	for _, again := range f.Redo {
		why := fmt.Sprintf("finished while checkpoint %s was being taken, and not contained in it", f.source.target.ID)
		said = append(said, pawl.StepReopened{Step: again.Step, Why: why, Items: again.index})
	}
	if back := f.source.state.Rollback; back != nil {
		said = append(said, pawl.RollbackEnded{Checkpoint: back.Checkpoint, Stopped: "the rollback belongs to run " + string(f.source.target.Run)})
	}
	for _, b := range f.source.state.OpenBlockers() {
		if b.OfRun {
			said = append(said, pawl.BlockerCleared{ID: b.ID, How: "run " + string(f.source.target.Run) + " continues as this one"})
		}
	}
	return append(said, pawl.EngineStopped{Why: "forked from run " + string(f.source.target.Run)})
}

// addRedo adds a step, or one of its items, to the list. Each step has one entry.
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

// writeRun writes a complete run: plans, blobs, and the journal in one batch.
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
