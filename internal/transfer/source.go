package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/remote"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// source is what is pushed of a run.
type source struct {
	state     *pawl.State
	database  string // ID of the one that has the run; "" if files have it
	live      []string
	files     []file // of the run's folder
	snapshots []snapshot.Record
	named     map[string]bool // IDs of the snapshots that the journal names, also of those that the project lacks
}

// file is a file of a run's folder.
type file struct {
	name string
	data []byte
	old  string // its name at the push before, if that may be another one
}

func (f file) oldName() string {
	if f.old != "" {
		return f.old
	}
	return f.name
}

// read reads what is pushed of a run. Its engine may work meanwhile.
func (c *Connection) read(ctx context.Context, run pawl.RunID, store *snapshot.Store) (*source, error) {
	for range 10 {
		s, whole, err := c.readOnce(ctx, run)
		if err != nil || whole {
			if err == nil {
				s.snapshots, s.named, err = c.snapshotsOf(ctx, run, store)
			}
			return s, err
		}
	}
	return nil, fmt.Errorf("the journal of run %s was sealed again and again; repeat the command", run)
}

// readOnce is read without the snapshots. whole is false if the journal was sealed meanwhile.
func (c *Connection) readOnce(ctx context.Context, run pawl.RunID) (s *source, whole bool, err error) {
	before, err := journal.Files(c.project.Runs(), run)
	if err != nil {
		return nil, false, err
	}
	r, err := runs.Load(ctx, c.project, run)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, r.Log.Close()) }()
	s = &source{state: r.State}
	if s.database, err = journal.StoredIn(c.project.Runs(), run); err != nil {
		return nil, false, err
	}
	switch {
	case s.state.Rollback != nil:
		return nil, false, usage("pawl resume "+string(run), "run %s has an unfinished rollback; finish it first", run)
	case s.state.Restore != nil:
		return nil, false, usage("pawl restore "+string(s.state.Restore.Checkpoint), "run %s has an unfinished restore; finish it first", run)
	}
	if s.database != "" {
		for _, live := range s.state.Live() {
			s.addLive(live)
		}
		return s, true, nil
	}
	if err := s.readJournal(before); err != nil {
		return nil, false, err
	}
	after, err := journal.Files(c.project.Runs(), run)
	if err != nil || !slices.Equal(before, after) {
		return nil, false, err
	}
	return s, true, s.readFiles(c.project.RunDir(run), func(a pawl.AttemptRef) string { return c.project.AttemptDir(a, run) })
}

// readJournal reads the segments of the journal, up to the last event that the state contains.
func (s *source) readJournal(segments []string) error {
	for i, segment := range segments {
		data, err := journal.WholeLines(segment)
		if err != nil {
			return err
		}
		f := file{name: filepath.Base(segment), data: data}
		if i == len(segments)-1 {
			f.data = upTo(data, s.state.Seq)
		} else {
			f.old = journal.FileName // before it was sealed
		}
		s.files = append(s.files, f)
	}
	return nil
}

// upTo returns the lines of a journal before the first event after seq.
func upTo(data []byte, seq pawl.Seq) []byte {
	for len(data) > 0 {
		start := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
		if number, ok := seqOf(data[start:]); !ok || number <= seq {
			break
		}
		data = data[:start]
	}
	return data
}

// seqOf returns the number of a line of a journal.
func seqOf(line []byte) (pawl.Seq, bool) {
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(line, []byte(`{"seq":`)), []byte(","))
	n, err := strconv.ParseInt(string(digits), 10, 64)
	return pawl.Seq(n), err == nil
}

// readFiles reads the plans, the blobs, and the records of attempts whose end the journal does not have.
func (s *source) readFiles(home string, attemptDir func(pawl.AttemptRef) string) error {
	if err := s.addFolder(home, ""); err != nil {
		return err
	}
	if err := s.addFolder(home, "blobs"); err != nil {
		return err
	}
	for _, live := range s.state.Live() {
		s.addLive(live)
		below, err := filepath.Rel(home, attemptDir(live.AttemptRef))
		if err != nil {
			return err
		}
		if err := s.addFolder(home, filepath.ToSlash(below)); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) addLive(live *pawl.AttemptState) {
	s.live = append(s.live, fmt.Sprintf("%s (attempt %d)", live.Name(), live.Attempt))
}

// addFolder reads the files of a folder that travel, without the journal.
func (s *source) addFolder(home, below string) error {
	entries, err := disk.ReadDir(filepath.Join(home, filepath.FromSlash(below)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		name := path.Join(below, entry.Name())
		if !entry.Type().IsRegular() || !remote.ValidFile(name) || strings.HasPrefix(name, "journal.") {
			continue
		}
		data, err := disk.ReadFile(filepath.Join(home, filepath.FromSlash(name)), partsLimit)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		s.files = append(s.files, file{name: name, data: data})
	}
	return err
}
