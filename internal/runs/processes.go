package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/supervise"
	"pawl/internal/supervise/process"
)

// Process is one that an attempt of a run has started, and that runs.
type Process struct {
	PID     int             `json:"pid"`
	Step    pawl.StepID     `json:"step"`
	Item    pawl.ItemID     `json:"item,omitempty"`
	Try     string          `json:"try"`             // the attempt's number, or undo-1 and so on
	Proof   supervise.Proof `json:"proof,omitempty"` // empty: it may be of the attempt, which cannot be proven
	Command string          `json:"command"`
	Seconds float64         `json:"seconds"` // since it was started
	Listens []string        `json:"listens,omitempty"`
	Open    []string        `json:"open_for_writing,omitempty"` // files of the project
	Writing bool            `json:"writing,omitempty"`          // it wrote to a disk while it was looked at
	Unknown []string        `json:"unknown,omitempty"`          // what could not be found out

	dir     string
	written uint64
}

// Name returns "step" or "step/item".
func (p Process) Name() string { return pawl.AttemptRef{Step: p.Step, Item: p.Item}.Name() }

// Supervised reports whether its supervisor lives: it is no leftover then.
func (p Process) Supervised() bool { return p.Proof == supervise.BySupervisor }

// String says in one line what is known of the process.
func (p Process) String() string {
	text := fmt.Sprintf("process %d of %s, attempt %s, runs since %s: %s", p.PID, p.Name(), p.Try, p.age(), p.Command)
	if p.Proof == "" {
		text = strings.Replace(text, " of ", ", perhaps of ", 1)
	}
	return text + p.activity()
}

// BareString says the same without whose it is.
func (p Process) BareString() string {
	return fmt.Sprintf("process %d runs since %s: `%s`", p.PID, p.age(), p.Command) + p.activity()
}

func (p Process) age() time.Duration {
	return time.Duration(p.Seconds * float64(time.Second)).Round(time.Second)
}

func (p Process) activity() string {
	text := ""
	if len(p.Listens) > 0 {
		text += "; listens at " + strings.Join(p.Listens, ", ")
	}
	if len(p.Open) > 0 {
		text += "; can write " + strings.Join(p.Open, ", ")
	}
	if p.Writing {
		text += "; writes to the disk"
	}
	return text
}

// Processes returns what a run's attempts have left running, and what their supervisors look after. Without a proof it
// is only said that a process may be the run's.
func Processes(p *project.Project, run pawl.RunID) ([]Process, error) {
	dirs, err := begunDirs(p, run)
	if err != nil {
		return nil, err
	}
	return processesOf(p, dirs)
}

// begunDirs returns the folders of a run's attempts and undos that have begun, and of the checks that they had run.
func begunDirs(p *project.Project, run pawl.RunID) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(filepath.Join(p.RunDir(run), "steps"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err == nil && d.Name() == pawl.BegunFile:
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	return dirs, err
}

// Leftovers says, one line each, what the attempts of a run have left running whose supervisors are gone: those of which
// nobody knows yet how they ended, and those that were lost.
func Leftovers(p *project.Project, run pawl.RunID, s *pawl.State) ([]string, error) {
	var dirs []string
	for _, ref := range inDoubt(s) {
		dirs = append(dirs, p.AttemptDir(ref, run))
	}
	if s.Rollback != nil && s.Rollback.Undoing != nil {
		dirs = append(dirs, p.UndoDir(*s.Rollback.Undoing, run))
	}
	found, err := processesOf(p, dirs)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, x := range found {
		if !x.Supervised() {
			lines = append(lines, x.String())
		}
	}
	return lines, nil
}

// inDoubt returns the attempts that are live as far as the state says, and those that were lost and not made up for.
func inDoubt(s *pawl.State) []pawl.AttemptRef {
	found := RefsOf(s.Live())
	lost := func(t *pawl.Retries) {
		if t.Last != nil && t.Last.Outcome == pawl.Lost {
			found = append(found, t.Last.AttemptRef)
		}
	}
	for _, st := range s.Steps {
		lost(&st.Retries)
		if st.Items == nil {
			continue
		}
		for _, t := range st.Items.Retries {
			lost(t)
		}
	}
	return found
}

// writeWindow is how long a process is watched to see whether it writes.
const writeWindow = 100 * time.Millisecond

func processesOf(p *project.Project, dirs []string) ([]Process, error) {
	table, err := process.Table()
	if err != nil {
		return nil, err
	}
	found := []Process{}
	for _, dir := range dirs {
		more, err := orphansOf(dir, table)
		if err != nil {
			return nil, err
		}
		for _, x := range more { // the checks of an attempt have its token too
			if !slices.ContainsFunc(found, func(y Process) bool { return x.PID == y.PID }) {
				found = append(found, x)
			}
		}
	}
	ObserveProcesses(p, found)
	return found, nil
}

// ObserveProcesses finds out what processes do, and whether they write meanwhile.
func ObserveProcesses(p *project.Project, found []Process) {
	for i := range found {
		found[i].inspect(p)
	}
	if len(found) > 0 {
		time.Sleep(writeWindow)
	}
	for i := range found {
		now, err := process.Written(found[i].PID)
		found[i].Writing = err == nil && now > found[i].written
	}
}

// orphansOf returns what the attempt in a folder has left running. One whose supervisor saw the end of everything is not
// looked at.
func orphansOf(dir string, table []process.Stat) ([]Process, error) {
	status, err := supervise.Probe(dir)
	if err != nil || status.Exit != nil && len(status.Exit.Unkilled) == 0 {
		return nil, err
	}
	survivors, err := supervise.Survivors(dir, table)
	if err != nil || len(survivors) == 0 {
		return nil, err
	}
	job := supervise.ReadJob(dir)
	if job == nil {
		job = &pawl.Job{} // it began, so there was one; whose they are is proven all the same
	}
	try := strconv.Itoa(job.Attempt)
	if name := filepath.Base(dir); strings.HasPrefix(name, "undo-") {
		try = name
	}
	found := make([]Process, len(survivors))
	for i, s := range survivors {
		found[i] = Process{
			PID: s.PID, Step: job.Step, Item: job.Item, Try: try, Proof: s.Proof,
			Command: ClipText(process.Command(s.PID)), Seconds: s.Age().Seconds(), dir: dir,
		}
	}
	return found, nil
}

// inspect finds out what a process does. What cannot be found out is named.
func (x *Process) inspect(p *project.Project) {
	var err error
	note := func(what string) {
		if err != nil && !errors.Is(err, process.ErrGone) {
			x.Unknown = append(x.Unknown, what+": "+err.Error())
		}
	}
	x.Listens, err = process.Listens(x.PID)
	note("ports")
	var files []string
	files, err = process.Writes(x.PID, p.Root)
	note("files")
	for _, path := range files {
		if rel, err := filepath.Rel(p.Root, path); err == nil && !strings.HasPrefix(path, p.Home()+string(filepath.Separator)) {
			x.Open = append(x.Open, filepath.ToSlash(rel))
		}
	}
	x.written, err = process.Written(x.PID)
	note("what is written")
}

// EndProcesses ends those of the processes that are proven to be of attempts whose supervisors are gone, and all else
// that is. It returns how many it ended, and which could not be, or may be of the attempts and cannot be proven to be.
func EndProcesses(found []Process) (ended int, left []int, err error) {
	var dirs []string
	for _, x := range found {
		if !x.Supervised() && !slices.Contains(dirs, x.dir) {
			dirs = append(dirs, x.dir)
		}
	}
	for _, dir := range dirs {
		n, more, err := supervise.Sweep(dir)
		if err != nil {
			return ended, left, err
		}
		ended, left = ended+n, append(left, more...)
	}
	return ended, left, nil
}
