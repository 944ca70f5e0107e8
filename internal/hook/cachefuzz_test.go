package hook

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/project"
)

// FuzzSessionCache reads anything as the cache of a session. What is read can be stored, and belongs to the session.
func FuzzSessionCache(f *testing.F) {
	f.Add([]byte(`{"session":"claude:1","run":"../../x"}`), "claude:1")
	f.Add([]byte(`null`), "../../x")
	p := &project.Project{Root: "/a/b"}
	f.Fuzz(func(t *testing.T, data []byte, session string) {
		id := pawl.SessionID(session)
		if path := cachePath(p, id); filepath.Dir(path) != p.Sessions() || filepath.Clean(path) != path {
			t.Errorf("the cache is at %q", path)
		}
		c := parseCache(data, id)
		if c.Session != id {
			t.Errorf("session %q, want %q", c.Session, id)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Error(err)
		}
	})
}
