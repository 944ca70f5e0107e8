package gyoshu

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"pawl/internal/interop/format"
	"pawl/internal/kernel"
)

// Request describes a checkpoint to save.
type Request struct {
	Title, Run string
	ID         string
	Session    string
	Stage      string // finished or interrupted
	Status     Status // Defaults to saved
	Reason     Reason // unless Status is saved
	Trust      Trust  // if Status is saved. Defaults to local
	Python     Python
	Executed   int64         // highest execution count of a cell; 0: unknown
	Artifacts  []Artifact    // with hashes that the caller took
	Kernel     kernel.Report // of an emergency checkpoint: where the kernel ended
	Now        time.Time
}

// Save returns the files of a new checkpoint, in the order in which they must become durable: the notebook with its cell,
// and then the manifest, which is the commit record. It fails, and writes nothing, for a checkpoint that Gyoshu could not
// load, and for an existing id.
func Save(files format.Files, r Request) ([]format.File, error) { return save(files.Find, r) }

func save(find func(path string) *format.File, r Request) ([]format.File, error) {
	r.Status = cmp.Or(r.Status, Saved)
	m := r.manifest()
	if err := m.check(); err != nil {
		return nil, err
	}
	place := manifestPath(r.Title, r.Run, r.ID)
	if find(place) != nil {
		return nil, fmt.Errorf("save checkpoint %s: it exists already", r.ID)
	}
	var old []byte
	if notebook := find(m.Notebook.Path); notebook != nil {
		old = notebook.Data
	}
	notebook, err := withCell(old, newCheckpointCell(m, r.Kernel))
	if err != nil {
		return nil, fmt.Errorf("save checkpoint %s: %s: %w", r.ID, m.Notebook.Path, err)
	}
	return []format.File{{Path: m.Notebook.Path, Data: notebook}, {Path: place, Data: m.Encode()}}, nil
}

func (r Request) manifest() *Manifest {
	m := &Manifest{
		CheckpointID: r.ID,
		Session:      r.Session,
		Title:        r.Title,
		Run:          r.Run,
		Stage:        r.Stage,
		Status:       r.Status,
		Created:      instantOf(r.Now),
		Executions:   r.Executed,
		Notebook:     NotebookRef{Path: notebookPath(r.Title), Cell: "ckpt-" + stamp(r.Now, "cell", r.Title, r.Run, r.ID)},
		Python:       r.Python,
		Artifacts:    r.Artifacts,
	}
	if r.Status.unsafe() {
		m.Reason = r.Reason
	}
	trust := cmp.Or(r.Trust, Local)
	if r.Status != Interrupted {
		m.Trust = trust
	}
	m.Python.Path = cmp.Or(m.Python.Path, unknown)
	m.Python.Platform = cmp.Or(m.Python.Platform, unknown)
	m.Rehydration = Rehydration{Mode: ArtifactsOnly, Source: Rehydrate(m, trust)}
	return m
}

// check returns an error if a manifest must not be written: its names are invalid, Gyoshu would not load it, or its cell
// would not parse as a marker.
func (m *Manifest) check() error {
	for _, s := range []struct{ name, text string }{{"reportTitle", m.Title}, {"runId", m.Run}, {"checkpointId", m.CheckpointID}} {
		if issue := CheckSegment(s.name, s.text); issue != "" {
			return errors.New(issue)
		}
		if !inMarker(s.text) {
			return fmt.Errorf("%s: %q is not allowed in a marker, which ends at ':' and ']'", s.name, s.text)
		}
	}
	if m.Status.unsafe() && m.Reason == "" {
		return errors.New("reason is required for emergency checkpoints")
	}
	for _, a := range m.Artifacts {
		if issue := CheckPath(a.Path); issue != "" {
			return errors.New(issue)
		}
		if !utf8.ValidString(a.Path) {
			return fmt.Errorf("artifact %q: its name is not UTF-8, which a manifest requires", a.Path)
		}
	}
	for _, seed := range m.Python.Seeds {
		if !isFinite(seed.Value) {
			return fmt.Errorf("seed %s: it is not a finite number", seed.Name)
		}
	}
	if _, problems := ReadManifest("", m.Encode()); len(problems) > 0 {
		return fmt.Errorf("save checkpoint %s: %s", m.CheckpointID, problems[0].What)
	}
	return nil
}

// stamp returns the end of an id: the time, and a part that is unique within a millisecond.
func stamp(at time.Time, names ...string) string {
	h := sha256.New()
	for _, name := range names {
		h.Write([]byte(name + "\x00"))
	}
	return baseTime(at) + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

// baseTime formats a time as milliseconds in base 36, as in ids.
func baseTime(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 36) }
