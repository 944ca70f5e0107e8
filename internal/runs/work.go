package runs

import (
	"maps"
	"path"

	"pawl"
)

// Work is a step or one of its items.
type Work struct {
	Step  *pawl.Step
	Index int    // -1 for the step itself
	Value string // the item's value
	Vars  map[string]string
}

// Name returns "step" or "step/item".
func (w Work) Name() string {
	return pawl.AttemptRef{Step: w.Step.ID, Item: w.Item()}.Name()
}

func (w Work) Item() pawl.ItemID {
	if w.Index < 0 {
		return ""
	}
	return pawl.ItemIDOf(w.Value)
}

// Paths returns declared paths with their variables expanded.
func (w Work) Paths(declared []string) []string {
	paths := make([]string, len(declared))
	for i, p := range declared {
		paths[i] = pawl.Expand(p, w.Vars)
	}
	return paths
}

// PathVars returns the variables that declared paths may use. run is the origin of a line of forks, so that a forked
// run finds earlier outputs.
func PathVars(run pawl.RunID, w Work) map[string]string {
	vars := map[string]string{
		"PAWL_RUN": string(run), "PAWL_STEP": string(w.Step.ID), "PAWL_OUT": path.Join("artifacts", string(run), string(w.Step.ID)),
	}
	if w.Index >= 0 {
		vars["PAWL_ITEM"], vars["PAWL_ITEM_ID"] = w.Value, string(w.Item())
		if w.Step.Foreach.HasMatrix() {
			maps.Copy(vars, pawl.ParseCombination(w.Value).Vars())
		}
	}
	return vars
}
