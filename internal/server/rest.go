package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/server/client"
)

// rests remembers the projects whose run nobody works on and nobody has to resume, and what their files look like. Until these change,
// a look need not read the run. The file lets the next server look at them as quickly.
type rests struct {
	path    string // of the file; empty: none
	version string // of pawl: another one may judge otherwise

	mu      sync.Mutex // guards what follows
	known   map[string]rest
	changed bool // since the file was written
}

// rest is what a look at a project found.
type rest struct {
	Fingerprint string         `json:"fingerprint"`
	Project     client.Project `json:"project"`
	Seq         pawl.Seq       `json:"seq"`
	Last        pawl.EventType `json:"last"`
	Open        []pawl.GateID  `json:"open,omitempty"`
	Expires     time.Time      `json:"expires,omitzero"` // when the first of the open gates does
}

// restFile is the content of the file.
type restFile struct {
	Version  string          `json:"version"`
	Projects map[string]rest `json:"projects"`
}

// maxRests limits the size of the file in bytes.
const maxRests = 256 << 20

// openRests reads the file at path. What it cannot use, it leaves out: then the projects are read.
func openRests(path, version string) *rests {
	r := &rests{path: path, version: version, known: map[string]rest{}}
	data, err := disk.ReadFile(path, maxRests)
	if err != nil {
		return r
	}
	var file restFile
	if json.Unmarshal(data, &file) == nil && file.Version == version && file.Projects != nil {
		r.known = file.Projects
	}
	return r
}

// find sets what is known of a project whose files are as they were, and reports whether it did.
func (r *rests) find(p *project.Project, s *watched) bool {
	r.mu.Lock()
	known, ok := r.known[p.ID]
	r.mu.Unlock()
	if !ok || known.Project.Path != p.Root || !known.Expires.IsZero() && !s.Looked.Before(known.Expires) {
		return false
	}
	if print, err := runs.Fingerprint(p); err != nil || print != known.Fingerprint {
		return false
	}
	if _, engine := p.EngineHolder(); engine {
		return false
	}
	looked, look := s.Looked, s.look
	*s = watched{Project: known.Project, look: look, seq: known.Seq, last: known.Last, open: known.Open, expires: known.Expires}
	s.Looked = looked
	return true
}

// record remembers a project that rests, and forgets one that does not. The fingerprint is from before the look.
func (r *rests) record(s *watched, fingerprint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, was := r.known[s.ID]
	if s.resume || s.engine || s.Error != "" || s.Run == "" || fingerprint == "" {
		delete(r.known, s.ID)
		r.changed = r.changed || was
		return
	}
	r.known[s.ID] = rest{Fingerprint: fingerprint, Project: s.Project, Seq: s.seq, Last: s.last, Open: s.open, Expires: s.expires}
	r.changed = true
}

// keep forgets the projects that are not among ids, and writes the file if something has changed.
func (r *rests) keep(ids map[string]bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.known)
	maps.DeleteFunc(r.known, func(id string, _ rest) bool { return !ids[id] })
	if !r.changed && len(r.known) == before || r.path == "" {
		return nil
	}
	data, err := json.Marshal(restFile{r.version, r.known})
	if err == nil {
		err = disk.Replace(r.path, data)
	}
	if err != nil {
		return fmt.Errorf("remember what the projects look like: %w", err)
	}
	r.changed = false
	return nil
}

// fingerprint returns what a project's files look like before a look; empty if it must be read each time: its run is in Postgres, whose
// rows other hosts write.
func fingerprint(p *project.Project) string {
	ids, err := journal.Runs(p.Runs())
	if err != nil {
		return ""
	}
	for _, run := range ids {
		if stored, err := journal.StoredIn(p.Runs(), run); stored != "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
	}
	print, err := runs.Fingerprint(p)
	if err != nil {
		return ""
	}
	return print
}
