package interop

import (
	"encoding/json"
	"maps"
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

// mirrorState is what pawl last read and wrote of a run's mirror. It is a cache in the run's folder, written before the
// files are, so that after a crash pawl does not take its own writes for another's.
type mirrorState struct {
	Mirror   string              `json:"mirror"`            // SYSTEM or SYSTEM=PATH
	Files    map[string][]string `json:"files"`             // by path, the SHA-256 in hex of each content that is not someone else's change
	Written  map[string]string   `json:"written,omitempty"` // see runs.MirrorWrites
	Failed   string              `json:"behind,omitempty"`  // why the last write failed
	Listed   []int               `json:"listed,omitempty"`  // ids of blockers that the files have listed
	modified time.Time           // when it was written
}

// saveState records what was read and what will be written. It does nothing if the mirror is not the run's own.
func (m *Mirror) saveState(p *project.Project, run *pawl.State, read format.Files, written []format.File) error {
	if run.Mirror == nil || !run.Mirror.SameFiles(m.Record(p)) {
		return nil
	}
	k := mirrorState{Mirror: run.Mirror.String(), Files: map[string][]string{}}
	for _, f := range slices.Concat(read, written) {
		if f.Data != nil && f.Was == nil {
			k.Files[f.Path] = append(k.Files[f.Path], runs.SHA256Hex(f.Data))
		}
	}
	k.Written = m.ownWrites(p, run, written)
	if was := readState(p, run); was != nil {
		k.Listed = was.Listed
	}
	if run.Ended() { // no engine writes them again
		k.Failed = "pawl was killed while it wrote them"
	}
	return k.put(p, run.Run)
}

// markWritten records that the files have the end of a run.
func (m *Mirror) markWritten(p *project.Project, run *pawl.State) {
	if k := readState(p, run); k != nil && run.Mirror.SameFiles(m.Record(p)) {
		k.Failed = ""
		_ = k.put(p, run.Run) // only a cache
	}
}

func (k mirrorState) put(p *project.Project, run pawl.RunID) error {
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return disk.Put(p.MirrorFile(run), data)
}

// ownWrites returns what pawl wrote to the files of a run's mirror, now and before; see runs.MirrorWrites.
func (m *Mirror) ownWrites(p *project.Project, run *pawl.State, written []format.File) map[string]string {
	own := maps.Clone(runs.MirrorWrites(p, run.Run))
	if own == nil {
		own = map[string]string{}
	}
	for _, f := range written {
		name, err := filepath.Rel(p.Root, filepath.Join(locate(m.Dir, m.Format).dir, filepath.FromSlash(f.Path)))
		switch {
		case err != nil:
		case f.Data == nil:
			own[filepath.ToSlash(name)] = runs.RemovedFile
		case f.Was == nil:
			own[filepath.ToSlash(name)] = runs.SHA256Hex(f.Data)
		}
	}
	return own
}

// markFailed records that the last mirror write failed, until one succeeds.
func (m *Mirror) markFailed(p *project.Project, run *pawl.State, why error) {
	if run.Mirror == nil || !run.Mirror.SameFiles(m.Record(p)) {
		return
	}
	k := readState(p, run)
	if k == nil {
		k = &mirrorState{Mirror: run.Mirror.String()}
	}
	k.Failed = why.Error()
	_ = k.put(p, run.Run) // the caller reports why
}

// MirrorFailed reports whether the last write of a run's mirror failed, or the engine was killed between the run's end and that write.
func MirrorFailed(p *project.Project, run *pawl.State) bool {
	if run.Mirror == nil {
		return false
	}
	k := readState(p, run)
	return k != nil && (k.Failed != "" || run.Ended() && k.modified.Before(run.Updated))
}

// readState returns the state of a run's mirror; nil if it is missing, unreadable, or of another mirror.
func readState(p *project.Project, run *pawl.State) *mirrorState {
	path := p.MirrorFile(run.Run)
	info, err := disk.Lstat(path)
	if err != nil {
		return nil
	}
	data, err := disk.ReadFile(path, disk.ViewLimit)
	if err != nil {
		return nil
	}
	k := parseState(data, run)
	if k != nil {
		k.modified = info.ModTime()
	}
	return k
}

func parseState(data []byte, run *pawl.State) *mirrorState {
	var k mirrorState
	if json.Unmarshal(data, &k) != nil || k.Mirror != run.Mirror.String() {
		return nil
	}
	return &k
}

// changedByOthers returns the first file modified by someone else since pawl last wrote the mirror, or "". An unreadable
// file does not count, because the write keeps a copy, nor does one that changed while a step ran, because the engine takes what a step
// writes. For a database, and if there is no mirrorState, the modification time decides.
func (m *Mirror) changedByOthers(p *project.Project, run *pawl.State, read format.Files, written []format.File) string {
	k := readState(p, run)
	if k == nil {
		return m.ChangedSince(written, run.Updated)
	}
	for _, f := range written {
		onDisk := read.Find(f.Path)
		switch {
		case onDisk == nil || onDisk.Data == nil || isReplaced(written, f.Path):
		case onDisk.Was != nil:
			if m.ChangedSince([]format.File{f}, k.modified) != "" {
				return f.Path
			}
		case !slices.Contains(append(k.Files[f.Path], runs.SHA256Hex(f.Data)), runs.SHA256Hex(onDisk.Data)) && !stepRan(run, onDisk.Changed):
			return f.Path
		}
	}
	return ""
}

// stepRan reports whether a step of the run ran at a time, according to the times of those that have ended.
func stepRan(run *pawl.State, at time.Time) bool {
	for _, st := range run.Steps {
		if !st.Started.IsZero() && !at.Before(st.Started) && !at.After(st.Ended) {
			return true
		}
	}
	return false
}

// isReplaced reports whether the written files include a copy of the unreadable file at path.
func isReplaced(written []format.File, path string) bool {
	return slices.ContainsFunc(written, func(f format.File) bool { return f.Broken == path && f.Data != nil })
}

// ownChangeWindow is how long after pawl's last write a change of a file may still be that write.
const ownChangeWindow = time.Minute

// ChangedSince returns the first of the files that was modified after pawl's last write, or "". A database counts as
// modified if its write-ahead log was.
func (m *Mirror) ChangedSince(files []format.File, last time.Time) string {
	at := locate(m.Dir, m.Format)
	for _, f := range files {
		path := filepath.Join(at.dir, filepath.FromSlash(f.Path))
		for _, name := range []string{path, path + "-wal"} {
			if info, err := os.Lstat(name); err == nil && info.ModTime().After(last.Add(ownChangeWindow)) {
				return f.Path
			}
		}
	}
	return ""
}
