// Package supervise runs a child process tree to its end, even if pawl itself dies.
//
// The engine never waits for a child directly. For each attempt it starts a supervisor: the same program, in a session
// of its own. The supervisor owns the child's process tree, output files, limits and exit record, and survives the
// engine. Engine and supervisor communicate through files in the attempt's folder. A supervisor of a Pool also has a socket, through which
// it receives attempts and sends their exit records; a later engine needs only the files.
//
// A running attempt is always known. The engine takes the attempt's lock before it journals the intent, and passes the
// locked descriptor on to the supervisor; an attempt is alive as long as a process holds that lock. The supervisor
// makes begun.json durable before it starts the child, and writes exit.json last.
//
// When a supervisor is killed, the kernel kills the child itself (on Linux), and Sweep finds the processes that the
// child started.
package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/supervise/process"
)

// Verb is the hidden command that runs a supervisor: `pawl supervise DIR`, or `pawl supervise --slot DIR` for one of a Pool.
const Verb = "supervise"

// InitVerb is the hidden command that runs an init: `pawl supervise-init PATH ARG0 ARG…`.
const InitVerb = "supervise-init"

// lockFD is the descriptor of the lock in a supervisor.
const lockFD = 3

// A Lock is the lock of an attempt about to start. It is released when the last process that holds it ends.
type Lock struct {
	dir   string
	file  *os.File
	fresh bool // the folder was created for this attempt
}

// Prepare creates an attempt's folder and takes its lock, before the intent is journaled. It removes records of an
// earlier use of the folder. If a supervisor or another engine holds the lock, the error is of KindHeld.
func Prepare(dir string) (*Lock, error) {
	if err := disk.MakeFolders(dir); err != nil {
		return nil, fmt.Errorf("prepare attempt: %w", err)
	}
	return lockFolder(dir, false)
}

// lockFolder takes the lock of an attempt whose folder exists. A fresh one is empty.
func lockFolder(dir string, fresh bool) (*Lock, error) {
	f, err := disk.Create(filepath.Join(dir, pawl.LockFile))
	if err != nil {
		return nil, fmt.Errorf("prepare attempt: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("prepare attempt: a live process holds %s", f.Name())}
		}
		return nil, fmt.Errorf("prepare attempt: lock %s: %w", f.Name(), err)
	}
	lock := &Lock{dir: dir, file: f.File, fresh: fresh}
	if fresh {
		return lock, nil
	}
	if err := lock.clear(); err != nil {
		lock.Release()
		return nil, fmt.Errorf("prepare attempt: %w", err)
	}
	return lock, nil
}

// clear removes the records of an earlier use of the folder.
func (l *Lock) clear() error {
	for _, name := range []string{pawl.ExitFile, pawl.BegunFile, pawl.AbortFile, pawl.BeatFile} {
		path := filepath.Join(l.dir, name)
		if _, err := disk.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := disk.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// Release releases a lock that was not passed to Start. It closes the file and does not unlock it, which would unlock a
// supervisor's copy too.
func (l *Lock) Release() error { return l.file.Close() }

// Running is an attempt with a supervisor.
type Running struct {
	dir  string
	gone chan struct{} // closed when our supervisor has ended, or the attempt under one of a pool; nil for an attempt of an earlier engine
	slot *slot         // nil for a supervisor of one attempt
	exit []byte        // the exit record as the supervisor of a pool sent it, before gone is closed
}

// Start starts the supervisor of a job and passes it the lock and the seal for its exit record. The caller's lock is
// released in any case.
func Start(lock *Lock, job pawl.Job, seal Seal) (*Running, error) {
	defer lock.Release()
	if err := writeJob(lock, job); err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	cmd, err := startSupervisor(lock, job, seal)
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	running := &Running{dir: lock.dir, gone: make(chan struct{})}
	go func() {
		cmd.Wait() // the result is in exit.json, or nowhere
		close(running.gone)
	}()
	return running, nil
}

// writeJob writes a job for its supervisor, and lets the user who executes it write the attempt's files.
func writeJob(lock *Lock, job pawl.Job) error {
	data, err := json.Marshal(job)
	if err != nil {
		return err
	}
	write := disk.Put // not synced: it is needed only until begun.json exists
	if job.Away != nil {
		write = disk.Replace // or until the worker has ended, which may be after a restart of this system
	}
	return putJob(lock, job, data, write)
}

// putJob writes an encoded job.
func putJob(lock *Lock, job pawl.Job, data []byte, write func(path string, data []byte) error) error {
	if err := admit(lock.dir, job.RunAs); err != nil {
		return err
	}
	return write(filepath.Join(lock.dir, pawl.JobFile), data)
}

// startSupervisor starts a supervisor. Its own error messages go to the attempt's error output, where users look.
func startSupervisor(lock *Lock, job pawl.Job, seal Seal) (*exec.Cmd, error) {
	path, err := programFor(job)
	if err != nil {
		return nil, err
	}
	errors, err := errFile(lock.dir)
	if err != nil {
		return nil, err
	}
	defer errors.Close()
	key, err := seal.pipe()
	if err != nil {
		return nil, err
	}
	defer key.Close()
	if err := disk.BeforeSpawn(); err != nil {
		return nil, err
	}
	cmd := exec.Command(path)
	cmd.Args = []string{"pawl", Verb, lock.dir}
	cmd.Stderr, cmd.Env = errors, job.Inherited // secrets are passed here only: nothing of it is stored, and other users cannot read it
	cmd.ExtraFiles = []*os.File{lock.file, key}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// Probe returns the status of an attempt for which Wait has returned. The exit record that the supervisor itself sent needs no proof.
func (r *Running) Probe() (Status, error) {
	if exit := parseExit(r.exit); exit != nil {
		return Status{State: Ended, Exit: exit, sent: true}, nil
	}
	return Probe(r.dir)
}

// Attach returns an attempt that an earlier engine started.
func Attach(dir string) *Running { return &Running{dir: dir} }

// pollInterval is the interval at which Wait tries the lock.
const pollInterval = 20 * time.Millisecond

// Wait returns when the attempt's supervisor has ended, or with ctx's error; the supervisor then keeps running.
func (r *Running) Wait(ctx context.Context) error {
	if r.gone != nil {
		select {
		case <-r.gone: // a child that it was just forking may still hold a copy of the lock until exec
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.exit != nil {
			return nil // and the lock was released before
		}
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		held, err := process.Locked(filepath.Join(r.dir, pawl.LockFile))
		if err != nil {
			return fmt.Errorf("wait for attempt: %w", err)
		}
		if !held {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
