package engine_test

import (
	"errors"
	"fmt"
	"testing"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/engine/enginetest"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// TestForgedCacheOfALongRun: a long run without gates starts from its cached state, but does not end by it: a step that only the
// cache calls done is not done.
func TestForgedCacheOfALongRun(t *testing.T) {
	t.Parallel()
	p := longRun(t)
	forge(p, func(s *pawl.State) {
		b := *s.Steps["a"]
		b.Given = b.Done
		s.Steps["b"] = &b
	})
	p.WantKind(goOn(p), pawl.KindDamaged, "these fields differ: steps.b")
	p.WantStatus(pawl.Pending, "b")
	if p.State().Ended() {
		t.Error("the run has ended by a forged cache")
	}
	p.Write("go", "")
	p.Check(p.GoOn())
	p.WantText("b.txt", "b\n")
}

// TestForgedCacheSaysEnded: a run that only the cache calls completed is resumed.
func TestForgedCacheSaysEnded(t *testing.T) {
	t.Parallel()
	p := longRun(t)
	forge(p, func(s *pawl.State) { s.Status = pawl.StatusCompleted })
	p.Write("go", "")
	p.Check(goOn(p))
	p.WantText("b.txt", "b\n")
}

// goOn continues the run as it is loaded.
func goOn(p *enginetest.Project) error {
	p.Helper()
	loaded, err := runs.LoadToContinue(p.Context(), p.Project, p.Run)
	p.Check(err)
	e, err := engine.Open(p.Context(), p.Config, loaded)
	p.Check(err)
	return errors.Join(e.Run(p.Context(), p.Context(), "test"), e.Close())
}

// TestOpenReadsWhatCameSince: an engine that is given a loaded run folds what others have appended meanwhile.
func TestOpenReadsWhatCameSince(t *testing.T) {
	t.Parallel()
	p := longRun(t)
	loaded, err := runs.LoadToContinue(t.Context(), p.Project, p.Run)
	p.Check(err)
	p.Act(runs.Skip("b", nil, "not needed"))
	e, err := engine.Open(t.Context(), p.Config, loaded)
	p.Check(err)
	p.Check(errors.Join(e.Run(t.Context(), t.Context(), "test"), e.Close()))
	p.WantStatus(pawl.Skipped, "b")
}

// longRun makes a run whose step b failed, and which is too long to be folded at once.
func longRun(t *testing.T) *enginetest.Project {
	t.Helper()
	p := enginetest.New(t)
	err := p.Do("name: demo\nsteps:\n- {id: a, run: ':'}\n- {id: b, needs: [a], run: 'test -e go && echo b > b.txt'}\n")
	p.WantKind(err, pawl.KindRunFailed)
	p.Act(func(*project.Project, *runs.Run) ([]pawl.Payload, error) {
		var said []pawl.Payload
		for i := range journal.QuickFold {
			said = append(said, pawl.MemoryLearned{Memory: pawl.Memory{Text: fmt.Sprint(i)}})
		}
		return said, nil
	})
	p.Act(runs.Retry("b", "again"))
	return p
}

// forge caches another state than the journal's.
func forge(p *enginetest.Project, change func(*pawl.State)) {
	p.Helper()
	r, err := runs.Load(p.Context(), p.Project, p.Run)
	p.Check(err)
	change(r.State)
	p.Check(errors.Join(r.Log.SaveState(r.State), r.Log.Close()))
}
