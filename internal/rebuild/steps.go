package rebuild

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
)

// unitKey is what a unit depends on: the key that it has now, and whether the attempt provably had the same.
type unitKey struct {
	key    pawl.Key
	proven bool
}

// step says of a step, and of its items, what can be said.
func (r *rebuilder) step(id pawl.StepID) {
	units := r.units[id]
	if len(units) == 0 {
		return
	}
	u := units[0]
	shared := r.sharedKey(u)
	if u.Step.Foreach != nil {
		r.items(u, units[1:], shared)
	} else {
		k := r.proven(u, shared, shared.Hash())
		r.emitFinding(u, k, r.assess(u, k))
	}
	known := false
	r.outputDigest[id], known = r.outputDigestOf(u, units[1:], shared)
	if !known {
		r.unsure[id] = true
	}
}

// unsureNeed returns a step that the unit's step needs, and of which is not known what it gave; empty: there is none.
func (r *rebuilder) unsureNeed(u Unit) pawl.StepID {
	for _, need := range r.order[u.Step.ID] {
		if r.unsure[need] {
			return need
		}
	}
	return ""
}

// sharedKey returns the key that the step has now; of a foreach step, what all its items share.
func (r *rebuilder) sharedKey(u Unit) pawl.Key {
	key := pawl.Key{Definition: pawl.DefinitionOf(r.Plan, u.Step, ""), Inputs: r.recordedInputs(u)}
	if needs := r.order[u.Step.ID]; len(needs) > 0 {
		key.Needs = map[pawl.StepID]string{}
		for _, need := range needs {
			key.Needs[need] = r.outputDigest[need]
		}
	}
	return key.Compact()
}

// recordedInputs returns a unit's inputs, those that steps before it put out as they were put out: what was changed since
// is no other input.
func (r *rebuilder) recordedInputs(u Unit) pawl.Outputs {
	inputs := maps.Clone(u.Inputs)
	for path := range inputs {
		for _, need := range r.order[u.Step.ID] {
			if st := r.state.Steps[need]; st != nil {
				if c, ours := st.Outputs[path]; ours {
					inputs[path] = c
				}
			}
		}
	}
	return inputs
}

// proven compares a key with the one that the unit's newest attempt was given as PAWL_KEY, or with what the journal
// says of the attempt.
func (r *rebuilder) proven(u Unit, key pawl.Key, given string) unitKey {
	k := unitKey{key: key}
	rec := u.newest()
	if rec == nil {
		return k
	}
	if live := r.liveAttempt(u); live != nil && live.Token == rec.token() {
		return unitKey{key: live.Key, proven: true}
	}
	if rec.Job == nil {
		return k
	}
	for _, v := range rec.Job.Env {
		if was, ok := strings.CutPrefix(v, "PAWL_KEY="); ok {
			k.proven = was == given
		}
	}
	if !k.proven { // what it had is not known, so that it can be no proof later that nothing changed
		k.key = pawl.Key{Definition: key.Definition}
	}
	return k
}

func (r *rebuilder) liveAttempt(u Unit) *pawl.AttemptState {
	for _, live := range r.state.Steps[u.Step.ID].Live() {
		if live.Item == u.Item {
			return live
		}
	}
	return nil
}

// outputDigestOf returns what a step gives to those that need it if what is there is what it made; known says whether all of
// that is there, or was written down.
func (r *rebuilder) outputDigestOf(u Unit, items []Unit, shared pawl.Key) (hash string, known bool) {
	st := r.state.Steps[u.Step.ID]
	whole := func(u Unit) bool { return len(u.Step.Outputs) == 0 || len(u.Missing) == 0 }
	switch {
	case st.Finished() || st != nil && st.Status == pawl.AwaitsReview:
		return st.Gives(), true
	case u.Step.Foreach != nil:
		return digest(items, nil), len(items) > 0 && !slices.ContainsFunc(items, func(i Unit) bool { return !whole(i) })
	case len(u.Step.Outputs) == 0:
		return shared.Hash(), true
	case whole(u):
		return u.Outputs.Hash(), true
	}
	written := r.Summaries[u.Step.ID].Outputs
	return written.Hash(), len(written) > 0
}

// digest returns the hash over all items' outputs, as a finished foreach step has it.
func digest(items []Unit, recorded map[int]pawl.Outputs) string {
	all := pawl.Outputs{}
	for _, u := range items {
		outputs, journaled := recorded[u.Index]
		if !journaled {
			outputs = u.Outputs
		}
		all[string(u.Item)] = pawl.Content{SHA256: outputs.Hash()}
	}
	return all.Hash()
}

// emitFinding says the events that stand for what was found of a unit.
func (r *rebuilder) emitFinding(u Unit, k unitKey, f finding) {
	taken := f
	if f.status == PartInDoubt && f.claim != "" && f.claim != PartNotDone && r.believes(f.confidence) {
		taken.status = f.claim
	}
	if !f.kept {
		r.emitUnit(u, k, taken)
	}
	what := "step"
	if u.Index >= 0 {
		what = "item"
	}
	p := Part{What: what, Step: u.Step.ID, Item: u.Item, Status: taken.status, Confidence: f.confidence, Evidence: f.evidence}
	if p.Status == PartInDoubt {
		p.Claim = f.claim
	}
	r.part(p)
}

func (r *rebuilder) emitUnit(u Unit, k unitKey, f finding) {
	if r.journaledFinished(u) {
		again := pawl.StepReopened{Step: u.Step.ID, Why: clip(strings.Join(f.evidence, "; "), maxReason)}
		if u.Index >= 0 {
			again.Items = []int{u.Index}
		}
		r.reopen(again)
	}
	switch f.status {
	case PartSkipped:
		r.emit(r.now, pawl.StepSkipped{Step: u.Step.ID, Why: "rebuilt: " + clip(strings.Join(f.evidence, "; "), maxReason)})
	case PartDone:
		r.emitDone(u, k, f)
	case PartRunning, PartNotDone, PartInDoubt:
		r.emitUndone(u, k, f)
	}
}

// reopen takes back that a step or an item is finished. A step can be reopened only while nothing of it runs: other items
// that may be at work are taken out of the books for that moment.
func (r *rebuilder) reopen(again pawl.StepReopened) {
	live := r.state.Steps[again.Step].Live()
	for _, other := range live {
		r.emit(r.now, pawl.AttemptEnded{AttemptRef: other.AttemptRef, Outcome: pawl.Lost, Why: "its step is reopened; it is taken up again below"})
	}
	if len(live) > 0 {
		r.emit(r.now, pawl.StepReopened{Step: again.Step, Keep: true, Why: again.Why})
	}
	r.emit(r.now, again)
	for _, other := range live {
		r.emit(other.Started, pawl.AttemptStarted{AttemptRef: other.AttemptRef, Key: other.Key})
	}
}

// maxReason is how long a reason may be.
const maxReason = 1000

// emitDone says that a unit is finished, by the attempt that finished it.
func (r *rebuilder) emitDone(u Unit, k unitKey, f finding) {
	rec := f.rec
	ref := r.emitStart(u, k, rec)
	_, ended := r.times(u, rec)
	why := "rebuilt: " + clip(strings.Join(f.evidence, "; "), maxReason)
	summary, usage := "", pawl.Usage{}
	if u.Index < 0 {
		summary = r.Summaries[u.Step.ID].Text
	}
	var stats *pawl.AttemptStats
	if rec != nil && rec.Result != nil {
		summary, usage = rec.Result.Summary, rec.Result.Usage
	}
	if rec != nil && rec.Exit != nil {
		stats = &pawl.AttemptStats{Seconds: rec.Exit.Seconds, CPUSeconds: rec.Exit.CPUSeconds, OutputBytes: rec.Exit.OutputBytes}
	}
	if u.Index >= 0 {
		r.emit(ended, pawl.ItemDone{
			AttemptRef: ref, Key: k.key, Outputs: u.Outputs, Accept: pawl.AcceptOf(u.Step), Summary: summary, Usage: usage, Adopted: why, Stats: stats,
		})
		return
	}
	r.emit(ended, pawl.StepDone{
		Step: ref.Step, Attempt: ref.Attempt, Token: ref.Token, Key: k.key, Outputs: u.Outputs, Accept: pawl.AcceptOf(u.Step),
		Summary: summary, Usage: usage, Undo: u.Step.Undo, Adopted: why, Review: u.Step.Review, Stats: stats,
	})
}

// emitStart says that the attempt was started of which the records are, and how the one ended that the journal knew before.
// Without any record it is an attempt by name only. A gate step that is only asked has none.
func (r *rebuilder) emitStart(u Unit, k unitKey, rec *AttemptRecord) pawl.AttemptRef {
	if u.Step.Gate != nil {
		return pawl.AttemptRef{Step: u.Step.ID}
	}
	if rec == nil || rec.token() == "" {
		rec = &AttemptRecord{Attempt: r.lostAttemptNumber(u), Begun: &pawl.Begun{}}
		rec.Begun.Token = rebuiltToken(r.Run, u, rec.Attempt)
	}
	ref := u.ref(rec)
	if live := r.liveAttempt(u); live != nil {
		if live.Token == ref.Token {
			return live.AttemptRef
		}
		r.emit(r.now, pawl.AttemptEnded{AttemptRef: live.AttemptRef, Outcome: pawl.Lost, Why: "how it ended stood in the part of the journal that is lost"})
	}
	began, _ := r.times(u, rec)
	r.emit(began, pawl.AttemptStarted{AttemptRef: ref, Key: k.key})
	return ref
}

// lostAttemptNumber returns the number of an attempt of which nothing is left: that of the last one that anybody knows of, and
// above those that the journal has.
func (r *rebuilder) lostAttemptNumber(u Unit) int {
	n := max(1, r.newerElsewhere(u))
	if rec := u.newest(); rec != nil {
		n = max(n, rec.Attempt)
	}
	if u.Index < 0 {
		n = max(n, r.Summaries[u.Step.ID].Attempts)
		if r.State != nil {
			n = max(n, r.State.Steps[u.Step.ID].Attempts)
		}
	}
	return max(n, r.lastAttempt(u)+1)
}

// emitUndone says what resume needs to go on with a unit: an attempt whose folder tells how it stands is left for it to
// judge; one that may have finished its work, and is not believed, counts as lost, so that nothing runs twice unasked
// that must not.
func (r *rebuilder) emitUndone(u Unit, k unitKey, f finding) {
	rec := f.rec
	doubted := f.status == PartInDoubt && f.claim != PartNotDone
	if u.Step.Gate != nil || rec == nil && !doubted {
		return
	}
	ref := r.emitStart(u, k, rec)
	if !doubted {
		return
	}
	_, ended := r.times(u, rec)
	r.emit(ended, pawl.AttemptEnded{
		AttemptRef: ref, Outcome: pawl.Lost, Why: "in doubt after the journal was rebuilt: " + clip(strings.Join(f.evidence, "; "), maxReason),
	})
}

// items takes up a step's work list, as far as the journal has not, and says of each item what can be said. When all are
// done, so is the step.
func (r *rebuilder) items(u Unit, items []Unit, shared pawl.Key) {
	if r.journaledFinished(u) && r.leaveFinished(u, items, shared) {
		return
	}
	given := func(item Unit) (pawl.Key, string) {
		key := pawl.Key{Definition: pawl.DefinitionOf(r.Plan, u.Step, item.Value), Inputs: r.recordedInputs(item)}.Compact()
		full := key
		full.Needs = map[pawl.StepID]string{u.Step.ID: r.listKey(u, shared).Hash()}
		return key, full.Hash()
	}
	if len(items) == 0 {
		why := cmp.Or(r.ListFaults[u.Step.ID], "its work list is empty")
		r.part(Part{What: "step", Step: u.Step.ID, Status: PartNotDone, Confidence: Likely, Evidence: []string{why}})
		return
	}
	heard := r.indirectEvidence(u)
	if heard.claim == PartSkipped && r.believes(heard.confidence) && !r.journaledFinished(u) {
		r.emitFinding(u, unitKey{key: shared}, heard)
		return
	}
	heardOf := func(i Unit) bool { return i.newest() != nil || r.indirectEvidence(i).status != PartNotDone }
	if heard.status == PartNotDone && r.state.Steps[u.Step.ID] == nil && !slices.ContainsFunc(items, heardOf) {
		r.part(Part{What: "step", Step: u.Step.ID, Status: PartNotDone, Confidence: heard.confidence, Evidence: heard.evidence})
		return
	}
	r.list(u, items, shared)
	done, sure := 0, Certain
	for _, item := range items {
		key, full := given(item)
		k := r.proven(item, key, full)
		f := r.assess(item, k)
		r.emitFinding(item, k, f)
		if r.journaledFinished(item) {
			done++
		}
		if f.confidence != Certain {
			sure = Likely
		}
	}
	r.finishItems(u, items, shared, done, sure)
}

// leaveFinished says what becomes of a foreach step that the journal calls finished: it stays so, unless there are later
// attempts at its items, or a view says that it was reopened. It is false where its items are to be looked at.
func (r *rebuilder) leaveFinished(u Unit, items []Unit, shared pawl.Key) bool {
	f := r.journaled(u)
	if slices.ContainsFunc(items, r.unknownAttempt) {
		r.reopen(pawl.StepReopened{Step: u.Step.ID, Keep: true, Why: "attempts were made behind what is left of the journal"})
		return false
	}
	r.emitFinding(u, unitKey{key: shared}, f)
	return f.kept
}

// listKey returns what a step's items share, as the journal has it or as it is now.
func (r *rebuilder) listKey(u Unit, shared pawl.Key) pawl.Key {
	if st := r.state.Steps[u.Step.ID]; st != nil && st.Items != nil {
		return st.Key
	}
	return shared
}

// maxListed is how many bytes of values one step.listed event carries at most, well below a journal line.
const maxListed = 16 << 10

// list takes up the values that the journal does not have.
func (r *rebuilder) list(u Unit, items []Unit, shared pawl.Key) {
	from := 0
	if st := r.state.Steps[u.Step.ID]; st != nil && st.Items != nil {
		from = st.Items.Total
		shared = st.Key
	}
	listedBefore := from > 0
	for from < len(items) || !listedBefore {
		var values []string
		for size := 0; from+len(values) < len(items) && size < maxListed; {
			v := items[from+len(values)].Value
			values, size = append(values, v), size+6*len(v)+3
		}
		r.emit(r.now, pawl.StepListed{Step: u.Step.ID, Key: shared, From: from, Items: values})
		from, listedBefore = from+len(values), true
	}
}

// finishItems says that a foreach step is done whose items all are.
func (r *rebuilder) finishItems(u Unit, items []Unit, shared pawl.Key, done int, sure Confidence) {
	p := Part{What: "step", Step: u.Step.ID, Status: PartNotDone, Confidence: sure, Evidence: []string{fmt.Sprintf("%d of %d items are done", done, len(items))}}
	st := r.state.Steps[u.Step.ID]
	if done == len(items) && !r.journaledFinished(u) {
		p.Status = PartDone
		r.emit(r.now, pawl.StepDone{
			Step: u.Step.ID, Key: r.listKey(u, shared), Digest: digest(items, r.recordedItems(u.Step.ID)), Accept: pawl.AcceptOf(u.Step),
			Summary: fmt.Sprintf("%d items", len(items)), Undo: u.Step.Undo, Review: u.Step.Review, Adopted: "rebuilt: all its items are done",
		})
	} else if st.Finished() {
		p.Status = PartDone
	}
	r.part(p)
}

// recordedItems returns the outputs of finished items as their events have them.
func (r *rebuilder) recordedItems(id pawl.StepID) map[int]pawl.Outputs {
	found := map[int]pawl.Outputs{}
	for _, event := range slices.Concat(r.Journal, r.events) {
		if event.Type != (pawl.ItemDone{}).Event() {
			continue
		}
		if payload, err := event.Payload(); err == nil {
			if p := payload.(pawl.ItemDone); p.Step == id {
				found[p.Index] = p.Outputs
			}
		}
	}
	return found
}

// WorkList returns a step's work list: what the journal has of it, what it would be now, and what attempts were made of
// that stands in neither.
func WorkList(journaled, now []string, tried []string) []string {
	list := slices.Clone(journaled)
	have := map[string]bool{}
	for _, v := range list {
		have[v] = true
	}
	for _, v := range slices.Concat(now, tried) {
		if !have[v] {
			have[v] = true
			list = append(list, v)
		}
	}
	return list
}
