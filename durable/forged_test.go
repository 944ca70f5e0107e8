package durable_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/durable"
	"pawl/internal/journal"
)

// TestForgedCacheOfALongRun: a cache that hides a finished step, or claims that the run has ended, does not decide what runs. The
// first is noticed while the steps run: the run stays unfinished, and the next Run does not use the cache.
func TestForgedCacheOfALongRun(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(*pawl.State){
		"step hidden":   func(s *pawl.State) { delete(s.Steps, pawl.StepIDOf("one")) },
		"step invented": func(s *pawl.State) { s.Steps[pawl.StepIDOf("two")] = s.Steps[pawl.StepIDOf("one")] },
		"run ended":     func(s *pawl.State) { s.Status = pawl.StatusCompleted },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var one, two int
			play := func(end error) error {
				return durable.Run(t.Context(), dir, "test", func(ctx context.Context) error {
					if _, err := durable.Step(ctx, "one", give(1, &one)); err != nil || end != nil {
						return errors.Join(err, end)
					}
					_, err := durable.Step(ctx, "two", give(2, &two))
					return err
				})
			}
			if err := play(errBroken); !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			lengthen(t, dir, forge)
			err := play(nil)
			if name == "run ended" && err != nil || name != "run ended" && pawl.KindOf(err) != pawl.KindDamaged {
				t.Errorf("with the forged cache: %v", err)
			}
			if err != nil {
				if err := play(nil); err != nil {
					t.Fatal(err)
				}
			}
			if two != 1 || name != "step hidden" && one != 1 {
				t.Errorf("step one ran %d times, step two %d times", one, two)
			}
			if states := fsck(t, dir); len(states) != 1 || states[0].Status != pawl.StatusCompleted {
				t.Errorf("runs: %+v", states)
			}
		})
	}
}

// lengthen appends events to the only run of a project until Refold is not quick, and caches a forged state.
func lengthen(t *testing.T, dir string, forge func(*pawl.State)) {
	t.Helper()
	folder := filepath.Join(dir, ".pawl", "runs")
	ids, err := journal.Runs(folder)
	if err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	log, err := journal.Open(folder, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	var said []pawl.Event
	for i := range journal.QuickFold {
		event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson}, pawl.MemoryLearned{Memory: pawl.Memory{Text: fmt.Sprint(i)}})
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, event)
	}
	if _, err := log.Append(t.Context(), 0, said...); err != nil {
		t.Fatal(err)
	}
	state, err := log.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	forge(state)
	if err := errors.Join(log.SaveState(state), log.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestCommitsOfAClone opens an engine in a clone that brings a commit log. The project is untrusted, and the log stays as it is.
func TestCommitsOfAClone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs := filepath.Join(dir, ".pawl", "runs")
	if err := os.MkdirAll(runs, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(runs, journal.CommitsName)
	if err := os.WriteFile(path, []byte("commit evil-20260101-000000-abcd 3 00000000\nabc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := durable.Open(dir); pawl.HintOf(err) != "pawl trust" {
		t.Errorf("%v, %v", e, err)
	}
	if err := durable.Signal(t.Context(), dir, "evil", "go", nil); pawl.HintOf(err) != "pawl trust" {
		t.Errorf("a signal: %v", err)
	}
	if names, err := os.ReadDir(runs); err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v, %v", names, err)
	}
}
