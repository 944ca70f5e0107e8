package postgres_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
	"pawl/internal/postgres"
)

func opened(t *testing.T, folder string) *journal.Log {
	t.Helper()
	log, err := journal.Open(folder, runID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

func started(t *testing.T, log *journal.Log, epoch pawl.Epoch) {
	t.Helper()
	if _, err := log.Append(t.Context(), epoch, journaltest.Event(t, pawl.EngineStarted{Epoch: epoch, PID: 1, Why: "run"})); err != nil {
		t.Fatal(err)
	}
}

// TestLease: an engine on another host takes the run over only after the lease has expired; then the first one is fenced, even before the
// second has written anything.
func TestLease(t *testing.T) {
	t.Parallel()
	s, dsn := database(t)
	stored(t, s, runID, keyOf(1))
	here, there := copyOf(t, s, runID, keyOf(1)), copyOf(t, s, runID, keyOf(1))
	begin(t, here)
	first, second := opened(t, here), opened(t, there)
	if err := first.Lease(t.Context()); err != nil {
		t.Fatal(err)
	}
	started(t, first, 1)
	if err := second.Lease(t.Context()); pawl.KindOf(err) != pawl.KindHeld || !strings.Contains(err.Error(), "held by an engine on host") {
		t.Fatalf("second engine: %v, want held", err)
	}
	if h, held, err := journal.LeaseHolder(there, runID); !held || err != nil || h.Left <= 0 || h.Left > journal.LeaseTime {
		t.Errorf("holder %+v %v %v", h, held, err)
	}
	if _, held, err := journal.LeaseHolder(here, runID); held || err != nil {
		t.Errorf("the copy's own engine counts as another: %v", err)
	}
	execute(t, dsn, `update pawl.run set lease_until = clock_timestamp() - interval '1 s'`)
	if _, err := first.Append(t.Context(), 1, textEvent("late, but nobody took over")); err != nil {
		t.Fatal(err)
	}
	if err := second.Lease(t.Context()); pawl.KindOf(err) != pawl.KindHeld {
		t.Fatalf("the append has not renewed the lease: %v", err)
	}
	execute(t, dsn, `update pawl.run set lease_until = clock_timestamp() - interval '1 s'`)
	if err := second.Lease(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Append(t.Context(), 1, textEvent("x")); !errors.Is(err, pawl.ErrFenced) {
		t.Errorf("append without the lease: %v, want ErrFenced", err)
	}
	if _, err := first.Append(t.Context(), 0, textEvent("of a person")); err != nil {
		t.Error(err)
	}
	started(t, second, 2)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if _, held, err := journal.LeaseHolder(here, runID); held || err != nil {
		t.Errorf("a closed journal keeps its lease: %v", err)
	}
}

// TestLeaseOfACrashedEngine: whoever has the engine lock of the same files does not wait for the lease of the engine before it.
func TestLeaseOfACrashedEngine(t *testing.T) {
	t.Parallel()
	s, _ := database(t)
	stored(t, s, runID, keyOf(1))
	here := copyOf(t, s, runID, keyOf(1))
	begin(t, here)
	crashed, next := opened(t, here), opened(t, here)
	if err := crashed.Lease(t.Context()); err != nil {
		t.Fatal(err)
	}
	started(t, crashed, 1)
	if err := next.Lease(t.Context()); err != nil {
		t.Fatal(err)
	}
	started(t, next, 2)
	if _, err := crashed.Append(t.Context(), 1, textEvent("x")); !errors.Is(err, pawl.ErrFenced) {
		t.Errorf("append: %v, want ErrFenced", err)
	}
	if err := crashed.Close(); err != nil { // it must not free the lease of the next one
		t.Fatal(err)
	}
	if _, err := next.Append(t.Context(), 2, textEvent("y")); err != nil {
		t.Error(err)
	}
}

// TestDelete: a run that an engine works on is not deleted, nor one that came from another folder.
func TestDelete(t *testing.T) {
	t.Parallel()
	s, _ := database(t)
	folder := inFiles(t, 3)
	if err := journal.ToStore(t.Context(), folder, runID, s.ID()); err != nil {
		t.Fatal(err)
	}
	key, err := s.Find(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	there := copyOf(t, s, runID, key)
	log := opened(t, there)
	if err := log.Lease(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := journal.DeleteStored(t.Context(), folder, runID); pawl.KindOf(err) != pawl.KindHeld {
		t.Errorf("deleted while an engine has the lease: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := journal.DeleteStored(t.Context(), there, runID); err != nil {
		t.Fatal(err)
	}
	if blobs, err := s.Blobs(t.Context(), key); err != nil || len(blobs) == 0 {
		t.Errorf("a copy deleted the run: %v", err)
	}
	for range 2 { // it may be repeated after a crash
		if err := journal.DeleteStored(t.Context(), folder, runID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Read(t.Context(), key, 0); !errors.Is(err, pawl.ErrNoRun) {
		t.Errorf("not deleted: %v", err)
	}
}

// TestArrivalContinues: the database did not answer while a run was created, so that its first events are in files. Its engine moves it.
func TestArrivalContinues(t *testing.T) {
	t.Parallel()
	s, _ := database(t)
	folder := filepath.Join(t.TempDir(), ".pawl", "runs")
	if err := journal.StoreNew(folder, s.ID()); err != nil {
		t.Fatal(err)
	}
	calls := new(atomic.Int64)
	stores.Store(s.ID(), deaf{s, calls})
	log, err := journal.Create(folder, runID)
	if err != nil {
		t.Fatal(err)
	}
	if seq, err := log.Append(t.Context(), 0, journaltest.Created(t, runID)); seq != 1 || err != nil {
		t.Fatalf("event %d, %v; want event 1, once", seq, err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if store, err := journal.StoredIn(folder, runID); store != "" || err != nil {
		t.Fatalf("stored in %q, %v", store, err)
	}
	calls.Store(1)
	log = opened(t, folder)
	if err := log.Lease(t.Context()); err != nil {
		t.Fatal(err)
	}
	if store, err := journal.StoredIn(folder, runID); store != s.ID() || err != nil {
		t.Errorf("the engine's run is stored in %q, %v", store, err)
	}
	if _, err := s.Find(t.Context(), runID); err != nil {
		t.Error(err)
	}
}

// deaf is a store that registers no run while answers is 0.
type deaf struct {
	*postgres.Store
	answers *atomic.Int64
}

func (d deaf) Receive(ctx context.Context, key string, about journal.About) error {
	if d.answers.Load() == 0 {
		return journal.ErrUnreachable
	}
	return d.Store.Receive(ctx, key, about)
}
