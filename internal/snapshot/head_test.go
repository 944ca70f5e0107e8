package snapshot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForgedHead: a HEAD or ref that names another file, or is a link to a device, tells nothing.
func TestForgedHead(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	secret := filepath.Join(t.TempDir(), "secret")
	w.must(os.WriteFile(secret, []byte("the secret\n"), 0o600))
	w.must(os.MkdirAll(w.path(".git/refs/heads"), 0o700))
	w.must(os.Symlink(secret, w.path(".git/refs/heads/link")))
	rel, err := filepath.Rel(w.path(".git/refs/heads"), secret)
	w.must(err)
	hash := strings.Repeat("0a", 20)
	for head, want := range map[string]string{
		"ref: refs/heads/" + rel: "", "ref: " + secret: "", "ref: ../../secret": "", "the secret": "", "ref: refs/heads/link": "",
		hash: hash, hash + "00": "", "": "",
	} {
		w.must(os.WriteFile(w.path(".git/HEAD"), []byte(head+"\n"), 0o600))
		if h, err := HeadOf(t.Context(), w.root); err != nil || h == nil || h.Commit != want {
			t.Errorf("%q: %+v, %v", head, h, err)
		}
	}
	w.must(os.Remove(w.path(".git/HEAD")))
	w.must(os.Symlink("/dev/zero", w.path(".git/HEAD")))
	if h, err := HeadOf(t.Context(), w.root); err == nil {
		t.Errorf("a device: %+v", h)
	}
	w.must(os.RemoveAll(w.path(".git")))
}
