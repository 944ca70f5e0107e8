package engine_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/engine/enginetest"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// The walk for the checkpoint of a step that ended without an engine precedes the engine, unless its result may differ from the files
// when the step is judged: something else has happened in the run, or acceptance checks run.
func TestWalkAhead(t *testing.T) {
	t.Parallel()
	const step = "name: demo\nsteps: [{id: a, outputs: [o.txt], accept: {seen: echo seen > seen.txt}, run: 'echo o > o.txt; " + held + "'}]\n"
	for name, c := range map[string]struct {
		before func(p *enginetest.Project, dir string, live *pawl.AttemptState) // the walk
		after  func(p *enginetest.Project)
		used   bool
	}{
		"ended well":                   {before: letEnd, used: true},
		"paused meanwhile":             {before: letEnd, after: func(p *enginetest.Project) { p.Act(runs.Pause("")) }},
		"a record that is not genuine": {before: forgeEnd},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			killed(p, step)
			live := p.State().Live()[0]
			c.before(p, p.AttemptDir(live.AttemptRef, p.Run), live)
			r, err := runs.LoadToContinue(t.Context(), p.Project, p.Run)
			p.Check(err)
			diff, err := resume.DiffPlan(p.Project, r, pawl.GivenValues{})
			p.Check(err)
			cfg := p.Config
			cfg.Saver = resume.OpenSaver(t.Context(), p.Project, r, diff, cfg.Snapshots)
			p.Until("the walk has ended", func() bool { return p.Exists(".pawl/snapshots/stat") })
			ended := time.Now()
			if c.after != nil {
				c.after(p)
			}
			e, err := engine.Open(t.Context(), cfg, r)
			p.Check(err)
			p.Check(e.Run(t.Context(), t.Context(), "test"))
			p.Check(e.Close())
			if started := startOfSave(p, "a"); started.Before(ended) != c.used {
				t.Errorf("the walk of the checkpoint began at %v, the one ahead ended at %v", started, ended)
			}
		})
	}
}

func letEnd(p *enginetest.Project, dir string, _ *pawl.AttemptState) {
	p.Write("go", "")
	p.Check(supervise.Attach(dir).Wait(p.Context()))
}

// forgeEnd kills an attempt and its supervisor, and writes a record of success that no supervisor signed.
func forgeEnd(p *enginetest.Project, dir string, live *pawl.AttemptState) {
	p.Check(supervise.Kill(dir))
	p.Check(supervise.Attach(dir).Wait(p.Context()))
	p.Write("go", "")
	p.Check(os.WriteFile(dir+"/"+pawl.ExitFile, fmt.Appendf(nil, `{"token":%q,"reason":"exited","exit":0}`+"\n", live.Token), 0o600))
}

// startOfSave returns when the walk of a step's checkpoint began.
func startOfSave(p *enginetest.Project, step pawl.StepID) time.Time {
	p.Helper()
	store, err := runs.OpenSnapshotsReadOnly(p.Context(), p.Project, p.Config.Snapshots)
	p.Check(err)
	defer store.Close()
	records, err := store.Records()
	p.Check(err)
	for _, r := range records {
		if r.Step == step && r.Kind == pawl.CheckpointStep {
			return r.Started
		}
	}
	p.Fatalf("no checkpoint of step %s", step)
	return time.Time{}
}
