package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// sessionCache is the data of a session that is saved between calls, so that a call need not read the journal. It can be
// rebuilt from the journal.
type sessionCache struct {
	Session pawl.SessionID    `json:"session"`
	Run     pawl.RunID        `json:"run"`
	Process *pawl.Process     `json:"process,omitempty"` // of the agent, as last journaled
	Looked  journal.Position  `json:"seen,omitzero"`     // place in the journal before which there is no end of the run
	Others  []pawl.RunID      `json:"others,omitempty"`  // other runs whose doubts were in its brief
	Tasks   map[string]string `json:"tasks,omitempty"`   // id → status and title, as last journaled
	Untold  bool              `json:"untold,omitempty"`  // it gets its brief with the next prompt

	Background map[string]background `json:"background,omitempty"` // by digest: the calls under way that may leave processes running
}

// background is a tool call that may leave processes running.
type background struct {
	Began   time.Time `json:"began"`
	Tool    string    `json:"tool"`
	Summary string    `json:"summary"`
	Dir     string    `json:"dir,omitempty"`
}

// readCache returns the cache of a session; an empty one if it is missing or invalid.
func readCache(p *project.Project, id pawl.SessionID) *sessionCache {
	data, err := disk.ReadFile(cachePath(p, id), disk.RecordLimit)
	if err != nil {
		return &sessionCache{Session: id}
	}
	return parseCache(data, id)
}

func parseCache(data []byte, id pawl.SessionID) *sessionCache {
	cache := &sessionCache{}
	if json.Unmarshal(data, cache) != nil || cache.Session != id {
		cache = &sessionCache{Session: id}
	}
	return cache
}

func cachePath(p *project.Project, id pawl.SessionID) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(p.Sessions(), hex.EncodeToString(sum[:8])+".json")
}

// saveCache saves the session's cache and logs an error. Without it, the next call reads the journal.
func (c *call) saveCache() {
	data, err := json.Marshal(c.cache)
	if err == nil {
		err = disk.MakeFolders(c.project.Sessions())
	}
	if err == nil {
		err = disk.Put(cachePath(c.project, c.session), data)
	}
	if err != nil {
		c.logError(err)
	}
}

// maxCacheAge is the age at which the cache of a session is removed.
const maxCacheAge = 30 * 24 * time.Hour

// removeOldCaches removes the caches of sessions that were inactive for maxCacheAge. A session that resumes later is found
// in the journals.
func removeOldCaches(p *project.Project, now time.Time) error {
	entries, err := disk.ReadDir(p.Sessions())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		info, infoErr := entry.Info()
		if infoErr == nil && now.Sub(info.ModTime()) > maxCacheAge {
			err = errors.Join(err, disk.Remove(filepath.Join(p.Sessions(), entry.Name())))
		}
	}
	return err
}
