// Package supervise brings one child process tree to its end, whatever happens to us.
//
// The engine never waits on a child directly: it starts a supervisor, our own binary in a session of its own, for each
// attempt. The supervisor owns the child's process tree, its output files, its limits and its exit record; it lives on
// when the engine dies. They speak through files in the attempt's folder only.
//
// There is no moment at which an attempt runs and nobody knows: the engine takes the attempt's lock before it journals
// the intent and hands the locked descriptor on; an attempt is alive as long as that lock is held. The supervisor makes
// begun.json durable before it starts the child, and exit.json is its last act.
//
// When a supervisor is killed, the kernel kills the child itself (on Linux), and Sweep finds what that had started.
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

// Verb is the hidden command of our binary under which a supervisor runs: `pawl supervise DIR`.
const Verb = "supervise"

// InitVerb is the hidden command under which an init runs: `pawl supervise-init PATH ARG0 ARG…`.
const InitVerb = "supervise-init"

// lockFD is where a supervisor finds the descriptor of the lock.
const lockFD = 3

// A Lock is the lock of an attempt that is about to start. It frees itself with the last process that has it.
type Lock struct {
	dir  string
	file *os.File
}

// Prepare makes an attempt's folder and takes its lock, before the intent is journaled. What an earlier use of the
// folder left is removed. An error of KindHeld: a supervisor, or another engine, holds it.
func Prepare(dir string) (*Lock, error) {
	if err := disk.MakeFolders(dir); err != nil {
		return nil, fmt.Errorf("prepare attempt: %w", err)
	}
	f, err := disk.Create(filepath.Join(dir, pawl.LockFile))
	if err != nil {
		return nil, fmt.Errorf("prepare attempt: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("prepare attempt: %s is held by a live process", f.Name())}
		}
		return nil, fmt.Errorf("prepare attempt: lock %s: %w", f.Name(), err)
	}
	lock := &Lock{dir: dir, file: f.File}
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
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := disk.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// Release lets go of a lock that no supervisor was started with. It is closed, never unlocked: a supervisor's copy
// would be unlocked with it.
func (l *Lock) Release() error { return l.file.Close() }

// A Running attempt can be waited for.
type Running struct {
	dir  string
	gone chan struct{} // closed when the supervisor that we started is gone; nil for one of an earlier engine
}

// Start starts the supervisor of a job and hands the lock on to it; in any case the caller's lock is gone then.
func Start(lock *Lock, job pawl.Job) (*Running, error) {
	defer lock.Release()
	data, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	if err := disk.Put(filepath.Join(lock.dir, pawl.JobFile), data); err != nil { // needed only until it has begun
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	cmd, err := command(lock, job)
	if err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	running := &Running{dir: lock.dir, gone: make(chan struct{})}
	go func() {
		cmd.Wait() // how it ended stands in exit.json, or nowhere
		close(running.gone)
	}()
	return running, nil
}

// command starts a supervisor. What it says when it cannot do its work goes to the child's error
// output, where people look.
func command(lock *Lock, job pawl.Job) (*exec.Cmd, error) {
	path, err := programFor(job)
	if err != nil {
		return nil, err
	}
	errors, err := openLog(filepath.Join(lock.dir, pawl.ErrFile))
	if err != nil {
		return nil, err
	}
	defer errors.Close()
	if err := disk.Spawning(); err != nil {
		return nil, err
	}
	cmd := exec.Command(path)
	cmd.Args = []string{"pawl", Verb, lock.dir}
	cmd.Stderr = errors
	cmd.ExtraFiles = []*os.File{lock.file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// Attach returns the attempt of an earlier engine.
func Attach(dir string) *Running { return &Running{dir: dir} }

// poll is how often the lock of an attempt is tried that an earlier engine started.
const poll = 20 * time.Millisecond

// Wait returns when the attempt's supervisor is gone, or with ctx's error when ctx ends: the supervisor then lives on.
func (r *Running) Wait(ctx context.Context) error {
	if r.gone != nil {
		select {
		case <-r.gone: // but what it was just forking may hold a copy of the lock until its exec
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		held, err := process.Held(filepath.Join(r.dir, pawl.LockFile))
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
