package engine

import (
	"path"
	"pawl"
)

// work is a step, or one item of it, with what an attempt at it needs to know.
type work struct {
	step  *pawl.Step
	index int    // -1: the step itself
	value string // the item's
	vars  map[string]string
}

// name returns "step" or "step/item".
func (w work) name() string {
	return pawl.AttemptRef{Step: w.step.ID, Item: w.item()}.Name()
}

func (w work) item() pawl.ItemID {
	if w.index < 0 {
		return ""
	}
	return pawl.ItemIDOf(w.value)
}

// paths returns declared paths with their variables replaced.
func (w work) paths(declared []string) []string {
	paths := make([]string, len(declared))
	for i, p := range declared {
		paths[i] = pawl.Expand(p, w.vars)
	}
	return paths
}

// pathVars returns the variables that declared paths may use. run is where a line of forks began, so that a forked run
// finds what was made before it.
func pathVars(run pawl.RunID, w work) map[string]string {
	vars := map[string]string{
		"PAWL_RUN": string(run), "PAWL_STEP": string(w.step.ID), "PAWL_OUT": path.Join("artifacts", string(run), string(w.step.ID)),
	}
	if w.index >= 0 {
		vars["PAWL_ITEM"], vars["PAWL_ITEM_ID"] = w.value, string(w.item())
	}
	return vars
}
