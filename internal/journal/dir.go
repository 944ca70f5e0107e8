// Package journal stores the events of runs in files: one folder per run, one line of its journal.jsonl per event
// (docs/format.md).
//
// When Append has returned, its events survive a power failure. Every writer, in any process, reads what others wrote
// before it writes. Opening a journal verifies the whole chain. A torn tail, which was never acknowledged, is moved to
// a file of its own; it is neither parsed nor deleted. The package refuses to write after a newer engine or a newer
// pawl, and to read past damage.
package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/disk"
)

// FileName is the name of the journal in a run's folder.
const FileName = "journal.jsonl"

var (
	// ErrEmpty means that the creation of a run was interrupted before its first event was written. Nothing was
	// acknowledged.
	ErrEmpty = &pawl.Error{Kind: pawl.KindNothing, Err: errors.New("the creation of the run was interrupted before its first event"), Hint: "pawl runs"}
	// ErrDead means that a sync failed, and so did the retry. The journal must be opened again to learn what is on
	// disk.
	ErrDead = &pawl.Error{Kind: pawl.KindInternal, Err: errors.New("the journal cannot be written after a failed sync"), Hint: "pawl resume"}
)

// Runs returns the runs in folder by name, except those whose creation was interrupted.
func Runs(folder string) ([]pawl.RunID, error) {
	entries, err := disk.ReadDir(folder)
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
		home := filepath.Join(folder, entry.Name())
		if info, err := disk.Lstat(filepath.Join(home, FileName)); err == nil && info.Size() > 0 || isCopy(home) {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// Create creates a run's folder if it is missing, with an empty journal, and opens it. Both names are durable. If new runs in folder
// start in a store, the first append moves the run there; Create returns an error if that cannot be reached.
func Create(folder string, run pawl.RunID) (*Log, error) {
	if _, err := pawl.ParseRunID(string(run)); err != nil {
		return nil, err
	}
	home := homeOf(folder, run)
	store, err := storeOfNew(folder)
	if err == nil {
		err = disk.MakeFolders(home)
	}
	if err != nil {
		return nil, fmt.Errorf("create run %s: %w", run, err)
	}
	for _, above := range []string{filepath.Dir(folder), filepath.Dir(filepath.Dir(folder))} {
		if err := disk.SyncFolder(above); err != nil { // whoever created these folders may have crashed before syncing them
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
	if store != "" { // if this process dies before the first append has moved the run, the run's engine does
		if err := arriving(store).write(home); err != nil {
			return nil, fmt.Errorf("create run %s: %w", run, err)
		}
	}
	l, err := Open(folder, run)
	if err != nil {
		return nil, err
	}
	l.placeIn = store
	return l, nil
}

// Dir is the folder .pawl/runs as a pawl.Journal. It appends only to runs made by Create. Close closes the journals
// that it has opened.
type Dir struct {
	Path string

	mu   sync.Mutex // guards logs
	logs map[pawl.RunID]*Log
}

var _ pawl.Journal = (*Dir)(nil)

// Append adds events to run as one batch; see pawl.Journal.
func (d *Dir) Append(ctx context.Context, run pawl.RunID, epoch pawl.Epoch, events ...pawl.Event) (pawl.Seq, error) {
	log, err := d.log(run)
	if err != nil {
		return 0, err
	}
	return log.Append(ctx, epoch, events...)
}

// Read yields the events of run after seq; see pawl.Journal.
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

// log returns the run's journal, opened once. A damaged or failed one is opened again on the next call.
func (d *Dir) log(run pawl.RunID) (*Log, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if log := d.logs[run]; log != nil && !log.broken() {
		return log, nil
	} else if log != nil {
		_ = log.Close() // it has no unwritten data
	}
	log, err := open(d.Path, run, true)
	if err != nil {
		return nil, err
	}
	if d.logs == nil {
		d.logs = map[pawl.RunID]*Log{}
	}
	d.logs[run] = log
	return log, nil
}

// homeOf returns the folder of a run. An id that is not a name of a folder, which only a planted file can contain, gets a
// folder that never exists.
func homeOf(folder string, run pawl.RunID) string {
	name := string(run)
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		name = "invalid"
	}
	return filepath.Join(folder, name)
}

// isCopy reports whether a run's folder has a copy of a stored run. The copy may be empty.
func isCopy(home string) bool {
	m, err := readMarker(home)
	return err == nil && m.remote()
}
