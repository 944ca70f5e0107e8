package hook

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl"
	"pawl/internal/project"
)

// TestForget: what is kept of sessions of long ago goes, and nothing else.
func TestForget(t *testing.T) {
	t.Parallel()
	p, err := project.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := forget(p, now); err != nil {
		t.Errorf("of none: %v", err)
	}
	for id, age := range map[string]time.Duration{"claude:old": longAgo + time.Hour, "claude:new": longAgo - time.Hour} {
		c := &call{said: said{project: p}, session: pawl.SessionID(id), kept: &kept{Session: pawl.SessionID(id)}}
		c.keep()
		path := keptPath(p, c.session)
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := forget(p, now); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(p.Sessions(), "*"))
	if err != nil || len(left) != 1 || left[0] != keptPath(p, "claude:new") {
		t.Errorf("left: %v, %v", left, err)
	}
	if k := keptOf(p, "claude:new"); k.Session != "claude:new" {
		t.Errorf("kept: %+v", k)
	}
	if k := keptOf(p, "claude:old"); k.Session != "claude:old" || k.Run != "" {
		t.Errorf("of one that was forgotten: %+v", k)
	}
}
