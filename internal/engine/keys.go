package engine

import (
	"strings"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/outputs"
)

// given returns, for each of the steps, the hash of what it gives.
func given(steps []pawl.StepID, state *pawl.State) map[pawl.StepID]string {
	hashes := make(map[pawl.StepID]string, len(steps))
	for _, id := range steps {
		hashes[id] = state.Steps[id].Gives()
	}
	return hashes
}

// keyNow returns the key of a piece of work, reading its inputs as they are, with every need and input named.
func keyNow(root string, plan *pawl.Plan, w work, needs map[pawl.StepID]string) (pawl.Key, error) {
	key := pawl.Key{Definition: pawl.DefinitionOf(plan, w.step, w.value), Needs: needs}
	declared := w.paths(keyInputs(w))
	if len(declared) == 0 {
		return key, nil
	}
	inputs, err := outputs.Hash(root, declared)
	key.Inputs = inputs
	return key, err
}

// keyInputs returns the declared inputs that belong to the work's own key: an item's are those that name the item,
// a foreach step's are the others.
func keyInputs(w work) []string {
	if w.step.Foreach == nil {
		return w.step.Inputs
	}
	var own []string
	for _, path := range w.step.Inputs {
		if namesItem(path) == (w.index >= 0) {
			own = append(own, path)
		}
	}
	return own
}

// namesItem reports whether a declared path differs from item to item.
func namesItem(path string) bool {
	return strings.Contains(path, "$PAWL_ITEM") || strings.Contains(path, "${PAWL_ITEM")
}

// listedValues reads a work list from the journal.
func listedValues(log *journal.Log, items *pawl.ItemsState) ([]string, error) {
	values := make([]string, 0, items.Total)
	for _, seq := range items.Lists {
		event, err := log.Event(seq)
		if err != nil {
			return nil, err
		}
		payload, err := event.Payload()
		if err != nil {
			return nil, err
		}
		if listed, ok := payload.(pawl.StepListed); ok {
			values = append(values, listed.Items...)
		}
	}
	return values, nil
}
