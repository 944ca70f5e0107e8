package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// together has several runs append at the same time, at least until some have shared a commit, and returns their ids.
func together(t *testing.T, c *journal.Commits, folder string, runs, events int) (ids []pawl.RunID) {
	t.Helper()
	var all sync.WaitGroup
	for i := range runs {
		id := pawl.RunID(fmt.Sprintf("r%d-20260101-000000-abcd", i))
		ids = append(ids, id)
		all.Go(func() {
			log, err := c.Create(id)
			if err != nil {
				t.Error(err)
				return
			}
			defer log.Close()
			_, err = log.Append(t.Context(), 0, journaltest.Created(t, id))
			for k := 0; err == nil && (k < events || !exists(filepath.Join(folder, journal.CommitsName))); k++ {
				_, err = log.Append(t.Context(), 0, journaltest.Text(t, fmt.Sprint(k)))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return ids
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func openCommits(t *testing.T) (*journal.Commits, string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "runs")
	c, err := journal.OpenCommits(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, folder
}

func journalOf(t *testing.T, folder string, id pawl.RunID) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, string(id), journal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPowerFailureOfSharedCommits: whatever journals lose that nobody synced, the commit log gives back to the byte.
func TestPowerFailureOfSharedCommits(t *testing.T) {
	t.Parallel()
	shared := 0
	for round := range 20 {
		c, folder := openCommits(t)
		ids := together(t, c, folder, 12, 5)
		after := filepath.Join(t.TempDir(), "runs")
		if err := os.CopyFS(after, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		commits, err := os.ReadFile(filepath.Join(after, journal.CommitsName))
		if err != nil {
			continue // every append was alone
		}
		random := rand.New(rand.NewPCG(1, uint64(round)))
		for _, id := range ids {
			shared += lose(t, random, after, id, commits)
		}
		if round%2 == 0 { // the log's end was being written
			commits = append(commits, commits[:random.IntN(len(commits))]...)
			commits = append(commits, make([]byte, 100)...)
			if err := os.WriteFile(filepath.Join(after, journal.CommitsName), commits, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := journal.ReplayCommits(after); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range ids {
			if got, want := journalOf(t, after, id), journalOf(t, folder, id); !bytes.Equal(got, want) {
				t.Errorf("round %d: run %s has %d bytes, want %d", round, id, len(got), len(want))
			}
			for _, f := range journal.Check(filepath.Join(after, string(id))) {
				if f.Level == pawl.Bad {
					t.Errorf("%s: %s", f.Where, f.What)
				}
			}
		}
		if _, err := os.Lstat(filepath.Join(after, journal.CommitsName)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the commit log is still there: %v", err)
		}
	}
	if shared < 100 {
		t.Errorf("only %d lost lines", shared)
	}
}

// lose takes from a journal what only the commit log has: its end from some byte on is missing or NUL, or all of it is missing. It
// returns how many lines that concerns.
func lose(t *testing.T, random *rand.Rand, folder string, id pawl.RunID, commits []byte) (lines int) {
	t.Helper()
	data := journalOf(t, folder, id)
	synced, at := 0, 0
	for line := range bytes.Lines(data) {
		if at += len(line); bytes.Contains(commits, line) {
			lines++
		} else {
			synced, lines = at, 0
		}
	}
	path := filepath.Join(folder, string(id), journal.FileName)
	from := synced + random.IntN(len(data)-synced+1)
	var err error
	switch random.IntN(3) {
	case 0:
		err = os.Truncate(path, int64(from))
	case 1:
		clear(data[from:])
		err = os.WriteFile(path, data, 0o600)
	case 2:
		if synced == 0 {
			err = os.RemoveAll(filepath.Dir(path))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestReplayKeepsWhatFollowed: an event that another writer appended in the place of one that was never acknowledged stays.
func TestReplayKeepsWhatFollowed(t *testing.T) {
	t.Parallel()
	c, folder := openCommits(t)
	ids := together(t, c, folder, 12, 3)
	commits, err := os.ReadFile(filepath.Join(folder, journal.CommitsName))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[pawl.RunID][]byte{}
	for _, id := range ids {
		path := filepath.Join(folder, string(id), journal.FileName)
		data := journalOf(t, folder, id)
		cut := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
		if err := os.Truncate(path, int64(cut)); err != nil {
			t.Fatal(err)
		}
		if err := journal.Add(t.Context(), folder, id, journaltest.Text(t, "another")); err != nil {
			t.Fatal(err)
		}
		want[id] = journalOf(t, folder, id)
	}
	if err := os.WriteFile(filepath.Join(folder, journal.CommitsName), commits, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := journal.ReplayCommits(folder); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if !bytes.Equal(journalOf(t, folder, id), want[id]) {
			t.Errorf("run %s was changed", id)
		}
	}
}

// TestCommitsInUse: nobody replays the log of a living process, and its end removes the log.
func TestCommitsInUse(t *testing.T) {
	t.Parallel()
	c, folder := openCommits(t)
	together(t, c, folder, 12, 3)
	if err := journal.ReplayCommits(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(folder, journal.CommitsName)); err != nil {
		t.Errorf("the log of a living process was taken: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(folder, journal.CommitsName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
	log, err := c.Create("late-20260101-000000-abcd")
	if err == nil {
		_, err = log.Append(t.Context(), 0, journaltest.Created(t, "late-20260101-000000-abcd"))
		log.Close()
	}
	if err != nil {
		t.Errorf("after Close, an append syncs its journal: %v", err)
	}
}

func FuzzReplayCommits(f *testing.F) {
	f.Add([]byte("commit r0-20260101-000000-abcd 3 00000000\nabc"))
	f.Fuzz(func(t *testing.T, log []byte) {
		folder := filepath.Join(t.TempDir(), "runs")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, journal.CommitsName), log, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = journal.ReplayCommits(folder) // it must not panic
	})
}
