package ignore

import (
	"os"
	"path/filepath"
	"testing"
)

// TestClaimedRepository: a .git file that arrived in an archive belongs to a repository only if that names it in turn.
func TestClaimedRepository(t *testing.T) {
	t.Parallel()
	w := newWorktree(t)
	w.write("a", "1")
	w.git("add", ".")
	w.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "1")
	linked := filepath.Join(t.TempDir(), "linked")
	w.git("worktree", "add", "-q", linked)
	repo, ok, err := FindRepository(linked)
	if err != nil || !ok || repo.Top != linked || repo.Common != filepath.Join(w.top, ".git") {
		t.Fatalf("a linked work tree: %+v, %v, %v", repo, ok, err)
	}
	fake := t.TempDir()
	link, err := os.ReadFile(filepath.Join(linked, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	claim := func(text string) bool {
		t.Helper()
		if err := os.WriteFile(filepath.Join(fake, ".git"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, ok, err := FindRepository(fake)
		if err != nil {
			t.Error(err)
		}
		return ok
	}
	if claim(string(link)) {
		t.Error("a copied .git file claims the linked work tree")
	}
	if claim("gitdir: /nowhere\n") || claim("gitdir: "+fake+"\n") {
		t.Error("a .git file that names no repository")
	}
	separate := filepath.Join(t.TempDir(), "separate")
	if err := os.Remove(filepath.Join(fake, ".git")); err != nil {
		t.Fatal(err)
	}
	w.git("init", "-q", "--separate-git-dir", separate, fake)
	if _, ok, err := FindRepository(fake); err != nil || !ok {
		t.Errorf("a separate folder: %v, %v", ok, err)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(separate, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := FindRepository(fake); err != nil || ok {
		t.Errorf("a repository of another user: %v, %v", ok, err)
	}
}
