package runs

import (
	"maps"
	"slices"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/memo"
	"pawl/internal/project"
)

const (
	fewRuns   = 4 // a search opens as many runs before it asks for the memo of the ended ones
	manyEnded = 8 // as many ended runs are worth a new memo
)

// runFiles are the files that change when a run gets an event or moves into a database, without their paths.
type runFiles struct{ Folder, Journal memo.File }

// filesOf returns the files of a run as they are now, and whether another change would show. The caller calls it before it reads the run.
func filesOf(p *project.Project, run pawl.RunID) (files runFiles, settled bool) {
	var ok bool
	files.Folder, ok = memo.Look(p.RunDir(run))
	files.Journal, settled = memo.Look(openSegment(p, run))
	files.Folder.Path, files.Journal.Path = "", ""
	return files, ok && settled && files.Journal.Size > 0
}

// pastRuns are the runs of a project that have ended. A memo of them spares a search to open each.
type pastRuns struct {
	folder string // of all runs
	path   string // of the memo
	runs   map[pawl.RunID]runFiles
	fresh  int // how many the memo does not have
}

func recallEnded(p *project.Project) *pastRuns {
	e := &pastRuns{folder: p.Runs(), path: memoPath(p, p.Runs(), "all", "ended")}
	if !memo.Load(e.path, &e.runs) || e.runs == nil {
		e.runs = map[pawl.RunID]runFiles{}
	}
	return e
}

// has reports whether a run has ended, and its files are certainly as they were then.
func (e *pastRuns) has(run pawl.RunID, files runFiles) bool {
	was, known := e.runs[run]
	return known && was == files
}

// add adds a run that has ended, unless it is in a database, where others may continue it.
func (e *pastRuns) add(run pawl.RunID, files runFiles) {
	if store, err := journal.StoredIn(e.folder, run); err != nil || store != "" {
		return
	}
	e.runs[run] = files
	e.fresh++
}

// remember writes the memo if that spares enough. all are the runs that there are.
func (e *pastRuns) remember(all []pawl.RunID) {
	if e.fresh < manyEnded {
		return
	}
	maps.DeleteFunc(e.runs, func(run pawl.RunID, _ runFiles) bool { return !slices.Contains(all, run) })
	_ = memo.Save(e.path, memo.At(), &e.runs) // without it the next search opens them again
}
