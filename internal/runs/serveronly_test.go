package runs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/engine/enginetest"
	"pawl/internal/runs"
)

const gatedPlan = `name: demo
steps:
  - {id: look, needs: [], gate: {type: human_verify, ask: Good?}}
  - {id: make, needs: [], run: "false", retry: {attempts: 1}, review: {ann: 50}}
  - {id: ship, needs: [look], run: 'true'}
`

// serverOnly sets `gates: server-only` in the settings of this process.
func serverOnly(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	err := errors.Join(os.Mkdir(filepath.Join(folder, "pawl"), 0o700), os.WriteFile(filepath.Join(folder, "pawl/config.yaml"), []byte("gates: server-only\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", folder)
}

// TestServerOnly has somebody other than a client of a server vouch for work in each way.
func TestServerOnly(t *testing.T) {
	serverOnly(t)
	p := enginetest.New(t)
	_ = p.Do(gatedPlan)
	gate := p.Gate().ID
	person := pawl.Author{Kind: pawl.ByPerson, Name: "ann"}
	for name, act := range map[string]runs.Act{
		"approve": runs.Approve(gate, ""), "reject": runs.Reject(gate, "no", false), "stop": runs.Reject(gate, "no", true),
		"skip a gate": runs.Skip("look", nil, ""), "done": runs.Done("make", nil, ""),
	} {
		p.WantKind(p.Try(act), pawl.KindDamaged, "only a server")
		_, err := runs.Perform(runs.ByClient(p.Context(), false), p.Project, p.Run, person, act)
		p.WantKind(err, pawl.KindDamaged, "requires the right approve")
		if open := p.State().OpenGates(); len(open) != 1 {
			t.Fatalf("%s: %d open gates", name, len(open))
		}
	}
	table := pawl.Author{Kind: pawl.ByTable}
	_, err := runs.Perform(p.Context(), p.Project, p.Run, table, runs.Approve(gate, ""))
	p.WantKind(err, pawl.KindDamaged, "only a server")
	p.Check(p.Try(runs.Skip("make", nil, "")))
	r, err := runs.Perform(runs.ByClient(p.Context(), true), p.Project, p.Run, person, runs.Reply(pawl.GateAnswered{Gate: gate, Answer: pawl.Approved, Via: runs.ViaServer}))
	p.Check(err)
	p.Check(r.Log.Close())
	p.Check(p.GoOn())
}

// TestAnswerPastServer writes answers into a journal past pawl's own check. What pawl announced, but no server gave, counts no more than what
// nobody announced.
func TestAnswerPastServer(t *testing.T) {
	serverOnly(t)
	for name, c := range map[string]struct {
		answer    pawl.GateAnswered
		announced bool
		reason    string
	}{
		"forged":           {pawl.GateAnswered{Answer: pawl.Approved}, false, "your pawl did not write"},
		"forged as server": {pawl.GateAnswered{Answer: pawl.Approved, Via: runs.ViaServer}, false, "your pawl did not write"},
		"forged as mode":   {pawl.GateAnswered{Answer: pawl.Approved, Auto: true}, false, "your pawl did not write"},
		"command line":     {pawl.GateAnswered{Answer: pawl.Approved}, true, "no server gave"},
		"choice by MCP":    {pawl.GateAnswered{Answer: pawl.Chosen, Option: "x", Via: "mcp client x"}, true, "no server gave"},
		"rejection":        {pawl.GateAnswered{Answer: pawl.Rejected}, true, ""},
		"server":           {pawl.GateAnswered{Answer: pawl.Approved, Via: runs.ViaServer}, true, ""},
		"mode":             {pawl.GateAnswered{Answer: pawl.Approved, Auto: true}, true, ""},
	} {
		for _, marked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, marked: %t", name, marked), func(t *testing.T) {
				p := enginetest.New(t)
				_ = p.Do(gatedPlan)
				c.answer.Gate = p.Gate().ID
				if marked {
					p.Check(runs.Mark(p.Project, p.Run))
				}
				appendAnswer(p, c.answer, c.announced)
				reason, err := runs.Elsewhere(p.Project, p.Run)
				if err != nil || !strings.Contains(reason, c.reason) || (reason == "") != (c.reason == "") {
					t.Errorf("reason %q, %v; want %q", reason, err, c.reason)
				}
			})
		}
	}
}

// appendAnswer appends an answer to the journal without an act.
func appendAnswer(p *enginetest.Project, answer pawl.GateAnswered, announced bool) {
	p.Helper()
	event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson, Name: "ann"}, answer)
	p.Check(err)
	r, err := runs.Load(p.Context(), p.Project, p.Run)
	p.Check(err)
	defer r.Log.Close()
	write := func() error {
		_, err := r.Log.Append(p.Context(), 0, event)
		return err
	}
	if announced {
		p.Check(runs.Announce(p.Project, p.Run, []pawl.Event{event}, write))
		return
	}
	p.Check(write())
}
