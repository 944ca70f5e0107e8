package history_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/outputs"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// begun makes a project with a run of two steps: the first is done, the second under way. It has a checkpoint, and its
// files have changed since.
func begun(t *testing.T) (*project.Project, pawl.RunID, pawl.CheckpointID) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(t.TempDir(), "work")
	must(os.Mkdir(root, 0o700))
	must(os.WriteFile(filepath.Join(root, "file"), []byte("then"), 0o600))
	p, err := project.Init(root)
	must(err)
	plan := []byte("name: demo\nsteps:\n  - {id: one, run: 'true'}\n  - {id: two, run: 'true'}\n")
	read, err := planfile.Read("plan.yaml", plan)
	must(err)
	run, err := runs.Create(ctx, p, runs.CreateOptions{Kind: pawl.PlanRun, Plan: read, Data: plan})
	must(err)
	log, err := journal.Open(p.Runs(), run)
	must(err)
	blob, err := log.PutBlob([]byte("result"))
	must(err)
	var events []pawl.Event
	one, two := pawl.AttemptRef{Step: "one", Attempt: 1, Token: "a"}, pawl.AttemptRef{Step: "two", Attempt: 1, Token: "b"}
	for _, payload := range []pawl.Payload{
		pawl.EngineStarted{Epoch: 1}, pawl.AttemptStarted{AttemptRef: one},
		pawl.StepDone{Step: "one", Attempt: 1, Token: "a", Blob: blob}, pawl.AttemptStarted{AttemptRef: two},
	} {
		event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, payload)
		must(err)
		events = append(events, event)
	}
	_, err = log.Append(ctx, 1, events...)
	must(err)
	must(log.Close())
	saved, err := history.SaveNow(ctx, p, run, config.Snapshots{}, pawl.Author{Kind: pawl.ByPerson}, "")
	must(err)
	must(os.WriteFile(filepath.Join(root, "file"), []byte("now"), 0o600))
	return p, run, saved.ID
}

// say appends events to a run's journal, as an engine would.
func say(t *testing.T, p *project.Project, run pawl.RunID, epoch pawl.Epoch, payloads ...pawl.Payload) {
	t.Helper()
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, payload := range payloads {
		event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, payload)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(t.Context(), epoch, event); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForkDoesAgainWhatTheSnapshotMayLack: a step finished while the snapshot was taken. If what it put out is in it, it
// stays finished; if that is not known, the new run does it again.
func TestForkDoesAgainWhatTheSnapshotMayLack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		written string // when the step ended; the snapshot has "then"
		outputs []string
		again   int
	}{
		"its output is in the snapshot":     {"then", []string{"file"}, 0},
		"its output is another one":         {"later", []string{"file"}, 1},
		"it declares none, so nobody knows": {"then", nil, 1},
	} {
		p, run, _ := begun(t)
		file := filepath.Join(p.Root, "file")
		write(t, file, "then")
		store, err := runs.OpenSnapshots(t.Context(), p, config.Snapshots{})
		if err != nil {
			t.Fatal(err)
		}
		checkpoint := pawl.Checkpoint{ID: "0a0b0c0d", Kind: pawl.CheckpointManual}
		record, err := store.Take(t.Context(), snapshot.Stamp{Checkpoint: checkpoint.ID, Kind: checkpoint.Kind, Run: run, Seq: 7})
		if err != nil {
			t.Fatal(err)
		}
		checkpoint.Snapshot = record.Snapshot()
		write(t, file, c.written)
		outputs, err := outputs.Hash(p.Root, c.outputs)
		if err != nil {
			t.Fatal(err)
		}
		say(t, p, run, 1, pawl.StepDone{Step: "two", Attempt: 1, Token: "b", Outputs: outputs}, pawl.CheckpointSaved{Checkpoint: checkpoint})
		target, err := history.FindCheckpoint(t.Context(), p, store, string(checkpoint.ID))
		if err != nil {
			t.Fatal(err)
		}
		f, err := history.PrepareFork(t.Context(), p, store, target, history.ForkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Redo) != c.again {
			t.Errorf("%s: %+v", name, f.Redo)
		}
		done, err := f.Do(t.Context(), pawl.Author{Kind: pawl.ByPerson})
		if err != nil {
			t.Fatal(err)
		}
		s, err := runs.LoadState(t.Context(), p, done.Run)
		if err != nil {
			t.Fatal(err)
		}
		if finished := s.Steps["two"].Finished(); finished != (c.again == 0) || s.RejectedCount > 0 || !s.Steps["one"].Finished() {
			t.Errorf("%s: two is finished: %v; %+v", name, finished, s.RejectedEvents)
		}
		if s.Updated.Before(s.Created) || time.Since(s.Created) > time.Minute {
			t.Errorf("%s: made %s, changed %s", name, s.Created, s.Updated)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
