package sessions_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/engine/enginetest"
)

// TestCommandsInTwoWorktrees: a command leaves its traces in each folder that it changes to, not only where its agent works.
func TestCommandsInTwoWorktrees(t *testing.T) {
	t.Parallel()
	top := filepath.Join(t.TempDir(), "tree")
	for name, work := range map[string]func(p *enginetest.Project) (dir, in string){
		"in the project":      func(p *enginetest.Project) (string, string) { return top, p.Root },
		"in another worktree": func(p *enginetest.Project) (string, string) { return "", top },
		"in its own":          func(p *enginetest.Project) (string, string) { return top, top },
	} {
		for _, ran := range []bool{false, true} {
			p := enginetest.New(t)
			head := repository(t, p.Root, top)
			session(p, pawl.SessionBegan{Session: agent})
			dir, in := work(p)
			o := intent("1", pawl.OperationCommand, "cd "+in+" && make all")
			o.Dir, o.Head = dir, head
			var err error
			o.Clock, err = disk.FileSystemClock(filepath.Join(t.TempDir(), "clock"))
			p.Check(err)
			says(p, agent, o)
			if ran {
				p.Check(os.WriteFile(filepath.Join(in, "all.o"), []byte("made"), 0o600))
			}
			says(p, agent, pawl.SessionEnded{Session: agent})
			found := session(p, pawl.SessionBegan{Session: "claude:two"}).Operations
			p.Check(os.RemoveAll(top))
			if len(found) != 1 || (found[0].Verdict == pawl.OperationPartly) != ran || strings.Contains(strings.Join(found[0].Evidence, "\n"), "all.o") != ran {
				t.Errorf("%s, done %t: %+v", name, ran, found)
			}
		}
	}
}

// repository makes a repository with a linked worktree. It returns the commit of both.
func repository(t *testing.T, root, top string) (head string) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"commit", "-q", "--allow-empty", "-m", "one"}, {"worktree", "add", "-q", "-b", "feature", top}, {"rev-parse", "HEAD"},
	} {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		head = strings.TrimSpace(string(out))
	}
	return head
}
