package history_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/engine/enginetest"
	"pawl/internal/history"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// person does what is done here.
var person = pawl.Author{Kind: pawl.ByPerson, Name: "ann"}

const plan = `name: demo
steps:
  - {id: one, run: echo one > one.txt, outputs: [one.txt]}
  - {id: two, run: echo two > two.txt; echo changed > one.txt, outputs: [two.txt]}
  - {id: each, parallel: 1, foreach: {items: [x, y]}, run: echo $PAWL_ITEM > $PAWL_ITEM.txt, outputs: [$PAWL_ITEM.txt]}
`

func storeOf(p *enginetest.Project) *snapshot.Store {
	p.Helper()
	store, err := runs.OpenSnapshots(context.WithoutCancel(p.Context()), p.Project, p.Config.Snapshots)
	p.Check(err)
	p.Cleanup(func() { store.Close() })
	return store
}

func find(p *enginetest.Project, store *snapshot.Store, name string) history.SavedCheckpoint {
	p.Helper()
	c, err := history.FindCheckpoint(p.Context(), p.Project, store, name)
	p.Check(err)
	return c
}

// A checkpoint is found by its id, by its beginning, by its step, and as the latest one.
func TestFindCheckpoint(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(plan))
	store := storeOf(p)
	one := find(p, store, "one")
	if one.Step != "one" || one.Record == nil {
		t.Errorf("checkpoint of one: %+v", one)
	}
	if c := find(p, store, string(one.ID)); c.ID != one.ID {
		t.Errorf("by its id: %+v", c)
	}
	if c := find(p, store, history.Latest); c.Step != "each" || c.Kind != pawl.CheckpointStep {
		t.Errorf("the latest: %+v", c)
	}
	_, err := history.FindCheckpoint(t.Context(), p.Project, store, "absent")
	p.WantKind(err, pawl.KindUsage, `no checkpoint "absent"`)
	_, err = history.FindCheckpoint(t.Context(), p.Project, store, "")
	p.WantKind(err, pawl.KindUsage, `"" is ambiguous: 4 checkpoints match`)
	before, err := history.GoodBefore(t.Context(), p.Project, store, find(p, store, "two"))
	p.Check(err)
	if before.ID != one.ID {
		t.Errorf("before two: %+v", before)
	}
	if none, err := history.GoodBefore(t.Context(), p.Project, store, one); err != nil || none.ID != "" {
		t.Errorf("before the first: %+v, %v", none, err)
	}
}

// A restore saves the current files first. It is journaled in the current run, or in a session if no run is unfinished.
func TestRestore(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(plan))
	store := storeOf(p)
	p.Write("mine.txt", "mine")
	r, err := history.PrepareRestore(t.Context(), p.Project, store, find(p, store, "one"), history.RestoreOptions{Version: "test"})
	p.Check(err)
	before, err := r.Do(t.Context(), person)
	p.Check(err)
	p.Check(r.Close())
	p.WantText("one.txt", "one\n")
	if p.Exists("two.txt") || p.Exists("mine.txt") {
		t.Error("what was not there then stays")
	}
	r, err = history.PrepareRestore(t.Context(), p.Project, store, find(p, store, string(before)), history.RestoreOptions{Paths: []string{"mine.txt"}, Version: "test"})
	p.Check(err)
	_, err = r.Do(t.Context(), person)
	p.Check(err)
	p.Check(r.Close())
	p.WantText("mine.txt", "mine")
	p.WantText("one.txt", "one\n")
	told, err := history.EnsureRun(t.Context(), p.Project, "test")
	p.Check(err)
	if told == p.Run {
		t.Error("it is journaled in a run that has ended")
	}
	p.Run = told
	p.WantStory("checkpoint.saved files.restored checkpoint.saved files.restored", "checkpoint.saved", "files.restored")
}

// While an attempt runs, its files are not changed under it.
func TestRestoreIsRefused(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	e := p.Start("name: demo\nsteps: [{id: one, run: touch one.txt}, {id: two, run: 'until test -e go; do sleep 0.02; done'}]\n")
	p.UntilEvent("attempt.started", 2)
	store := storeOf(p)
	_, err := history.PrepareRestore(t.Context(), p.Project, store, find(p, store, "one"), history.RestoreOptions{Version: "test"})
	p.WantKind(err, pawl.KindHeld)
	p.WantKind(history.RequireIdle(t.Context(), p.Project), pawl.KindHeld, "attempt 1 of two is still running, in run "+string(p.Run))
	p.Check(history.RequireIdle(t.Context(), p.Project, p.Run))
	if told, err := history.EnsureRun(t.Context(), p.Project, "test"); told != p.Run {
		t.Errorf("people's deeds belong to %s, %v", told, err)
	}
	p.Write("go", "")
	p.Check(e.Wait())
}

// Why a checkpoint has no files.
func TestCheckpointsWithoutFiles(t *testing.T) {
	t.Parallel()
	gone := pawl.Checkpoint{ID: "1", Snapshot: &pawl.Snapshot{Record: "x"}}
	for why, c := range map[string]history.SavedCheckpoint{
		": it was saved without files":          {},
		"it has no snapshot: no disk":           {Checkpoint: pawl.Checkpoint{Snapshot: &pawl.Snapshot{None: "no disk"}}},
		"checkpoint 1: its snapshot was pruned": {Checkpoint: gone, Pruned: true},
		"1: its snapshot is missing from the":   {Checkpoint: gone},
	} {
		if _, err := c.SnapshotRecord(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %s", err, why)
		}
	}
}

// A fork continues from the checkpoint, in place or in another folder.
func TestForks(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write(".pawl/MEMORY.md", "# Memory\n\n## Gotchas\n\n- Mind the gap.\n")
	p.Check(p.Do(plan))
	store := storeOf(p)
	f, err := history.PrepareFork(t.Context(), p.Project, store, find(p, store, "one"), history.ForkOptions{Version: "test"})
	p.Check(err)
	forked, err := f.Do(t.Context(), person)
	p.Check(err)
	p.Check(f.Close())
	p.WantText("one.txt", "one\n")
	first := p.Run
	p.Run = forked.Run
	p.WantStatus(pawl.Done, "one")
	p.WantStatus("", "two")
	p.Check(p.GoOn())
	p.WantText("two.txt", "two\n")
	other := filepath.Join(t.TempDir(), "other")
	f, err = history.PrepareFork(t.Context(), p.Project, store, find(p, store, "two"), history.ForkOptions{Folder: other, Version: "test"})
	p.Check(err)
	elsewhere, err := f.Do(t.Context(), person)
	p.Check(err)
	p.Check(f.Close())
	if data, err := os.ReadFile(filepath.Join(other, "one.txt")); string(data) != "changed\n" || elsewhere.Root != other {
		t.Errorf("in %s: %q, %v", elsewhere.Root, data, err)
	}
	_, err = history.PrepareFork(t.Context(), p.Project, store, find(p, store, "two"), history.ForkOptions{Folder: other})
	p.WantKind(err, pawl.KindUsage, "other must be a new or empty folder")
	nodes, err := history.Lineage(t.Context(), p.Project, store, first)
	p.Check(err)
	begun := slices.IndexFunc(nodes, func(n history.Node) bool { return n.Forked != nil && n.Run == forked.Run })
	if begun < 0 || nodes[begun].Forked.Run != first {
		t.Fatalf("nodes %+v", nodes)
	}
	parent := slices.IndexFunc(nodes, func(n history.Node) bool { return n.ID == nodes[begun].Parent })
	if parent < begun || nodes[parent].Saved.Step != "one" {
		t.Errorf("the fork came from node %d: %+v", parent, nodes)
	}
	if all, err := history.Lineage(t.Context(), p.Project, store); err != nil || len(all) <= len(nodes) { // the session in which files were brought back is no kin
		t.Errorf("%d nodes in all, %v", len(all), err)
	}
}

// Pruning tells the run before it lets a snapshot go, and leaves what always stays.
func TestPrune(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(plan))
	asked, err := history.SaveNow(t.Context(), p.Project, p.Run, config.Snapshots{}, person, "mine")
	p.Check(err)
	store := storeOf(p)
	readOnly, err := runs.OpenSnapshotsReadOnly(t.Context(), p.Project, config.Snapshots{})
	p.Check(err)
	dry, err := history.Prune(t.Context(), p.Project, readOnly, history.PruneOptions{})
	p.Check(errors.Join(err, readOnly.Close()))
	if p.Count("checkpoint.pruned") != 0 {
		t.Error("a dry prune was journaled")
	}
	_, err = history.Prune(t.Context(), p.Project, store, history.PruneOptions{})
	p.Check(err)
	pruned := enginetest.Payloads[pawl.CheckpointsPruned](p)
	if len(pruned) != 1 || len(pruned[0].Checkpoints) != len(dry.Removed) || slices.Contains(pruned[0].Checkpoints, asked.ID) {
		t.Errorf("pruned %+v, dry %+v", pruned, dry)
	}
	if c := find(p, store, string(asked.ID)); c.Record == nil {
		t.Error("a checkpoint that a person asked for is gone")
	}
	one := find(p, store, "one")
	if _, err := one.SnapshotRecord(); err == nil || !strings.Contains(err.Error(), "pruned") {
		t.Errorf("files of one: %v", err)
	}
}

// Snapshots are checked against what the journals say; what is lost for good is journaled so.
func TestVerifyAndRepairSnapshots(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	for _, do := range []func(context.Context, *enginetest.Project) ([]pawl.Finding, error){verify, repair} {
		if found, err := do(t.Context(), p); err != nil || found != nil {
			t.Errorf("without snapshots: %v, %v", found, err)
		}
	}
	p.Check(p.Do(plan))
	found, err := verify(t.Context(), p)
	p.Check(err)
	if len(found) != 1 || found[0].Level != pawl.OK || !strings.HasPrefix(found[0].What, "4 snapshots verified, ") {
		t.Errorf("findings %+v", found)
	}
	packs, err := filepath.Glob(p.Path(".pawl/snapshots/pack*"))
	p.Check(err)
	if len(packs) == 0 {
		packs, err = filepath.Glob(p.Path(".pawl/snapshots/*/pack*"))
		p.Check(err)
	}
	for _, path := range packs {
		info, err := os.Stat(path)
		p.Check(err)
		p.Check(os.WriteFile(path, make([]byte, info.Size()), 0o600))
	}
	found, err = verify(t.Context(), p)
	p.Check(err)
	if len(found) == 0 || found[0].Level != pawl.Bad {
		t.Errorf("damaged packs: %+v", found)
	}
	found, err = repair(t.Context(), p)
	p.Check(err)
	if !slices.ContainsFunc(found, func(f pawl.Finding) bool { return strings.Contains(f.What, "snapshots are lost") }) {
		t.Errorf("repair: %+v", found)
	}
	if p.Count("checkpoint.pruned") == 0 {
		t.Error("the loss is not journaled")
	}
}

func verify(ctx context.Context, p *enginetest.Project) ([]pawl.Finding, error) {
	return history.VerifySnapshots(ctx, p.Project)
}

func repair(ctx context.Context, p *enginetest.Project) ([]pawl.Finding, error) {
	return history.RepairSnapshots(ctx, p.Project)
}

// A checkpoint that a hook wants is taken by whoever comes to do it, once; two wants are one checkpoint.
func TestRequestedCheckpoints(t *testing.T) {
	p := enginetest.New(t)
	told, err := history.EnsureRun(t.Context(), p.Project, "test")
	p.Check(err)
	p.Run = told
	for _, kind := range []pawl.CheckpointKind{pawl.CheckpointTool, pawl.CheckpointTool, pawl.CheckpointBeforeCompaction} {
		start, err := history.RequestCheckpoint(p.Project, history.CheckpointRequest{Run: told, Kind: kind, Why: "test", Session: "claude:1"})
		if err != nil || !start {
			t.Errorf("want: start %v, %v", start, err)
		}
	}
	synctest.Test(t, func(*testing.T) { // a keeper goes when nothing was wanted for a while
		if err := history.SaveRequested(context.WithoutCancel(p.Context()), p.Project, config.Snapshots{}); err != nil {
			t.Error(err)
		}
	})
	saved := enginetest.Payloads[pawl.CheckpointSaved](p)
	if len(saved) != 1 || saved[0].Checkpoint.Kind != pawl.CheckpointBeforeCompaction {
		t.Errorf("checkpoints %+v", saved)
	}
	lock, err := p.LockCheckpointer()
	p.Check(err)
	if start, err := history.RequestCheckpoint(p.Project, history.CheckpointRequest{Run: told, Kind: pawl.CheckpointTool}); start || err != nil {
		t.Errorf("while a keeper is at it: start %v, %v", start, err)
	}
	p.Check(errors.Join(history.SaveRequested(t.Context(), p.Project, config.Snapshots{}), lock.Unlock()))
}

// TestReplacedProject puts another project in the place of one whose keeper waits for requests. The keeper, which has the old one's store,
// leaves the new one's request alone.
func TestReplacedProject(t *testing.T) {
	p := enginetest.New(t)
	run, err := history.EnsureRun(t.Context(), p.Project, "test")
	p.Check(err)
	p.Run = run
	synctest.Test(t, func(*testing.T) {
		ended := make(chan error, 1)
		go func() {
			ended <- history.SaveRequested(context.WithoutCancel(p.Context()), p.Project, config.Snapshots{})
		}()
		synctest.Wait()
		old := p.Root + "-old"
		p.Check(errors.Join(os.Rename(p.Home(), old), os.CopyFS(p.Home(), os.DirFS(old))))
		start, err := history.RequestCheckpoint(p.Project, history.CheckpointRequest{Run: run, Kind: pawl.CheckpointTool, Session: "claude:1"})
		if !start || err != nil {
			t.Errorf("start %v, %v", start, err)
		}
		p.Check(<-ended)
	})
	if _, err := os.Lstat(p.CheckpointRequest(pawl.CheckpointTool)); err != nil {
		t.Errorf("the request: %v", err)
	}
	if saved := enginetest.Payloads[pawl.CheckpointSaved](p); len(saved) > 0 {
		t.Errorf("checkpoints %+v", saved)
	}
}
