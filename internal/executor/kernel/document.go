package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/notebook"
	"pawl/internal/planfile"
	"pawl/internal/sessionlock"
)

// document is the notebook that gets the outputs of cells; without a recorder, there is none. It is a view of the session's log: results are merged by cell id into
// the file that is on disk.
type document struct {
	attempt  *attempt
	path     string
	recorder *notebook.Recorder // mu guards what it has

	mu       sync.Mutex // guards the rest
	cells    map[kernel.CellID]*shown
	inFile   map[string]notebook.Pawl // id → the finished execution whose results the file has, or gets
	begun    time.Time                // when the newest cell began
	ended    []kernel.CellID          // whose results are in the file, the oldest first
	pace     pace
	later    *time.Timer // saves what no message follows; nil: nothing waits
	failed   error       // of that
	problems map[string]notebook.ConflictKind
	kernel   *kernel.Info // to describe in the file; nil: unknown, or it is there
}

// shown is a cell with results.
type shown struct {
	cell
	about notebook.Pawl // which execution it is
	end   *runner.End   // nil: it runs
}

// openDocument prepares the notebook that gets outputs. text is the notebook that is executed. A file that is there keeps its outputs if
// it has the same cells.
func openDocument(a *attempt, path string, text []byte, n *notebook.Notebook) (*document, error) {
	if info, err := disk.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil { // the link stays
			return nil, err
		}
	}
	d := &document{attempt: a, path: path, cells: map[kernel.CellID]*shown{}, inFile: map[string]notebook.Pawl{}, problems: map[string]notebook.ConflictKind{}}
	limit, err := planfile.OutputLimit(a.job.Kernel.Action.OutputLimit)
	if err != nil {
		return nil, err
	}
	d.recorder = notebook.NewRecorder(notebook.Limits{Text: limit}, d.spill)
	if info, err := disk.Lstat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o222 == 0 {
		return nil, fmt.Errorf("%s is read-only; make it writable, or write the outputs to another notebook", path)
	}
	current, err := disk.ReadFile(path, notebook.MaxSize)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		if before, err := notebook.Read(current); err == nil && sameCells(before, n) {
			n = before
			text = current
		}
	}
	if string(text) != string(current) {
		if err := disk.MakeFoldersAs(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		write := func() error { return disk.ReplacePreserving(path, text, 0o644) }
		if err := sessionlock.WithNotebook(path, sessionlock.Limit, write); err != nil {
			return nil, err
		}
	}
	for i := range n.Cells {
		if c := &n.Cells[i]; string(c.Metadata("papermill", "status")) == `"`+string(notebook.Completed)+`"` { // else they may be of an execution before the one that finished
			d.inFile[c.ID] = c.Pawl()
		}
	}
	return d, nil
}

// clear removes the outputs that an earlier run left in cells which are executed now, as papermill does: a reader must not take them for
// those of this run.
func (d *document) clear(cells []cell) error {
	if d.recorder == nil {
		return nil
	}
	data, err := disk.ReadFile(d.path, notebook.MaxSize)
	if err != nil {
		return err
	}
	n, err := notebook.Read(data)
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	about := d.about("")
	var stale []notebook.CellResult
	for _, c := range cells {
		i := n.Find(c.id)
		if i < 0 || n.Cells[i].Pawl().CellKey == string(c.Key) || n.Cells[i].Count == 0 && len(n.Cells[i].Outputs()) == 0 {
			continue
		}
		stale = append(stale, notebook.CellResult{ID: c.id, Source: c.Code, Metadata: notebook.CellMetadata{Execution: &notebook.Execution{},
			Papermill: &notebook.Papermill{Status: notebook.Pending}, Pawl: &about}})
	}
	return sessionlock.WithNotebook(d.path, sessionlock.Limit, func() error { return d.write(stale) })
}

// Pace of saving: the notebook is saved when a cell ends, and while it runs: first after firstSave, then less and less often up to
// saveInterval.
const (
	firstSave    = time.Second
	saveInterval = 30 * time.Second
)

// pace decides when to save. If saving takes long, it is done less often.
type pace struct {
	saved time.Time
	took  time.Duration
}

// next returns when to save again. interval is doubled until saving takes at most a quarter of it.
func (p pace) next(interval time.Duration) time.Time {
	for p.took > interval/4 {
		interval = max(2*interval, p.took)
	}
	return p.saved.Add(interval)
}

// saveAt saves at a time, or now if it has come. The caller holds mu.
func (d *document) saveAt(at time.Time) error {
	if d.failed != nil {
		return d.failed
	}
	wait := time.Until(at)
	if wait <= 0 {
		return d.saveUnlessHeld()
	}
	if d.later != nil {
		d.later.Reset(wait)
		return nil
	}
	d.later = time.AfterFunc(wait, d.saveLater)
	return nil
}

// saveLater saves what was not due when it came. Its error is that of the next call.
func (d *document) saveLater() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.later = nil
	d.failed = d.saveUnlessHeld()
	if d.failed == nil && d.recorder.HasChanged() { // a session of Gyoshu writes
		d.later = time.AfterFunc(firstSave, d.saveLater)
	}
}

// has reports whether the notebook has the results of a finished cell, or gets them.
func (d *document) has(c cell) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hasLocked(c)
}

func (d *document) hasLocked(c cell) bool {
	return d.recorder == nil || d.inFile[c.id].CellKey == string(c.Key)
}

// begin says that messages of a cell follow.
func (d *document) begin(c cell, id kernel.CellID) {
	if d.recorder == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.show(c, id)
}

func (d *document) show(c cell, id kernel.CellID) {
	d.cells[id] = &shown{cell: c, about: d.about(string(c.Key))}
	d.begun = time.Now()
}

// about describes an execution by this attempt.
func (d *document) about(key string) notebook.Pawl {
	job := &d.attempt.job
	return notebook.Pawl{Run: string(job.Run), Step: string(job.Step), Attempt: job.Attempt, Token: string(job.Token), CellKey: key}
}

// beginAgain says that messages of a finished cell follow. The notebook may have them.
func (d *document) beginAgain(c cell, id kernel.CellID) {
	if d.recorder == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.show(c, id)
	if d.hasLocked(c) {
		d.cells[id].about = d.inFile[c.id]
	}
}

// add adds a message.
func (d *document) add(m kernel.Message) error {
	if d.recorder == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.recorder.Add(d.attempt.redacted(m)); err != nil {
		return err
	}
	if d.pace.saved.IsZero() {
		d.pace.saved = time.Now()
	}
	return d.saveAt(d.pace.next(min(max(firstSave, time.Since(d.begun)/2), saveInterval)))
}

// end says that a cell has ended.
func (d *document) end(c cell, end *runner.End) error {
	if d.recorder == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.cells[end.Cell]
	s.end = end
	d.recorder.Touch(end.Cell) // its messages may be saved
	s.about.Interrupts, s.about.Resumes = end.Tries, end.Tries
	if end.CutShort() {
		s.about.Interrupts++
	}
	if end.Finished(&runner.Begin{MayFail: c.MayFail}) {
		d.inFile[c.id] = s.about
	}
	return d.saveAt(d.pace.next(0))
}

// maxRetries is how often save tries again if someone else writes the notebook at the same time.
const maxRetries = 5

// save merges the results that are new into the file.
func (d *document) save() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.later != nil {
		d.later.Stop()
		d.later = nil
	}
	return d.saveWithin(sessionlock.Limit)
}

// saveUnlessHeld is save, unless a session of Gyoshu writes the notebook: a later save has these results too. The caller holds mu.
func (d *document) saveUnlessHeld() error {
	err := d.saveWithin(0)
	if pawl.KindOf(err) == pawl.KindHeld {
		d.pace.saved = time.Now()
		return nil
	}
	return err
}

// saveWithin is save, which waits up to limit for a session of Gyoshu that writes the notebook. The caller holds mu.
func (d *document) saveWithin(limit time.Duration) error {
	if d.recorder == nil || !d.recorder.HasChanged() {
		return nil
	}
	began := time.Now()
	if err := sessionlock.WithNotebook(d.path, limit, d.saveChanged); err != nil {
		return err
	}
	d.pace = pace{saved: time.Now(), took: time.Since(began)}
	return nil
}

// saveChanged merges the results that are new into the file, whose lock pawl holds.
func (d *document) saveChanged() error {
	results, ended := d.results()
	if len(results) == 0 {
		return nil
	}
	if err := d.write(results); err != nil {
		return err
	}
	d.kernel = nil
	d.forget(ended)
	return nil
}

// write merges results into the file. It tries again if someone else changes the file at the same time.
func (d *document) write(results []notebook.CellResult) error {
	if len(results) == 0 {
		return nil
	}
	var err error
	for range maxRetries {
		if err = d.merge(results); !errors.Is(err, errChanged) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	return nil
}

// remembered is how many cells that have ended may get more output, from threads or by display ids.
const remembered = 20

// forget forgets the output of cells that ended long ago, so that memory is bounded.
func (d *document) forget(ended []kernel.CellID) {
	for _, id := range ended {
		if !slices.Contains(d.ended, id) {
			d.ended = append(d.ended, id)
		}
	}
	for len(d.ended) > remembered {
		d.recorder.Forget(d.ended[0])
		delete(d.cells, d.ended[0])
		d.ended = d.ended[1:]
	}
}

// errChanged is the error of a file that someone else has changed since it was read.
var errChanged = errors.New("the notebook keeps changing")

// merge writes results into the file, unless someone changes it meanwhile.
func (d *document) merge(results []notebook.CellResult) error {
	current, err := disk.ReadFile(d.path, notebook.MaxSize)
	if err != nil {
		return err
	}
	merged, conflicts, err := notebook.Merge(current, results, d.recorder.Widgets())
	if err != nil {
		return err
	}
	for _, c := range conflicts {
		d.problems[c.ID] = c.Reason
	}
	if k := d.kernel; k != nil {
		if merged, err = notebook.Describe(merged, notebook.Kernelspec{Name: k.Name, DisplayName: k.DisplayName, Language: k.Language}, k.LanguageInfo); err != nil {
			return err
		}
	}
	if string(merged) == string(current) {
		return nil
	}
	return disk.ReplacePreservingIf(d.path, merged, 0o644, func() error {
		now, err := disk.ReadFile(d.path, notebook.MaxSize)
		if err == nil && string(now) != string(current) {
			err = errChanged
		}
		return err
	})
}

// results returns the results of cells that changed, and the cells that have ended.
func (d *document) results() (results []notebook.CellResult, ended []kernel.CellID) {
	for _, id := range d.recorder.Changed() {
		s := d.cells[id]
		if s == nil {
			continue
		}
		results = append(results, d.result(id, s))
		if s.end != nil {
			ended = append(ended, id)
		}
	}
	return results, ended
}

func (d *document) result(id kernel.CellID, s *shown) notebook.CellResult {
	times := d.recorder.Times(id)
	var failed *bool
	count := d.recorder.Count(id)
	if s.end != nil {
		failed = new(s.end.Status != kernel.OK)
		count = s.end.Count
	}
	return notebook.CellResult{ID: s.id, Source: s.Code, Outputs: d.recorder.Outputs(id), Count: count,
		Metadata: notebook.CellMetadata{Execution: times.Execution(), Papermill: times.Papermill(failed), Pawl: &s.about}}
}

// describe has the file describe the kernel.
func (d *document) describe(k kernel.Info) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kernel = &k
}

// note says which cells were edited or removed while they ran.
func (d *document) note() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.problems) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the notebook changed while the run worked, and did not get outputs", countOf(len(d.problems), "cell", "cells"))
}

// spill writes output that the notebook has no room for into a folder of the cell in that of the attempt.
func (d *document) spill(cell kernel.CellID, name string, offset int64, data []byte) (string, error) {
	folder := filepath.Join(d.attempt.dir, "outputs", string(cell))
	if err := disk.MakeFolders(folder); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	if offset == 0 {
		if err := disk.Put(path, nil); err != nil {
			return "", err
		}
	}
	file, err := disk.OpenWritable(path)
	if err != nil {
		return "", err
	}
	_, err = file.WriteAt(data, offset)
	rel, relErr := filepath.Rel(filepath.Dir(d.path), path)
	if relErr != nil {
		rel = path
	}
	return filepath.ToSlash(rel), errors.Join(err, file.Close())
}

// redacted returns a message without secrets in its texts.
func (a *attempt) redacted(m kernel.Message) kernel.Message {
	if m.Kind == kernel.KindStream {
		m.Text = a.clean(m.Text)
	}
	if m.Error != nil {
		e := *m.Error
		e.Value = a.clean(e.Value)
		e.Traceback = nil
		for _, line := range m.Error.Traceback {
			e.Traceback = append(e.Traceback, a.clean(line))
		}
		m.Error = &e
	}
	return m
}
