package folder_test

import (
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/remote"
	"pawl/internal/remote/folder"
	"pawl/internal/remote/remotetest"
)

func open(t *testing.T, root string) remote.Store {
	t.Helper()
	s, err := folder.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	remotetest.Run(t, func(t *testing.T) remote.Store { return open(t, root) })
}

func TestMissingFolder(t *testing.T) {
	t.Parallel()
	if _, err := folder.Open(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("opened")
	}
}

// TestLinksLeadNowhere: what others put in the folder does not lead out of it.
func TestLinksLeadNowhere(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"packs": outside, "pawl-remote.json": secret, "runs": "missing"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, root)
	for _, key := range []string{"packs/secret", "pawl-remote.json", "runs/a/000001.json"} {
		if data, err := s.Get(t.Context(), key, 100); err == nil {
			t.Errorf("read %s: %s", key, data)
		}
		if created, _ := s.Create(t.Context(), key, []byte("x")); created {
			t.Errorf("created %s", key)
		}
	}
	if err := s.Delete(t.Context(), "packs/secret"); err == nil {
		t.Error("deleted through a link")
	}
	if list, err := s.List(t.Context(), ""); err != nil || len(list) > 0 {
		t.Errorf("listed %v, %v", list, err)
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
		t.Errorf("%s, %v", data, err)
	}
}
