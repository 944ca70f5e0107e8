package postgres_test

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/postgres"
)

// program returns connections of another program.
func program(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := postgres.SQL(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func statement(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// hears requires that a channel gets a value.
func hears(t *testing.T, what string, heard <-chan struct{}) {
	t.Helper()
	select {
	case <-heard:
	case <-time.After(time.Minute):
		t.Fatalf("%s: not heard", what)
	}
}

// TestNotices: an append of another process is heard, unless it is an engine's, and so is a NOTIFY of another program. What a process
// announces itself it does not hear. After the connection was lost, whoever hears looks once, and hears again.
func TestNotices(t *testing.T) {
	t.Parallel()
	s, dsn := database(t)
	t.Cleanup(s.Close)
	other, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	db := program(t, dsn)
	for n := range 3 {
		stored(t, s, runID, keyOf(n))
	}
	heard, stop := s.Hear(t.Context(), keyOf(0))
	elsewhere, stopElsewhere := s.Hear(t.Context(), keyOf(1))
	engine, stopEngine := s.Hear(t.Context(), keyOf(2))
	defer stopEngine()
	defer stopElsewhere()
	hears(t, "the connection is there", heard)
	hears(t, "the connection is there", elsewhere)
	hears(t, "the connection is there", engine)
	if added, err := other.Append(t.Context(), keyOf(0), firstBatch(t)); !added || err != nil {
		t.Fatalf("%t, %v", added, err)
	}
	hears(t, "an append", heard)
	if added, err := s.Append(t.Context(), keyOf(1), firstBatch(t)); !added || err != nil {
		t.Fatalf("%t, %v", added, err)
	}
	statement(t, db, "update pawl.run set owner = 'engine' where id = $1::text::uuid", keyOf(2))
	engines := firstBatch(t)
	engines.Owner = "engine"
	if added, err := other.Append(t.Context(), keyOf(2), engines); !added || err != nil {
		t.Fatalf("%t, %v", added, err)
	}
	statement(t, db, "select pg_notify('pawl', $1)", keyOf(0)) // after the others: notices arrive in the order of their commits
	hears(t, "a NOTIFY", heard)
	if len(elsewhere)+len(engine) != 0 {
		t.Error("a process hears itself, or an engine")
	}
	statement(t, db, "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query = 'listen pawl'")
	hears(t, "the connection is there again", heard)
	hears(t, "the connection is there again", elsewhere)
	statement(t, db, "notify pawl, '"+keyOf(0)+"'")
	hears(t, "another NOTIFY", heard)
	stop()
	statement(t, db, "notify pawl, '"+keyOf(0)+"'")
	statement(t, db, "notify pawl, '"+keyOf(1)+"'")
	hears(t, "the other run", elsewhere)
	if len(heard) != 0 {
		t.Error("heard after stop")
	}
}

// counting counts the reads of a store.
type counting struct {
	*postgres.Store
	reads atomic.Int64
}

func (c *counting) Read(ctx context.Context, key string, after pawl.Seq) (journal.Page, error) {
	defer c.reads.Add(1)
	return c.Store.Read(ctx, key, after)
}

// TestWatchHears: a watch of a run reads the database as soon as somebody announces a change; by its poll, the rounds of this test would
// take 30 seconds.
func TestWatchHears(t *testing.T) {
	t.Parallel()
	s, dsn := database(t)
	t.Cleanup(s.Close)
	store := &counting{Store: s}
	stores.Store(s.ID(), store)
	stored(t, s, runID, keyOf(1))
	log := opened(t, copyOf(t, s, runID, keyOf(1)))
	log.Watch(t.Context())
	db := program(t, dsn)
	begin := time.Now()
	for range 30 {
		before := store.reads.Load()
		for round := time.Now(); store.reads.Load() == before && time.Since(round) < 2*time.Second; {
			statement(t, db, "notify pawl, '"+keyOf(1)+"'")
		}
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}
