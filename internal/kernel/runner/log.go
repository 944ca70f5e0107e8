package runner

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/kernel"
)

// Record is a line of a session's log. Exactly one field is set.
type Record struct {
	Kernel  *Started        `json:"kernel,omitempty"`
	Begin   *Begin          `json:"begin,omitempty"`
	Message *kernel.Message `json:"message,omitempty"`
	End     *End            `json:"end,omitempty"`
	Loaded  *Loaded         `json:"loaded,omitempty"`
	Saved   string          `json:"saved,omitempty"` // id of a checkpoint that a person asked for
	Died    *kernel.Death   `json:"died,omitempty"`
}

// Started records that a kernel started.
type Started struct {
	kernel.Info
	Time time.Time `json:"time"`
}

// Begin records that a cell is sent to the kernel. It is synced before.
type Begin struct {
	Cell  kernel.CellID `json:"cell"`
	Key   Key           `json:"key,omitempty"`   // empty: a cell that a person executed
	After Key           `json:"after,omitempty"` // where the variables stood
	Name  string        `json:"name,omitempty"`  // of the cell, for people
	Step  pawl.StepID   `json:"step,omitempty"`
	Seed  string        `json:"seed,omitempty"` // of the keys of the step's cells
	Code  string        `json:"code"`
	Time  time.Time     `json:"time"`

	MayFail bool `json:"may_fail,omitempty"` // an error does not end the work

	offset int64 // in the log
}

// Title names the cell for people.
func (b *Begin) Title() string {
	text := "cell " + cmp.Or(b.Name, string(b.Cell))
	if b.Step != "" {
		text += " of step " + string(b.Step)
	}
	return text
}

// End records how a cell ended. The log is synced before a client gets it.
type End struct {
	Cell kernel.CellID `json:"cell"`
	Key  Key           `json:"key,omitempty"` // where the variables stand now; empty: unknown
	kernel.Ending
	Time  time.Time `json:"time"`
	Saved string    `json:"saved,omitempty"` // id of the checkpoint of the variables
	Tries int       `json:"tries,omitempty"` // earlier executions of the cell that were interrupted or lost
	Note  string    `json:"note,omitempty"`  // what is not in it, or why there is none

	Limit pawl.Duration `json:"limit,omitempty"` // of the cell, if the cell reached it and was interrupted
}

// Loaded records that the variables of a checkpoint were loaded into a new kernel.
type Loaded struct {
	Checkpoint string    `json:"checkpoint"`
	Key        Key       `json:"key"`
	Time       time.Time `json:"time"`
}

// Finished reports whether the cell counts as finished.
func (e *End) Finished(begin *Begin) bool {
	return e.Status == kernel.OK || e.Status == kernel.Failed && begin.MayFail
}

// CutShort reports whether the execution was interrupted or lost.
func (e *End) CutShort() bool { return e.Status == kernel.Interrupted || e.Status == kernel.Lost }

// Key identifies a state of the variables: a hash of all that was executed to reach it.
type Key string

// Root is the state of a new kernel.
const Root Key = "root"

// sessionLog is the log of a session. Only the runner that holds the session's lock appends to it.
type sessionLog struct {
	file *os.File
	size int64
}

// openLog opens the log to append, without a torn end, and calls each with every record and its offset.
func openLog(path string, each func(offset int64, r Record)) (*sessionLog, error) {
	whole, err := readLog(path, 0, func(offset int64, r Record) bool {
		each(offset, r)
		return true
	})
	if pawl.KindOf(err) == pawl.KindDamaged {
		err = checkTorn(path, whole, err)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := disk.OpenAppend(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() > whole { // the runner died within a write, or the machine before a sync
		err = file.Truncate(whole)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &sessionLog{file: file, size: whole}, nil
}

// checkTorn returns nil if only messages follow the damage at an offset: they were not synced when the machine died. Else it returns the
// damage.
func checkTorn(path string, from int64, damage error) error {
	file, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(file, 256<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var r Record
		if json.Unmarshal(line, &r) == nil && r.Message == nil && r != (Record{}) {
			return fmt.Errorf("%w; to begin the session again, move that file away and rerun its steps: pawl retry STEP", damage)
		}
	}
}

// append appends a record and returns its offset.
func (l *sessionLog) append(r Record) (int64, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return 0, err
	}
	at := l.size
	n, err := l.file.Write(line.Bytes())
	if err != nil {
		if n > 0 {
			err = errors.Join(err, l.file.Truncate(at))
		}
		return 0, fmt.Errorf("session log: %w", err)
	}
	l.size += int64(n)
	return at, nil
}

// sync makes the log durable.
func (l *sessionLog) sync() error { return l.file.Sync() }

// readLog calls each with the records from an offset on, until it returns false. It returns the end of the last whole record that it read.
func readLog(path string, from int64, each func(offset int64, r Record) bool) (int64, error) {
	file, err := disk.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return from, err
	}
	lines := bufio.NewReaderSize(file, 256<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return from, nil
		}
		if err != nil {
			return from, err
		}
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return from, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s, byte %d: %w", path, from, err)}
		}
		at := from
		from += int64(len(line))
		if !each(at, r) {
			return from, nil
		}
	}
}
