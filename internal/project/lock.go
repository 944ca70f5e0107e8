package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/shellwords"
	"pawl/internal/supervise/process"
)

// Holder describes the engine that holds a project, as recorded in engine.lock.
type Holder struct {
	PID     int          `json:"pid"`
	Process pawl.Process `json:"process,omitzero"` // identity of the process, in case its number is reused
	Host    string       `json:"host,omitempty"`
	Run     pawl.RunID   `json:"run,omitempty"`
	Since   time.Time    `json:"since"`
	Command string       `json:"command,omitempty"`
}

// withIdentity adds the identity of the holder's process, if that is this one.
func (h Holder) withIdentity() Holder {
	if h.PID != os.Getpid() {
		return h
	}
	h.Process, _ = process.Identify(h.PID) // without it, no other engine can take over
	if h.Host == "" {
		h.Host, _ = os.Hostname()
	}
	return h
}

// String describes the holder in one line.
func (h Holder) String() string {
	text := fmt.Sprintf("pid %d", h.PID)
	if h.Run != "" {
		text += ", run " + string(h.Run)
	}
	return text + ", since " + h.Since.UTC().Format(time.DateTime) + " UTC"
}

// WorksOn reports whether the holder, if it is alive, is the engine of a run. A program that uses package durable runs several at once,
// and records none.
func (h Holder) WorksOn(s *pawl.State) bool {
	return h.Run == s.Run || h.Run == "" && s.Kind == pawl.DurableRun && s.Engine != nil && s.Engine.PID == h.PID
}

// Lock is a project's engine lock. The system releases it when the process ends.
type Lock struct {
	file *os.File
	last Holder
}

// Last returns who held the lock before; the zero Holder if the record is unreadable.
func (l *Lock) Last() Holder { return l.last }

// SetHolder updates the record of the lock's holder.
func (l *Lock) SetHolder(holder Holder) error { return writeHolder(disk.File{File: l.file}, holder) }

// InPlace reports whether the locked file is still the one at its path: the project was not replaced, moved or removed since.
func (l *Lock) InPlace() bool {
	there, err := os.Lstat(l.file.Name())
	mine, errMine := l.file.Stat()
	return errors.Join(err, errMine) == nil && os.SameFile(there, mine)
}

// Unlock releases the lock. The file stays.
func (l *Lock) Unlock() error { return unlock(l.file) }

// File is the open file that is locked. A process that inherits it holds the lock too; see AcceptLock.
func (l *Lock) File() *os.File { return l.file }

// Close closes the file without unlocking it: a process that has inherited it keeps the lock.
func (l *Lock) Close() error { return l.file.Close() }

// MovedError means that the folder of a locked project is not at its path any more: it was moved, replaced or deleted.
type MovedError struct{ From, To string } // To is empty if it is not known

// Error says where the folder is.
func (e *MovedError) Error() string {
	if e.To == "" {
		return "the project folder " + e.From + " was moved, replaced or deleted while pawl worked in it"
	}
	return "the project folder " + e.From + " was moved to " + e.To + " while pawl worked in it"
}

// InPlace returns an error if the project's folder is not the one with the lock any more. Whatever is written by its path then goes
// elsewhere.
func (p *Project) InPlace(l *Lock) error {
	ours, err := l.file.Stat()
	if err != nil {
		return err
	}
	now, err := disk.Lstat(p.EngineLock())
	if err == nil && os.SameFile(ours, now) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	moved, hint := &MovedError{From: p.Root}, ""
	if path, err := process.PathOf(int(l.file.Fd())); err == nil {
		if now, err := disk.Lstat(path); err == nil && os.SameFile(ours, now) {
			moved.To = filepath.Dir(filepath.Dir(path))
			hint = "pawl -C " + shellwords.Word(moved.To) + " resume"
		}
	}
	return &pawl.Error{Kind: pawl.KindDamaged, Err: moved, Hint: hint}
}

// HeldError means that another process holds the engine lock.
type HeldError struct{ Holder Holder }

// Error names the holder.
func (e *HeldError) Error() string {
	if e.Holder == (Holder{}) { // it is unreadable while it is being written
		return "project is locked by another pawl"
	}
	return fmt.Sprintf("project is locked by pawl (%s)", e.Holder)
}

func held(holder Holder) error {
	return &pawl.Error{Kind: pawl.KindHeld, Err: &HeldError{Holder: holder}, Hint: "pawl watch"}
}

// unlock unlocks the file explicitly: a child between fork and exec holds a copy of the descriptor, so closing is not
// enough.
func unlock(file *os.File) error {
	return errors.Join(flock(file, unix.LOCK_UN), file.Close())
}

// probeTimeout is how long LockEngine waits for processes that only test the lock. They hold it for microseconds, but
// may be preempted on a busy machine.
const probeTimeout = 5 * time.Second

// LockEngine makes the caller the only engine of this project, and records it in the file. If there is another engine,
// the error is of KindHeld and names it. An untrusted project has no engine.
func (p *Project) LockEngine(holder Holder) (*Lock, error) {
	if err := p.Trusted(); err != nil {
		return nil, err
	}
	if lock := p.accepted; lock != nil {
		p.accepted = nil
		return lock, lock.SetHolder(holder)
	}
	file, err := disk.Create(p.EngineLock())
	if err != nil {
		return nil, fmt.Errorf("lock the project: %w", err)
	}
	var last Holder
	err = lockAgainstProbes(file.File)
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := readHolder(file.File)
		err = held(holder)
	} else if err == nil {
		last, _ = readHolder(file.File)
		err = writeHolder(file, holder)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file: file.File, last: last}, nil
}

// AcceptLock takes over the engine lock from the process that started this one and passed it the locked file. Until LockEngine
// returns it, the project counts as free for this process.
func (p *Project) AcceptLock(file *os.File) error {
	if err := p.Trusted(); err != nil {
		return err
	}
	own, err := disk.Open(p.EngineLock())
	if err != nil {
		return fmt.Errorf("accept the lock: %w", err)
	}
	defer own.Close()
	wanted, errWanted := own.Stat()
	given, errGiven := file.Stat()
	if err := errors.Join(errWanted, errGiven); err != nil || !os.SameFile(wanted, given) {
		return errors.Join(errors.New("accept the lock: it is of another file"), err)
	}
	if err := flock(file, unix.LOCK_EX|unix.LOCK_NB); err != nil { // the one that it inherited, or a new one
		return fmt.Errorf("accept the lock: %w", err)
	}
	unix.CloseOnExec(int(file.Fd()))
	p.accepted = &Lock{file: file}
	return nil
}

// WaitForEngine waits until no engine holds the project. Another one may lock it before the caller does.
func (p *Project) WaitForEngine(ctx context.Context) error {
	file, err := disk.Open(p.EngineLock())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	free := make(chan error, 1)
	go func() { // it ends with the process, if the holder does not end before
		free <- flock(file, unix.LOCK_SH)
		unlock(file)
	}()
	select {
	case err := <-free:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// RequireNoEngine returns an error of KindHeld that names the engine that holds the project, and takes no lock. It waits for an
// engine that was just killed.
func (p *Project) RequireNoEngine() error {
	for end := time.Now().Add(lockReleaseTime); ; time.Sleep(10 * time.Millisecond) {
		holder, alive := p.EngineHolder()
		if !alive {
			return nil
		}
		if time.Now().After(end) {
			return held(holder)
		}
	}
}

// lockReleaseTime is how long the system may take to release the lock of a killed process.
const lockReleaseTime = time.Second

// LockCheckpointer makes the caller the only process that takes the checkpoints that hooks request. If there is another
// one, the error is of KindHeld.
func (p *Project) LockCheckpointer() (*Lock, error) {
	if err := p.Trusted(); err != nil {
		return nil, err
	}
	file, err := disk.Create(p.CheckpointerLock())
	if err != nil {
		return nil, fmt.Errorf("lock the checkpoints: %w", err)
	}
	if err = flock(file.File, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(&pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("lock the checkpoints: %w", err)}, file.Close())
	}
	return &Lock{file: file.File}, nil
}

// lockAgainstProbes locks the file, or fails with EWOULDBLOCK if an engine holds it. It waits for EngineHolder, which
// holds a shared lock for a moment.
func lockAgainstProbes(file *os.File) error {
	for deadline := time.Now().Add(probeTimeout); ; time.Sleep(time.Millisecond) {
		err := flock(file, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) {
			return err
		}
		if err := flock(file, unix.LOCK_SH|unix.LOCK_NB); err != nil {
			return err
		}
		if err := flock(file, unix.LOCK_UN); err != nil {
			return err
		}
	}
}

// EngineHolder returns the last holder of the engine lock, and whether it still holds the lock. It waits for an engine that was just
// killed, so that nobody takes that for alive.
func (p *Project) EngineHolder() (holder Holder, alive bool) {
	for end := time.Now().Add(lockReleaseTime); ; time.Sleep(time.Millisecond) {
		if holder, alive = p.probe(); !alive || !process.Dying(holder.Process) || time.Now().After(end) {
			return holder, alive
		}
	}
}

// probe returns the last holder of the engine lock, and whether somebody holds the lock.
func (p *Project) probe() (Holder, bool) {
	if p.accepted != nil {
		return Holder{}, false
	}
	file, err := disk.Open(p.EngineLock())
	if err != nil {
		return Holder{}, false
	}
	defer unlock(file)
	alive := errors.Is(flock(file, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
	holder, err := readHolder(file)
	if err != nil {
		return Holder{}, alive
	}
	return holder, alive
}

// LastHolder returns the last holder of the engine lock. It does not test the lock.
func (p *Project) LastHolder() (Holder, error) {
	file, err := disk.Open(p.EngineLock())
	if err != nil {
		return Holder{}, err
	}
	defer file.Close()
	return readHolder(file)
}

// EngineLock is the path of the engine lock.
func (p *Project) EngineLock() string { return p.path("engine.lock") }

func readHolder(file *os.File) (Holder, error) {
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 64<<10))
	if err != nil {
		return Holder{}, err
	}
	return parseHolder(data)
}

func parseHolder(data []byte) (holder Holder, err error) {
	return holder, json.Unmarshal(data, &holder)
}

func writeHolder(file disk.File, holder Holder) error {
	data, err := json.MarshalIndent(holder.withIdentity(), "", "  ")
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("record the lock's holder: %w", err)
	}
	if _, err := file.WriteAt(append(data, '\n'), 0); err != nil {
		return fmt.Errorf("record the lock's holder: %w", err)
	}
	return nil
}

// WithEditLock calls change while no other process changes project.json or MEMORY.md, or creates what must be unique.
func (p *Project) WithEditLock(change func() error) error {
	if err := p.Trusted(); err != nil {
		return err
	}
	return p.withEditLock(change)
}

// editLock is the name of the lock for changes of project.json and MEMORY.md.
const editLock = "edit.lock"

// withEditLock is WithEditLock in a project that may be untrusted.
func (p *Project) withEditLock(change func() error) error { return locked(p.path(editLock), change) }

// WithMirrorLock calls write while no other pawl writes another system's files.
func (p *Project) WithMirrorLock(write func() error) error {
	return locked(p.path("mirror.lock"), write)
}

// WithFolderLock calls do while no other pawl holds the lock on a folder, which projects may share.
func WithFolderLock(folder string, do func() error) error {
	file, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer unlock(file)
	if err := flock(file, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", folder, err)
	}
	return do()
}

// WithMarkLock calls change while no other pawl changes what the user's state folder records about a run, or journals what has to be
// recorded there. The project must be trusted.
func (p *Project) WithMarkLock(run pawl.RunID, change func() error) error {
	if err := p.Trusted(); err != nil {
		return err
	}
	folder := filepath.Join(p.Trust.Folder, "runs")
	if err := disk.MakeFolders(folder); err != nil {
		return err
	}
	return locked(filepath.Join(folder, string(run)+".lock"), change)
}

func locked(path string, do func() error) error {
	file, err := disk.Create(path)
	if err != nil {
		return err
	}
	defer unlock(file.File)
	if err := flock(file.File, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return do()
}

func flock(file *os.File, how int) error {
	for {
		err := unix.Flock(int(file.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
