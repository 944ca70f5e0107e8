package sessions

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/operations"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/snapshot"
)

// ReconciledOperation is a tool call without an outcome, with what was found out about it.
type ReconciledOperation struct {
	pawl.OperationState
	Run      pawl.RunID            `json:"run,omitempty"` // another run than the current one
	Verdict  pawl.OperationVerdict `json:"verdict"`
	Evidence []string              `json:"evidence"`
	Runs     bool                  `json:"runs,omitempty"`    // a process that is or may be part of it is running
	Traces   pawl.OperationVerdict `json:"traces,omitempty"`  // the verdict by its traces alone, if Runs
	Touched  []string              `json:"touched,omitempty"` // paths that it changed or may have changed
	Reads    bool                  `json:"reads,omitempty"`   // it seems to only read
}

// scanTimeout limits the search for changed files.
const scanTimeout = 3 * time.Second

// InDoubt finds out how far the tool calls in doubt of a run came. It changes nothing.
func InDoubt(ctx context.Context, p *project.Project, s *pawl.State) []ReconciledOperation {
	return reconcile(ctx, p, doubtsOf(s).settled(ctx, s))
}

// reconcile finds out how far tool calls in doubt came. Calls that their agents' own records settle are left out. It changes nothing.
func reconcile(ctx context.Context, p *project.Project, d runDoubts) []ReconciledOperation {
	d.inDoubt = slices.DeleteFunc(slices.Clone(d.inDoubt), func(o *pawl.OperationState) bool {
		outcome, known := d.said[o.ID]
		return known && settles(outcome)
	})
	doubts := d.inDoubt
	if len(doubts) == 0 {
		return nil
	}
	left := orphanedProcesses(p, d) // first: a process that has exited has left all its traces
	repository := repositories(ctx)
	search := searches(ctx, p, oldestClock(doubts))
	found := make([]ReconciledOperation, 0, len(doubts))
	for _, o := range doubts {
		r := repository(operations.Dir(o.Operation, p.Root))
		files := search(o)
		w := operations.World{Root: p.Root, Look: pathInspector(p.Root), Blind: files.blind, Head: r.head, Index: r.index, Refs: r.refs, Beside: concurrentWith(o, slices.Concat(doubts, d.open))}
		for _, l := range left[o.ID] {
			w.Processes = append(w.Processes, l.evidence(o))
		}
		w.Changed, w.More = changesOf(files.changed, o)
		judged := ReconciledOperation{OperationState: *o, Runs: len(w.Processes) > 0}
		v := operations.Judge(o, w)
		judged.Verdict, judged.Evidence, judged.Touched, judged.Reads = v.Verdict, v.Evidence, v.Paths, v.Reads
		if judged.Runs {
			judged.Traces = v.Traces
		}
		judged.keepVerdict()
		if outcome, known := d.said[o.ID]; known {
			judged.addRecord(outcome)
		}
		if judged.Worked && !judged.Runs {
			continue
		}
		found = append(found, judged)
	}
	return found
}

// concurrentWith returns the other tool calls without an outcome that may have changed files since this one was announced. A call
// that was judged earlier, after its processes had exited, cannot.
func concurrentWith(o *pawl.OperationState, unsettled []*pawl.OperationState) []*pawl.OperationState {
	var others []*pawl.OperationState
	for _, other := range unsettled {
		over := other.Judged != nil && !other.Judged.Runs && !other.Until.IsZero() && !other.Until.After(o.Began)
		if other != o && !over {
			others = append(others, other)
		}
	}
	return others
}

// keepVerdict prefers the earlier verdict if others have modified files since: their writes may have overwritten the
// evidence.
func (d *ReconciledOperation) keepVerdict() {
	was := d.Judged
	if was == nil || d.Until.IsZero() {
		return
	}
	if d.Runs && was.Runs && verdictRank[d.Traces] < verdictRank[was.Traces] {
		d.Traces = was.Traces
	}
	switch {
	case !was.Runs:
		d.Verdict, d.Evidence, d.Runs, d.Traces = was.Verdict, slices.Clone(was.Evidence), false, "" // a process that runs now belongs to another call
	case verdictRank[d.Verdict] < verdictRank[was.Traces]:
		d.Verdict = was.Traces
	default:
		return
	}
	d.note("found before later tool calls, which may have changed the evidence")
}

// note adds a line of evidence once: an earlier verdict may have it already.
func (d *ReconciledOperation) note(line string) {
	if !slices.Contains(d.Evidence, line) {
		d.Evidence = append(d.Evidence, line)
	}
}

// verdictRank orders verdicts by how much work they confirm.
var verdictRank = map[pawl.OperationVerdict]int{pawl.OperationPartly: 1, pawl.OperationDone: 2}

func oldestClock(doubts []*pawl.OperationState) time.Time {
	return slices.MinFunc(doubts, func(a, b *pawl.OperationState) int { return a.Clock.Compare(b.Clock) }).Clock
}

// repositoryState is the commit of HEAD, and when git last changed its index and its refs.
type repositoryState struct {
	head        string
	index, refs time.Time
}

// repositories returns a function that examines the repository that contains a folder: a linked worktree has its own HEAD. Without
// git there is less evidence.
func repositories(ctx context.Context) func(dir string) repositoryState {
	known := map[string]repositoryState{}
	return func(dir string) repositoryState {
		state, is := known[dir]
		if is {
			return state
		}
		if head, err := snapshot.HeadOf(ctx, dir); err == nil && head != nil {
			state.head = head.Commit
		}
		state.index, state.refs, _ = snapshot.GitChanged(dir)
		known[dir] = state
		return state
	}
}

// changedPath is a path with its change time.
type changedPath struct {
	path   string
	what   string
	at     time.Time
	folder bool
	busy   bool // something inside was changed too
}

// changedSinceClock finds all files below folder that changed since a time of the file system's clock, including ignored ones but not
// .git and .pawl. A folder without another reason for its change had an entry removed. shown returns a path as operations name it.
// blind says why the search was incomplete.
func changedSinceClock(ctx context.Context, folder string, clock time.Time, shown func(string) string) (found []changedPath, blind string) {
	if clock.IsZero() {
		return nil, "the time of the call is unknown"
	}
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // best effort
		case d.IsDir() && (d.Name() == ".git" || d.Name() == project.Folder):
			return filepath.SkipDir
		}
		if at, ok := changeTime(path); ok && !at.Before(clock) {
			found = append(found, changedPath{path: shown(path), what: "changed", at: at, folder: d.IsDir()})
		}
		return nil
	})
	if err != nil {
		return nil, "the search for changed files takes longer than " + scanTimeout.String()
	}
	return withFolders(found), ""
}

// withFolders marks folders that contain other changes.
func withFolders(found []changedPath) []changedPath {
	busy := map[string]bool{}
	for _, c := range found {
		busy[filepath.ToSlash(filepath.Dir(c.path))] = c.path != "."
	}
	for i, c := range found {
		found[i].busy = c.folder && busy[c.path]
		if c.folder {
			found[i].what = "changed (an entry was created, removed or renamed)"
		}
	}
	slices.SortStableFunc(found, func(a, b changedPath) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.path, b.path)) })
	return found
}

func changeTime(path string) (time.Time, bool) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return time.Time{}, false
	}
	return time.Unix(st.Ctim.Unix()), true
}

// maxChanged is how many changed paths are listed as evidence.
const maxChanged = 50

// changesOf returns the changes that a tool call may have made: after it was announced, and before other sessions
// became active.
func changesOf(changed []changedPath, o *pawl.OperationState) (its []operations.Change, more int) {
	for _, c := range changed {
		switch {
		case c.at.Before(o.Clock), !o.Until.IsZero() && c.at.After(o.Until):
		case len(its) == maxChanged:
			more++
		default:
			its = append(its, operations.Change{Path: c.path, What: c.what, At: c.at, Folder: c.folder, Busy: c.busy})
		}
	}
	return its, more
}

// pathInspector returns a function that examines a path, relative to root or absolute.
func pathInspector(root string) func(string) operations.Look {
	return func(path string) operations.Look {
		path = filepath.FromSlash(path)
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		info, err := os.Lstat(path)
		if err != nil {
			return operations.Look{Changed: changeAbove(path)}
		}
		at, _ := changeTime(path)
		return operations.Look{
			There: true, Folder: info.IsDir(), Changed: at,
			Content: func() (string, error) { return resume.ContentHash(path, info) },
			Tail:    func(n int) ([]byte, error) { return tailOf(path, info, n) },
			Empty:   func() bool { return emptyFolder(path) },
		}
	}
}

// emptyFolder reports whether a path is a folder without entries.
func emptyFolder(path string) bool {
	entries, err := disk.ReadDir(path)
	return err == nil && len(entries) == 0
}

// changeAbove returns the change time of the nearest existing folder above a path.
func changeAbove(path string) time.Time {
	for {
		path = filepath.Dir(path)
		if at, ok := changeTime(path); ok || path == filepath.Dir(path) {
			return at
		}
	}
}

func tailOf(path string, info fs.FileInfo, n int) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, resume.ErrNotFile
	}
	file, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n = int(min(int64(n), info.Size()))
	buf := make([]byte, n)
	_, err = file.ReadAt(buf, info.Size()-int64(n))
	return buf, err
}
