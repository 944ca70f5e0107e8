package decide

import (
	"testing"

	"pawl"
)

func TestOnlyDone(t *testing.T) {
	t.Parallel()
	done, item, started := pawl.Event{Type: pawl.StepDone{}.Event()}, pawl.Event{Type: pawl.ItemDone{}.Event()}, pawl.Event{Type: pawl.AttemptStarted{}.Event()}
	if !OnlyDone([]pawl.Event{done, item}) || OnlyDone(nil) || OnlyDone([]pawl.Event{done, started}) {
		t.Error("want only ends of steps and items")
	}
}

// Whatever needs a person, another machine, a checkpoint or the content of files does not wait for the sync of another attempt's end.
func TestOnlyScripts(t *testing.T) {
	t.Parallel()
	script := Action{Kind: Start, Step: &pawl.Step{Run: "true"}}
	for name, other := range map[string]Action{
		"another kind": {Kind: Complete},
		"a gate":       {Kind: Start, Step: &pawl.Step{Gate: &pawl.GateAction{}}},
		"an agent":     {Kind: Start, Step: &pawl.Step{Agent: &pawl.AgentAction{}}},
		"inputs":       {Kind: Start, Step: &pawl.Step{Run: "true", Inputs: []string{"a"}}},
		"a service":    {Kind: Start, Step: &pawl.Step{Run: "true", Service: &pawl.Service{}}},
		"a queue":      {Kind: Start, Step: &pawl.Step{Run: "true", On: pawl.On{Queue: "gpu"}}},
	} {
		if OnlyScripts([]Action{script, other}) {
			t.Errorf("%s counts as a script", name)
		}
	}
	if !OnlyScripts([]Action{script, script}) || OnlyScripts(nil) {
		t.Error("scripts do not count")
	}
}
