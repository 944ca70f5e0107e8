package hook

import (
	"encoding/json"
	"os"
	"testing"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
)

// FuzzSessionCache reads anything as the cache of a session. What is read can be stored, and belongs to the session.
func FuzzSessionCache(f *testing.F) {
	f.Add([]byte(`{"session":"claude:1","run":"../../x"}`), "claude:1")
	f.Add([]byte(`null`), "../../x")
	p := &project.Project{Root: f.TempDir()}
	if err := disk.MakeFolders(p.Sessions()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, session string) {
		id := pawl.SessionID(session)
		if err := os.WriteFile(cachePath(p, id), data, 0o600); err != nil {
			t.Fatal(err)
		}
		c := readCache(p, id)
		if c.Session != id {
			t.Errorf("session %q, want %q", c.Session, id)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Error(err)
		}
		if err := os.Remove(cachePath(p, id)); err != nil {
			t.Fatal(err)
		}
	})
}
