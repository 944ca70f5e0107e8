package journal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

func salvage(t *testing.T, r *run) *journal.Salvage {
	t.Helper()
	s, err := journal.ReadSalvage(r.folder, runID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRebuild: the new journal has the bytes before the damage and can be appended to; the damaged journal is kept.
func TestRebuild(t *testing.T) {
	t.Parallel()
	r := newRun(t, "a", "b", "c")
	good := r.bytes(t)
	damaged := bytes.Replace(good, []byte(`"b"`), []byte(`"x"`), 1)
	r.write(t, damaged)
	s := salvage(t, r)
	if len(s.Events) != 2 || s.Damage == nil || pawl.HintOf(s.Damage) != "pawl recover "+string(runID) {
		t.Fatalf("%d events, damage %v", len(s.Events), s.Damage)
	}
	if !bytes.Equal(r.bytes(t), damaged) {
		t.Error("reading what is left changed the journal")
	}
	aside, err := s.Rebuild([]pawl.Event{journaltest.Text(t, "d"), journaltest.Text(t, "e")})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(aside)
	if err != nil || !bytes.Equal(kept, damaged) {
		t.Errorf("set aside: %v: %q", err, kept)
	}
	end := bytes.Index(good, []byte(`{"seq":3`))
	if now := r.bytes(t); !bytes.HasPrefix(now, good[:end]) {
		t.Errorf("what was good has changed: %s", now)
	}
	other := r.again(t)
	equal(t, "events", other.texts(t), "a", "d", "e")
	other.add(t, journaltest.Text(t, "f"))
	equal(t, "events after an append", r.again(t).texts(t), "a", "d", "e", "f")
	if bad := badOf(journal.Check(r.home())); len(bad) > 0 {
		t.Error(bad)
	}
}

// TestRebuildNothingLeft begins a journal anew where there is none, where it is empty, and where it is another run's.
func TestRebuildNothingLeft(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, r *run){
		"missing": func(t *testing.T, r *run) {
			if err := os.Remove(r.path()); err != nil {
				t.Fatal(err)
			}
		},
		"empty": func(t *testing.T, r *run) { r.write(t, nil) },
		"another run's": func(t *testing.T, r *run) {
			r.write(t, newRunNamed(t, "other-20260101-000000-abcd"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, "a")
			r.damaged = true
			harm(t, r)
			s := salvage(t, r)
			if len(s.Events) > 0 {
				t.Fatalf("%d events are left", len(s.Events))
			}
			if _, err := s.Rebuild([]pawl.Event{journaltest.Text(t, "first")}); err == nil {
				t.Error("a journal begins with run.created")
			}
			if _, err := s.Rebuild([]pawl.Event{journaltest.Created(t, runID), journaltest.Text(t, "b")}); err != nil {
				t.Fatal(err)
			}
			equal(t, "events", r.again(t).texts(t), "b")
		})
	}
}

// newRunNamed returns the bytes of another run's journal.
func newRunNamed(t *testing.T, name pawl.RunID) []byte {
	t.Helper()
	folder := t.TempDir()
	log, err := journal.Create(folder, name)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Append(t.Context(), 0, journaltest.Created(t, name), journaltest.Text(t, "other")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, string(name), journal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRebuildRefuses what a newer pawl wrote, and what has changed since it was read.
func TestRebuildRefuses(t *testing.T) {
	t.Parallel()
	r := newRun(t, "a", "b")
	s := salvage(t, r)
	r.add(t, journaltest.Text(t, "c"))
	before := r.bytes(t)
	if _, err := s.Rebuild([]pawl.Event{journaltest.Text(t, "d")}); err == nil || !strings.Contains(err.Error(), "another process has written") {
		t.Errorf("rebuilt over what somebody wrote meanwhile: %v", err)
	}
	if !bytes.Equal(r.bytes(t), before) {
		t.Error("it has changed")
	}
	newer := newRun(t)
	newer.write(t, seal(bytes.Replace(newer.bytes(t), []byte(`"format":1`), []byte(`"format":2`), 1)))
	if _, err := journal.ReadSalvage(newer.folder, runID); !errors.Is(err, pawl.ErrNewer) || pawl.HintOf(err) == "" {
		t.Errorf("a newer format: %v", err)
	}
}

// TestAppendAfterRebuild gives a writer that had the damaged journal open no way to write into what was set aside.
func TestAppendAfterRebuild(t *testing.T) {
	t.Parallel()
	r := newRun(t, "a")
	open := r.again(t)
	s := salvage(t, r)
	aside, err := s.Rebuild([]pawl.Event{journaltest.Text(t, "b")})
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(aside)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Append(t.Context(), 0, journaltest.Text(t, "lost")); !errors.Is(err, journal.ErrDead) {
		t.Errorf("append to a journal that was set aside: %v", err)
	}
	if after, err := os.ReadFile(aside); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it was written to: %v", err)
	}
}

// TestLost tells a run whose journal is gone from one whose making was cut off.
func TestLost(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.damaged = true
	lost := func() int {
		runs, err := journal.Lost(r.folder)
		if err != nil {
			t.Fatal(err)
		}
		return len(runs)
	}
	if lost() != 0 {
		t.Error("its journal is there")
	}
	if err := os.Remove(r.path()); err != nil {
		t.Fatal(err)
	}
	if lost() != 0 {
		t.Error("its making was cut off")
	}
	if err := os.Mkdir(filepath.Join(r.home(), "steps"), 0o700); err != nil {
		t.Fatal(err)
	}
	if lost() != 1 || len(badOf(journal.Check(r.home()))) != 1 {
		t.Error("steps were made, and the journal is gone")
	}
}

// TestCutOffBeforeItsFirstEvent tells a journal that was damaged at its very beginning from one that was never
// acknowledged.
func TestCutOffBeforeItsFirstEvent(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.damaged = true
	if err := os.Truncate(r.path(), 20); err != nil {
		t.Fatal(err)
	}
	state := func() error {
		log, err := journal.Open(r.folder, runID)
		if err != nil {
			return err
		}
		defer log.Close()
		_, err = log.State(t.Context())
		return err
	}
	if err := state(); !errors.Is(err, journal.ErrEmpty) || len(badOf(journal.Check(r.home()))) > 0 {
		t.Errorf("never acknowledged: %v", err)
	}
	if err := os.Mkdir(filepath.Join(r.home(), "steps"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := state(); pawl.KindOf(err) != pawl.KindDamaged || len(badOf(journal.Check(r.home()))) != 1 {
		t.Errorf("steps were made: %v", err)
	}
}
