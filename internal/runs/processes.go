package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/supervise"
	"pawl/internal/supervise/process"
)

// Process is a running process that an attempt of a run, or a tool call of an agent, started.
type Process struct {
	PID     int             `json:"pid"`
	Session pawl.SessionID  `json:"session,omitempty"` // of a tool call; Step and Try are empty then
	Call    string          `json:"call,omitempty"`    // the tool call
	Step    pawl.StepID     `json:"step"`
	Item    pawl.ItemID     `json:"item,omitempty"`
	Value   string          `json:"value,omitempty"` // of the item, if its id is a hash
	Try     string          `json:"try"`             // the attempt's number, or undo-1 and so on
	Proof   supervise.Proof `json:"proof,omitempty"` // how it was matched to the attempt; "" if it only may belong to it
	Command string          `json:"command"`
	Seconds float64         `json:"seconds"`       // since its start
	Dir     string          `json:"dir,omitempty"` // working directory: absolute outside of the project; empty: the project's root, or unknown
	Listens []string        `json:"listens,omitempty"`
	Open    []string        `json:"open_for_writing,omitempty"` // open files of the project
	Writing bool            `json:"writing,omitempty"`          // it wrote to a disk during the observation
	Unknown []string        `json:"unknown,omitempty"`          // what could not be determined

	Identity pawl.Process `json:"-"` // of a tool call's process

	Unattended bool `json:"unattended,omitempty"` // its supervisor is alive, but the journal says that the attempt has ended

	dir     string
	written uint64
}

// Name returns "step" or "step/item".
func (p Process) Name() string { return pawl.AttemptRef{Step: p.Step, Item: p.Item}.Name() }

// Supervised reports whether the process's supervisor is alive and the journal has the attempt as running, so that it is not an orphan.
func (p Process) Supervised() bool { return p.Proof == supervise.BySupervisor && !p.Unattended }

// String describes the process in one line.
func (p Process) String() string {
	text := fmt.Sprintf("process %d of %s, attempt %s, running for %s: %s", p.PID, p.Name(), p.Try, p.age(), p.Command)
	if p.Proof == "" {
		text = strings.Replace(text, " of ", ", possibly of ", 1)
	}
	return text + p.activity()
}

// BareString is like String without step and attempt.
func (p Process) BareString() string {
	return fmt.Sprintf("process %d, running for %s: `%s`", p.PID, p.age(), p.Command) + p.activity()
}

// Unnamed is like BareString, without the command.
func (p Process) Unnamed() string {
	return fmt.Sprintf("process %d, running for %s", p.PID, p.age()) + p.activity()
}

func (p Process) age() time.Duration {
	return time.Duration(p.Seconds * float64(time.Second)).Round(time.Second)
}

func (p Process) activity() string {
	text := ""
	if len(p.Listens) > 0 {
		text += "; listens on " + strings.Join(p.Listens, ", ")
	}
	if len(p.Open) > 0 {
		text += "; can write " + strings.Join(p.Open, ", ")
	}
	if p.Writing {
		text += "; is writing to disk"
	}
	return text
}

// Processes returns the running processes of a run's attempts: supervised ones and orphans. A process without proof
// only may belong to the run.
func Processes(p *project.Project, s *pawl.State) ([]Process, error) {
	dirs, err := begunDirs(p, s.Run)
	if err != nil {
		return nil, err
	}
	found, err := processesOf(p, dirs)
	live := map[string]bool{}
	for _, ref := range RefsOf(s.Live()) {
		live[p.AttemptDir(ref, s.Run)] = true
	}
	for i := range found {
		x := &found[i]
		_, notAttempt := strconv.Atoi(filepath.Base(x.dir)) // of a rollback or of checks, which no event says to run
		x.Unattended = x.Proof == supervise.BySupervisor && notAttempt == nil && !live[x.dir]
	}
	return found, err
}

// begunDirs returns the folders of a run's started attempts, undos and checks.
func begunDirs(p *project.Project, run pawl.RunID) ([]string, error) {
	var dirs []string
	err := disk.WalkDir(filepath.Join(p.RunDir(run), "steps"), func(path string, d fs.DirEntry, err error) error {
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

// Leftovers describes the orphaned processes of interrupted and crashed attempts, one line each.
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

// inDoubt returns the attempts that are live according to the state, and those that crashed and were not retried.
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

// writeWindow is how long a process is observed to see whether it writes.
const writeWindow = 100 * time.Millisecond

func processesOf(p *project.Project, dirs []string) ([]Process, error) {
	table := sync.OnceValues(process.Table)
	found := []Process{}
	for _, dir := range dirs {
		more, err := orphansOf(dir, table)
		if err != nil {
			return nil, err
		}
		for _, x := range more { // an attempt's checks have its token too
			if !slices.ContainsFunc(found, func(y Process) bool { return x.PID == y.PID }) {
				found = append(found, x)
			}
		}
	}
	ObserveProcesses(p, found)
	return found, nil
}

// ObserveProcesses fills in what the processes do, and whether they write during the observation.
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

// orphansOf returns the processes that the attempt in a folder left running. It skips attempts whose supervisor saw the
// end of all processes.
func orphansOf(dir string, table func() ([]process.Stat, error)) ([]Process, error) {
	status, err := supervise.Probe(dir)
	if err != nil || status.Exit != nil && len(status.Exit.Unkilled) == 0 {
		return nil, err
	}
	all, err := table()
	if err != nil {
		return nil, err
	}
	survivors, err := supervise.Survivors(dir, all)
	if err != nil || len(survivors) == 0 {
		return nil, err
	}
	job := supervise.ReadJob(dir)
	if job == nil {
		job = &pawl.Job{} // the attempt started, so there was a job; tokens still prove the processes
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

// inspect fills in what a process does. What cannot be determined goes to Unknown.
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
	note("disk writes")
	if dir := process.Dir(x.PID); dir != p.Root {
		x.Dir = dir
		if rel, err := filepath.Rel(p.Root, dir); err == nil && filepath.IsLocal(rel) {
			x.Dir = filepath.ToSlash(rel)
		}
	}
}

// EndProcesses kills the orphans that are proven, and their descendants. It ends supervisors whose attempts have ended in the journal. It returns how many it killed, and the pids of
// those that it could not kill or that are not proven.
func EndProcesses(found []Process) (ended int, left []int, err error) {
	var dirs []string
	for _, x := range found {
		switch {
		case x.Session != "" && x.Proof == "":
			left = append(left, x.PID)
		case x.Session != "":
			if err := process.KillVerified(x.Identity, func() error { return nil }); err == nil {
				ended++
			} else if !errors.Is(err, process.ErrGone) {
				left = append(left, x.PID)
			}
		case !x.Supervised() && !slices.Contains(dirs, x.dir):
			dirs = append(dirs, x.dir)
		}
	}
	for _, dir := range dirs {
		n, err := supervise.End(dir, "terminated by pawl processes --end")
		if err != nil {
			return ended, left, err
		}
		ended += n
		n, more, err := supervise.Sweep(dir, "")
		if err != nil {
			return ended, left, err
		}
		ended, left = ended+n, append(left, more...)
	}
	return ended, left, nil
}
