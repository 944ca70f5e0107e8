package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pawl"
)

// saved is what `pawl checkpoint --json` prints.
type saved struct {
	Checkpoint pawl.CheckpointID   `json:"checkpoint"`
	Run        pawl.RunID          `json:"run"`
	Kind       pawl.CheckpointKind `json:"kind"`
	Snapshot   string              `json:"snapshot"`
	Files      int                 `json:"files"`
	Why        string              `json:"why"`
}

// restored is what `pawl restore --json` prints.
type restored struct {
	Checkpoint pawl.CheckpointID `json:"checkpoint"`
	Before     pawl.CheckpointID `json:"before"`
	Changes    []struct {
		Path   string `json:"path"`
		Change string `json:"change"`
	} `json:"changes"`
}

// TestSession saves checkpoints in a project without a plan, changes files, and restores them.
func TestSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("a.txt", "one\n")
	p.write("sub/b.txt", "b\n")
	p.ok("init")
	first := decode[saved](p, "checkpoint", "-m", "before")
	if first.Snapshot != "kept" || first.Files < 2 || first.Why != "before" || first.Run != p.run() {
		t.Errorf("%+v", first)
	}
	id := string(first.Checkpoint)
	s := decode[status](p, "status")
	if s.Kind != pawl.SessionRun {
		t.Errorf("%+v", s)
	}
	p.ok("status")
	p.fails(pawl.KindNothing, "resume")
	p.ok("watch")
	p.write("a.txt", "two\n")
	p.write("new.txt", "new\n")
	if err := os.Remove(p.path("sub/b.txt")); err != nil {
		t.Fatal(err)
	}
	p.wants(p.ok("diff"), "a.txt", "-one", "+two", "new.txt", "sub/b.txt")
	var paths []string
	for _, c := range decode[[]struct{ Path, Change string }](p, "diff", id) {
		paths = append(paths, c.Path+" "+c.Change)
	}
	slices.Sort(paths)
	if want := []string{"a.txt changed", "new.txt added", "sub removed", "sub/b.txt removed"}; !slices.Equal(paths, want) && !slices.Equal(paths, slices.Delete(want, 2, 3)) {
		t.Errorf("%q", paths)
	}
	if got := p.ok("show", id, "a.txt"); got != "one\n" {
		t.Errorf("a.txt then: %q", got)
	}
	p.wants(p.ok("show", id, "sub"), "b.txt")
	p.fails(pawl.KindUsage, "show", id, "new.txt")
	p.fails(pawl.KindUsage, "show", id, "../elsewhere")
	p.fails(pawl.KindUsage, "restore", id)
	if got := p.within(t.Context(), "y\n", "restore", id); pawl.KindOf(got.err) != pawl.KindUsage {
		t.Errorf("a yes that no person types: %v", got.err)
	}
	if p.read("a.txt") != "two\n" {
		t.Error("restored without an agreement")
	}
	one := decode[restored](p, "restore", id, "a.txt", "--yes")
	if len(one.Changes) != 1 || one.Changes[0].Path != "a.txt" || p.read("a.txt") != "one\n" || !p.exists("new.txt") {
		t.Errorf("%+v", one)
	}
	p.ok("restore", id, "--yes")
	if p.exists("new.txt") || p.read("sub/b.txt") != "b\n" {
		t.Error("not all is restored")
	}
	back := last[pawl.FilesRestored](p)
	if string(back.Checkpoint) != id || back.Before == "" {
		t.Errorf("%+v", back)
	}
	p.ok("restore", string(back.Before), "--yes")
	if !p.exists("new.txt") {
		t.Error("what was there before the restore is lost")
	}
	other := filepath.Join(t.TempDir(), "then")
	p.wants(p.ok("restore", id, "a.txt", "--to", other, "--dry-run"), "would write 1 file to "+other+"\ncreate   a.txt\n")
	p.ok("restore", id, "--to", other)
	if data, err := os.ReadFile(filepath.Join(other, "a.txt")); err != nil || string(data) != "one\n" {
		t.Errorf("%q %v", data, err)
	}
	p.fails(pawl.KindUsage, "show", "nothing")
	p.wants(p.ok("log", "--graph"), id)
	decode[[]any](p, "log", "--graph")
	p.ok("checkpoint")
	p.wants(p.ok("checkpoints"), id)
}

// TestFork starts a new run from a checkpoint of a step, here and in another folder. Only later steps run.
func TestFork(t *testing.T) {
	t.Parallel()
	p := finished(t)
	old := p.run()
	p.write("draft.txt", "changed\n")
	p.fails(pawl.KindUsage, "fork", "draft")
	there := filepath.Join(t.TempDir(), "second")
	forked := decode[struct {
		Run     pawl.RunID `json:"run"`
		Project string     `json:"project"`
		From    pawl.RunID `json:"from"`
	}](p, "fork", "draft", "--to", there)
	if forked.From != old || forked.Run == old {
		t.Errorf("%+v", forked)
	}
	q := &place{T: t, dir: forked.Project}
	if q.exists("all.txt") || q.read("draft.txt") != "one\n" {
		t.Error("the fork has other files")
	}
	q.ok("resume")
	if !q.exists("all.txt") || q.state().Status != pawl.StatusCompleted {
		t.Errorf("%s", q.state().Status)
	}
	before := len(p.ran())
	p.ok("fork", "draft", "--yes")
	if p.newest() == old || p.exists("all.txt") {
		t.Error("nothing is forked")
	}
	p.ok("resume")
	if got := len(p.ran()); got >= before+4 {
		t.Errorf("%d steps ran again", got-before)
	}
	p.wants(p.ok("log", "--graph", "--all"), string(old))
	decode[[]any](p, "log", "--graph", "--all")
}

// TestRollback undoes what was finished since a checkpoint, and resumes from there.
func TestRollback(t *testing.T) {
	t.Parallel()
	p := finished(t)
	type report struct {
		Undos    []struct{ Step pawl.StepID }
		Reopened []pawl.StepID
		DryRun   bool `json:"dry_run"`
	}
	if dry := decode[report](p, "rollback", "--to", "draft", "--dry-run"); !dry.DryRun || len(dry.Undos) < 2 || !p.exists("all.txt") {
		t.Errorf("%+v", dry)
	}
	p.fails(pawl.KindUsage, "rollback", "--to", "draft")
	p.fails(pawl.KindUsage, "rollback", "--to", "draft", "--stop")
	p.wants(p.ok("rollback", "--to", "draft", "--yes"), "publish", "convert")
	if p.exists("all.txt") || p.exists("out-a.txt") || !p.exists("draft.txt") {
		t.Error("files are not as they were")
	}
	want := map[pawl.StepID]bool{"draft": true, "convert": false, "publish": false}
	for id, status := range decode[status](p, "status").of() {
		if (status == pawl.Done) != want[id] {
			t.Errorf("%s is %s", id, status)
		}
	}
	if got := last[pawl.RollbackEnded](p); got.Checkpoint == "" && len(p.events("undo.done")) < 2 {
		t.Errorf("%+v", got)
	}
	p.ok("resume")
	if !p.exists("all.txt") || p.state().Status != pawl.StatusCompleted {
		t.Errorf("%s", p.state().Status)
	}
}

// TestFailedRollback lets an undo command fail. The rollback stops there and is given up.
func TestFailedRollback(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", `name: demo
steps:
  - {id: first, run: 'true'}
  - {id: second, needs: [first], run: echo second >> ran.txt, undo: exit 3}
`)
	p.ok("run", "plan.yaml")
	if got := p.pawl("rollback", "--to", "first", "--yes"); got.err == nil {
		t.Error("an undo that fails is no error")
	}
	p.ok("status")
	if got := p.pawl("resume"); got.err == nil {
		t.Error("a run is resumed in the middle of a rollback")
	}
	p.ok("rollback", "--stop")
	if n := len(p.events("rollback.ended")); n != 1 {
		t.Errorf("%d rollbacks ended", n)
	}
}

// TestPrune deletes old snapshots of a run with many.
func TestPrune(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	plan := "name: demo\nsteps:\n  - {id: s0, run: echo 0 > a.txt}\n"
	for i := range 6 {
		plan += fmt.Sprintf("  - {id: s%d, needs: [s%d], run: echo %d > a.txt}\n", i+1, i, i+1)
	}
	p.write("plan.yaml", plan)
	p.ok("run", "plan.yaml")
	type report struct {
		Gone []struct {
			Checkpoint pawl.CheckpointID
			Step       pawl.StepID
		} `json:"gone"`
		Kept int `json:"kept"`
	}
	dry := decode[report](p, "prune", "--keep", "2", "--dry-run")
	p.wants(p.ok("prune", "--keep", "2", "--dry-run"), "s0")
	p.ok("show", "s0", "a.txt")
	if len(dry.Gone) == 0 {
		t.Fatalf("%+v", dry)
	}
	gone := decode[report](p, "prune", "--keep", "2")
	if len(gone.Gone) != len(dry.Gone) || gone.Kept != dry.Kept {
		t.Errorf("%+v, dry: %+v", gone, dry)
	}
	if got := p.pawl("show", "s0", "a.txt"); got.err == nil {
		t.Error("a pruned snapshot can be read")
	}
	if got := decode[saved](p, "show", "s0"); got.Snapshot != "pruned" {
		t.Errorf("%+v", got)
	}
	if got := p.ok("show", "s6", "a.txt"); got != "6\n" {
		t.Errorf("s6: %q", got)
	}
	p.ok("prune", "--keep", "2")
	p.ok("verify")
}

// TestPruneCheckpoint deletes only the snapshot that is named, not those of a deleted run.
func TestPruneCheckpoint(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", "name: demo\nsteps: [{id: one, run: echo 1 > a.txt}, {id: two, needs: [one], run: echo 2 > a.txt}]\n")
	p.ok("run", "plan.yaml")
	p.ok("run", "plan.yaml")
	p.ok("archive")
	p.ok("archive", "--keep", "0", "--delete")
	type report struct {
		Gone []struct{ Step pawl.StepID } `json:"gone"`
	}
	for _, args := range [][]string{{"prune", "one", "--dry-run"}, {"prune", "one"}} {
		if got := decode[report](p, args...).Gone; len(got) != 1 || got[0].Step != "one" {
			t.Errorf("pawl %q deletes %+v", args, got)
		}
	}
	if got := decode[report](p, "prune", "--keep", "5").Gone; len(got) != 2 {
		t.Errorf("of the deleted run: %+v", got)
	}
}

// TestArchive archives finished runs, looks at them, and deletes them.
func TestArchive(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for range 3 {
		p.ok("run", "--", "true")
	}
	type report struct{ Archived, Due, Deleted []pawl.RunID }
	done := decode[report](p, "archive")
	if len(done.Archived) != 2 || len(done.Deleted) != 0 {
		t.Errorf("%+v", done)
	}
	if got := decode[[]struct {
		Run      pawl.RunID
		Archived bool
	}](p, "runs", "--archived"); len(got) != 2 || !got[0].Archived {
		t.Errorf("%+v", got)
	}
	p.wants(p.ok("runs", "--archived"), string(done.Archived[0]))
	p.fails(pawl.KindNothing, "status", string(done.Archived[0]))
	p.ok("checkpoints", "--all")
	rest := p.run()
	p.wants(p.ok("archive", string(rest)), string(rest))
	p.fails(pawl.KindNothing, "status")
	p.ok("archive", "--keep", "1")
	if got := decode[report](p, "archive", "--keep", "1", "--delete"); len(got.Deleted) != 2 {
		t.Errorf("%+v", got)
	}
	p.ok("archive", "--keep", "0", "--delete")
	p.ok("archive")
}

// TestNewRun starts a plan over whose run is unfinished. The old run is archived.
func TestNewRun(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	old := p.run()
	got := p.fails(pawl.KindUsage, "run", "plan.yaml")
	if pawl.HintOf(got.err) != "pawl resume "+string(old) {
		t.Errorf("%v", got.err)
	}
	p.fails(pawl.KindAtGate, "run", "--new", "plan.yaml")
	if p.run() == old {
		t.Error("the old run is still there")
	}
	p.wants(p.ok("runs", "--archived"), string(old))
}
