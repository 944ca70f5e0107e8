// Package decide decides what happens next to each step and item of a run. It is pure: it sees only the plan and the
// state. The engine acts on what Next returns. Forecast gives the same decisions for the state that a resume would start
// from, so that `pawl why` and `pawl resume --dry-run` print what resume does.
package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/runs"
)

// Kind is the kind of an action.
type Kind string

// The kinds of actions.
const (
	Start      Kind = "start"     // start an attempt of a step or item
	List       Kind = "list"      // journal a foreach step's item list
	each       Kind = "each"      // decide about each item; only inside the decider
	Finish     Kind = "finish"    // finish a foreach step whose items are done, or a gate step whose gate was answered
	GiveUp     Kind = "give-up"   // fail a step for good
	SkipStep   Kind = "skip"      // skip a step whose condition is false
	Open       Kind = "open"      // open a gate
	AnswerGate Kind = "answer"    // answer a gate by mode or default
	Expire     Kind = "expire"    // expire a gate without a default
	Reopen     Kind = "reopen"    // reopen steps
	Complete   Kind = "complete"  // complete the run
	FailRun    Kind = "fail"      // fail the run
	Spend      Kind = "spend"     // a budget is used up: ask for more
	Sleep      Kind = "wait"      // wait until a time
	StopLive   Kind = "stop-live" // terminate running attempts
	Release    Kind = "release"   // end a service that no step needs any more
	Settle     Kind = "settle"    // a service that has ended is done: no step needs it any more
)

// Action is one thing to do next.
type Action struct {
	Kind  Kind
	Step  *pawl.Step
	Index int // item index; -1 for the step itself
	Steps []pawl.StepID
	Gate  pawl.Gate // for Open; without a question: the step's own gate
	Reply pawl.GateAnswered
	Until time.Time
	Why   string

	Condition   string // SkipStep: it is false
	Refused     bool   // GiveUp: rejected by a person, or expired; continue_on_error does not count
	NeedsPerson bool   // Sleep: only a gate's answer or expiry can continue the run
}

// Next decides what to do, from plan and state alone. slots is the maximum number of live attempts. No actions and no
// live attempts means that only a person can continue the run.
func Next(plan *runs.Outline, s *pawl.State, now time.Time, slots int) []Action {
	return newDecider(plan, s, now, slots).next()
}

// next is Next.
func (d *decider) next() []Action {
	s := d.state
	if s.Ended() {
		return nil
	}
	if s.Status == pawl.StatusStopped {
		return d.stopLive()
	}
	d.gates()
	if s.Status == pawl.StatusPaused && d.slotsUsed() == 0 {
		d.actions = append(d.actions, d.stopLive()...) // services
	}
	if s.Status != pawl.StatusPaused && !d.ending {
		for _, decide := range []func(){d.budget, d.staleNeeds, d.reconsider, d.services, d.steps, d.end} {
			if len(d.actions) == 0 {
				decide()
			}
		}
		d.release()
	}
	d.resetHandlers()
	if wake := earlier(d.retry, d.expiry); !wake.IsZero() {
		d.add(Action{Kind: Sleep, Until: wake, NeedsPerson: d.retry.IsZero()})
	}
	return d.actions
}

// decider collects actions. An action that changes what others depend on is returned alone; next is called again after
// it.
type decider struct {
	plan     *runs.Outline
	state    *pawl.State
	now      time.Time
	free     int
	asking   map[question]bool    // questions of open gates
	blocked  map[pawl.StepID]bool // blocked steps; "" blocks all
	states   []*pawl.StepState    // of the plan's steps, by position; nil: it has none
	live     []*pawl.AttemptState // all live attempts
	settled  []settled            // cache of needsSettled, by list
	gave     []pawl.Seq           // cache of newestGift, by list; 0: not known
	ends     map[pawl.StepID]bool // cache of over
	failures map[pawl.StepID]bool // cache of behindFailure
	proceed  map[pawl.StepID]bool // cache of proceeds
	needing  map[pawl.StepID]bool // cache of needed
	failing  *pawl.StepID         // cache of failedStep
	gifts    map[pawl.StepID]gift // cache of passedOn
	actions  []Action
	assume   func(*pawl.Step, *condition) (holds, assumed bool) // decides conditions that are not known yet; nil: none
	onRun    func(command string) string                        // adds the run to a command; nil: no texts
	retry    time.Time                                          // when the first retry is due; zero for none
	expiry   time.Time                                          // when the first open gate expires; zero for none
	ending   bool                                               // an answer ends the run
}

func newDecider(plan *runs.Outline, s *pawl.State, now time.Time, slots int) *decider {
	d := &decider{plan: plan, state: s, now: now, states: plan.States(s), live: s.Live(), asking: map[question]bool{}, blocked: map[pawl.StepID]bool{}, ends: map[pawl.StepID]bool{}, failures: map[pawl.StepID]bool{}, proceed: map[pawl.StepID]bool{}, needing: map[pawl.StepID]bool{}}
	d.free = slots - d.slotsUsed()
	d.settled, d.gave = make([]settled, len(plan.Lists)), make([]pawl.Seq, len(plan.Lists))
	for _, g := range s.OpenGates() {
		d.asking[question{g.Purpose, g.Budget, g.Step}] = true
	}
	for _, b := range s.OpenBlockers() {
		d.blocked[b.Step] = true
	}
	return d
}

// question identifies what a gate asks about.
type question struct {
	purpose pawl.Purpose
	budget  string
	step    pawl.StepID
}

func (d *decider) add(a Action) { d.actions = append(d.actions, a) }

// earlier returns the earlier of two times, ignoring zero times.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (d *decider) stopLive() []Action {
	if len(d.live) == 0 {
		return nil
	}
	return []Action{{Kind: StopLive, Why: cmp.Or(d.state.Why, string(d.state.Status))}}
}

// finished reports whether a step is finished and no imported gate asks about it.
func (d *decider) finished(id pawl.StepID) bool { return d.isFinished(id, d.state.Steps[id]) }

func (d *decider) isFinished(id pawl.StepID, st *pawl.StepState) bool {
	return st.Finished() && (len(d.asking) == 0 || !d.asking[question{purpose: pawl.ForImported, step: id}])
}

// staleNeeds reopens steps whose needs finished again with different outputs: finished ones, and foreach steps that were listed
// before. While items of such a step are live, it starts no others.
func (d *decider) staleNeeds() {
	for i, step := range d.plan.InOrder {
		st := d.states[i]
		since := usedSince(st)
		if since == 0 || d.newestGift(d.plan.ListOf[i]) <= since {
			continue
		}
		need := d.staleNeed(step, st, since)
		switch {
		case need == "":
		case len(st.Live()) > 0:
			d.blocked[step.ID] = true
		default:
			d.add(Action{Kind: Reopen, Steps: []pawl.StepID{step.ID}, Why: "outputs of step " + string(need) + " changed"})
			return
		}
	}
}

// newestGift returns when a step of a list last gave something, at the earliest 1. Most steps have started after that, and need no closer
// look.
func (d *decider) newestGift(list int) pawl.Seq {
	if d.gave[list] == 0 {
		newest := pawl.Seq(1)
		for _, need := range d.plan.Lists[list] {
			g := d.giftOf(d.plan.InOrder[need].ID, d.states[need])
			newest = max(newest, g.at)
		}
		d.gave[list] = newest
	}
	return d.gave[list]
}

// staleNeed returns a need that finished again since an event, so that the step has used other outputs; "" for none.
func (d *decider) staleNeed(step *pawl.Step, st *pawl.StepState, since pawl.Seq) pawl.StepID {
	if neverRan(step, st) {
		return ""
	}
	for _, need := range d.plan.Needs[step.ID] {
		source := d.given(need, since)
		if source == "" {
			continue
		}
		given, listed := st.Key.Needs[need]
		same := listed && given == d.state.Steps[source].Gives() // a service ends after the steps that it serves
		if !same && d.needsChanged(step, st) || d.plan.ByID[source].Service == nil && (d.needsChanged(step, st) || d.inputChanged(step, st, since)) {
			return source
		}
	}
	return ""
}

// gift is when a step gave what steps that need it see.
type gift struct {
	at       pawl.Seq
	source   pawl.StepID // the step itself, or the last one whose result it passes on; "" for none
	sourceAt pawl.Seq
}

// given returns a step with a result that steps which need this one see since an event: this one, or one whose result it passes on; ""
// for none. A step that has no result any more has given something too.
func (d *decider) given(need pawl.StepID, since pawl.Seq) pawl.StepID {
	switch g := d.gift(need); {
	case g.sourceAt > since:
		return g.source
	case g.at > since:
		return need
	}
	return ""
}

// gift returns what a step gave last.
func (d *decider) gift(id pawl.StepID) gift { return d.giftOf(id, d.state.Steps[id]) }

func (d *decider) giftOf(id pawl.StepID, st *pawl.StepState) gift {
	switch {
	case runs.PassesOn(st):
		return d.passedOn(id, st)
	case st == nil:
	case st.Status == pawl.Done:
		return gift{st.Done, id, st.Done}
	case st.Serving() != nil:
		return gift{st.Retries.Live.Seq, id, st.Retries.Live.Seq}
	}
	return gift{}
}

// passedOn returns the gift of a step that passes on what its needs give.
func (d *decider) passedOn(id pawl.StepID, st *pawl.StepState) gift {
	g, known := d.gifts[id]
	if !known {
		for _, need := range d.plan.Needs[id] {
			if behind := d.gift(need); behind.sourceAt > g.sourceAt {
				g.source, g.sourceAt = behind.source, behind.sourceAt
			}
			g.at = max(g.at, d.gift(need).at)
		}
		g.at = max(g.at, st.Given)
		if d.gifts == nil {
			d.gifts = map[pawl.StepID]gift{}
		}
		d.gifts[id] = g
	}
	return g
}

// inputChanged reports whether a step that this one needs, directly or not, has rewritten one of its inputs since.
func (d *decider) inputChanged(step *pawl.Step, st *pawl.StepState, since pawl.Seq) bool {
	for id := range d.allNeeds(step.ID) {
		n := d.state.Steps[id]
		if n == nil || n.Done <= since {
			continue
		}
		for path, content := range n.Outputs {
			if was, used := st.Key.Inputs[path]; used && was != content {
				return true
			}
		}
	}
	return false
}

// allNeeds returns the steps that a step needs, directly or not.
func (d *decider) allNeeds(id pawl.StepID) map[pawl.StepID]bool {
	all := map[pawl.StepID]bool{}
	var add func(pawl.StepID)
	add = func(id pawl.StepID) {
		for _, need := range d.plan.Needs[id] {
			if !all[need] {
				all[need] = true
				add(need)
			}
		}
	}
	add(id)
	return all
}

// usedSince returns the event after which a step does not see new outputs of its needs, 0 for none.
func usedSince(st *pawl.StepState) pawl.Seq {
	switch {
	case st == nil:
		return 0
	case st.Status == pawl.Done:
		return st.Given
	case st.Items != nil && (st.Status == pawl.Running || st.Status == pawl.Pending):
		return st.Items.Lists[0]
	}
	return 0
}

// needsChanged reports whether the outputs that a finished step needs differ from those it started with.
func (d *decider) needsChanged(step *pawl.Step, st *pawl.StepState) bool {
	return d.needsDiffer(step.ID, st.Key)
}

// needsDiffer reports whether what a step needs gives something else than when a key was recorded. A need that has not ended counts as
// unchanged; it is compared when it ends.
func (d *decider) needsDiffer(id pawl.StepID, was pawl.Key) bool {
	needs := runs.OutputDigests(d.plan.Needs, d.plan.Needs[id], d.state)
	for need := range needs {
		st := d.state.Steps[need]
		if gave, known := was.Needs[need]; known && !st.Finished() && st.Serving() == nil {
			needs[need] = gave
		}
	}
	return was.NeedsDiffer(runs.CompactLike(was, pawl.Key{Needs: needs}))
}

func (d *decider) steps() {
	if !d.mayStart() || d.handling() {
		return
	}
	failed := d.failedStep() != ""
	for i, step := range d.plan.InOrder {
		st := d.states[i]
		if failed && startsNothing(st) && !d.handlesFailure(step) && !d.serves(step) || st.Finished() || !d.ready(i) {
			continue
		}
		if a := d.byCondition(step, st); a != nil {
			d.add(*a)
			continue
		}
		d.begin(step, st, d.ofStep(step, st))
	}
	if slices.ContainsFunc(d.actions, isGiveUp) { // then nothing new starts
		d.actions = slices.DeleteFunc(d.actions, func(a Action) bool { return !isGiveUp(a) })
	}
}

func isGiveUp(a Action) bool { return a.Kind == GiveUp }

// failedStep returns a step that failed for good, "" for none. After it, only begun foreach steps and steps that handle failures
// start attempts.
func (d *decider) failedStep() pawl.StepID {
	if d.failing == nil {
		d.failing = new(pawl.StepID)
		if i := slices.IndexFunc(d.states, (*pawl.StepState).FailsRun); i >= 0 {
			*d.failing = d.plan.InOrder[i].ID
		}
	}
	return *d.failing
}

// failedText names the first step that fails the run, and counts the others.
func (d *decider) failedText(first pawl.StepID) string {
	text, others := fmt.Sprintf("step %s failed: %s", first, d.state.Steps[first].Why), -1
	for _, step := range d.plan.InOrder {
		if d.state.Steps[step.ID].FailsRun() {
			others++
		}
	}
	switch others {
	case 0:
		return text
	case 1:
		return text + "; and 1 more step failed"
	}
	return text + fmt.Sprintf("; and %d more steps failed", others)
}

// startsNothing reports whether a step in this state starts nothing after another step failed.
func startsNothing(st *pawl.StepState) bool { return st == nil || st.Items == nil }

// ready reports whether a step may start by what it needs and by blockers.
func (d *decider) ready(at int) bool {
	step := d.plan.InOrder[at]
	switch {
	case d.blocked[step.ID]:
		return false
	case d.handlesFailure(step):
		return !slices.ContainsFunc(d.plan.Needs[step.ID], func(need pawl.StepID) bool { return !d.over(need) })
	}
	return d.needsSettled(d.plan.ListOf[at])
}

// settled is whether the steps of a list are settled.
type settled byte

const (
	unknown settled = iota
	isSettled
	notSettled
)

// needsSettled reports whether the steps of a list are settled.
func (d *decider) needsSettled(list int) bool {
	if d.settled[list] == unknown {
		d.settled[list] = notSettled
		if !slices.ContainsFunc(d.plan.Lists[list], func(need int) bool { return !d.stepSettled(need) }) {
			d.settled[list] = isSettled
		}
	}
	return d.settled[list] == isSettled
}

// stepSettled reports whether a step and all its needs are finished, or services that are ready. A skipped or imported step may be finished
// before its needs are.
func (d *decider) stepSettled(at int) bool {
	id, st := d.plan.InOrder[at].ID, d.states[at]
	return (d.isFinished(id, st) || st.Serving() != nil && d.needed(id)) && d.needsSettled(d.plan.ListOf[at])
}

// begin adds the action that a decision about a step asks for.
func (d *decider) begin(step *pawl.Step, st *pawl.StepState, c decision) {
	switch c.act {
	case each:
		d.items(step, st)
	case List:
		if d.free > 0 {
			d.add(Action{Kind: List, Step: step, Index: -1})
		}
	case Reopen:
		d.add(Action{Kind: Reopen, Steps: []pawl.StepID{step.ID}, Why: c.why})
	case Open:
		d.open(step, c)
	default:
		d.try(step, -1, c)
	}
}

func (d *decider) open(step *pawl.Step, c decision) {
	d.add(Action{Kind: Open, Step: step, Index: -1, Gate: c.gate})
}

func (d *decider) items(step *pawl.Step, st *pawl.StepState) {
	it := st.Items
	live, width := len(st.Live()), step.Parallel
	if width == 0 {
		width = it.Total
	}
	if c := ofItems(it); live == 0 && c.act != "" {
		d.add(Action{Kind: c.act, Step: step, Index: -1, Why: c.why})
		return
	}
	for index := 0; index < it.Total && live < width && d.free > 0; index++ {
		if it.Done.At(index) == 0 && d.try(step, index, d.ofItem(step, st, index)) {
			live++
		}
	}
}

// try starts an attempt if one is due and a slot is free, or asks whether it may start. It reports whether it started one.
func (d *decider) try(step *pawl.Step, index int, c decision) bool {
	if d.free <= 0 && step.Service == nil {
		return false
	}
	switch {
	case !c.until.IsZero():
		d.retry = earlier(d.retry, c.until)
	case c.act == Open:
		d.open(step, c)
	case c.act == Start:
		if step.Service == nil {
			d.free--
		}
		d.add(Action{Kind: Start, Step: step, Index: index})
		return true
	}
	return false
}

// end ends a run that has nothing left to do.
func (d *decider) end() {
	if d.retry.IsZero() {
		d.endWith(d.last())
	}
}

// endWith ends the run when no attempt is live. Services end first.
func (d *decider) endWith(last Action) {
	switch {
	case last.Kind == "" || d.slotsUsed() > 0:
	case len(d.live) > 0:
		d.add(Action{Kind: StopLive, Why: "the run ends"})
	default:
		d.conclude(last)
	}
}

// last returns how the run ends now, or no action.
func (d *decider) last() (end Action) {
	if id := d.failedStep(); id != "" {
		if !d.outstanding() && !d.serviceStarts() {
			return Action{Kind: FailRun, Why: d.failedText(id)}
		}
	}
	left := false
	for i := 0; i < len(d.states) && !left; i++ {
		left = !d.isFinished(d.plan.InOrder[i].ID, d.states[i])
	}
	for _, g := range d.state.Gates {
		switch {
		case g.Halts() && g.Answer != nil && g.Answer.Answer != pawl.Approved:
			why := "the " + g.Budget + " budget was not raised"
			if g.Purpose == pawl.ForRebuilt {
				why = g.RejectionText()
			}
			return Action{Kind: FailRun, Why: why}
		case g.Purpose == pawl.ForRebuilt && g.Open():
			return end
		}
	}
	if !left {
		return Action{Kind: Complete, Why: d.toleratedText()}
	}
	return end
}
