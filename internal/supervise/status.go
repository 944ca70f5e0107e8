package supervise

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/supervise/process"
)

// State is the state of an attempt according to its folder.
type State string

// States of an attempt.
const (
	NotBegun State = "not begun" // nothing was started
	Live     State = "live"      // a process holds its lock
	Ended    State = "ended"     // with an exit record
	Lost     State = "lost"      // crashed: the supervisor died after the attempt began, or its records are gone
)

// Status is what an attempt's folder says about it.
type Status struct {
	State State
	Begun *pawl.Begun // nil: not begun
	Exit  *pawl.Exit  // nil: not ended

	// Unsynced is an exit record that does not count, because it was not synced before the system restarted.
	Unsynced *pawl.Exit

	exitRecord []byte // the content of exit.json
	sent       bool   // Exit is not from there: the supervisor sent it to this process
}

// Rebooted reports whether the system was restarted since the attempt began.
func (s Status) Rebooted() bool { return s.Begun != nil && !process.SameBoot(s.Begun.Supervisor) }

// HasBegun reports whether the child was or may have been started.
func (s Status) HasBegun() bool { return s.Begun != nil || s.State == Lost || s.State == Ended }

// Probe returns the status of an attempt. Whether it is alive depends only on the lock, not on the process table.
func Probe(dir string) (Status, error) {
	held, err := process.Locked(filepath.Join(dir, pawl.LockFile))
	if err != nil {
		return Status{}, fmt.Errorf("probe attempt: %w", err)
	}
	status := Status{State: NotBegun}
	if status.Begun, err = readBegun(dir); err != nil {
		return Status{}, fmt.Errorf("probe attempt: %w", err)
	}
	if held {
		status.State = Live
		return status, nil
	}
	exit, record, err := readExit(filepath.Join(dir, pawl.ExitFile))
	switch {
	case err != nil:
		return Status{}, fmt.Errorf("probe attempt: %w", err)
	case exit != nil && exit.Boot != "" && exit.Boot != process.BootID():
		status.State, status.Unsynced = Lost, exit
	case exit != nil:
		status.State, status.Exit, status.exitRecord = Ended, exit, record
	case status.Begun != nil || mayHaveBegun(dir):
		status.State = Lost
	}
	return status, nil
}

// Under returns the status of an attempt whose intent was journaled under a boot of the system; "" if that is unknown. Its records were not
// synced, so after a restart none need be there.
func (s Status) Under(boot string) Status {
	if s.State == NotBegun && boot != "" && boot != process.BootID() {
		s.State = Lost
	}
	return s
}

// mayHaveBegun reports whether an attempt without a readable begun.json may have begun: its folder, which was durable
// before the intent, is gone; or there is output or a heartbeat, whose files are made later; or begun.json is complete and
// invalid. A torn begun.json was never written to its end.
func mayHaveBegun(dir string) bool {
	if _, err := disk.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for _, later := range []string{pawl.OutFile, pawl.BeatFile} {
		if _, err := disk.Lstat(filepath.Join(dir, later)); err == nil {
			return true
		}
	}
	data, err := disk.ReadFile(filepath.Join(dir, pawl.BegunFile), disk.RecordLimit)
	return err == nil && bytes.HasSuffix(data, []byte("\n"))
}

// ReadJob returns the job of an attempt, or nil if job.json is missing or torn.
func ReadJob(dir string) *pawl.Job {
	job, err := readRecord[pawl.Job](filepath.Join(dir, pawl.JobFile))
	if err != nil {
		return nil
	}
	return job
}

// readBegun returns the last complete record in begun.json, or nil. A torn record was never written to its end, so the child
// was never started.
func readBegun(dir string) (*pawl.Begun, error) {
	return readRecord[pawl.Begun](filepath.Join(dir, pawl.BegunFile))
}

// maxExit is the maximum size of an exit record in bytes.
const maxExit = 16 << 20

// readExit returns an exit record and its text; nil if it is missing or torn.
func readExit(path string) (*pawl.Exit, []byte, error) {
	file, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	record, err := io.ReadAll(io.LimitReader(file, maxExit))
	if err != nil {
		return nil, nil, err
	}
	if exit := parseExit(record); exit != nil {
		return exit, record, nil
	}
	return nil, nil, nil
}

func parseExit(record []byte) *pawl.Exit {
	exit := new(pawl.Exit)
	if len(record) == 0 || json.Unmarshal(record, exit) != nil {
		return nil
	}
	return exit
}

// readRecord returns the last complete JSON value in a file, or nil.
func readRecord[T any](path string) (*T, error) {
	f, err := disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return lastRecord[T](f), nil
}

func lastRecord[T any](r io.Reader) (last *T) {
	for records := json.NewDecoder(io.LimitReader(r, disk.RecordLimit)); ; {
		record := new(T)
		if records.Decode(record) != nil {
			return last
		}
		last = record
	}
}

// RequestAbort asks the supervisor of an attempt to end it. The request is durable. A live supervisor obeys at once, or
// within a quarter of a second if it cannot be signalled. If there is none, nothing happens.
func RequestAbort(dir string, abort pawl.Abort) error {
	data, err := json.Marshal(abort)
	if err != nil {
		return fmt.Errorf("end attempt: %w", err)
	}
	err = disk.Replace(filepath.Join(dir, pawl.AbortFile), data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the attempt no longer exists
	}
	if err != nil {
		return fmt.Errorf("end attempt: %w", err)
	}
	return signalSupervisor(dir, syscall.SIGTERM)
}

// endSlack is how much longer than its grace periods a supervisor may take to end an attempt: it looks at its request, kills what is
// left, and writes its record.
const endSlack = killWait + 2*time.Second

// EndLimit returns how long the supervisor of an attempt may take to end it after RequestAbort.
func EndLimit(dir string) time.Duration {
	job := ReadJob(dir)
	if job == nil {
		job = &pawl.Job{}
	}
	return cmp.Or(time.Duration(job.InterruptWait), defaultInterruptWait) + cmp.Or(time.Duration(job.TerminateWait), defaultTerminateWait) + endSlack
}

// End ends an attempt whose supervisor is alive: it asks the supervisor, and kills it if it takes longer than EndLimit. It returns how many
// processes the attempt had; none if no supervisor is alive.
func End(dir, why string) (ended int, err error) {
	table, err := process.Table()
	if err != nil {
		return 0, err
	}
	status, err := Probe(dir)
	if err != nil || status.State != Live || status.Begun == nil {
		return 0, err
	}
	ended = len(process.Below(table, status.Begun.Supervisor.PID))
	if err := RequestAbort(dir, pawl.Abort{Reason: pawl.ReasonAbort, Why: why}); err != nil {
		return 0, err
	}
	for end := time.Now().Add(EndLimit(dir)); status.State == Live; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return ended, Kill(dir)
		}
		if status, err = Probe(dir); err != nil {
			return ended, err
		}
	}
	return ended, nil
}

// Kill kills the supervisor of an attempt, and thereby the child. The attempt is then lost, and the caller must call
// Sweep.
func Kill(dir string) error { return signalSupervisor(dir, syscall.SIGKILL) }

// holdsLock reports whether a process in a record holds the lock of the attempt: the record may be forged and name any process.
// It returns true if that cannot be found out: on macOS, and for a process that Signal does not find.
func holdsLock(dir string, supervisor pawl.Process) bool {
	if _, err := process.Find(supervisor); err != nil {
		return true
	}
	holds, err := process.HasLock(supervisor.PID, filepath.Join(dir, pawl.LockFile))
	return holds || err != nil
}

// exitTime is how long a supervisor that exits may have closed its files while the system still holds its lock.
const exitTime = 200 * time.Millisecond

func signalSupervisor(dir string, sig syscall.Signal) error {
	status, err := Probe(dir)
	if err != nil || status.State != Live || status.Begun == nil {
		return err
	}
	for late := time.Now().Add(exitTime); !holdsLock(dir, status.Begun.Supervisor); time.Sleep(exitTime / 100) {
		if status, err := Probe(dir); err != nil || status.State != Live {
			return err // it has ended meanwhile
		}
		if time.Now().After(late) {
			return fmt.Errorf("signal supervisor %d: this process does not hold the lock of the attempt", status.Begun.Supervisor.PID)
		}
	}
	if sig == syscall.SIGKILL {
		return killSupervisor(dir, status.Begun.Supervisor)
	}
	err = process.Signal(status.Begun.Supervisor, sig)
	if errors.Is(err, process.ErrGone) || errors.Is(err, process.ErrOtherNamespace) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("signal supervisor %d: %w", status.Begun.Supervisor.PID, err)
	}
	return nil
}

// killSupervisor kills a supervisor if it still runs the attempt. It stops it first, because that of a pool may begin another attempt at
// any moment.
func killSupervisor(dir string, supervisor pawl.Process) error {
	err := process.Signal(supervisor, syscall.SIGSTOP)
	if err == nil {
		sig := syscall.SIGKILL
		if status, probeErr := Probe(dir); probeErr != nil || status.State != Live {
			sig, err = syscall.SIGCONT, probeErr
		}
		err = errors.Join(err, process.Signal(supervisor, sig))
	}
	if err != nil && !errors.Is(err, process.ErrGone) {
		return fmt.Errorf("kill supervisor %d: %w", supervisor.PID, err)
	}
	return nil
}
