package runs

import (
	"pawl"
	"pawl/internal/journal"
	"pawl/internal/outputs"
)

// OutputDigests returns the output digest of each of the steps.
func OutputDigests(steps []pawl.StepID, state *pawl.State) map[pawl.StepID]string {
	hashes := make(map[pawl.StepID]string, len(steps))
	for _, id := range steps {
		hashes[id] = state.Steps[id].Gives()
	}
	return hashes
}

// CurrentKey returns the key of a piece of work, hashing its inputs as they are now. The key names every need and
// input.
func CurrentKey(root string, plan *pawl.Plan, w Work, needs map[pawl.StepID]string) (pawl.Key, error) {
	key := pawl.Key{Definition: pawl.DefinitionOf(plan, w.Step, w.Value), Needs: needs}
	declared := w.Paths(KeyInputs(w))
	if len(declared) == 0 {
		return key, nil
	}
	inputs, err := outputs.Hash(root, declared)
	key.Inputs = inputs
	return key, err
}

// KeyInputs returns the declared inputs that are part of the work's own key. Inputs that name the item belong to the
// item, the others to the foreach step.
func KeyInputs(w Work) []string {
	if w.Step.Foreach == nil {
		return w.Step.Inputs
	}
	var own []string
	for _, path := range w.Step.Inputs {
		if pawl.NamesItem(path) == (w.Index >= 0) {
			own = append(own, path)
		}
	}
	return own
}

// ListedValues reads an item list from the journal.
func ListedValues(log *journal.Log, items *pawl.ItemsState) ([]string, error) {
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
