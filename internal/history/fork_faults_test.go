package history_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/disk/disktest"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// TestForkDiesAnywhere: at every call that changes the disk, in place and elsewhere. There is no new run, or a whole one,
// and then the files are those of the checkpoint. Forking again works, and leaves nothing behind.
func TestForkDiesAnywhere(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"fork", "fork-to"} {
		everyFault(t, do, func(t *testing.T, p *project.Project, old pawl.RunID, again func() error) {
			home := p
			if do == "fork-to" {
				home = &project.Project{Root: filepath.Join(p.Root, "..", "fork")}
			}
			wholeForks(t, home, old)
			if do == "fork-to" { // what was cut off is in the way, and a person's to remove
				if err := os.RemoveAll(home.Root); err != nil {
					t.Fatal(err)
				}
			}
			if err := again(); err != nil {
				t.Fatalf("again: %v", err)
			}
			if wholeForks(t, home, old) == 0 {
				t.Error("no run was made")
			}
			if left, _ := os.ReadDir(home.Staging()); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// wholeForks checks every run but the old one, and returns how many there are.
func wholeForks(t *testing.T, p *project.Project, old pawl.RunID) int {
	t.Helper()
	ids, err := runs.List(p)
	if err != nil {
		t.Fatal(err)
	}
	forks := 0
	for _, run := range ids {
		r, err := runs.Load(t.Context(), p, run)
		if err != nil {
			t.Fatalf("%s: %v", run, err)
		}
		if s := r.State; run != old && s.Kind == pawl.PlanRun {
			forks++
			if s.Forked == nil || s.Forked.Run != old || s.RejectedCount > 0 || len(s.Live()) > 0 || s.Steps["one"].Status != pawl.Done || s.Steps["two"].Status != pawl.Pending {
				t.Errorf("%s: %+v", run, s)
			}
			for _, f := range journal.Check(p.RunDir(run)) {
				if f.Level != pawl.OK {
					t.Errorf("%s: %+v", run, f)
				}
			}
			if file, err := os.ReadFile(filepath.Join(p.Root, "file")); err != nil || string(file) != "then" {
				t.Errorf("file: %q, %v", file, err)
			}
		}
		if err := r.Log.Close(); err != nil {
			t.Error(err)
		}
	}
	return forks
}

// TestArchiveDiesAnywhere: the run is whole, in one place or the other.
func TestArchiveDiesAnywhere(t *testing.T) {
	t.Parallel()
	everyFault(t, "archive", func(t *testing.T, p *project.Project, run pawl.RunID, again func() error) {
		if err := again(); err != nil && !strings.Contains(err.Error(), "unknown run") {
			t.Fatalf("again: %v", err)
		}
		aside, err := runs.ArchivedRuns(p)
		if err != nil || !slices.Equal(aside, []pawl.RunID{run}) {
			t.Fatalf("archived: %v, %v", aside, err)
		}
		if _, err := os.Stat(p.RunDir(run)); !os.IsNotExist(err) {
			t.Errorf("it is in both places: %v", err)
		}
		for _, f := range journal.Check(filepath.Join(p.Archive(), string(run))) {
			if f.Level != pawl.OK {
				t.Errorf("%+v", f)
			}
		}
	})
}

// everyFault makes another process end at a call, each time in a new project, and checks what is left; again repeats the work
// without a fault.
func everyFault(t *testing.T, do string, check func(t *testing.T, p *project.Project, run pawl.RunID, again func() error)) {
	calls := math.MaxInt
	for kind, fault := range []string{"die", "ENOSPC"} {
		hit := 0
		for n := range disktest.FaultPoints(kind, 2, calls) {
			p, run, checkpoint := begun(t)
			name := string(checkpoint)
			switch do {
			case "archive":
				name = string(run)
			case "restore", "undo":
				spread(t, p)
			}
			if do == "undo" {
				if err := restoreIn(t.Context(), p, "restore", name); err != nil {
					t.Fatal(err)
				}
			}
			another := func(spec string) error {
				cmd := exec.Command(os.Args[0])
				cmd.Dir, cmd.Env = p.Root, append(os.Environ(), "ENGINE_TEST_DO="+do+" "+name, disktest.FaultVar+"="+spec)
				if out, err := cmd.CombinedOutput(); err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			}
			if err := another(fmt.Sprintf("%s:%d", fault, n)); err == nil {
				if fault == "die" { // there is no such call; another one may fail without harm
					calls = n
					break
				}
				continue
			}
			check(t, p, run, func() error { return another("") })
			hit++
			if t.Failed() {
				t.Fatalf("%s: %s at call %d", do, fault, n)
			}
		}
		if hit < 3 {
			t.Errorf("%s hit only %d calls", fault, hit)
		}
		t.Logf("%s: %s at %d calls", do, fault, hit)
	}
}
