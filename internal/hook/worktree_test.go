package hook_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/snapshot"
)

// repository makes the project a repository with a commit.
func (y *yard) repository() {
	y.Helper()
	y.git(y.Root, "init", "-q", "-b", "main")
	y.git(y.Root, "commit", "-q", "--allow-empty", "-m", "one")
}

// linked adds a linked worktree with a commit of its own at a path.
func (y *yard) linked(top string) string {
	y.Helper()
	y.git(y.Root, "worktree", "add", "-q", "-b", "feature", top)
	y.git(top, "commit", "-q", "--allow-empty", "-m", "two")
	top, err := filepath.EvalSymlinks(top)
	if err != nil {
		y.Fatal(err)
	}
	return top
}

func (y *yard) git(folder string, args ...string) {
	y.Helper()
	cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		y.Fatalf("git %q: %v: %s", args, err, out)
	}
}

// TestWorktree: what is journaled of a session in a linked worktree names the worktree and has its HEAD. Only a worktree in the
// project's folder is part of its checkpoints.
func TestWorktree(t *testing.T) {
	t.Parallel()
	for _, inside := range []bool{false, true} {
		y := newYard(t)
		y.repository()
		top := filepath.Join(t.TempDir(), "tree")
		if inside {
			top = filepath.Join(y.Root, "trees", "one")
		}
		top = y.linked(top)
		head, err := snapshot.HeadOf(t.Context(), top)
		if err != nil {
			t.Fatal(err)
		}
		a := y.agent("claude", "s1")
		a.Dir = filepath.Join(top, "sub")
		if err := os.Mkdir(a.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		y.call(a, "SessionStart", "", nil)
		y.call(a, "PreToolUse", "", map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": "make"}})
		y.call(a, "PostToolUse", "", map[string]any{"tool_name": "Bash"})
		if began := last[pawl.SessionBegan](y); began.Worktree != top || began.Dir != a.Dir {
			t.Errorf("inside %t: began: %+v", inside, began)
		}
		if o := last[pawl.OperationBegun](y); o.Head != head.Commit {
			t.Errorf("inside %t: HEAD is %s, want %s", inside, o.Head, head.Commit)
		}
		if _, err := os.Stat(y.CheckpointRequest(pawl.CheckpointTool)); (err == nil) != inside {
			t.Errorf("inside %t: request for a checkpoint: %v", inside, err)
		}
	}
}

// TestMainFolderHasNoWorktree: a session in the main worktree, in a plain folder or in a nested repository works in no linked one.
func TestMainFolderHasNoWorktree(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.repository()
	y.linked(filepath.Join(t.TempDir(), "tree"))
	nested := filepath.Join(y.Root, "nested")
	y.git(y.Root, "init", "-q", nested)
	for _, dir := range []string{y.Root, nested} {
		a := y.agent("claude", "s1")
		a.Dir = dir
		y.call(a, "SessionStart", "", nil)
		if began := last[pawl.SessionBegan](y); began.Worktree != "" {
			t.Errorf("%s: %+v", dir, began)
		}
	}
}

// TestNeighborsInWorktrees: briefs name other sessions only where these work on the same files.
func TestNeighborsInWorktrees(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.repository()
	top := y.linked(filepath.Join(t.TempDir(), "tree"))
	y.call(y.agent("claude", "main"), "SessionStart", "", nil)
	one, two := y.agent("codex", "one"), y.agent("gemini", "two")
	one.Dir, two.Dir = top, top
	if got := y.call(one, "SessionStart", "", nil); strings.Contains(got.Context, "is active in this project") || !strings.Contains(got.Context, top) {
		t.Errorf("the first in the worktree got %q", got.Context)
	}
	if got := y.call(two, "SessionStart", "", nil); !strings.Contains(got.Context, "another agent session is active in this project: `codex:one`.") {
		t.Errorf("the second in the worktree got %q", got.Context)
	}
}

// TestForgedWorktree: a folder that only claims to be a worktree of the project is none of its business.
func TestForgedWorktree(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.repository()
	top := y.linked(filepath.Join(t.TempDir(), "tree"))
	link, err := os.ReadFile(filepath.Join(top, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	forged := t.TempDir()
	if err := os.WriteFile(filepath.Join(forged, ".git"), link, 0o644); err != nil {
		t.Fatal(err)
	}
	a := y.agent("claude", "s1")
	a.Dir = forged
	if got := y.call(a, "SessionStart", "", nil); got.Context != "" || len(y.runs()) > 0 {
		t.Errorf("told %+v; runs: %v", got, y.runs())
	}
}
