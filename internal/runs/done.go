package runs

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/outputs"
	"pawl/internal/project"
)

// TookEffect is the option of a gate about an interrupted step that marks the step as done.
const TookEffect = "it took effect"

// Done marks a step, or some of its items, as done without another attempt: a person vouches for it. The declared outputs
// must exist. The acceptance checks do not run.
func Done(id pawl.StepID, items []string, why string) Act {
	return forEach(items, func(item string) Act { return done(id, item, why) })
}

// forEach does an act for the step itself, or for each of the items, in one batch: all of it, or nothing.
func forEach(items []string, of func(item string) Act) Act {
	if len(items) == 0 {
		return of("")
	}
	return func(p *project.Project, r *Run) ([]pawl.Payload, error) {
		var all, reopened []pawl.Payload
		for i, item := range items {
			if slices.Contains(items[:i], item) {
				continue
			}
			payloads, err := of(item)(p, r)
			if err != nil {
				return nil, err
			}
			for _, payload := range payloads {
				if _, again := payload.(pawl.RunReopened); again {
					reopened = []pawl.Payload{payload}
				} else {
					all = append(all, payload)
				}
			}
		}
		return append(all, reopened...), nil
	}
}

func done(id pawl.StepID, item, why string) Act {
	return func(p *project.Project, r *Run) ([]pawl.Payload, error) {
		done, err := markDone(p, r, id, item, why)
		if err != nil {
			return nil, err
		}
		return append(withdrawGatesOf(r.State, id, item, "was marked as done"), done...), nil
	}
}

// markDone returns the events that mark a step or item as done, with the outputs as they are as evidence.
func markDone(p *project.Project, r *Run, id pawl.StepID, item, why string) ([]pawl.Payload, error) {
	w, err := idleWork(r, id, item)
	if err != nil {
		return nil, err
	}
	st := r.State.Steps[id]
	order := r.Plan.Order()
	for _, need := range order[id] {
		if !r.State.Steps[need].Finished() {
			return nil, UsageError("pawl status", "step %s needs step %s, which is not finished", id, need)
		}
	}
	key := pawl.Key{}
	if w.Index < 0 {
		key, err = CurrentKey(p.Root, r.Plan, w, OutputDigests(order, order[id], r.State))
	} else {
		key, err = CurrentKey(p.Root, r.Plan, w, nil)
	}
	if err != nil {
		return nil, UsageError("", "cannot mark %s as done: inputs: %v", w.Name(), err)
	}
	var recorded pawl.Outputs
	if declared := w.Paths(w.Step.Outputs); len(declared) > 0 {
		err := outputs.Sync(p.Root, declared)
		if err == nil {
			recorded, err = outputs.Hash(p.Root, declared)
		}
		if err != nil {
			return nil, UsageError("pawl skip "+string(id), "cannot mark %s as done: %v", w.Name(), err)
		}
	}
	adopted := "marked as done by a person: " + cmp.Or(why, "no reason given")
	if w.Index < 0 {
		done := pawl.StepDone{Step: id, Key: key.Compact(), Outputs: recorded, Accept: pawl.AcceptOf(w.Step), Summary: why, Undo: w.Step.Undo, Review: w.Step.Review, Adopted: adopted}
		return reopening(r.State, done, "step "+string(id)+" was marked as done"), nil
	}
	ref := pawl.AttemptRef{Step: id, Item: w.Item(), Index: w.Index}
	if t := st.Items.Retries[w.Index]; t != nil {
		ref.Attempt = t.Attempt
	}
	done := pawl.ItemDone{AttemptRef: ref, Key: key.Compact(), Outputs: recorded, Accept: pawl.AcceptOf(w.Step), Summary: why, Adopted: adopted}
	return reopening(r.State, done, w.Name()+" was marked as done"), nil
}

// idleWork returns a step, or an item of it, that is neither finished nor running.
func idleWork(r *Run, id pawl.StepID, item string) (Work, error) {
	if err := CheckStep(r, id); err != nil {
		return Work{}, err
	}
	step := r.Plan.Step(id)
	switch {
	case step.Gate != nil:
		return Work{}, UsageError("pawl gates", "step %s is a gate; answer it", id)
	case step.Foreach != nil && item == "":
		return Work{}, UsageError("pawl why --items", "step %s is a foreach step; name the item with --item", id)
	}
	w := Work{Step: step, Index: -1}
	st := r.State.Steps[id]
	if item != "" {
		index, value, err := findItem(r, id, item)
		if err != nil {
			return Work{}, err
		}
		w.Index, w.Value = index, value
	}
	w.Vars = PathVars(r.State.Origin(), w)
	for _, live := range st.Live() {
		if w.Index < 0 || live.Index == w.Index {
			return Work{}, &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("%s is unfinished: it is running, or pawl resume has to judge it first", live.Name()), Hint: "pawl resume"}
		}
	}
	if st.Finished() && !st.Tolerated() || st != nil && st.Status == pawl.AwaitsReview || r.State.Ended() && r.Plan.HandlesEnd(id) {
		return Work{}, UsageError("pawl status", "step %s is already finished", id)
	}
	return w, nil
}

// findItem returns the index and value of an unfinished item, which its value or id names.
func findItem(r *Run, id pawl.StepID, item string) (int, string, error) {
	st := r.State.Steps[id]
	if st == nil || st.Items == nil {
		return 0, "", UsageError("pawl resume", "step %s has no items yet", id)
	}
	values, err := ListedValues(r.Log, st.Items)
	if err != nil {
		return 0, "", err
	}
	index := slices.IndexFunc(values, func(v string) bool { return v == item || string(pawl.ItemIDOf(v)) == item })
	if index < 0 {
		return 0, "", UsageError("pawl why --items", "step %s has no item %q", id, item)
	}
	_, skipped := st.Items.Skipped[index]
	if skipped || st.Items.Done.At(index) != 0 {
		return 0, "", UsageError("pawl status", "item %q of step %s is already finished", item, id)
	}
	return index, values[index], nil
}

// skipItem leaves out an item of a foreach step.
func skipItem(id pawl.StepID, item, why string) Act {
	return func(_ *project.Project, r *Run) ([]pawl.Payload, error) {
		w, err := idleWork(r, id, item)
		if err != nil {
			return nil, err
		}
		skipped := pawl.ItemsSkipped{Step: id, Items: []int{w.Index}, Why: cmp.Or(why, "skipped by a person")}
		return append(withdrawGatesOf(r.State, id, item, "was skipped"), reopening(r.State, skipped, w.Name()+" was skipped")...), nil
	}
}

// withdrawGatesOf returns the events that withdraw the open gates of a step, or only those of an item of it.
func withdrawGatesOf(s *pawl.State, id pawl.StepID, item, why string) (payloads []pawl.Payload) {
	for _, g := range s.OpenGates() {
		if g.Step == id && (item == "" || g.Item == pawl.ItemIDOf(item) || string(g.Item) == item) {
			payloads = append(payloads, pawl.GateWithdrawn{Gate: g.ID, Why: "step " + string(id) + " " + why})
		}
	}
	return payloads
}

// WithdrawGates returns the events that withdraw a step's open gates.
func WithdrawGates(s *pawl.State, id pawl.StepID, why string) []pawl.Payload {
	return withdrawGatesOf(s, id, "", why)
}
