package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/postgres"
	"pawl/internal/postgres/postgrestest"
)

// own starts a server for one test.
func own(t *testing.T, settings ...string) *postgrestest.Server {
	t.Helper()
	s, err := postgrestest.Start(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestServerIsKilled kills the server again and again while engines on two hosts, which wait as long as it takes, append. What was acknowledged
// is there, once and in order.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	const kills = 5
	server := own(t)
	dsn, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Migrate(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	stores.Store(s.ID(), s)
	stored(t, s, runID, keyOf(1))
	hosts := []string{copyOf(t, s, runID, keyOf(1)), copyOf(t, s, runID, keyOf(1))}
	begin(t, hosts[0])
	var end atomic.Bool
	var all sync.WaitGroup
	var mu sync.Mutex
	said := report{done: map[string]pawl.Seq{}}
	for w := range 4 {
		j := journalIn(t, hosts[w%2])
		all.Go(func() {
			for b := 0; !end.Load(); b++ {
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
	acknowledged := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(said.done)
	}
	for range kills {
		for before := acknowledged(); acknowledged() < before+20 && !t.Failed(); {
			time.Sleep(time.Millisecond)
		}
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
		if err := server.Up(); err != nil {
			t.Error(err)
		}
	}
	end.Store(true)
	all.Wait()
	verify(t, "killed server", hosts[0], hosts[1], said)
}

// TestUnsafeServersAreRefused: at the start, and at each append.
func TestUnsafeServersAreRefused(t *testing.T) {
	t.Parallel()
	server := own(t)
	for setting, value := range map[string]string{"fsync": "off", "synchronous_commit": "off"} {
		t.Run(setting, func(t *testing.T) {
			dsn, err := server.Database(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s, err := postgres.Migrate(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			stores.Store(s.ID(), s)
			stored(t, s, runID, keyOf(1))
			here := copyOf(t, s, runID, keyOf(1))
			begin(t, here)
			execute(t, dsn, "alter system set "+setting+" = "+value, "select pg_reload_conf()")
			refused := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), setting) || !strings.Contains(pawl.HintOf(err), setting) {
					t.Errorf("%s: %v; hint %q", what, err, pawl.HintOf(err))
				}
			}
			for count(t, dsn, fmt.Sprintf("select (current_setting('%s') = '%s')::int", setting, value)) == 0 {
				time.Sleep(time.Millisecond)
			}
			_, err = postgres.Open(t.Context(), dsn)
			refused("open", err)
			other, err := server.Database(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = postgres.Migrate(t.Context(), other)
			refused("migrate", err)
			_, err = journalIn(t, here).Append(t.Context(), runID, 0, textEvent("x"))
			refused("append", err)
			execute(t, dsn, "alter system reset "+setting, "select pg_reload_conf()")
		})
	}
}

// TestSchema: several processes create it together; a newer one is refused.
func TestSchema(t *testing.T) {
	t.Parallel()
	dsn, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Open(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), "no schema") {
		t.Errorf("without a schema: %v", err)
	}
	var all sync.WaitGroup
	ids := make([]string, 5)
	for i := range ids {
		all.Go(func() {
			s, err := postgres.Migrate(context.WithoutCancel(t.Context()), dsn)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			ids[i] = s.ID()
		})
	}
	all.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("IDs %q", ids)
		}
	}
	execute(t, dsn, `insert into pawl.schema_version (version_id, is_applied) values (999, true)`)
	for what, open := range map[string]func(context.Context, string) (*postgres.Store, error){"open": postgres.Open, "migrate": postgres.Migrate} {
		if _, err := open(t.Context(), dsn); !errors.Is(err, pawl.ErrNewer) {
			t.Errorf("%s: %v, want ErrNewer", what, err)
		}
	}
}

// TestNoServer: an append of a person waits, and then fails; it is not acknowledged.
func TestNoServer(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), "postgres:///x?host=/nonexistent")
	if !errors.Is(err, journal.ErrUnreachable) {
		t.Errorf("open: %v", err)
	}
	_, err = postgres.Open(t.Context(), "postgres://u:verysecret@host:port/x")
	if err == nil || strings.Contains(err.Error(), "verysecret") {
		t.Errorf("a bad DSN: %v", err)
	}
}
