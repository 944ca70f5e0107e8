package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/foreign"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// Mirror is another system whose files are kept up to date.
type Mirror struct {
	Codec foreign.Codec
	Dir   string // of the folder that it lives in, absolute
}

// maxForeign is how large a file of another system is that is read, in bytes.
const maxForeign = 16 << 20

// ReadForeign reads the files that a codec wants below a folder. Links are not followed, and what is too large or cannot
// be read is a finding.
func ReadForeign(dir string, codec foreign.Codec) (foreign.Files, []pawl.Finding, error) {
	wants := codec.Wants()
	var files foreign.Files
	var findings []pawl.Finding
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		name := filepath.ToSlash(rel)
		switch {
		case err != nil && path == dir:
			return err
		case err != nil || relErr != nil:
			findings = append(findings, pawl.Finding{Level: pawl.Warn, Where: name, What: fmt.Sprintf("it cannot be read: %v", errors.Join(err, relErr))})
			return nil
		case d.IsDir() && (d.Name() == ".git" || d.Name() == project.Folder || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.Type().IsRegular() || !foreign.Wanted(wants, name):
			return nil
		}
		file, found := readForeign(path, name, d)
		if found != nil {
			findings = append(findings, *found)
			return nil
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the files of %s: %w", codec.System(), err)
	}
	return files, findings, nil
}

func readForeign(path, name string, d fs.DirEntry) (foreign.File, *pawl.Finding) {
	info, err := d.Info()
	if err == nil && info.Size() > maxForeign {
		err = fmt.Errorf("it is larger than %d MiB", maxForeign>>20)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return foreign.File{}, &pawl.Finding{Level: pawl.Warn, Where: name, What: fmt.Sprintf("it is left out: %v", err)}
	}
	return foreign.File{Path: name, Data: data, Changed: info.ModTime()}, nil
}

// WriteForeign writes files of another system below a folder, each whole and durably; one without data is removed. A path
// that leads out of the folder is refused, and so is one through a link.
func WriteForeign(dir string, files []foreign.File) error {
	for _, f := range files {
		path, err := inside(dir, f.Path)
		if err != nil {
			return err
		}
		if f.Data == nil {
			if err := disk.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
			return err
		}
		if err := replaceKeepingMode(path, f.Data); err != nil {
			return err
		}
	}
	return nil
}

// inside returns the path of a name below a folder, if nothing on the way is a link.
func inside(dir, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("write %s: it leads out of the folder", name)
	}
	path := dir
	for part := range strings.SplitSeq(name, "/") {
		path = filepath.Join(path, part)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("write %s: %s is a symbolic link", name, path)
		}
	}
	return path, nil
}

// replaceKeepingMode replaces a file that others read too: with the mode that it has, or that a new one would have.
func replaceKeepingMode(path string, data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Lstat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := disk.Replace(path, data); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// said is what the journal says of the mirror; nil where there is none.
func (m *mirror) said() *pawl.RunMirrored {
	if m == nil {
		return nil
	}
	said := &pawl.RunMirrored{System: m.Codec.System()}
	if rel, err := filepath.Rel(m.project.Root, m.Dir); err == nil && rel != "." {
		said.Path = filepath.ToSlash(rel)
	}
	return said
}

// mirrorEvery is how often a mirror is written at most while a run goes on.
const mirrorEvery = 500 * time.Millisecond

// mirror writes another system's files off the critical path: the newest state, whatever came meanwhile.
type mirror struct {
	Mirror
	project *project.Project
	log     *journal.Log
	mu      sync.Mutex // guards busy and err
	busy    bool
	err     error
	idle    sync.WaitGroup
	when    time.Time      // when it was written last; Run's goroutine only
	why     foreign.Moment // the weightiest since; Run's goroutine only
}

func newMirror(m *Mirror, p *project.Project, log *journal.Log) *mirror {
	if m == nil {
		return nil
	}
	return &mirror{Mirror: *m, project: p, log: log}
}

// changed has the files written, unless that was just done: close writes the last state in any case.
func (m *mirror) changed(state *pawl.State, plan *pawl.Plan, events []pawl.Event) {
	if m == nil {
		return
	}
	for _, event := range events {
		if why, ok := moments[event.Type]; ok {
			m.why = why
		}
	}
	if m.why == "" || time.Since(m.when) < mirrorEvery {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy {
		return
	}
	m.busy, m.when = true, time.Now()
	view := m.view(state.Clone(), plan, m.why, true)
	m.why = ""
	m.idle.Go(func() {
		err := m.write(view)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.busy, m.err = false, err
	})
}

// moments are the events that a mirror is written for.
var moments = map[pawl.EventType]foreign.Moment{
	(pawl.EngineStarted{}).Event(): foreign.Began, (pawl.AttemptStarted{}).Event(): foreign.StepBegan, (pawl.StepDone{}).Event(): foreign.StepEnded,
	(pawl.StepFailed{}).Event(): foreign.StepEnded, (pawl.StepSkipped{}).Event(): foreign.StepEnded, (pawl.StepReopened{}).Event(): foreign.StepBegan,
	(pawl.ItemDone{}).Event(): foreign.ItemEnded, (pawl.ItemNamed{}).Event(): foreign.ItemEnded, (pawl.AttemptEnded{}).Event(): foreign.Interrupted,
	(pawl.GateOpened{}).Event(): foreign.GateOpened, (pawl.GateAnswered{}).Event(): foreign.GateClosed, (pawl.MemoryLearned{}).Event(): foreign.Learned,
	(pawl.DecisionMade{}).Event(): foreign.Learned, (pawl.BlockerOpened{}).Event(): foreign.Learned, (pawl.BlockerCleared{}).Event(): foreign.Learned,
	(pawl.Progressed{}).Event(): foreign.Beat, (pawl.Heartbeat{}).Event(): foreign.Beat, (pawl.CheckpointSaved{}).Event(): foreign.Beat,
	(pawl.RunEnded{}).Event(): foreign.RunEnded, (pawl.EngineStopped{}).Event(): foreign.Interrupted,
}

// close writes the files as they are to be at the end. What could not be written is no fault of the run.
func (m *mirror) close(state *pawl.State, plan *pawl.Plan) error {
	if m == nil {
		return nil
	}
	m.idle.Wait()
	why := foreign.Interrupted
	if state.Ended() {
		why = foreign.RunEnded
	}
	return errors.Join(m.err, m.write(m.view(state, plan, why, false)))
}

func (m *mirror) view(state *pawl.State, plan *pawl.Plan, why foreign.Moment, engine bool) foreign.View {
	return ViewFor(m.project, &Run{Log: m.log, State: state, Plan: plan}, why, engine)
}

func (m *mirror) write(v foreign.View) error {
	files, _, err := ReadForeign(m.Dir, m.Codec)
	if err != nil {
		return err
	}
	return WriteForeign(m.Dir, m.Codec.Write(files, v))
}

// ViewFor returns what a codec is told of a run. engine says whether one works on it.
func ViewFor(p *project.Project, r *Run, why foreign.Moment, engine bool) foreign.View {
	v := foreign.View{
		Now: time.Now().UTC(), Root: p.Root, State: r.State, Plan: r.Plan, Status: r.State.StatusNow(engine), Checkpoint: r.State.LastSave, Why: why,
		Items: func(id pawl.StepID) []foreign.Item { return itemsOf(r, id) },
	}
	remembered, err := p.Memories()
	if err != nil {
		return v // what was learned is not told: the file says itself what is wrong with it
	}
	for _, m := range remembered {
		v.Memories = append(v.Memories, m.Memory)
	}
	return v
}

// itemsOf returns the items of a step, those of its work list and those that it named itself.
func itemsOf(r *Run, id pawl.StepID) []foreign.Item {
	st := r.State.Steps[id]
	if st == nil {
		return nil
	}
	var items []foreign.Item
	if st.Items != nil {
		values, err := listedValues(r.Log, st.Items)
		if err != nil {
			return nil
		}
		for i, value := range values {
			item := foreign.Item{ID: string(pawl.ItemIDOf(value)), Name: value, Status: pawl.ItemPending}
			if _, failed := st.Items.Failed[i]; failed {
				item.Status = pawl.ItemFailed
			} else if st.Items.Done.At(i) > 0 {
				item.Status = pawl.ItemIsDone
			} else if t := st.Items.Tries[i]; t != nil && t.Live != nil {
				item.Status = pawl.ItemRunning
			}
			items = append(items, item)
		}
	}
	return append(items, namedItems(st)...)
}

func namedItems(st *pawl.StepState) []foreign.Item {
	var items []foreign.Item
	for _, id := range sortedKeys(st.Named) {
		n := st.Named[id]
		if n.Status != pawl.ItemDropped {
			items = append(items, foreign.Item{ID: string(id), Name: n.Title, Status: n.Status, Commit: n.Commit, Outputs: n.Outputs})
		}
	}
	return items
}

// manyCommits is how far back the commits are looked at that other systems name.
const manyCommits = 10_000

// CommitsIn returns the hashes of the commits that HEAD of the repository that a folder lies in builds on; nil: there is
// no repository.
func CommitsIn(ctx context.Context, dir string) (map[string]bool, error) {
	head, err := snapshot.HeadOf(ctx, dir)
	if err != nil || head == nil {
		return nil, err
	}
	found, err := snapshot.CommitsOf(ctx, dir, time.Time{}, manyCommits)
	commits := map[string]bool{}
	for _, c := range found {
		commits[c.Hash] = true
	}
	return commits, err
}

// WorldOf is what a system's validation may ask of a folder and of git.
func WorldOf(p string, commits map[string]bool) foreign.World {
	w := foreign.World{
		Now: time.Now().UTC(),
		Exists: func(path string) bool {
			full, err := inside(p, path)
			if err != nil {
				return false
			}
			_, err = os.Lstat(full)
			return err == nil
		},
		Hash: func(path string) (string, int64, error) { return hashIn(p, path) },
	}
	if commits != nil {
		w.Commit = func(hash string) bool {
			for known := range commits {
				if hash != "" && strings.HasPrefix(known, hash) {
					return true
				}
			}
			return false
		}
	}
	return w
}

func hashIn(dir, path string) (string, int64, error) {
	full, err := inside(dir, path)
	if err != nil {
		return "", 0, foreign.ErrLink
	}
	info, err := os.Lstat(full)
	if err != nil {
		return "", 0, err
	}
	sum, err := contentHash(full, info)
	return sum, info.Size(), err
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
