package postgres_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
	"pawl/internal/postgres"
)

// keyOf returns a key for the n-th run of a test.
func keyOf(n int) string { return fmt.Sprintf("00000000-0000-4000-a000-%012d", n) }

// stored registers an empty run, as if it had been moved to the database without any event.
func stored(t testing.TB, s *postgres.Store, run pawl.RunID, key string) {
	t.Helper()
	if err := s.Receive(t.Context(), key, journal.About{Run: run}); err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(t.Context(), key, journal.Head{Sum: "00000000"}); err != nil {
		t.Fatal(err)
	}
}

// copyOf returns a new folder with an empty copy of the run, as on another host.
func copyOf(t testing.TB, s *postgres.Store, run pawl.RunID, key string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "runs")
	if err := journal.Attach(folder, run, s.ID(), key); err != nil {
		t.Fatal(err)
	}
	return folder
}

func journalIn(t testing.TB, folder string) pawl.Journal {
	t.Helper()
	d := &journal.Dir{Path: folder}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestPromisesOnSeveralHosts: each writer has files of its own; they share the database.
func TestPromisesOnSeveralHosts(t *testing.T) {
	t.Parallel()
	journaltest.Suite(t, func(t *testing.T) func() pawl.Journal {
		s, _ := database(t)
		stored(t, s, journaltest.Run, keyOf(1))
		return func() pawl.Journal { return journalIn(t, copyOf(t, s, journaltest.Run, keyOf(1))) }
	})
}

// TestPromisesOnOneHost: the writers share the files, too.
func TestPromisesOnOneHost(t *testing.T) {
	t.Parallel()
	journaltest.Suite(t, func(t *testing.T) func() pawl.Journal {
		s, _ := database(t)
		stored(t, s, journaltest.Run, keyOf(1))
		folder := copyOf(t, s, journaltest.Run, keyOf(1))
		return func() pawl.Journal { return journalIn(t, folder) }
	})
}
