package runs

import (
	"errors"
	"testing"
	"time"

	"pawl"
	"pawl/internal/journal"
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
}
