package hook

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl"
	"pawl/internal/project"
)

// TestOldCachesAreRemoved: only caches of sessions that were inactive for long are removed.
func TestOldCachesAreRemoved(t *testing.T) {
	t.Parallel()
	p, err := project.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := removeOldCaches(p, now); err != nil {
		t.Errorf("no caches: %v", err)
	}
	for id, age := range map[string]time.Duration{"claude:old": maxCacheAge + time.Hour, "claude:new": maxCacheAge - time.Hour} {
		c := &call{input: input{project: p}, session: pawl.SessionID(id), cache: &sessionCache{Session: pawl.SessionID(id)}}
		c.saveCache()
		path := cachePath(p, c.session)
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeOldCaches(p, now); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(p.Sessions(), "*"))
	if err != nil || len(left) != 1 || left[0] != cachePath(p, "claude:new") {
		t.Errorf("left: %v, %v", left, err)
	}
	if k := readCache(p, "claude:new"); k.Session != "claude:new" {
		t.Errorf("cache: %+v", k)
	}
	if k := readCache(p, "claude:old"); k.Session != "claude:old" || k.Run != "" {
		t.Errorf("cache after removal: %+v", k)
	}
}
