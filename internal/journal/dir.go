// Package journal keeps runs on files: one folder a run, one line of its journal.jsonl an event (docs/format.md).
//
// It promises that an event survives a power cut once Append has returned; that every writer, in whatever process,
// sees what others wrote before it writes; that opening checks every byte of the chain; and that a tail which no
// writer acknowledged is set aside, neither parsed nor deleted. It refuses to write where a newer engine or a newer
// pawl wrote, and to read past damage.
package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"pawl"
	"pawl/internal/disk"
)

// FileName is the journal's name in its run's folder.
const FileName = "journal.jsonl"

var (
	// ErrEmpty means that the making of a run was cut off before its first event. Nothing of it was ever acknowledged.
	ErrEmpty = &pawl.Error{Kind: pawl.KindNothing, Err: errors.New("the run's making was cut off, and never acknowledged"), Hint: "pawl runs"}
	// ErrDead means that a sync failed and could not be made good: what is on the disk must be read anew by a new Open.
	ErrDead = &pawl.Error{Kind: pawl.KindInternal, Err: errors.New("journal gave up after a failed sync"), Hint: "pawl resume"}
)

// Runs returns the runs in folder, by name. One whose making was cut off is left out.
func Runs(folder string) ([]pawl.RunID, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var runs []pawl.RunID
	for _, entry := range entries {
		run, err := pawl.ParseRunID(entry.Name())
		if err != nil {
			continue
		}
		if info, err := os.Stat(filepath.Join(folder, entry.Name(), FileName)); err == nil && info.Size() > 0 {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// Create makes the run's folder where it is missing, with an empty journal, and opens it. Both names are durable.
func Create(folder string, run pawl.RunID) (*Log, error) {
	if _, err := pawl.ParseRunID(string(run)); err != nil {
		return nil, err
	}
	home := filepath.Join(folder, string(run))
	if err := disk.MakeFolders(home); err != nil {
		return nil, fmt.Errorf("create run %s: %w", run, err)
	}
	for _, above := range []string{filepath.Dir(folder), filepath.Dir(filepath.Dir(folder))} {
		if err := disk.SyncFolder(above); err != nil { // who made the folders on the way may have died before that
			return nil, fmt.Errorf("create run %s: %w", run, err)
		}
	}
	file, err := disk.Create(filepath.Join(home, FileName))
	if err != nil {
		return nil, fmt.Errorf("create run %s: %w", run, err)
	}
	if err := errors.Join(file.Close(), disk.SyncFolder(home)); err != nil {
		return nil, fmt.Errorf("create run %s: %w", run, err)
	}
	return Open(folder, run)
}

// Dir is the folder .pawl/runs as a pawl.Journal. A run must have been made by Create.
// Close it to give back the journals that it has opened.
type Dir struct {
	Path string

	mu   sync.Mutex // guards logs
	logs map[pawl.RunID]*Log
}

var _ pawl.Journal = (*Dir)(nil)

// Append adds events to run as one batch: see pawl.Journal.
func (d *Dir) Append(ctx context.Context, run pawl.RunID, epoch pawl.Epoch, events ...pawl.Event) (pawl.Seq, error) {
	log, err := d.log(run)
	if err != nil {
		return 0, err
	}
	return log.Append(ctx, epoch, events...)
}

// Read yields the events of run after seq: see pawl.Journal.
func (d *Dir) Read(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		log, err := d.log(run)
		if err != nil {
			yield(pawl.Event{}, err)
			return
		}
		for event, err := range log.Events(after) {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// Close closes the journals that Append and Read have opened.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, log := range d.logs {
		errs = append(errs, log.Close())
	}
	d.logs = nil
	return errors.Join(errs...)
}

// log returns the run's journal, opened once. One that is damaged or has given up is opened anew the next time.
func (d *Dir) log(run pawl.RunID) (*Log, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if log := d.logs[run]; log != nil && !log.broken() {
		return log, nil
	} else if log != nil {
		_ = log.Close() // it has nothing to lose
	}
	log, err := open(d.Path, run)
	if err != nil {
		return nil, err
	}
	if d.logs == nil {
		d.logs = map[pawl.RunID]*Log{}
	}
	d.logs[run] = log
	return log, nil
}
