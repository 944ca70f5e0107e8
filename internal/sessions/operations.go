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
	"pawl/internal/operations"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/snapshot"
)

// ReconciledOperation is an operation in doubt, as it was found just now.
type ReconciledOperation struct {
	pawl.OperationState
	Verdict  pawl.OperationVerdict `json:"verdict"`
	Evidence []string              `json:"evidence"`
	Runs     bool                  `json:"runs,omitempty"`   // a process of it lives, or one that may be of it
	Traces   pawl.OperationVerdict `json:"traces,omitempty"` // then: the verdict by what it has left alone
}

// scanTimeout is for how long changed files are looked for.
const scanTimeout = 3 * time.Second

// Reconcile finds out how far operations in doubt came. It changes nothing.
func Reconcile(ctx context.Context, p *project.Project, doubts []*pawl.OperationState) []ReconciledOperation {
	if len(doubts) == 0 {
		return nil
	}
	left := orphanedProcesses(p, doubts) // first: what runs no more then has left all that it will
	head := currentHead(ctx, p)
	git, _ := snapshot.GitChanged(p.Root) // what cannot be read tells nothing
	changed, blind := changedSinceClock(ctx, p, oldestClock(doubts))
	found := make([]ReconciledOperation, 0, len(doubts))
	for _, o := range doubts {
		w := operations.World{Root: p.Root, Look: pathInspector(p.Root), Blind: blind, Head: head, Git: git, Processes: left[o.ID], Beside: concurrentWith(o, doubts)}
		w.Changed, w.More = changesOf(changed, o)
		d := ReconciledOperation{OperationState: *o, Runs: len(w.Processes) > 0}
		v := operations.Judge(o, w)
		d.Verdict, d.Evidence = v.Verdict, v.Evidence
		if d.Runs {
			d.Traces = v.Traces
		}
		d.keepVerdict()
		found = append(found, d)
	}
	return found
}

// concurrentWith returns the other operations in doubt that may have changed something since this one was meant. One that was
// judged before, when nothing of it ran any more, cannot.
func concurrentWith(o *pawl.OperationState, doubts []*pawl.OperationState) []*pawl.OperationState {
	var others []*pawl.OperationState
	for _, other := range doubts {
		over := other.Judged != nil && !other.Judged.Runs && !other.Until.IsZero() && !other.Until.After(o.Began)
		if other != o && !over {
			others = append(others, other)
		}
	}
	return others
}

// keepVerdict keeps an earlier verdict where others have gone to work since, and may have covered its traces: nothing that ran no
// more can come further, and what was there once was there.
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
		d.Verdict, d.Evidence, d.Runs, d.Traces = was.Verdict, slices.Clone(was.Evidence), false, "" // what runs now is another's
	case verdictRank[d.Verdict] < verdictRank[was.Traces]:
		d.Verdict = was.Traces
	default:
		return
	}
	d.Evidence = append(d.Evidence, "it was found to be "+string(d.Verdict)+" before others went to work here")
}

// verdictRank says which of two verdicts says more of what is there.
var verdictRank = map[pawl.OperationVerdict]int{pawl.OperationPartly: 1, pawl.OperationDone: 2}

func oldestClock(doubts []*pawl.OperationState) time.Time {
	return slices.MinFunc(doubts, func(a, b *pawl.OperationState) int { return a.Clock.Compare(b.Clock) }).Clock
}

func currentHead(ctx context.Context, p *project.Project) string {
	head, err := snapshot.HeadOf(ctx, p.Root)
	if err != nil || head == nil {
		return ""
	}
	return head.Commit
}

// changedPath is a path with the time of its last change.
type changedPath struct {
	path   string
	what   string
	at     time.Time
	folder bool
	busy   bool // something that is in it was changed too
}

// changedSinceClock looks at every file of the project, also at those that git ignores, for changes since a time of the
// file system's clock. Of .git and .pawl, ours and others', nothing is looked at. A folder in which nothing tells why it
// changed is one from which something was removed.
func changedSinceClock(ctx context.Context, p *project.Project, clock time.Time) (found []changedPath, blind string) {
	if clock.IsZero() {
		return nil, "when it was meant is not known"
	}
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	err := filepath.WalkDir(p.Root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // what cannot be read tells nothing
		case d.IsDir() && (d.Name() == ".git" || d.Name() == project.Folder):
			return filepath.SkipDir
		}
		if at, ok := changeTime(path); ok && !at.Before(clock) {
			rel, _ := filepath.Rel(p.Root, path)
			found = append(found, changedPath{path: filepath.ToSlash(rel), what: "changed", at: at, folder: d.IsDir()})
		}
		return nil
	})
	if err != nil {
		return nil, "looking at all files takes longer than " + scanTimeout.String()
	}
	return withFolders(found), ""
}

// withFolders marks the folders in which something else was changed.
func withFolders(found []changedPath) []changedPath {
	busy := map[string]bool{}
	for _, c := range found {
		busy[filepath.ToSlash(filepath.Dir(c.path))] = c.path != "."
	}
	for i, c := range found {
		found[i].busy = c.folder && busy[c.path]
		if c.folder {
			found[i].what = "changed (something was made, removed or renamed in it)"
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

// maxChanged is how many changed paths are given as evidence.
const maxChanged = 50

// changesOf returns the changes that an operation may have made: since it was meant, and before others went to work.
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

// pathInspector looks at paths for the ledger, relative to root or absolute.
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
		}
	}
}

// changeAbove returns when the nearest folder above a path was changed.
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
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n = int(min(int64(n), info.Size()))
	buf := make([]byte, n)
	_, err = file.ReadAt(buf, info.Size()-int64(n))
	return buf, err
}
