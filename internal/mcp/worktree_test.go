package mcp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/project"
)

// TestLinkedWorktree: in a linked worktree the tools work on the main worktree's project, but save no checkpoint of other files.
func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.pawl("run", "--", "true")
	top := filepath.Join(t.TempDir(), "tree")
	for _, args := range [][]string{
		{"init", "-q"}, {"-c", "user.name=ann", "-c", "user.email=ann@example.org", "commit", "-q", "--allow-empty", "-m", "one"}, {"worktree", "add", "-q", top},
	} {
		cmd := exec.Command("git", append([]string{"-C", f.dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	main := f.dir
	f.dir = top
	agent := f.connect("stdio", "2025-11-25", clientOf("claude-code", nil))
	if got := use(t, agent, "learn", args{"text": "kept in the main worktree"}); got.wrong {
		t.Errorf("learn: %+v", got)
	}
	if got := use(t, agent, "checkpoint", args{}); !got.wrong || !strings.Contains(got.text, "is a linked worktree of it: commit your work with git instead") {
		t.Errorf("checkpoint: %+v", got)
	}
	if _, err := os.Lstat(filepath.Join(top, project.Folder)); err == nil {
		t.Error("the worktree is a separate project now")
	}
	if memory, err := os.ReadFile(filepath.Join(main, project.Folder, "MEMORY.md")); err != nil || !strings.Contains(string(memory), "kept in the main worktree") {
		t.Errorf("%s, %v", memory, err)
	}
}
