package transfer_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/disk/disktest"
	"pawl/internal/project"
	"pawl/internal/remote"
	"pawl/internal/remote/folder"
	"pawl/internal/runs"
)

// another starts this test binary as a process that transfers, with a fault.
func another(root, do string, faults ...string) error {
	cmd := exec.Command(os.Args[0])
	cmd.Dir, cmd.Env = root, append(append(os.Environ(), doVar+"="+do), faults...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// everyFault calls scene for calls to the disk at which a process can die or fail. scene reports whether the process was disturbed. The
// first scene, without a fault, writes the calls to a file.
func everyFault(t *testing.T, scene func(t *testing.T, faults ...string) (disturbed bool)) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "calls")
	if scene(t, disktest.FaultVar+"=count", disktest.FaultLog+"="+log) {
		t.Fatal("it fails without a fault")
	}
	data, err := os.ReadFile(log)
	must(t, err)
	calls := strings.Count(string(data), "\n")
	t.Logf("%d calls", calls)
	if calls < 10 {
		t.Fatalf("only %d calls", calls)
	}
	kinds := []string{"die:%d", "ENOSPC:%d", "EIO:%d-"}
	for kind, fault := range kinds {
		t.Run(strings.ReplaceAll(fault, ":%d", ""), func(t *testing.T) {
			t.Parallel()
			hit := 0
			for n := range disktest.FaultPoints(kind, len(kinds), calls) {
				if scene(t, disktest.FaultVar+"="+fmt.Sprintf(fault, n)) {
					hit++
				}
				if t.Failed() {
					t.Fatalf("at call %d of %d", n, calls)
				}
			}
			if hit < 3 {
				t.Errorf("hit only %d of %d calls", hit, calls)
			}
		})
	}
}

func share(t *testing.T) (url string, s remote.Store) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "share")
	must(t, os.Mkdir(root, 0o700))
	s, err := folder.Open(root)
	must(t, err)
	return "file://" + root, s
}

// verified checks that everything on the remote is whole.
func verified(t *testing.T, s remote.Store) {
	t.Helper()
	findings, err := remote.Verify(t.Context(), s)
	must(t, err)
	for _, f := range findings {
		if f.Level == pawl.Bad {
			t.Errorf("%+v", f)
		}
	}
}

// TestPushAtEveryFault: the remote has the run as before or as it is now, whole; the next push completes it, and knows its own record.
func TestPushAtEveryFault(t *testing.T) {
	t.Parallel()
	everyFault(t, func(t *testing.T, faults ...string) bool {
		url, s := share(t)
		p, run := begun(t, url)
		_, err := push(t.Context(), p, run)
		must(t, err)
		more(t, p, run, "now")
		disturbed := another(p.Root, "push "+string(run), faults...) != nil
		verified(t, s)
		done, err := push(t.Context(), p, run)
		if err != nil {
			t.Fatalf("again: %v", err)
		}
		if done.Number != 2 && done.Number != 3 {
			t.Errorf("push %d", done.Number)
		}
		verified(t, s)
		other := newProject(t, url)
		_, err = pull(t.Context(), other, run)
		must(t, err)
		sameRun(t, p, other, run)
		return disturbed
	})
}

// TestPullAtEveryFault: a new run is there whole or not at all, and one that the project has is as it was or as it is on the remote.
func TestPullAtEveryFault(t *testing.T) {
	t.Parallel()
	for _, has := range []bool{false, true} {
		t.Run(fmt.Sprintf("the project has it: %v", has), func(t *testing.T) {
			t.Parallel()
			everyFault(t, func(t *testing.T, faults ...string) bool {
				url, _ := share(t)
				p, run := begun(t, url)
				_, err := push(t.Context(), p, run)
				must(t, err)
				other := newProject(t, url)
				if has {
					_, err := pull(t.Context(), other, run)
					must(t, err)
					must(t, runs.Adopt(other, run))
					more(t, p, run, "now")
					_, err = push(t.Context(), p, run)
					must(t, err)
				}
				disturbed := another(other.Root, "pull "+string(run), faults...) != nil
				there := inRuns(t, other, run)
				if there {
					whole(t, other, run)
				} else if has {
					t.Error("the run is gone")
				}
				_, err = pull(t.Context(), other, run)
				if err != nil {
					t.Fatalf("again: %v", err)
				}
				sameRun(t, p, other, run)
				if reason, err := runs.Elsewhere(other, run); err != nil || reason == "" {
					t.Errorf("the run passes for one of this project: %v", err)
				}
				if left, _ := os.ReadDir(other.Staging()); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				return disturbed
			})
		})
	}
}

func inRuns(t *testing.T, p *project.Project, run pawl.RunID) bool {
	t.Helper()
	ids, err := runs.List(p)
	must(t, err)
	return len(ids) == 1 && ids[0] == run
}

// TestCloneAtEveryFault: a folder without a mark is complete.
func TestCloneAtEveryFault(t *testing.T) {
	t.Parallel()
	everyFault(t, func(t *testing.T, faults ...string) bool {
		url, _ := share(t)
		p, run := begun(t, url)
		_, err := push(t.Context(), p, run)
		must(t, err)
		to := filepath.Join(t.TempDir(), "clone")
		do := strings.Join([]string{"clone", string(run), url, to}, " ")
		disturbed := another(p.Root, do, faults...) != nil
		_, missing := os.Stat(to)
		_, marked := os.Stat(filepath.Join(to, "PAWL-UNFINISHED"))
		if missing == nil && marked != nil {
			if entries, _ := os.ReadDir(to); len(entries) > 0 {
				cloned(t, p, to, run)
				return disturbed
			}
		}
		must(t, os.RemoveAll(to))
		must(t, another(p.Root, do))
		cloned(t, p, to, run)
		return disturbed
	})
}

func cloned(t *testing.T, p *project.Project, root string, run pawl.RunID) {
	t.Helper()
	if data, err := os.ReadFile(filepath.Join(root, "file")); err != nil || string(data) != "then" {
		t.Errorf("file: %q, %v", data, err)
	}
	got, err := project.Find(root)
	must(t, err)
	sameRun(t, p, got, run)
}
