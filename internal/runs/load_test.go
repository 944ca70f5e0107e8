package runs

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/planfile"
	"pawl/internal/project"
)

// A power cut can leave the first line of the first batch and take the second.
func TestRunWithoutItsPlan(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, err := project.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := pawl.NewRunID("demo", time.Now(), "0000")
	log, err := journal.Create(p.Runs(), run)
	if err != nil {
		t.Fatal(err)
	}
	created, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson}, pawl.RunCreated{Format: pawl.Format, Run: run, Kind: pawl.PlanRun, Name: "demo"})
	if err == nil {
		_, err = log.Append(t.Context(), 0, created)
	}
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), p, run); !errors.Is(err, journal.ErrEmpty) {
		t.Errorf("load: %v, want ErrEmpty", err)
	}
	if unfinished, err := FindUnfinished(t.Context(), p, ""); unfinished != "" || err != nil {
		t.Errorf("unfinished: %q, %v", unfinished, err)
	}
	for _, name := range []string{"", "latest"} {
		if found, err := FindRun(t.Context(), p, name); !errors.Is(err, pawl.ErrNoRun) {
			t.Errorf("run %q: %q, %v, want no run", name, found, err)
		}
	}
	older := pawl.NewRunID("older", time.Now().Add(-time.Hour), "0000")
	if log, err = journal.Create(p.Runs(), older); err != nil {
		t.Fatal(err)
	}
	created, err = pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson}, pawl.RunCreated{Format: pawl.Format, Run: older, Kind: pawl.SessionRun, Name: "older"})
	if err == nil {
		_, err = log.Append(t.Context(), 0, created)
	}
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	if found, err := FindRun(t.Context(), p, ""); found != older || err != nil {
		t.Errorf("current run: %q, %v, want %s", found, err, older)
	}
}

// TestForgedCacheOfALongRun: the cache of a long run is used at once only where no gate is concerned, and is checked
// afterwards.
func TestForgedCacheOfALongRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, gate := range map[string]pawl.Payload{
		"without gates": pawl.MemoryLearned{Memory: pawl.Memory{Text: "x"}},
		"with a gate":   pawl.GateOpened{Gate: pawl.Gate{ID: "g", Type: pawl.HumanVerify, Ask: "?"}},
	} {
		p, run := longRun(t, gate)
		forge(t, p, run)
		r, err := LoadToContinue(t.Context(), p, run)
		if err != nil {
			t.Fatal(err)
		}
		used := r.State.Goal == "forged"
		err = r.CheckCache(t.Context())
		if _, gated := gate.(pawl.GateOpened); gated && (used || err != nil || len(r.Notes) != 1) {
			t.Errorf("%s: cache used: %v; %v, notes %q", name, used, err, r.Notes)
		} else if !gated && (!used || pawl.KindOf(err) != pawl.KindDamaged) {
			t.Errorf("%s: cache used: %v; %v, want damage", name, used, err)
		}
		if err := r.Log.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err := LoadState(t.Context(), p, run); err != nil || s.Goal == "forged" && name == "without gates" {
			t.Errorf("%s: afterwards: %v %v", name, s.Goal, err)
		}
	}
}

// oneStep makes a project, and returns what creates runs of a plan of one step in it.
func oneStep(t *testing.T) (p *project.Project, create func() pawl.RunID) {
	t.Helper()
	p, err := project.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data := []byte("name: demo\nsteps: [{id: a, run: ':'}]\n")
	plan, err := planfile.Read("plan.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	return p, func() pawl.RunID {
		t.Helper()
		run, err := Create(t.Context(), p, CreateOptions{Kind: pawl.PlanRun, Plan: plan, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
}

// longRun makes a run of more than journal.QuickFold events.
func longRun(t *testing.T, one pawl.Payload) (*project.Project, pawl.RunID) {
	t.Helper()
	p, create := oneStep(t)
	run := create()
	said := []pawl.Payload{one}
	for i := range journal.QuickFold {
		said = append(said, pawl.MemoryLearned{Memory: pawl.Memory{Text: fmt.Sprint(i)}})
	}
	r, err := Perform(t.Context(), p, run, pawl.Author{Kind: pawl.ByPerson}, func(*project.Project, *Run) ([]pawl.Payload, error) { return said, nil })
	if err == nil {
		err = r.Log.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p, run
}

// forge caches a state with another goal.
func forge(t *testing.T, p *project.Project, run pawl.RunID) {
	t.Helper()
	r, err := Load(t.Context(), p, run)
	if err != nil {
		t.Fatal(err)
	}
	r.State.Goal = "forged"
	if err := errors.Join(r.Log.SaveState(r.State), r.Log.Close()); err != nil {
		t.Fatal(err)
	}
}
