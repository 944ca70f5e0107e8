package runs

import (
	"maps"
	"strings"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/outputs"
)

// OutputDigests returns the output digest of each of the steps. That of a skipped or failed step is one of what its sources give. order has
// the needs of all steps.
func OutputDigests(order map[pawl.StepID][]pawl.StepID, steps []pawl.StepID, state *pawl.State) map[pawl.StepID]string {
	hashes := make(map[pawl.StepID]string, len(steps))
	for _, id := range steps {
		hashes[id] = state.Steps[id].Gives()
		if sources := Sources(order, id, state); PassesOn(state.Steps[id]) && len(sources) > 0 {
			hashes[id] = passedOn(sources, state)
		}
	}
	return hashes
}

// passedOn returns the digest of what sources give, which is not known before all of them are finished or serve.
func passedOn(sources []pawl.StepID, state *pawl.State) string {
	given := pawl.Key{Needs: make(map[pawl.StepID]string, len(sources))}
	for _, source := range sources {
		if st := state.Steps[source]; !st.Finished() && st.Serving() == nil {
			return pawl.UnknownOutput
		}
		given.Needs[source] = state.Steps[source].Gives()
	}
	return pawl.PassedOn + given.Hash()
}

// Sources returns the steps whose outputs a step sees that needs this one: this one, or, if it was skipped or failed, the sources
// of what it needs.
func Sources(order map[pawl.StepID][]pawl.StepID, id pawl.StepID, state *pawl.State) (sources []pawl.StepID) {
	seen := map[pawl.StepID]bool{}
	var add func(pawl.StepID)
	add = func(id pawl.StepID) {
		switch {
		case seen[id]:
		case !PassesOn(state.Steps[id]):
			seen[id] = true
			sources = append(sources, id)
		default:
			seen[id] = true
			for _, need := range order[id] {
				add(need)
			}
		}
	}
	add(id)
	return sources
}

// PassesOn reports whether a step gives nothing of its own to those that need it: it was skipped, it failed, or it is a service that no step
// needed.
func PassesOn(st *pawl.StepState) bool {
	switch {
	case st == nil:
		return false
	case st.Status == pawl.Done:
		return st.Key.Definition == "" && st.Digest == "" && len(st.Outputs) == 0
	}
	return st.Status == pawl.Skipped || st.Status == pawl.FailedForGood
}

// CompactLike returns a key in the form in which another one was recorded: compact, and without what skipped and failed steps passed on, if
// an older version recorded it.
func CompactLike(was, now pawl.Key) pawl.Key {
	older := pawl.Key{Needs: maps.Clone(now.Needs)}
	for id, gives := range older.Needs {
		if strings.HasPrefix(gives, pawl.PassedOn) {
			older.Needs[id] = ""
		}
	}
	now = now.Compact()
	if all := older.Compact().Needs[pawl.AllEntries]; all != "" && all == was.Needs[pawl.AllEntries] {
		now.Needs = was.Needs
	}
	return now
}

// ItemsDigest is what a foreach step gives: the outputs of its items. Where no item has outputs, the keys stand in for them.
type ItemsDigest struct {
	outputs, keys pawl.Outputs
	given         bool // an item has outputs
}

// NewItemsDigest returns the digest of a foreach step without items. key is what its items share.
func NewItemsDigest(key pawl.Key) *ItemsDigest {
	return &ItemsDigest{outputs: pawl.Outputs{}, keys: pawl.Outputs{"": {SHA256: key.Hash()}}}
}

// Add adds a finished item.
func (d *ItemsDigest) Add(id pawl.ItemID, outputs pawl.Outputs, key pawl.Key) {
	d.outputs[string(id)], d.keys[string(id)] = pawl.Content{SHA256: outputs.Hash()}, pawl.Content{SHA256: key.Hash()}
	d.given = d.given || len(outputs) > 0
}

// Hash returns the digest as 64 hex digits.
func (d *ItemsDigest) Hash() string {
	if d.given {
		return d.outputs.Hash()
	}
	return d.keys.Hash()
}

// CurrentKey returns the key of a piece of work, hashing its inputs as they are now. The key names every need and
// input.
func CurrentKey(root string, plan *pawl.Plan, w Work, needs map[pawl.StepID]string) (pawl.Key, error) {
	key := pawl.Key{Definition: pawl.DefinitionOf(plan, w.Step, w.Value), Needs: needs}
	declared := w.Paths(KeyInputs(w))
	code := w.Step.Kernel != nil && w.Step.Kernel.File != ""
	if len(declared) == 0 && !code {
		return key, nil
	}
	inputs, err := outputs.Hash(root, declared)
	if err == nil && code {
		inputs, err = withCells(root, w.Step, inputs)
	}
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
