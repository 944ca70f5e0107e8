package resume

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/oneline"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Update says what a new run of a plan adopts from an earlier run of it, and why it does not adopt the rest.
type Update struct {
	From pawl.RunID             // the earlier run; empty if there is none
	Why  map[pawl.StepID]string // why steps are not adopted, or not entirely
	// UpToDate says that nothing is left to do: each step is adopted, or is a gate that was answered in the earlier run.
	UpToDate bool
	Lists    map[pawl.StepID][]string // item lists of adopted foreach steps
	Items    map[pawl.StepID]ItemsWhy // of the adopted foreach steps, why items are not adopted
	Gave     map[pawl.StepID]string   // what the steps gave in the earlier run to those that need them

	plan    *pawl.Plan
	adopted []pawl.Payload
	recheck []pawl.StepID
}

// ItemsWhy says by the index of an item in the list why it is not adopted.
type ItemsWhy map[int]string

// PlanUpdate compares the results of an earlier run with a plan and the files as they are now. A step or item is adopted if its key is
// the same, its result was proven, and its outputs are on disk as they were recorded. A gate is never adopted. old is nil if there is
// no earlier run.
func PlanUpdate(p *project.Project, old *runs.Run, plan *pawl.Plan) (*Update, error) {
	u := &Update{Why: map[pawl.StepID]string{}, Lists: map[pawl.StepID][]string{}, Items: map[pawl.StepID]ItemsWhy{}, plan: plan}
	if old == nil {
		return u, nil
	}
	u.From = old.State.Run
	look := &comparer{root: p.Root, run: old, plan: plan, order: plan.Order(), byPath: recordsOf(old.State, plan)}
	x := &updater{comparer: look, update: u, steps: plan.Steps(), found: map[pawl.StepID]*candidate{}}
	for _, step := range x.steps {
		if err := x.look(step); err != nil {
			return nil, err
		}
	}
	u.Gave = runs.OutputDigests(look.order, slices.Collect(maps.Keys(old.State.Steps)), old.State)
	x.dropDependent()
	if u.UpToDate = x.upToDate(); !u.UpToDate {
		x.dropAfterDecisions()
		x.dropDependent()
	}
	x.adopt()
	return u, nil
}

// Adopt returns the events that adopt what is up to date, for a new run.
func (u *Update) Adopt() []pawl.Payload { return u.adopted }

// Plan returns the plan that the new run executes.
func (u *Update) Plan() *pawl.Plan { return u.plan }

// Diff returns what the new run does before it starts anything: it runs changed acceptance checks of what it adopted.
func (u *Update) Diff(text *pawl.Plan) *PlanDiff {
	return &PlanDiff{Recheck: u.recheck, plan: u.plan, Text: text}
}

// recordsOf returns the newest record of each path that a finished step of the plan wrote.
func recordsOf(s *pawl.State, plan *pawl.Plan) map[string]OutputRecord {
	records := NewestRecords(s)
	maps.DeleteFunc(records, func(_ string, r OutputRecord) bool { return plan.Step(r.Step) == nil })
	return records
}

// updater finds what is up to date.
type updater struct {
	*comparer // with the earlier run
	update    *Update
	steps     []*pawl.Step
	found     map[pawl.StepID]*candidate
}

// candidate is a step with results that may be adopted.
type candidate struct {
	step    *pawl.Step
	st      *pawl.StepState
	done    pawl.StepDone // zero if the step is not finished
	whole   bool          // the step, or each of its items
	values  []string      // of a foreach step, as they are listed now
	items   map[int]pawl.ItemDone
	now     pawl.Outputs // content of the step's outputs now
	recheck bool
}

// look decides about a step by itself.
func (x *updater) look(step *pawl.Step) error {
	st := x.run.State.Steps[step.ID]
	if why := x.unfinished(step, st); why != "" {
		x.update.Why[step.ID] = why
		return nil
	}
	c := &candidate{step: step, st: st, now: runs.CurrentOutputs(x.root, st.Outputs)}
	c.recheck = pawl.AcceptOf(step) != "" && pawl.AcceptOf(step) != st.Accept
	why := ""
	if wasReady(step, st) {
		c.whole, c.done.Attempt = true, st.Retries.Attempt
	}
	if st.Status == pawl.Done || st.Status == pawl.AwaitsReview {
		done, err := stepDone(x.run, st)
		if err != nil {
			return err
		}
		c.done, c.whole = done, true
		why = unproven(step, done.Token, done.Adopted, done.Verdict, done.From, st.Key)
	}
	if changes := x.changes(runs.Work{Step: step, Index: -1}, st.Key, x.needsNow(step.ID, st.Key)); why == "" && len(changes) > 0 {
		why = changes[0]
	}
	if why == "" && step.Foreach != nil {
		var err error
		if why, err = x.items(c); err != nil {
			return err
		}
	}
	if why == "" {
		x.found[step.ID] = c
	} else {
		x.update.Why[step.ID] = why
	}
	return nil
}

// unfinished returns why a step has no results that count, "" if it has some.
func (x *updater) unfinished(step *pawl.Step, st *pawl.StepState) string {
	run := x.run.State.Run
	switch {
	case step.Kernel != nil:
		return "the variables of a kernel are not kept"
	case st == nil:
		return fmt.Sprintf("not finished in %s", run)
	case (st.Items != nil) != (step.Foreach != nil):
		return pawl.DefinitionChanged
	case st.Items != nil:
	case st.Status == pawl.FailedForGood:
		return fmt.Sprintf("failed in %s: %s", run, st.Why)
	case st.Status == pawl.Skipped:
		return fmt.Sprintf("skipped in %s", run)
	case st.Status != pawl.Done && st.Status != pawl.AwaitsReview && !wasReady(step, st):
		return fmt.Sprintf("not finished in %s", run)
	}
	if step.Run != "" && step.Shell == "" && x.run.State.Shell != pawl.DefaultShell {
		return fmt.Sprintf("%s ran its scripts without %s", run, pawl.DefaultShell)
	}
	return ""
}

// wasReady reports whether a step is a service that was ready and had not ended when its run was abandoned: steps that used it count as those
// after its end do.
func wasReady(step *pawl.Step, st *pawl.StepState) bool {
	return step.Service != nil && (st.Status == pawl.Pending || st.Status == pawl.Running) && st.Key.Definition != ""
}

// stepDone reads the event that finished a step.
func stepDone(r *runs.Run, st *pawl.StepState) (pawl.StepDone, error) {
	event, err := r.Log.Event(st.Done)
	if err != nil {
		return pawl.StepDone{}, err
	}
	payload, err := event.Payload()
	if err != nil {
		return pawl.StepDone{}, err
	}
	done, ok := payload.(pawl.StepDone)
	if !ok {
		return done, fmt.Errorf("event %d is %s, not step.done", event.Seq, event.Type)
	}
	return done, nil
}

// unproven returns why a result is not adopted although it counts in its own run: no attempt of pawl's finished it.
func unproven(step *pawl.Step, token pawl.Token, adopted string, verdict *pawl.Verdict, from *pawl.Earlier, key pawl.Key) string {
	for _, gave := range key.Needs {
		if gave == pawl.UnknownOutput {
			return "its result has no proof: what it needed was not recorded"
		}
	}
	switch {
	case from != nil || step.Gate != nil:
	case adopted != "" && verdict == nil:
		return "its result has no proof: " + adopted
	case token == "" && step.Foreach == nil:
		return "its result has no proof"
	}
	return ""
}

// changes returns how the key of a piece of work differs from the recorded one.
func (x *updater) changes(w runs.Work, was pawl.Key, needs map[pawl.StepID]string) []string {
	w.Vars = runs.PathVars(x.run.State.Origin(), w)
	now, err := runs.CurrentKey(x.root, x.plan, w, needs)
	if err != nil {
		return []string{"inputs: " + err.Error()}
	}
	for path, content := range now.Inputs {
		newest, ours := x.byPath[path]
		switch {
		case !ours:
		case newest.Step != w.Step.ID && x.needs(w.Step.ID, newest.Step): // if that step runs, its new outputs decide
			now.Inputs[path] = newest.Content
		case content == newest.Content && newest.Done >= x.run.State.Steps[w.Step.ID].Done: // overwritten by the step itself, or later
			now.Inputs[path] = was.Inputs[path]
		}
	}
	return x.named(w, was, was.Changes(runs.CompactLike(was, now)))
}

// needsNow returns the output digests of the step's needs. One that pawl skipped for its condition after it had run has no outputs,
// and counts as unchanged, as it does for the engine.
func (x *updater) needsNow(id pawl.StepID, was pawl.Key) map[pawl.StepID]string {
	needs := x.needDigests(id, was)
	for need := range needs {
		if st := x.run.State.Steps[need]; st != nil && st.Status == pawl.Skipped && st.Condition != "" {
			if gave, known := was.Needs[need]; known && !strings.HasPrefix(gave, pawl.PassedOn) {
				needs[need] = gave
			}
		}
	}
	return needs
}

// items finds the items of a foreach step that are up to date. why is set if there is nothing to adopt.
func (x *updater) items(c *candidate) (why string, err error) {
	if c.values, err = runs.ListValues(x.root, c.step); err != nil {
		return err.Error(), nil
	}
	old, err := runs.ListedValues(x.run.Log, c.st.Items)
	if err != nil {
		return "", err
	}
	at := make(map[string]int, len(old))
	for index, v := range old {
		at[v] = index
	}
	whys := ItemsWhy{}
	c.items, x.update.Items[c.step.ID] = map[int]pawl.ItemDone{}, whys
	for index, v := range c.values {
		before, listed := at[v]
		reason := "new"
		if listed {
			if reason, err = x.item(c, index, before); err != nil {
				return "", err
			}
		}
		if reason == "" {
			continue
		}
		whys[index] = reason
		if why == "" {
			why = fmt.Sprintf("item %s: %s", v, reason)
		}
	}
	if why == "" && len(c.items) != c.st.Items.Count {
		why = "its item list changed"
	}
	if c.whole = c.whole && why == ""; c.whole {
		return "", nil
	}
	x.update.Why[c.step.ID] = cmp.Or(why, fmt.Sprintf("not finished in %s", x.run.State.Run))
	if len(c.items) == 0 || c.recheck {
		return x.update.Why[c.step.ID], nil
	}
	return "", nil
}

// item adopts an item, or returns why not. index is its position in the list now, before the one in the earlier run.
func (x *updater) item(c *candidate, index, before int) (why string, err error) {
	v := c.values[index]
	if c.st.Items.Done.At(before) == 0 {
		return "not finished", nil
	}
	done, err := runs.ReadItemDone(x.run.Log, c.st.Items, before)
	if err != nil {
		return "", err
	}
	if why := unproven(c.step, done.Token, done.Adopted, done.Verdict, done.From, done.Key); why != "" {
		return why, nil
	}
	if changes := x.changes(runs.Work{Step: c.step, Index: index, Value: v}, done.Key, nil); len(changes) > 0 {
		return changes[0], nil
	}
	now := runs.CurrentOutputs(x.root, done.Outputs)
	for path, recorded := range done.Outputs {
		if now[path] != recorded {
			return outputWhy(path, now[path]), nil
		}
	}
	c.items[index] = done
	return "", nil
}

func outputWhy(path string, now pawl.Content) string {
	if now == (pawl.Content{}) {
		return "missing output: " + oneline.Path(path)
	}
	return "output " + oneline.Path(path) + " was edited"
}

// dropDependent drops candidates whose results depend on steps that are not adopted, until none is left: outputs that a later
// step overwrote, and lists that a needed step may change.
func (x *updater) dropDependent() {
	for dropped := true; dropped; {
		dropped = false
		for _, step := range x.steps {
			c := x.found[step.ID]
			if c == nil {
				continue
			}
			if why := cmp.Or(x.overwritten(c), x.relistable(c), x.conditional(c), x.served(c)); why != "" {
				delete(x.found, step.ID)
				x.update.Why[step.ID], dropped = why, true
			}
		}
	}
}

// overwritten returns why the outputs of a step are not as its attempt left them, "" if they are, or a later step that is up to
// date wrote them again.
func (x *updater) overwritten(c *candidate) string {
	for _, path := range slices.Sorted(maps.Keys(c.st.Outputs)) {
		newest := x.byPath[path]
		later := newest.Step != c.step.ID && x.found[newest.Step] != nil && c.now[path] == newest.Content
		if c.now[path] != c.st.Outputs[path] && !later {
			return outputWhy(path, c.now[path])
		}
	}
	return ""
}

// relistable returns why a foreach step that is not whole must be listed again: a step that it needs runs before it.
func (x *updater) relistable(c *candidate) string {
	if c.whole || c.step.Foreach == nil {
		return ""
	}
	for _, need := range x.order[c.step.ID] {
		if x.found[need] == nil && x.plan.Step(need).Gate == nil {
			return fmt.Sprintf("needs step %s, which runs", need)
		}
	}
	return ""
}

// conditional returns why a step with a condition is not adopted: the condition may have another value now.
func (x *updater) conditional(c *candidate) string {
	if c.step.If == "" {
		return ""
	}
	if was := x.run.Plan.Step(c.step.ID); was == nil || was.If != c.step.If {
		return "its condition changed"
	}
	for _, need := range x.order[c.step.ID] {
		if !x.unchanged(need) {
			return fmt.Sprintf("its condition is evaluated after step %s", need)
		}
	}
	return ""
}

// served returns why a step is not adopted although its key is the same: a service that it used is another one now.
func (x *updater) served(c *candidate) string {
	for _, need := range x.order[c.step.ID] {
		gave := c.st.Key.Needs[need]
		if s := x.found[need]; s != nil && wasReady(s.step, s.st) && gave != "" && gave != pawl.UnknownOutput && gave != s.st.Gives() {
			return fmt.Sprintf("it used an earlier service %s", need)
		}
		if x.plan.Step(need).Service != nil && !x.unchanged(need) {
			return fmt.Sprintf("service %s: %s", need, x.update.Why[need])
		}
	}
	return ""
}

// unchanged reports whether what a step gives to others is the same in a new run: it is adopted, is skipped again, or has no user.
func (x *updater) unchanged(id pawl.StepID) bool {
	return x.found[id] != nil || x.neverRan(id) || x.skippedAgain(x.plan.Step(id))
}

// neverRan reports whether a step is a service that no step needed in the earlier run.
func (x *updater) neverRan(id pawl.StepID) bool {
	st := x.run.State.Steps[id]
	return x.plan.Step(id).Service != nil && st != nil && st.Status == pawl.Done && st.Key.Definition == ""
}

// skippedAgain reports whether pawl skipped a step for its condition, which depends on nothing that has changed.
func (x *updater) skippedAgain(step *pawl.Step) bool {
	st, was := x.run.State.Steps[step.ID], x.run.Plan.Step(step.ID)
	if st == nil || st.Status != pawl.Skipped || st.Condition == "" || was == nil || was.If != step.If || !maps.Equal(x.run.Plan.Values, x.plan.Values) {
		return false
	}
	return !slices.ContainsFunc(x.order[step.ID], func(need pawl.StepID) bool { return !x.unchanged(need) })
}

// upToDate reports whether nothing is left to do.
func (x *updater) upToDate() bool {
	for _, step := range x.steps {
		c := x.found[step.ID]
		if c == nil && x.unchanged(step.ID) {
			continue
		}
		if c == nil || !c.whole || c.recheck || c.st.Status != pawl.Done && !wasReady(step, c.st) {
			return false
		}
	}
	return true
}

// dropAfterDecisions drops gates, which a new run asks again, and the steps after a decision: its answer may differ.
func (x *updater) dropAfterDecisions() {
	for _, gate := range x.steps {
		if gate.Gate == nil {
			continue
		}
		delete(x.found, gate.ID)
		delete(x.update.Why, gate.ID)
		for _, step := range x.steps {
			if gate.Gate.Type == pawl.DecisionFor && x.found[step.ID] != nil && x.needs(step.ID, gate.ID) {
				delete(x.found, step.ID)
				x.update.Why[step.ID] = fmt.Sprintf("gate %s is asked again, and the decision may differ", gate.ID)
			}
		}
	}
}

// adopt collects the events. Steps that were finished first come first, so that the newest record of a path stays the newest.
func (x *updater) adopt() {
	all := slices.SortedFunc(maps.Values(x.found), func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.st.Done, b.st.Done), cmp.Compare(a.step.ID, b.step.ID))
	})
	if len(all) == 0 {
		return
	}
	x.update.adopted = append(x.update.adopted, pawl.ResultsAdopted{Run: x.update.From, Origin: x.run.State.Origin()})
	for _, c := range all {
		if c.whole {
			delete(x.update.Why, c.step.ID)
		}
		if c.recheck {
			x.update.recheck = append(x.update.recheck, c.step.ID)
		}
		x.update.adopted = append(x.update.adopted, x.events(c)...)
	}
}

// events returns the events that adopt a step or its items.
func (x *updater) events(c *candidate) (all []pawl.Payload) {
	if c.step.Foreach != nil {
		x.update.Lists[c.step.ID] = c.values
		all = runs.ListPayloads(c.step.ID, c.st.Key, 0, c.values)
		for _, index := range slices.Sorted(maps.Keys(c.items)) {
			all = append(all, x.itemDone(c.items[index], index))
		}
	}
	if !c.whole {
		return all
	}
	from := x.from(c.done.From, c.done.Attempt)
	return append(all, pawl.StepDone{
		Step: c.step.ID, Key: c.st.Key, Outputs: c.st.Outputs, Digest: c.st.Digest, Accept: c.st.Accept, Summary: c.st.Summary,
		Undo: c.step.Undo, Adopted: "up to date, from " + string(from.Run), Review: c.step.Review, From: from,
	})
}

// itemDone returns the event that adopts an item.
func (x *updater) itemDone(was pawl.ItemDone, index int) pawl.ItemDone {
	from := x.from(was.From, was.Attempt)
	return pawl.ItemDone{
		AttemptRef: pawl.AttemptRef{Step: was.Step, Item: was.Item, Index: index}, Key: was.Key, Outputs: was.Outputs, Accept: was.Accept,
		Summary: was.Summary, Adopted: "up to date, from " + string(from.Run), From: from,
	}
}

// from returns the attempt that did the work: an adopted result names it.
func (x *updater) from(earlier *pawl.Earlier, attempt int) *pawl.Earlier {
	if earlier != nil {
		return earlier
	}
	return &pawl.Earlier{Run: x.update.From, Attempt: attempt}
}
