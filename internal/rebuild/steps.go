package rebuild

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/runs"
)

// unitKey is a unit's current key, and whether the attempt provably had the same one.
type unitKey struct {
	key    pawl.Key
	proven bool
}

// step rebuilds a step and its items.
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

// unsureNeed returns a need of the step with an unknown output digest, "" for none.
func (r *rebuilder) unsureNeed(u Unit) pawl.StepID {
	for _, need := range r.order[u.Step.ID] {
		if r.unsure[need] {
			return need
		}
	}
	return ""
}

// sharedKey returns the step's current key; for a foreach step what its items share.
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

// recordedInputs returns a unit's inputs. For inputs that earlier steps wrote it uses the recorded content, because a
// later edit does not change what the unit read.
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

// proven compares a key with PAWL_KEY of the unit's newest attempt, or with the journal.
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
	if !k.proven { // the attempt's key is unknown, so it must not prove later that nothing changed
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

// outputDigestOf returns the output digest of a step, assuming that the current files are its outputs. known reports
// whether all of them exist or are recorded.
func (r *rebuilder) outputDigestOf(u Unit, items []Unit, shared pawl.Key) (hash string, known bool) {
	st := r.state.Steps[u.Step.ID]
	whole := func(u Unit) bool { return len(u.Step.Outputs) == 0 || len(u.Missing) == 0 }
	switch {
	case st.Finished() || st != nil && st.Status == pawl.AwaitsReview:
		return runs.OutputDigests(r.order, []pawl.StepID{u.Step.ID}, r.state)[u.Step.ID], true
	case u.Step.Foreach != nil:
		return r.digest(r.listKey(u, shared), items, nil), len(items) > 0 && !slices.ContainsFunc(items, func(i Unit) bool { return !whole(i) })
	case len(u.Step.Outputs) == 0:
		return shared.Hash(), true
	case whole(u):
		return u.Outputs.Hash(), true
	}
	written := r.Summaries[u.Step.ID].Outputs
	return written.Hash(), len(written) > 0
}

// digest returns what a foreach step gives.
func (r *rebuilder) digest(shared pawl.Key, items []Unit, recorded map[int]pawl.ItemDone) string {
	d := runs.NewItemsDigest(shared)
	for _, u := range items {
		done, journaled := recorded[u.Index]
		if !journaled {
			done.Outputs, done.Key = u.Outputs, r.itemKey(u)
		}
		d.Add(u.Item, done.Outputs, done.Key)
	}
	return d.Hash()
}

// itemKey returns an item's own current key.
func (r *rebuilder) itemKey(item Unit) pawl.Key {
	return pawl.Key{Definition: pawl.DefinitionOf(r.Plan, item.Step, item.Value), Inputs: r.recordedInputs(item)}.Compact()
}

// emitFinding emits the events for a finding.
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
		r.emit(r.now, again)
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

// maxReason is the maximum length of a reason in bytes.
const maxReason = 1000

// emitDone journals a unit as finished by its attempt.
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

// emitStart journals the start of the recorded attempt, and the end of the one that the journal has as live. Without
// records it makes an attempt up. A gate step without checks has none.
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
		r.emit(r.now, pawl.AttemptEnded{AttemptRef: live.AttemptRef, Outcome: pawl.Lost, Why: "its end was in the lost part of the journal"})
	}
	began, _ := r.times(u, rec)
	r.emit(began, pawl.AttemptStarted{AttemptRef: ref, Key: k.key})
	return ref
}

// lostAttemptNumber returns the number for an attempt without records: the highest number known anywhere, and above
// those in the journal.
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

// emitUndone journals what resume needs to continue a unit. An attempt with records is left live for resume to judge.
// One that may have finished but is not believed counts as lost, so that unsafe work does not rerun unasked.
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

// items completes a foreach step's item list and rebuilds each item. If all are done, the step is done.
func (r *rebuilder) items(u Unit, items []Unit, shared pawl.Key) {
	if r.journaledFinished(u) && r.leaveFinished(u, items, shared) {
		return
	}
	given := func(item Unit) (pawl.Key, string) {
		key := r.itemKey(item)
		full := key
		full.Needs = map[pawl.StepID]string{u.Step.ID: r.listKey(u, shared).Hash()}
		return key, full.Hash()
	}
	if len(items) == 0 {
		why := cmp.Or(r.ListFaults[u.Step.ID], "its item list is empty")
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

// leaveFinished handles a foreach step that the journal has as finished. It stays finished unless there are later
// attempts at its items, or a view says that it was reopened. The result is false if the items must be rebuilt.
func (r *rebuilder) leaveFinished(u Unit, items []Unit, shared pawl.Key) bool {
	f := r.journaled(u)
	if slices.ContainsFunc(items, r.unknownAttempt) {
		r.emit(r.now, pawl.StepReopened{Step: u.Step.ID, Keep: true, Why: "there were attempts after the intact part of the journal"})
		return false
	}
	r.emitFinding(u, unitKey{key: shared}, f)
	return f.kept
}

// listKey returns what a step's items share, from the journal or as it is now.
func (r *rebuilder) listKey(u Unit, shared pawl.Key) pawl.Key {
	if st := r.state.Steps[u.Step.ID]; st != nil && st.Items != nil {
		return st.Key
	}
	return shared
}

// maxListed is the maximum size in bytes of the values in one step.listed event, well below the limit of a journal
// line.
const maxListed = 16 << 10

// list journals the values missing from the journal.
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

// finishItems journals a foreach step as done if all items are done.
func (r *rebuilder) finishItems(u Unit, items []Unit, shared pawl.Key, done int, sure Confidence) {
	p := Part{What: "step", Step: u.Step.ID, Status: PartNotDone, Confidence: sure, Evidence: []string{fmt.Sprintf("%d of %d items are done", done, len(items))}}
	st := r.state.Steps[u.Step.ID]
	if done == len(items) && !r.journaledFinished(u) {
		p.Status = PartDone
		r.emit(r.now, pawl.StepDone{
			Step: u.Step.ID, Key: r.listKey(u, shared), Digest: r.digest(r.listKey(u, shared), items, r.recordedItems(u.Step.ID)), Accept: pawl.AcceptOf(u.Step),
			Summary: fmt.Sprintf("%d items", len(items)), Undo: u.Step.Undo, Review: u.Step.Review, Adopted: "rebuilt: all its items are done",
		})
	} else if st.Finished() {
		p.Status = PartDone
	}
	r.part(p)
}

// recordedItems returns the events of finished items.
func (r *rebuilder) recordedItems(id pawl.StepID) map[int]pawl.ItemDone {
	found := map[int]pawl.ItemDone{}
	for _, event := range slices.Concat(r.Journal, r.events) {
		if event.Type != (pawl.ItemDone{}).Event() {
			continue
		}
		if payload, err := event.Payload(); err == nil {
			if p := payload.(pawl.ItemDone); p.Step == id {
				found[p.Index] = p
			}
		}
	}
	return found
}

// WorkList merges a foreach step's item list: the journaled values, the current ones, and those of attempts in neither.
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
