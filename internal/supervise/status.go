package supervise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/supervise/process"
)

// State is where an attempt stands, by its folder alone.
type State string

// The states.
const (
	NotBegun State = "not begun" // nothing was started
	Live     State = "live"      // its lock is held
	Ended    State = "ended"     // with an exit record
	Lost     State = "lost"      // its supervisor died after it had begun, or what it had recorded is gone
)

// Status is what an attempt's folder says.
type Status struct {
	State State
	Begun *pawl.Begun // once it has begun
	Exit  *pawl.Exit  // once it has ended
}

// Rebooted reports whether the system was restarted since the attempt began.
func (s Status) Rebooted() bool { return s.Begun != nil && !process.SameBoot(s.Begun.Supervisor) }

// HasBegun reports whether the child was, or may have been, started.
func (s Status) HasBegun() bool { return s.Begun != nil || s.State == Lost || s.State == Ended }

// Probe says where an attempt stands. Only the lock tells whether it is alive; the process table is not asked.
func Probe(dir string) (Status, error) {
	held, err := process.Held(filepath.Join(dir, pawl.LockFile))
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
	exit, err := readRecord[pawl.Exit](filepath.Join(dir, pawl.ExitFile))
	switch {
	case err != nil:
		return Status{}, fmt.Errorf("probe attempt: %w", err)
	case exit != nil:
		status.State, status.Exit = Ended, exit
	case status.Begun != nil || hadBegun(dir):
		status.State = Lost
	}
	return status, nil
}

// hadBegun reports whether an attempt without a record of its beginning may have had one: its folder, which is durable
// before the intent is, is gone; or there is a beat, which comes after it; or the record is whole and cannot be read.
// One that is torn was never synced.
func hadBegun(dir string) bool {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if _, err := os.Lstat(filepath.Join(dir, pawl.BeatFile)); err == nil {
		return true
	}
	data, err := os.ReadFile(filepath.Join(dir, pawl.BegunFile))
	return err == nil && bytes.HasSuffix(data, []byte("\n"))
}

// ReadJob returns what the supervisor of an attempt was told to do; nil where that is not there whole.
func ReadJob(dir string) *pawl.Job {
	job, err := readRecord[pawl.Job](filepath.Join(dir, pawl.JobFile))
	if err != nil {
		return nil
	}
	return job
}

// readBegun returns the last whole record in begun.json, nil where there is none: one that is torn was never synced, so
// the child was never started.
func readBegun(dir string) (*pawl.Begun, error) {
	return readRecord[pawl.Begun](filepath.Join(dir, pawl.BegunFile))
}

// readRecord returns the last whole JSON value in a file, nil where there is none.
func readRecord[T any](path string) (*T, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var last *T
	for records := json.NewDecoder(f); ; {
		record := new(T)
		if records.Decode(record) != nil {
			return last, nil
		}
		last = record
	}
}

// End asks an attempt's supervisor to end it. The request is durable; one that is live heeds it at once, or within a
// quarter of a second where it cannot be signalled. Where no supervisor lives any more nothing happens.
func End(dir string, abort pawl.Abort) error {
	data, err := json.Marshal(abort)
	if err != nil {
		return fmt.Errorf("end attempt: %w", err)
	}
	if err := disk.Replace(filepath.Join(dir, pawl.AbortFile), data); err != nil {
		return fmt.Errorf("end attempt: %w", err)
	}
	return signalSupervisor(dir, syscall.SIGTERM)
}

// Kill kills an attempt's supervisor, and by that the child: the attempt is lost, and Sweep's to clear away.
func Kill(dir string) error { return signalSupervisor(dir, syscall.SIGKILL) }

func signalSupervisor(dir string, sig syscall.Signal) error {
	status, err := Probe(dir)
	if err != nil || status.State != Live || status.Begun == nil {
		return err
	}
	err = process.Signal(status.Begun.Supervisor, sig)
	if errors.Is(err, process.ErrGone) || errors.Is(err, process.ErrElsewhere) && sig == syscall.SIGTERM {
		return nil
	}
	if err != nil {
		return fmt.Errorf("signal supervisor %d: %w", status.Begun.Supervisor.PID, err)
	}
	return nil
}
