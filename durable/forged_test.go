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
	"pawl/internal/project"
	"pawl/internal/runs"
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

// TestRunFromElsewhere: a run that arrived with the files of a trusted project does not resume, and its results do not count, before the
// user adopts it. A run that was made here resumes also if a power failure lost its mark, unless events of others were added since.
func TestRunFromElsewhere(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		copied   bool // to another project; else it stays in its own
		happens  func(*project.Project, pawl.RunID) error
		believed bool
	}{
		"copied":                      {true, func(*project.Project, pawl.RunID) error { return nil }, false},
		"copied and adopted":          {true, runs.Adopt, true},
		"made here":                   {false, func(*project.Project, pawl.RunID) error { return nil }, true},
		"made here, without its mark": {false, loseMark, true},
		"made here, with a torn mark": {false, tearMark, true},
		"made here, pulled":           {false, runs.Disown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			interrupted, cancel := context.WithCancel(t.Context())
			e, mail := openMail(t, home, func(ctx context.Context) (int, error) {
				cancel()
				return 0, ctx.Err()
			})
			if _, err := mail.Run(interrupted, "letter", "them"); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			from, err := project.Find(home)
			if err != nil {
				t.Fatal(err)
			}
			ids, err := journal.Runs(from.Runs())
			if err != nil || len(ids) != 1 {
				t.Fatal(ids, err)
			}
			here := from
			if tt.copied {
				if here, err = project.Init(t.TempDir()); err == nil {
					err = os.CopyFS(here.RunDir(ids[0]), os.DirFS(from.RunDir(ids[0])))
				}
			}
			if err := errors.Join(err, tt.happens(here, ids[0])); err != nil {
				t.Fatal(err)
			}
			var posted int
			e, mail = openMail(t, here.Root, give(1, &posted))
			defer e.Close()
			recovered, err := e.Recover(t.Context())
			if err != nil || len(recovered) != 1 || (recovered[0].Err == nil) != tt.believed {
				t.Errorf("recovered %+v, %v", recovered, err)
			}
			out, err := mail.Run(t.Context(), "letter", "us")
			if tt.believed && (err != nil || out != "posted to them" || posted != 1) {
				t.Errorf("%q, %v, posted %d times", out, err, posted)
			}
			if !tt.believed && (pawl.HintOf(err) != "pawl adopt "+string(ids[0]) || posted != 0) {
				t.Errorf("%q, %v, posted %d times", out, err, posted)
			}
		})
	}
}

// loseMark removes what the user's state folder records about the runs of a project, as a power failure may.
func loseMark(p *project.Project, _ pawl.RunID) error {
	return os.RemoveAll(filepath.Join(p.Trust.Folder, "runs"))
}

// tearMark empties what the user's state folder records about a run, as a power failure may.
func tearMark(p *project.Project, run pawl.RunID) error {
	return os.Truncate(filepath.Join(p.Trust.Folder, "runs", string(run)+".json"), 0)
}

// openMail opens an engine with the workflow "mail", which has one step.
func openMail(t *testing.T, dir string, post func(context.Context) (int, error)) (*durable.Engine, *durable.Workflow[string, string]) {
	e, err := durable.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e, durable.Register(e, "mail", func(ctx context.Context, to string) (string, error) {
		_, err := durable.Step(ctx, "post", post)
		return "posted to " + to, err
	})
}

// TestCommitsOfAClone opens an engine in a clone that brings a commit log. The project is untrusted, and the log stays as it is.
func TestCommitsOfAClone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, ".pawl", "runs")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, journal.CommitsName)
	if err := os.WriteFile(path, []byte("commit evil-20260101-000000-abcd 3 00000000\nabc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := durable.Open(dir); pawl.HintOf(err) != "pawl trust" {
		t.Errorf("%v, %v", e, err)
	}
	if err := durable.Signal(t.Context(), dir, "evil", "go", nil); pawl.HintOf(err) != "pawl trust" {
		t.Errorf("a signal: %v", err)
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v, %v", names, err)
	}
}
