package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
	"pawl/internal/postgres"
)

// lossy is a store whose answers get lost: of every three calls one does not reach the database, and of one the answer does not reach
// the caller.
type lossy struct {
	*postgres.Store
	calls *atomic.Int64
}

func (l lossy) Append(ctx context.Context, key string, b journal.Batch) (bool, error) {
	switch l.calls.Add(1) % 3 {
	case 0:
		return false, fmt.Errorf("%w: before", journal.ErrUnreachable)
	case 1:
		_, _ = l.Store.Append(ctx, key, b)
		return false, fmt.Errorf("%w: after", journal.ErrUnreachable)
	}
	return l.Store.Append(ctx, key, b)
}

// TestLostAnswers: writers on two hosts, four on each, append while calls and answers get lost. Each batch is there once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	const writers, batches = 8, 12
	s, _ := database(t)
	stores.Store(s.ID(), lossy{s, new(atomic.Int64)})
	t.Cleanup(s.Close)
	stored(t, s, runID, keyOf(1))
	hosts := []string{copyOf(t, s, runID, keyOf(1)), copyOf(t, s, runID, keyOf(1))}
	begin(t, hosts[0])
	var all sync.WaitGroup
	var mu sync.Mutex
	said := report{done: map[string]pawl.Seq{}}
	for w := range writers {
		j := journalIn(t, hosts[w%2])
		all.Go(func() {
			for b := range batches {
				text := fmt.Sprintf("w%d.%d", w, b)
				seq, err := j.Append(t.Context(), runID, 0, textEvent(text+".a"), textEvent(text+".b"))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				said.done[text] = seq
				mu.Unlock()
			}
		})
	}
	all.Wait()
	verify(t, "lost answers", hosts[0], hosts[1], said)
	if n := len(textsIn(t, hosts[0])); n != 2*writers*batches {
		t.Errorf("%d events, want %d", n, 2*writers*batches)
	}
}

// moved is a store that loses the first answer, after which the run is moved to files.
type moved struct {
	*postgres.Store
	folder string
	once   sync.Once
	done   chan error
}

func (m *moved) Append(ctx context.Context, key string, b journal.Batch) (added bool, err error) {
	added, err = m.Store.Append(ctx, key, b)
	m.once.Do(func() {
		err = fmt.Errorf("%w: lost", journal.ErrUnreachable)
		go func() { m.done <- journal.ToFiles(context.WithoutCancel(ctx), m.folder, runID) }() // it waits for the lock
	})
	return added, err
}

// TestMoveAfterALostAnswer: what was sent to the database before the run was moved to files is not appended there again.
func TestMoveAfterALostAnswer(t *testing.T) {
	t.Parallel()
	s, _ := database(t)
	t.Cleanup(s.Close)
	stored(t, s, runID, keyOf(1))
	here := copyOf(t, s, runID, keyOf(1))
	if _, err := s.Append(t.Context(), keyOf(1), firstBatch(t)); err != nil {
		t.Fatal(err)
	}
	store := &moved{Store: s, folder: here, done: make(chan error, 1)}
	stores.Store(s.ID(), store)
	log := opened(t, here)
	_, err := log.Append(t.Context(), 0, textEvent("once.a"), textEvent("once.b"))
	if err := <-store.done; err != nil {
		t.Fatal(err)
	}
	if texts := textsIn(t, here); len(texts) != 2 {
		t.Errorf("%v, and then %q", err, texts)
	}
}

// firstBatch is a batch with the first event of the run.
func firstBatch(t testing.TB) journal.Batch {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "runs")
	log, err := journal.Create(folder, runID)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Append(t.Context(), 0, journaltest.Created(t, runID)); err != nil {
		t.Fatal(err)
	}
	line := fileIn(t, folder)
	return journal.Batch{
		ID: keyOf(7), After: journal.Head{Sum: "00000000"}, End: journal.Head{Seq: 1, Sum: string(line[len(line)-11 : len(line)-3])},
		Lines: []journal.BatchLine{{Seq: 1, Type: "run.created", Line: line}},
	}
}

// TestHostsFenceEachOther: engines on two hosts take the run over from each other. An event of an epoch never follows one of a later epoch,
// and what an engine was acknowledged is there.
func TestHostsFenceEachOther(t *testing.T) {
	t.Parallel()
	const takeOvers = 30
	s, _ := database(t)
	stored(t, s, runID, keyOf(1))
	hosts := []string{copyOf(t, s, runID, keyOf(1)), copyOf(t, s, runID, keyOf(1))}
	begin(t, hosts[0])
	var all sync.WaitGroup
	var mu sync.Mutex
	said := report{done: map[string]pawl.Seq{}}
	for h, host := range hosts {
		j := journalIn(t, host)
		all.Go(func() {
			for range takeOvers {
				epoch := lastEpoch(t, j) + 1
				if _, err := j.Append(t.Context(), runID, epoch, journaltest.Event(t, pawl.EngineStarted{Epoch: epoch, PID: 1, Why: "run"})); err != nil {
					if !errors.Is(err, pawl.ErrFenced) {
						t.Error(err)
					}
					continue
				}
				for n := 0; ; n++ {
					text := fmt.Sprintf("h%d.%d.%d", h, epoch, n)
					seq, err := j.Append(t.Context(), runID, epoch, textEvent(text+".a"), textEvent(text+".b"))
					if errors.Is(err, pawl.ErrFenced) || err == nil && n == 5 {
						break
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					said.done[text] = seq
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	var epoch pawl.Epoch
	texts := map[string]pawl.Seq{}
	for e, err := range journalIn(t, hosts[0]).Read(t.Context(), runID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Epoch < epoch {
			t.Fatalf("event %d of epoch %d follows epoch %d", e.Seq, e.Epoch, epoch)
		}
		epoch = e.Epoch
		if text := journaltest.TextOf(t, e); text != "" {
			if texts[text] != 0 {
				t.Errorf("%s is there twice", text)
			}
			texts[text] = e.Seq
			if want := fmt.Sprintf(".%d.", e.Epoch); !strings.Contains(text, want) {
				t.Errorf("event %d of epoch %d: %s", e.Seq, e.Epoch, text)
			}
		}
	}
	for text, seq := range said.done {
		if texts[text+".b"] != seq || texts[text+".a"] != seq-1 {
			t.Errorf("lost %s, acknowledged as event %d", text, seq)
		}
	}
	if int(epoch) < takeOvers {
		t.Errorf("only %d epochs", epoch)
	}
}

func lastEpoch(t testing.TB, j pawl.Journal) (epoch pawl.Epoch) {
	t.Helper()
	for e, err := range j.Read(t.Context(), runID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		epoch = e.Epoch
	}
	return epoch
}

// TestCopyIsMended: whatever happens to the copy, the next call has all events, and the same bytes as other hosts.
func TestCopyIsMended(t *testing.T) {
	t.Parallel()
	s, _ := database(t)
	for n, damage := range map[string]func(path string, data []byte) error{
		"deleted": func(path string, _ []byte) error { return os.Remove(path) },
		"empty":   func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
		"torn":    func(path string, data []byte) error { return os.WriteFile(path, data[:len(data)-40], 0o600) },
		"cut": func(path string, data []byte) error {
			return os.WriteFile(path, data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1], 0o600)
		},
		"zeros": func(path string, data []byte) error {
			copy(data[len(data)/2:], make([]byte, 100))
			return os.WriteFile(path, data, 0o600)
		},
		"bit": func(path string, data []byte) error { data[len(data)/2] ^= 1; return os.WriteFile(path, data, 0o600) },
		"more": func(path string, data []byte) error {
			return os.WriteFile(path, append(data, "{\"seq\":9999,"...), 0o600)
		},
		"untouched": func(string, []byte) error { return nil },
	} {
		t.Run(n, func(t *testing.T) {
			t.Parallel()
			key := keyOf(len(n)*1000 + int(n[0]))
			stored(t, s, runID, key)
			here, there := copyOf(t, s, runID, key), copyOf(t, s, runID, key)
			begin(t, here)
			said := runActorIn(t, here, 10)
			path := filepath.Join(here, string(runID), journal.FileName)
			if err := damage(path, fileIn(t, here)); err != nil {
				t.Fatal(err)
			}
			more := runActorIn(t, there, 3)
			verify(t, n, here, there, said, more)
			if got := len(textsIn(t, here)); got != 26 {
				t.Errorf("%d events, want 26", got)
			}
		})
	}
}

var names atomic.Int64

// runActorIn appends batches in this process.
func runActorIn(t testing.TB, folder string, batches int) report {
	t.Helper()
	log, err := journal.Open(folder, runID)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	r := report{done: map[string]pawl.Seq{}}
	name := names.Add(1)
	for b := range batches {
		text := fmt.Sprintf("p%d.%d", name, b)
		seq, err := log.Append(t.Context(), 0, textEvent(text+".a"), textEvent(text+".b"))
		if err != nil {
			t.Fatal(err)
		}
		r.done[text] = seq
	}
	return r
}

// TestDatabaseThatLostEvents: a database that was restored from an older backup is not appended to.
func TestDatabaseThatLostEvents(t *testing.T) {
	t.Parallel()
	s, dsn := database(t)
	stored(t, s, runID, keyOf(1))
	here := copyOf(t, s, runID, keyOf(1))
	begin(t, here)
	said := runActorIn(t, here, 5)
	execute(t, dsn, `delete from pawl.event where seq > 4`, `update pawl.run set head_seq = 4, head_sum = (select right(left(convert_from(line, 'UTF8'), -3), 8) from pawl.event where seq = 4)`)
	log, err := journal.Open(here, runID)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Append(t.Context(), 0, textEvent("x")); pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), "has lost events") {
		t.Fatalf("append: %v, want a refusal", err)
	}
	if log.Stale() == nil {
		t.Error("a copy with more events than the database counts as current")
	}
	if err := journal.ToStore(t.Context(), here, runID, s.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), 0, textEvent("x")); err != nil {
		t.Fatal(err)
	}
	verify(t, "restored", here, copyOf2(t, s), said)
}

func copyOf2(t testing.TB, s *postgres.Store) string { return copyOf(t, s, runID, keyOf(1)) }
