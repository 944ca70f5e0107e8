package runs

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/view"
)

// ViewWriter writes a run's views in the background. Only the newest version of each view is written.
type ViewWriter struct {
	dir      string
	mu       sync.Mutex // guards next, busy and err
	next     map[string][]byte
	busy     bool
	idle     sync.WaitGroup
	err      error
	written  map[string]string // last written content by name; owned by the busy goroutine
	rendered time.Time         // time of the last rendering; Run's goroutine only
	seq      pawl.Seq          // of the state last rendered; Run's goroutine only
}

// viewEvery is the minimum interval between two renderings.
const viewEvery = 250 * time.Millisecond

func NewViewWriter(p *project.Project, run pawl.RunID) *ViewWriter {
	return &ViewWriter{dir: p.RunDir(run), written: map[string]string{}}
}

// Update renders the views and writes those that changed.
func (v *ViewWriter) Update(state *pawl.State, plan *pawl.Plan) {
	if state.Seq == v.seq || time.Since(v.rendered) < viewEvery {
		return // Close renders the final state
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.busy {
		return
	}
	v.next, v.busy, v.rendered, v.seq = view.Render(state, plan), true, time.Now(), state.Seq
	v.idle.Go(v.write)
}

func (v *ViewWriter) write() {
	v.mu.Lock()
	files := v.next
	v.mu.Unlock()
	err := v.writeAll(files)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.busy, v.err = false, errors.Join(v.err, err)
}

// writeAll writes changed views and removes empty ones. It stops at the first error, because the others would fail too.
func (v *ViewWriter) writeAll(files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path, data := filepath.Join(v.dir, name), files[name]
		if data != nil {
			data = []byte(redact.OfProcess().Text(string(data))) // names and goals of the plan
		}
		if v.unchanged(name, path, data) {
			continue
		}
		if err := putOrRemove(path, data); err != nil {
			return err
		}
		v.written[name] = string(data)
	}
	return nil
}

func putOrRemove(path string, data []byte) error {
	if data != nil {
		return disk.Put(path, data)
	}
	if _, err := disk.Lstat(path); err != nil {
		return nil // it does not exist, as intended
	}
	return disk.Remove(path)
}

// unchanged reports whether a view already has this content: as last written, or before that as on disk.
func (v *ViewWriter) unchanged(name, path string, data []byte) bool {
	if old, known := v.written[name]; known {
		return old == string(data)
	}
	old, err := disk.ReadFile(path, disk.ViewLimit)
	return err == nil && data != nil && bytes.Equal(old, data)
}

// Close writes the views of the final state. A write error is not a fault of the run.
func (v *ViewWriter) Close(state *pawl.State, plan *pawl.Plan) error {
	v.idle.Wait()
	return errors.Join(v.err, v.writeAll(view.Render(state, plan)))
}

// WriteViews writes the views of a run without an engine. An engine that did not journal its stop is shown as crashed.
func WriteViews(p *project.Project, r *Run) error {
	files := viewFiles(p, r.State.Run)
	if viewsWritten(p, r) {
		return nil
	}
	state := *r.State
	state.Engine = nil
	if err := NewViewWriter(p, r.State.Run).Close(&state, r.Plan); err != nil {
		return err
	}
	rememberViews(p, r, files) // not if a view was written: then its folder has just changed
	return nil
}

func RewriteViews(p *project.Project, r *Run) error {
	return errors.Join(r.Log.SaveState(r.State), WriteViews(p, r))
}
