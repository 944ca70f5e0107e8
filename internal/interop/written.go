package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// known is what pawl last found in the files that it keeps up to date for a run, and what it wrote then: a cache in the run's
// folder, made before the files are written, so that a death in between makes nobody else of pawl.
type known struct {
	Mirror string              `json:"mirror"`           // SYSTEM or SYSTEM=PATH
	Files  map[string][]string `json:"files"`            // SHA-256 in hex of what may be in each without another having changed it
	Behind string              `json:"behind,omitempty"` // why they are not as they are to be
	at     time.Time           // when it was made
}

// remember makes what is known of a mirror that was read, and is to be written; nothing, where it is not the run's own.
func (m *Mirror) remember(p *project.Project, run *pawl.State, read format.Files, written []format.File) error {
	if run.Mirror == nil || *run.Mirror != m.Said(p) {
		return nil
	}
	k := known{Mirror: run.Mirror.String(), Files: map[string][]string{}}
	for _, f := range slices.Concat(read, written) {
		if f.Data != nil && f.Was == nil {
			k.Files[f.Path] = append(k.Files[f.Path], runs.SHA256Hex(f.Data))
		}
	}
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return disk.Put(p.MirrorFile(run.Run), data)
}

// fell keeps in mind that the mirror of a run could not be written; until it is, it is behind.
func (m *Mirror) fell(p *project.Project, run *pawl.State, why error) {
	if run.Mirror == nil || *run.Mirror != m.Said(p) {
		return
	}
	k := knownOf(p, run)
	if k == nil {
		k = &known{Mirror: run.Mirror.String()}
	}
	k.Behind = why.Error()
	if data, err := json.Marshal(k); err == nil {
		_ = disk.Put(p.MirrorFile(run.Run), data) // it was told already
	}
}

// Behind reports whether the files that are kept up to date for a run could not be written last.
func Behind(p *project.Project, run *pawl.State) bool {
	if run.Mirror == nil {
		return false
	}
	k := knownOf(p, run)
	return k != nil && k.Behind != ""
}

// knownOf returns what is known of the mirror of a run; nil: nothing is.
func knownOf(p *project.Project, run *pawl.State) *known {
	path := p.MirrorFile(run.Run)
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	data, err := os.ReadFile(path)
	k := known{at: info.ModTime()}
	if err != nil || json.Unmarshal(data, &k) != nil || k.Mirror != run.Mirror.String() {
		return nil
	}
	return &k
}

// theirs returns the first of the files that are to be written which somebody else has changed since pawl last wrote the
// mirror of a run; empty: nobody has. What could not be read is no loss: it is kept beside. Of a database, and where nothing
// is known of what was written, the time says it.
func (m *Mirror) theirs(p *project.Project, run *pawl.State, read format.Files, written []format.File) string {
	k := knownOf(p, run)
	if k == nil {
		return m.ChangedSince(written, run.Updated)
	}
	for _, f := range written {
		there := read.Find(f.Path)
		switch {
		case there == nil || there.Data == nil || brokenIn(written, f.Path):
		case there.Was != nil:
			if m.ChangedSince([]format.File{f}, k.at) != "" {
				return f.Path
			}
		case !slices.Contains(append(k.Files[f.Path], runs.SHA256Hex(f.Data)), runs.SHA256Hex(there.Data)):
			return f.Path
		}
	}
	return ""
}

// brokenIn reports whether a file could not be read, and is kept beside by what is written.
func brokenIn(written []format.File, path string) bool {
	return slices.ContainsFunc(written, func(f format.File) bool { return f.Broken == path && f.Data != nil })
}

// ownChange is how long after pawl last did something a change of the other system's files may be its own.
const ownChange = time.Minute

// ChangedSince returns the first of some of the files that was changed since pawl last did something; empty: none was. A
// database is changed where its log is.
func (m *Mirror) ChangedSince(files []format.File, last time.Time) string {
	at := placeOf(m.Dir, m.Codec)
	for _, f := range files {
		path := filepath.Join(at.dir, filepath.FromSlash(f.Path))
		for _, name := range []string{path, path + "-wal"} {
			if info, err := os.Lstat(name); err == nil && info.ModTime().After(last.Add(ownChange)) {
				return f.Path
			}
		}
	}
	return ""
}
