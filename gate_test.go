package pawl_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pawl"
)

// TestGateIdentity: a gate's id names exactly what is asked and shown, so it changes with each part of that, and with
// nothing else.
func TestGateIdentity(t *testing.T) {
	t.Parallel()
	base := pawl.Gate{
		Step: "a", Item: "i", Type: pawl.DecisionFor, Purpose: pawl.ForStart, Budget: "usd", Ask: "which?", Options: []string{"x", "y"},
		Default: "x", Expect: "the right one", Shown: pawl.Outputs{"p": {SHA256: "ab", Size: 1}},
	}
	others := map[string]func(*pawl.Gate){
		"Step":    func(g *pawl.Gate) { g.Step = "b" },
		"Item":    func(g *pawl.Gate) { g.Item = "" },
		"Type":    func(g *pawl.Gate) { g.Type = pawl.HumanVerify },
		"Purpose": func(g *pawl.Gate) { g.Purpose = pawl.ForRepeat },
		"Budget":  func(g *pawl.Gate) { g.Budget = "time" },
		"Ask":     func(g *pawl.Gate) { g.Ask = "which ?" },
		"Options": func(g *pawl.Gate) { g.Options = []string{"y", "x"} },
		"Default": func(g *pawl.Gate) { g.Default = "y" },
		"Expect":  func(g *pawl.Gate) { g.Expect = "" },
		"Shown":   func(g *pawl.Gate) { g.Shown = pawl.Outputs{"p": {SHA256: "cd", Size: 1}} },
	}
	same := map[string]func(*pawl.Gate){
		"ID":      func(g *pawl.Gate) { g.ID = "12345678" },
		"Checks":  func(g *pawl.Gate) { g.Checks = []pawl.CheckRun{{Name: "c", Seconds: 2}} },
		"Plan":    func(g *pawl.Gate) { g.Plan = "ef" }, // Ask names it
		"Opened":  func(g *pawl.Gate) { g.Opened = time.Unix(1, 0) },
		"Expires": func(g *pawl.Gate) { g.Expires = time.Unix(1, 0) },
		"Source":  func(g *pawl.Gate) { g.Source = &pawl.Source{Offset: 1} },
	}
	ids := map[pawl.GateID]string{base.Identify(): "the base"}
	for part, change := range others {
		g := base
		change(&g)
		if twin, taken := ids[g.Identify()]; taken {
			t.Errorf("another %s has the same id as %s", part, twin)
		}
		ids[g.Identify()] = part
	}
	for part, change := range same {
		g := base
		change(&g)
		if g.Identify() != base.Identify() {
			t.Errorf("another %s changes the id", part)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[pawl.Gate]()) {
		if others[f.Name] == nil && same[f.Name] == nil {
			t.Errorf("is %s a part of what is asked? say so here", f.Name)
		}
	}
}

// TestGateIdentitySurvivesTheJournal: a gate read back has the id that it was written with.
func TestGateIdentitySurvivesTheJournal(t *testing.T) {
	t.Parallel()
	for _, g := range []pawl.Gate{
		{Ask: "?"},
		{Ask: "?", Options: []string{}, Shown: pawl.Outputs{}},
		{Ask: "?", Options: []string{"<a>"}, Shown: pawl.Outputs{"p": {}}},
	} {
		data, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		var back pawl.Gate
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if back.Identify() != g.Identify() {
			t.Errorf("%s: %s became %s", data, g.Identify(), back.Identify())
		}
	}
	if id := (pawl.Gate{Ask: "?"}).Identify(); len(id) != 8 {
		t.Errorf("id %q", id)
	}
}
