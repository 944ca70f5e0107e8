package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDryRunsWriteNothing: a dry run changes no file of the project or of the user, nor the time of one.
func TestDryRunsWriteNothing(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	p := newProject(t)
	p.write("a.txt", "1\n")
	p.write("plan.yaml", "name: p\nsteps:\n- {id: one, run: 'echo 2 > a.txt', undo: 'true'}\n- {id: two, needs: [one], run: 'test -e go'}\n")
	_ = p.within(t.Context(), "", "run", "plan.yaml") // step two fails
	p.ok("checkpoint", "-m", "then")
	p.write("a.txt", "3\n")
	p.ok("attach", "claude")
	p.ok("export", "grid")
	p.write("a.txt", "4\n")
	for _, words := range []string{
		"resume --dry-run", "prune --keep 1 --dry-run", "attach codex --dry-run", "detach claude --dry-run",
		"restore latest --dry-run", "restore latest --to other --dry-run", "rollback --to one --dry-run", "export grid --dry-run", "export grid other --dry-run", "import grid --dry-run",
	} {
		before := stamps(t, p.dir, state)
		out := p.within(t.Context(), "", strings.Fields(words)...)
		if diff := cmp.Diff(before, stamps(t, p.dir, state)); diff != "" {
			t.Errorf("pawl %s (%v) changes files: %s", words, out.err, diff)
		}
		if out.err != nil && !strings.HasPrefix(words, "resume") { // that one says that steps are left
			t.Errorf("pawl %s: %v", words, out.err)
		}
	}
}

// TestDryRunsInANewProjectWriteNothing: the commands fail, or have nothing to show, in a project without snapshots and runs.
func TestDryRunsInANewProjectWriteNothing(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	p := newProject(t)
	before := stamps(t, p.dir, state)
	for _, words := range []string{
		"resume --dry-run", "prune --dry-run", "restore latest --dry-run", "rollback --to x --dry-run", "export grid --dry-run", "import grid --dry-run",
		"attach codex --dry-run", "detach claude --dry-run",
	} {
		out := p.within(t.Context(), "", strings.Fields(words)...)
		if diff := cmp.Diff(before, stamps(t, p.dir, state)); diff != "" {
			t.Errorf("pawl %s (%v) changes files: %s", words, out.err, diff)
		}
	}
}

// stamps returns mode, size and time of the last change of everything in some folders.
func stamps(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := os.Lstat(path)
			if err == nil {
				all[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}
