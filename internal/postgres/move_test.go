package postgres_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"pawl"
	"pawl/internal/disk/disktest"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// execute executes statements.
func execute(t testing.TB, dsn string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for _, statement := range statements {
		if _, err := c.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// inFiles returns the folder of a run that is stored in files, with a plan, a blob and some events.
func inFiles(t testing.TB, batches int) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), ".pawl", "runs")
	log, err := journal.Create(folder, runID)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	plan := []byte("name: test\n")
	sum := sha256.Sum256(plan)
	if err := os.WriteFile(filepath.Join(folder, string(runID), "plan.yaml"), plan, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := log.PutBlob([]byte("blob")); err != nil {
		t.Fatal(err)
	}
	planned := journaltest.Event(t, pawl.RunPlanned{Revision: 1, File: "plan.yaml", SHA256: hex.EncodeToString(sum[:])})
	if _, err := log.Append(t.Context(), 0, journaltest.Created(t, runID), planned); err != nil {
		t.Fatal(err)
	}
	for b := range batches {
		if _, err := log.Append(t.Context(), 0, textEvent(fmt.Sprint(b, ".a")), textEvent(strings.Repeat("x", 100*b%9000))); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// sums returns the SHA-256 of each file of the run's journal, plan and blobs.
func sums(t testing.TB, folder string) map[string]string {
	t.Helper()
	home := filepath.Join(folder, string(runID))
	all := map[string]string{}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "store.json" || d.Name() == "state.json" {
			return err
		}
		data, err := os.ReadFile(path)
		sum := sha256.Sum256(data)
		name, _ := filepath.Rel(home, path)
		all[name] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for name, sum := range want {
		if got[name] != sum {
			t.Errorf("%s: %s has SHA-256 %s, want %s", what, name, got[name], sum)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: files %v, want %v", what, got, want)
	}
}

// TestMoveThereAndBack: a journal that was moved to the database and back is the same, byte by byte; so is the one of a host that had nothing.
func TestMoveThereAndBack(t *testing.T) {
	t.Parallel()
	s, dsn := database(t)
	folder := inFiles(t, 700)
	before := sums(t, folder)
	if err := journal.ToStore(t.Context(), folder, runID, s.ID()); err != nil {
		t.Fatal(err)
	}
	same(t, "in the database", sums(t, folder), before)
	if id, err := journal.StoredIn(folder, runID); id != s.ID() || err != nil {
		t.Errorf("stored in %q %v", id, err)
	}
	if err := os.RemoveAll(filepath.Join(folder, string(runID), "blobs")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"journal.jsonl", "plan.yaml"} {
		if err := os.Remove(filepath.Join(folder, string(runID), name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := journal.ToFiles(t.Context(), folder, runID); err != nil {
		t.Fatal(err)
	}
	same(t, "back", sums(t, folder), before)
	if id, err := journal.StoredIn(folder, runID); id != "" || err != nil {
		t.Errorf("stored in %q %v, want files", id, err)
	}
	if n := count(t, dsn, `select count(*) from pawl.event`); n != 0 {
		t.Errorf("%d events are left in the database", n)
	}
	if _, err := journalIn(t, folder).Append(t.Context(), runID, 0, textEvent("in files")); err != nil {
		t.Fatal(err)
	}
	if err := journal.ToStore(t.Context(), folder, runID, s.ID()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, dsn, `select count(*) from pawl.event`); n != 1403 {
		t.Errorf("%d events in the database, want 1403", n)
	}
}

func count(t testing.TB, dsn, query string) (n int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if err := c.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// moveVar makes the test binary another process that moves a run: "<folder> <store> <DSN>"; without store to files.
const moveVar = "PAWL_TEST_MOVE"

func moveRun() int {
	var folder, store, dsn string
	if _, err := fmt.Sscan(os.Getenv(moveVar), &folder, &dsn, &store); err != nil && store != "" {
		return 2
	}
	ctx := context.Background()
	connect(ctx, dsn)
	var err error
	if store != "" {
		err = journal.ToStore(ctx, folder, runID, store)
	} else {
		err = journal.ToFiles(ctx, folder, runID)
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("done 1 moved")
	return 0
}

// TestMoveIsInterrupted kills the move, there and back, at each of its calls. The run is whole on one side, accepts events, and the move can
// be repeated.
func TestMoveIsInterrupted(t *testing.T) {
	t.Parallel()
	s, dsn := database(t)
	for _, back := range []bool{false, true} {
		for n := 1; ; n++ {
			folder := inFiles(t, 5)
			before := fileIn(t, folder)
			store := s.ID()
			if back {
				if err := journal.ToStore(t.Context(), folder, runID, s.ID()); err != nil {
					t.Fatal(err)
				}
				store = ""
			}
			move := func(env ...string) report {
				cmd := actor(t, folder, "m", 0, dsn, append(env, fmt.Sprintf("%s=%s %s %s", moveVar, folder, dsn, store))...)
				return runActor(t, cmd)
			}
			said := move(disktest.FaultVar + "=die:" + fmt.Sprint(n))
			if !said.killed {
				if n < 8 {
					t.Errorf("only %d calls", n)
				}
				break
			}
			spec := fmt.Sprintf("back %v, killed at call %d", back, n)
			between := 0
			_, err := journalIn(t, folder).Append(t.Context(), runID, 0, textEvent("between"))
			switch held := pawl.KindOf(err) == pawl.KindHeld; {
			case err == nil:
				between = 1
			case !back || !held:
				t.Errorf("%s: append: %v", spec, err)
			}
			if said := move(); said.done["moved"] != 1 {
				t.Fatalf("%s: again: %+v", spec, said)
			}
			if id, err := journal.StoredIn(folder, runID); id != store || err != nil {
				t.Errorf("%s: stored in %q %v, want %q", spec, id, err, store)
			}
			if got := fileIn(t, folder); !strings.HasPrefix(string(got), string(before)) || strings.Count(string(got), "\n") != strings.Count(string(before), "\n")+between {
				t.Errorf("%s: the journal has changed", spec)
			}
			if _, err := journalIn(t, folder).Append(t.Context(), runID, 0, textEvent("after")); err != nil {
				t.Errorf("%s: %v", spec, err)
			}
		}
	}
}

// TestWithoutConnection: the copy can be read, and says that it may be behind; nothing can be appended.
func TestWithoutConnection(t *testing.T) {
	t.Parallel()
	folder := inFiles(t, 3)
	if err := journal.Attach(folder, runID, keyOf(99), keyOf(1)); err != nil {
		t.Fatal(err)
	}
	log, err := journal.Open(folder, runID)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if log.Seq() != 8 || log.Stale() == nil {
		t.Errorf("%d events, stale: %v", log.Seq(), log.Stale())
	}
	if _, err := log.Append(t.Context(), 0, textEvent("x")); err == nil || errors.Is(err, journal.ErrUnreachable) {
		t.Errorf("append: %v", err)
	}
}
