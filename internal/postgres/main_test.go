package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"pawl/internal/disk/disktest"
	"pawl/internal/journal"
	"pawl/internal/postgres"
	"pawl/internal/postgres/postgrestest"
)

// server is the server that tests share.
var server *postgrestest.Server

// stores are the stores that the tests have opened, by ID. Connect opens them for journals.
var stores sync.Map

func TestMain(m *testing.M) {
	disktest.Inject()
	if os.Getenv(moveVar) != "" {
		os.Exit(moveRun())
	}
	if os.Getenv(actVar) != "" {
		os.Exit(act())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if server, err = postgrestest.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	journal.Connect(ctx, journal.Connection{Retry: 10 * time.Millisecond, Open: func(_ context.Context, id, _ string) (journal.Remote, error) {
		if s, ok := stores.Load(id); ok {
			return s.(journal.Remote), nil
		}
		return nil, errors.New("no test has opened this store")
	}})
	code := m.Run()
	stores.Range(func(_, s any) bool {
		if s, ok := s.(*postgres.Store); ok {
			s.Close()
		}
		return true
	})
	if err := server.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// database returns a store in a new database, and the DSN.
func database(t testing.TB) (*postgres.Store, string) {
	t.Helper()
	dsn, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Migrate(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	stores.Store(s.ID(), s)
	return s, dsn
}
