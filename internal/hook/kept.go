package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
)

// kept is what is kept of a session between two calls, so that a call need not read the journal. Losing it loses nothing.
type kept struct {
	Session pawl.SessionID    `json:"session"`
	Run     pawl.RunID        `json:"run"`
	Process *pawl.Process     `json:"process,omitempty"` // of the agent, as it was journaled last
	Looked  int64             `json:"looked,omitempty"`  // up to where its journal is known not to hold its end
	Others  []pawl.RunID      `json:"others,omitempty"`  // other runs of which it was told what is in doubt
	Tasks   map[string]string `json:"tasks,omitempty"`   // id → status and title, as they were journaled last
}

// keptOf returns what is kept of a session, or at the least doubt an empty one.
func keptOf(p *project.Project, id pawl.SessionID) *kept {
	k := &kept{}
	data, err := os.ReadFile(keptPath(p, id))
	if err != nil || json.Unmarshal(data, k) != nil || k.Session != id {
		k = &kept{Session: id}
	}
	return k
}

func keptPath(p *project.Project, id pawl.SessionID) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(p.Sessions(), hex.EncodeToString(sum[:8])+".json")
}

// keep saves what is kept. Where it cannot, that is noted; the next call finds it out again.
func (c *call) keep() {
	data, err := json.Marshal(c.kept)
	if err == nil {
		err = disk.MakeFolders(c.project.Sessions())
	}
	if err == nil {
		err = disk.Put(keptPath(c.project, c.session), data)
	}
	if err != nil {
		c.note(err)
	}
}

// longAgo is how old what is kept of a session gets before it counts as forgotten.
const longAgo = 30 * 24 * time.Hour

// forget removes what is kept of sessions of long ago. One that is resumed after all is found in the journals.
func forget(p *project.Project, now time.Time) error {
	entries, err := os.ReadDir(p.Sessions())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		info, infoErr := entry.Info()
		if infoErr == nil && now.Sub(info.ModTime()) > longAgo {
			err = errors.Join(err, disk.Remove(filepath.Join(p.Sessions(), entry.Name())))
		}
	}
	return err
}
