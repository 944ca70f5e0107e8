package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/supervise/process"
)

// Holder is who works in a project, as engine.lock tells people.
type Holder struct {
	PID     int          `json:"pid"`
	Process pawl.Process `json:"process,omitzero"` // who that is, beyond the reuse of its number
	Host    string       `json:"host,omitempty"`
	Run     pawl.RunID   `json:"run,omitempty"`
	Since   time.Time    `json:"since"`
	Command string       `json:"command,omitempty"`
}

// identified is the holder with what tells its process from others, where that is this one.
func (h Holder) identified() Holder {
	if h.PID != os.Getpid() {
		return h
	}
	h.Process, _ = process.Identify(h.PID) // without it nobody can take over from us
	if h.Host == "" {
		h.Host, _ = os.Hostname()
	}
	return h
}

// String names the holder in one line.
func (h Holder) String() string {
	text := fmt.Sprintf("pid %d", h.PID)
	if h.Run != "" {
		text += ", run " + string(h.Run)
	}
	return text + ", since " + h.Since.Local().Format(time.DateTime)
}

// Lock is a project's engine lock. The system frees it when its process ends, however it ends.
type Lock struct{ file *os.File }

// Name says anew who holds the lock.
func (l *Lock) Name(holder Holder) error { return writeHolder(disk.File{File: l.file}, holder) }

// Unlock lets the next engine in. The file stays.
func (l *Lock) Unlock() error { return unlock(l.file) }

// unlock unlocks and closes. Closing alone would not do: a child that is just being forked has a copy until its exec.
func unlock(file *os.File) error {
	return errors.Join(flock(file, unix.LOCK_UN), file.Close())
}

// probing is how long LockEngine waits for those who only look whether the lock is held. They do so for microseconds,
// but on a busy machine one can be put to sleep meanwhile.
const probing = 5 * time.Second

// LockEngine makes the caller the one engine of this project, and names it in the file.
// An error of KindHeld says who is in the way.
func (p *Project) LockEngine(holder Holder) (*Lock, error) {
	file, err := disk.Create(p.EngineLock())
	if err != nil {
		return nil, fmt.Errorf("lock the project: %w", err)
	}
	err = lockAgainstProbes(file.File)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = held(file.File)
	} else if err == nil {
		err = writeHolder(file, holder)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file: file.File}, nil
}

// LockKeeper makes the caller the one process that takes the checkpoints that hooks want. KindHeld: there is one.
func (p *Project) LockKeeper() (*Lock, error) {
	file, err := disk.Create(p.KeeperLock())
	if err != nil {
		return nil, fmt.Errorf("lock the checkpoints: %w", err)
	}
	if err = flock(file.File, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(&pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("lock the checkpoints: %w", err)}, file.Close())
	}
	return &Lock{file: file.File}, nil
}

// lockAgainstProbes locks the file, or fails with EWOULDBLOCK when an engine has it. EngineHolder's shared lock, held
// for a moment, is no engine.
func lockAgainstProbes(file *os.File) error {
	for deadline := time.Now().Add(probing); ; time.Sleep(time.Millisecond) {
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

func held(file *os.File) error {
	who := "another pawl"
	if holder, err := readHolder(file); err == nil { // it is half written while its writer writes it
		who = fmt.Sprintf("another pawl (%s)", holder)
	}
	return &pawl.Error{
		Kind: pawl.KindHeld,
		Err:  fmt.Errorf("%s is working in this project", who),
		Hint: "pawl watch, or pawl stop",
	}
}

// EngineHolder returns who last held the engine lock, and whether it still does.
func (p *Project) EngineHolder() (Holder, bool) {
	file, err := os.Open(p.EngineLock())
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

// EngineLock is the file by which one engine keeps the others out.
func (p *Project) EngineLock() string { return p.path("engine.lock") }

func readHolder(file *os.File) (Holder, error) {
	var holder Holder
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 64<<10))
	if err != nil {
		return holder, err
	}
	return holder, json.Unmarshal(data, &holder)
}

func writeHolder(file disk.File, holder Holder) error {
	data, err := json.MarshalIndent(holder.identified(), "", "  ")
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("name the lock's holder: %w", err)
	}
	if _, err := file.WriteAt(append(data, '\n'), 0); err != nil {
		return fmt.Errorf("name the lock's holder: %w", err)
	}
	return nil
}

// Editing runs change while nobody else changes project.json or MEMORY.md, or makes what there may be only one of.
func (p *Project) Editing(change func() error) error { return locked(p.path("edit.lock"), change) }

// Mirroring runs write while no other pawl writes another system's files.
func (p *Project) Mirroring(write func() error) error { return locked(p.path("mirror.lock"), write) }

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
