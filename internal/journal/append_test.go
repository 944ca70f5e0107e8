package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/journal/journaltest"
)

func newLog(t *testing.T) *Log {
	t.Helper()
	l, err := Create(filepath.Join(t.TempDir(), "runs"), journaltest.Run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if _, err := l.Append(t.Context(), 0, journaltest.Created(t, journaltest.Run)); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAppendsShareABatch holds the journal's lock until eight calls wait: the first one writes its own, and then one
// batch holds the other seven.
func TestAppendsShareABatch(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	other, err := os.Open(l.path())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	call := func(i int) {
		all.Go(func() {
			if _, err := l.Append(t.Context(), 0, journaltest.Text(t, fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	queued := func(n int) {
		for deadline := time.Now().Add(time.Minute); ; {
			l.queue.mu.Lock()
			waiting, led := len(l.queue.waiting), l.queue.hasLeader
			l.queue.mu.Unlock()
			if waiting == n && led {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("%d calls are queued, want %d", waiting, n)
				return
			}
		}
	}
	call(0)
	queued(0)
	for i := range 7 {
		call(i + 1)
	}
	queued(7)
	if err := unix.Flock(int(other.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	var batches []pawl.Seq
	for e, err := range l.Events(1) {
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, e.Batch)
	}
	if got, want := fmt.Sprint(batches), "[2 3 3 3 3 3 3 3]"; got != want {
		t.Errorf("batches %s, want %s", got, want)
	}
}

// TestLastBatchIsWrittenAgain looks at what would be written: the last batch stands in front of it wherever this
// descriptor has not synced that batch itself.
func TestLastBatchIsWrittenAgain(t *testing.T) {
	t.Parallel()
	ours := newLog(t)
	theirs, err := open(filepath.Dir(ours.home), ours.run, true)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	expect := func(what string, l *Log, want bool) {
		t.Helper()
		l.mu.Lock()
		defer l.mu.Unlock()
		if err := l.refresh(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(l.path())
		if err != nil {
			t.Fatal(err)
		}
		buf, err := l.lastBatch()
		if err != nil {
			t.Fatal(err)
		}
		if len(buf) > 0 != want || !bytes.Equal(buf, data[len(data)-len(buf):]) || bytes.Count(buf, []byte("\n")) > 2 {
			t.Errorf("%s: %q is written again, want some: %v", what, buf, want)
		}
	}
	add := func(l *Log) {
		t.Helper()
		if _, err := l.Append(t.Context(), 0, journaltest.Text(t, "a"), journaltest.Text(t, "b")); err != nil {
			t.Fatal(err)
		}
	}
	expect("after our own batch", ours, false)
	expect("after opening", theirs, true)
	add(theirs)
	expect("after its own batch", theirs, false)
	expect("after a batch of another writer", ours, true)
	add(ours)
	if err := ours.reopen(); err != nil {
		t.Fatal(err)
	}
	expect("after reopening", ours, true)
}

// TestFailedWrite gives the log a read-only descriptor; with a writable one it continues.
func TestFailedWrite(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	good := l.file.File
	readable, err := os.Open(l.path())
	if err != nil {
		t.Fatal(err)
	}
	defer readable.Close()
	l.file.File = readable
	if _, err := l.Append(t.Context(), 0, journaltest.Text(t, "lost")); err == nil {
		t.Error("appended to a file that cannot be written")
	}
	l.file.File = good
	if seq, err := l.Append(t.Context(), 0, journaltest.Text(t, "kept")); seq != 2 || err != nil {
		t.Errorf("append afterwards: %d %v", seq, err)
	}
}
