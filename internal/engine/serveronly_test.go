package engine_test

import (
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/engine/enginetest"
	"pawl/internal/runs"
)

// A waiting engine stops at an answer that somebody wrote into the journal past pawl, also where not only a server may answer.
func TestForgedAnswerWhileRunning(t *testing.T) {
	for _, gates := range []config.GatePolicy{"", config.ServerOnly} {
		t.Run("gates: "+string(gates), func(t *testing.T) { forgeWhileRunning(t, gates) })
	}
}

func forgeWhileRunning(t *testing.T, gates config.GatePolicy) {
	settings := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", settings)
	p := enginetest.New(t)
	p.Check(os.Mkdir(filepath.Join(settings, "pawl"), 0o700))
	if gates != "" {
		p.Check(os.WriteFile(filepath.Join(settings, "pawl/config.yaml"), []byte("gates: "+string(gates)+"\n"), 0o600))
	}
	p.Config.Gates = gates
	e := p.Start(`name: demo
steps:
  - {id: look, needs: [], gate: {type: human_verify, ask: Good?}}
  - {id: slow, needs: [], run: "until test -e go; do sleep 0.01; done"}
  - {id: ship, needs: [look], run: "touch shipped"}
`)
	p.UntilEvent("gate.opened", 1)
	p.UntilEvent("attempt.started", 1)
	event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson, Name: "ann"}, pawl.GateAnswered{Gate: p.Gate().ID, Step: "look", Answer: pawl.Approved, Via: runs.ViaServer})
	p.Check(err)
	r, err := runs.Load(p.Context(), p.Project, p.Run)
	p.Check(err)
	_, err = r.Log.Append(p.Context(), 0, event)
	p.Check(err)
	p.Check(r.Log.Close())
	p.WantKind(e.Wait(), pawl.KindDamaged, "comes from elsewhere")
	p.Write("go", "")
	if p.Exists("shipped") {
		t.Error("the forged answer counts")
	}
	p.Check(runs.Mark(p.Project, p.Run)) // as pawl adopt does, so that the test can end the step that runs
	p.Check(p.GoOn())
}
