package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/redact"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// Decision is what a resume does with a step, and why.
type Decision struct {
	Step   pawl.StepID   `json:"step"`
	Do     Do            `json:"do"`
	Runs   bool          `json:"runs"` // an attempt of it starts, or is under way
	Why    string        `json:"why"`
	Items  []string      `json:"items,omitempty"`  // of a foreach step that was begun: values of the items that run, at most MaxListed
	Unless []pawl.StepID `json:"unless,omitempty"` // needs: if their outputs change meanwhile, finished work runs again, and gates ask again; or their end decides a condition

	open bool // a condition that is not known yet decides about it

	ByItem map[Do][]int `json:"-"` // of a foreach step that is not finished: indexes of its items
	Each   []Item       `json:"-"` // its items that are not finished
}

// Item is what a resume does with an item.
type Item struct {
	Index int
	Value string
	Do    Do
	Why   string
}

// MaxListed is how many items a decision lists.
const MaxListed = 100

// Forecast returns what a resume would do with each step of the plan: the engine's decisions on the state that the resume
// starts from. It assumes that what runs succeeds. It changes nothing. onRun adds the run to a command that needs it.
func Forecast(r *runs.Run, c *resume.PlanDiff, interrupted []resume.Judged, now time.Time, onRun func(command string) string) ([]Decision, error) {
	f := newForecast(r.State, c, now, onRun)
	f.values = func(id pawl.StepID) ([]string, error) { return runs.ListedValues(r.Log, r.State.Steps[id].Items) }
	f.interrupted = interrupted
	f.adopt(interrupted)
	for _, live := range interrupted {
		f.conclude(live)
	}
	return f.decisions()
}

func newForecast(s *pawl.State, c *resume.PlanDiff, now time.Time, onRun func(command string) string) *forecast {
	return &forecast{
		change: c, plan: runs.NewOutline(c.Plan()), before: s, state: s.Clone(), now: now, onRun: onRun,
		fixed: map[pawl.AttemptRef]decision{}, finishing: map[pawl.StepID]string{}, unused: map[pawl.StepID]bool{}, decided: map[pawl.StepID]*Decision{},
		behind: map[pawl.StepID]bool{}, ends: map[pawl.StepID]bool{}, failures: map[pawl.StepID]bool{},
	}
}

// decisions returns the decision about each step, in order.
func (f *forecast) decisions() ([]Decision, error) {
	f.settle()
	for _, step := range f.plan.InOrder {
		f.of(step)
	}
	f.addUsersUnless()
	decisions := make([]Decision, 0, len(f.plan.InOrder))
	for _, step := range f.plan.InOrder {
		x := f.decided[step.ID]
		if err := f.nameItems(x); err != nil {
			return nil, err
		}
		decisions = append(decisions, *x)
	}
	return decisions, nil
}

type forecast struct {
	change *resume.PlanDiff
	plan   *runs.Outline
	before *pawl.State
	state  *pawl.State
	now    time.Time
	onRun  func(command string) string

	interrupted []resume.Judged

	rules     *decider
	fixed     map[pawl.AttemptRef]decision // about attempts whose records decide
	finishing map[pawl.StepID]string       // steps that finish without an attempt, and why
	unused    map[pawl.StepID]bool         // services that are done because no step needs them any more
	decided   map[pawl.StepID]*Decision
	behind    map[pawl.StepID]bool // cache of settled
	ends      map[pawl.StepID]bool // cache of over
	failures  map[pawl.StepID]bool // cache of behindFailure
	values    func(pawl.StepID) ([]string, error)
}

// fold applies events to the state.
func (f *forecast) fold(payloads ...pawl.Payload) {
	for _, p := range payloads {
		e, err := redact.OfProcess().Event(pawl.Author{Kind: pawl.ByEngine}, p)
		if err != nil {
			panic("payloads are plain data: " + err.Error())
		}
		e.Seq, e.Time = f.state.Seq+1, f.now
		f.state.Apply(e)
	}
}

// adopt brings the state to where a resume starts: with the current plan, inputs and lists.
func (f *forecast) adopt(interrupted []resume.Judged) {
	s, c := f.state, f.change
	if c.Edited {
		f.fold(pawl.RunPlanned{Revision: s.Plan.Revision + 1, Goal: c.Plan().Goal, Mode: c.Plan().Mode})
	}
	for _, live := range interrupted {
		if Outdates(c, live.Live, f.values) {
			if end := OutdatedEnd(c, live.Live, live.Evidence, live.Alive); end != nil {
				f.fold(*end)
			}
		}
	}
	f.fold(Adoption(s, c)...)
	if s.Ended() && c.Reopens() {
		f.fold(pawl.RunReopened{})
	}
	if s.Status == pawl.StatusPaused || s.Status == pawl.StatusStopped {
		f.fold(pawl.RunContinued{})
	}
}

// conclude folds how an interrupted attempt ended, where its records say so.
func (f *forecast) conclude(live resume.Judged) {
	step := f.plan.ByID[live.Step]
	if step == nil || !slices.ContainsFunc(f.state.Live(), func(l *pawl.AttemptState) bool { return l.Token == live.Live.Token }) {
		return
	}
	attach := func(why string) { f.fixed[live.Live.AttemptRef] = decision{do: Attach, why: why} }
	if step.Service != nil && Unneeded(f.plan, f.state, live.Live) {
		if NeedsService(f.plan, f.state, live.Step) { // it was released before a step needed it again
			f.fixed[live.Live.AttemptRef] = decision{do: Run, why: neededAgain}
			return
		}
		attach("its attempt ends or has ended: " + unneeded)
		return
	}
	if live.Alive {
		attach(live.Text())
		return
	}
	ev := live.Evidence
	if ev.NeedsChecks(step) {
		attach("its acceptance checks decide; " + live.Text())
		return
	}
	done, _, end := resume.Conclude(step, ev)
	end.AttemptRef = live.Live.AttemptRef
	switch {
	case step.Gate != nil && (done || end.Outcome == pawl.Failed && end.Reason == pawl.ReasonExited):
		f.fixed[live.Live.AttemptRef] = decision{do: Ask, why: "asks: " + step.Gate.Ask}
	case done:
		attach(live.Text())
	case end.Outcome == pawl.WaitsFor:
		f.fixed[live.Live.AttemptRef] = decision{do: Ask, why: live.Text()}
	case end.Outcome == pawl.Blocked:
		f.fixed[live.Live.AttemptRef] = decision{do: Wait, why: live.Text()}
	default:
		end = FailedEnd(end, step, ev.Failures, ev)
		f.fold(end)
		if end.Final && end.Item == "" {
			f.fold(pawl.StepFailed{Step: end.Step, Why: end.Why, Continued: step.ContinueOnError})
		}
	}
}

// settle folds what the engine journals before it starts anything: answers by mode, reopened and failed steps.
func (f *forecast) settle() {
	unlimited := len(f.plan.InOrder) + len(f.state.Live()) + 1
	for range 2 * (unlimited + len(f.state.Gates)) {
		before := f.state.Seq
		f.act(Next(f.plan, f.state, f.now, unlimited))
		if f.state.Seq == before {
			f.act(afterFinish(f.plan, f.state, f.now))
		}
		if f.state.Seq == before {
			break
		}
	}
	f.rules = newDecider(f.plan, f.state, f.now, unlimited)
	f.rules.onRun = f.onRun
}

// act folds what actions journal, and notes the steps that they finish.
func (f *forecast) act(actions []Action) {
	for _, a := range actions {
		f.fold(a.Payloads(f.state)...)
		if a.Kind == Settle {
			f.unused[a.Step.ID] = true
		}
		if a.Kind != Finish {
			continue
		}
		f.finishing[a.Step.ID] = a.Why
		if g := f.state.AnsweredGate(a.Step.ID); g != nil {
			f.finishing[a.Step.ID] = g.AnswerText() + "; " + runs.Then(g.After(), f.onRun)
		} else if st := f.state.Steps[a.Step.ID]; st.Items != nil {
			f.finishing[a.Step.ID] = itemsText(st.Items, 0)
		}
	}
}

// of returns the decision about a step, computed once. A plan has no cycles.
func (f *forecast) of(step *pawl.Step) *Decision {
	if x := f.decided[step.ID]; x != nil {
		return x
	}
	x := &Decision{Step: step.ID}
	f.decided[step.ID] = x
	st := f.state.Steps[step.ID]
	x.set(f.rules.ofStep(step, st))
	if st != nil {
		if fixed, known := f.fixed[refOf(st.Retries.Live)]; known {
			x.set(fixed)
		}
	}
	if st != nil && st.Items != nil && !st.Finished() {
		f.items(x, step, st)
	}
	if f.unused[step.ID] {
		x.Why = unneeded
	}
	if st.Finished() && !f.state.Ended() && slices.Contains(f.change.Recheck, x.Step) {
		x.Do, x.Why = Recheck, "acceptance checks changed"
	}
	if x.Do == Fail && (f.before.Steps[step.ID] == nil || f.before.Steps[step.ID].Status != pawl.FailedForGood) {
		x.Why = f.state.Steps[step.ID].Why + "; " + runs.Then("pawl resume ends the run as failed", f.onRun)
	} else {
		f.judged(x, st)
	}
	if !st.Finished() && x.Do != Fail && x.Do != Attach {
		if why := f.obstacle(step, st); why != "" {
			x.Do, x.Why = Wait, why
		}
	}
	f.byCondition(x, step, st)
	why, finishes := f.finishing[step.ID]
	if finishes {
		x.Do, x.Why = Run, why
	}
	f.addUnless(x, finishes || st != nil && (st.Status == pawl.Done || x.Do == Attach || x.ByItem != nil))
	f.addOpen(x, st)
	x.Runs = x.Do == Run || x.Do == Attach
	return x
}

// judged says how interrupted attempts at a step were judged, the first ones of many.
func (f *forecast) judged(x *Decision, st *pawl.StepState) {
	if x.Do == Skip || x.Do == Recheck {
		return
	}
	var texts []string
	for _, j := range f.interrupted {
		switch {
		case j.Step != x.Step:
		case j.Item == "":
			texts = append(texts, j.Text())
		default:
			texts = append(texts, string(j.Item)+": "+j.Text())
		}
	}
	if more := len(texts) - maxJudged; more > 0 {
		texts = append(texts[:maxJudged], fmt.Sprintf("and %d more interrupted", more))
	}
	if len(texts) == 0 {
		return
	}
	x.Why = strings.Join(texts, "; ")
	if st != nil && st.Items != nil {
		x.Why = fmt.Sprintf("%d of %d items finished; %s", st.Items.Count, st.Items.Size(), x.Why)
	}
}

// maxJudged is how many interrupted items of a step are named.
const maxJudged = 3

func refOf(live *pawl.AttemptState) pawl.AttemptRef {
	if live == nil {
		return pawl.AttemptRef{}
	}
	return live.AttemptRef
}

func (x *Decision) set(c decision) { x.Do, x.Why = c.do, c.why }

// addUnless adds the needs whose outputs may change meanwhile. begun says that the step has used their outputs already.
func (f *forecast) addUnless(x *Decision, begun bool) {
	st := f.state.Steps[x.Step]
	if f.state.Ended() || st != nil && (st.Status == pawl.Skipped || st.Status == pawl.FailedForGood) {
		return
	}
	for _, need := range f.plan.Needs[x.Step] {
		n := f.of(f.plan.ByID[need])
		stops := n.Do == Fail || n.Do == Wait // so that x waits
		if len(n.Unless) > 0 && (x.Do != Wait || stops) || x.Do != Wait && begun && (n.Runs || n.Do == Recheck) && !f.servesSame(x.Step, need) {
			x.Unless = append(x.Unless, need)
		}
	}
	if begun && len(x.Unless) > 0 {
		x.Why += "; runs if the outputs of " + joined(x.Unless) + " change"
	}
}

// addUsersUnless adds to the services that do not start what may make a step that needs them run again.
func (f *forecast) addUsersUnless() {
	for _, service := range f.plan.Services() {
		x := f.decided[service.ID]
		if x.Do != Skip && x.Do != Attach {
			continue
		}
		for _, user := range f.plan.Users[service.ID] {
			for _, id := range f.decided[user].Unless {
				if id != service.ID && !slices.Contains(x.Unless, id) {
					x.Unless = append(x.Unless, id)
				}
			}
		}
		if len(x.Unless) > 0 && x.Do == Skip {
			x.Why += "; starts again if a step that needs it runs"
		}
	}
}

// servesSame reports whether a service that is running has the key that a finished step was given.
func (f *forecast) servesSame(user, need pawl.StepID) bool {
	st, n := f.state.Steps[user], f.state.Steps[need]
	if f.plan.ByID[need].Service == nil || n == nil || n.Retries.Live == nil {
		return false
	}
	return st != nil && st.Key.Needs[need] == n.Retries.Live.Key.Hash()
}

func joined(ids []pawl.StepID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// items decides about a foreach step by its items.
func (f *forecast) items(x *Decision, step *pawl.Step, st *pawl.StepState) {
	x.ByItem = map[Do][]int{}
	why := map[Do]string{}
	for index := range st.Items.Total {
		c := f.rules.ofItem(step, st, index)
		if t := st.Items.Retries[index]; t != nil {
			if fixed, known := f.fixed[refOf(t.Live)]; known {
				c = fixed
			}
		}
		x.ByItem[c.do] = append(x.ByItem[c.do], index)
		if st.Items.Done.At(index) == 0 {
			x.Each = append(x.Each, Item{Index: index, Do: c.do, Why: c.why})
		}
		if why[c.do] == "" {
			why[c.do] = c.why
		}
	}
	if x.Do == Fail {
		return
	}
	for _, do := range []Do{Run, Attach, Ask, Wait, Fail} {
		if n := len(x.ByItem[do]); n > 0 {
			x.Do, x.Why = do, itemsText(st.Items, len(x.ByItem[Run]))+"; "+why[do]
			return
		}
	}
}

// obstacle returns why a step that is not finished cannot start, "" if it can.
func (f *forecast) obstacle(step *pawl.Step, st *pawl.StepState) string {
	handles := f.rules.handlesFailure(step)
	for _, need := range f.plan.Needs[step.ID] {
		if !handles && f.of(f.plan.ByID[need]).Do == Fail {
			return fmt.Sprintf("needs step %s, which failed", need)
		}
	}
	switch failed := f.rules.failedStep(); {
	case f.state.Ended() && f.state.Status == pawl.StatusFailed:
		return "the run has failed: " + f.state.Why
	case f.state.Ended():
		return "the run has completed"
	case !f.rules.mayStart():
		return f.halted()
	case f.rules.blocked[step.ID]:
		return f.blockers(step.ID)
	case failed != "" && startsNothing(st) && !handles && !f.rules.serves(step):
		return "step " + string(failed) + " failed"
	}
	for _, need := range f.plan.Needs[step.ID] {
		if handles && !f.over(need) || !handles && !f.settled(need) {
			return fmt.Sprintf("needs step %s, which waits", need)
		}
	}
	return ""
}

// halted says what keeps every step from starting.
func (f *forecast) halted() string {
	for _, g := range f.state.OpenGates() {
		if g.Halts() {
			return waitingFor(g)
		}
	}
	if text := f.blockers(""); text != "" {
		return text
	}
	return "a person stopped the run at a gate"
}

// blockers names the blocker of a step, or of the run.
func (f *forecast) blockers(id pawl.StepID) string {
	for _, b := range f.state.OpenBlockers() {
		if b.Step == id {
			return fmt.Sprintf("blocked: %s (%s)", strings.Join(strings.Fields(b.Text), " "), f.onRun(fmt.Sprintf("pawl unblock %d", b.ID)))
		}
	}
	return ""
}

// settled reports whether the resume finishes a step and all that it needs. A skipped step may be finished before its
// needs are.
func (f *forecast) settled(id pawl.StepID) bool {
	is, known := f.behind[id]
	if !known {
		is = f.settles(f.of(f.plan.ByID[id])) && !slices.ContainsFunc(f.plan.Needs[id], func(need pawl.StepID) bool { return !f.settled(need) })
		f.behind[id] = is
	}
	return is
}

// settles reports whether the resume finishes a step, if what runs succeeds.
func (f *forecast) settles(x *Decision) bool {
	switch x.Do {
	case Skip, Recheck:
		return !f.rules.asking[question{purpose: pawl.ForImported, step: x.Step}]
	case Run, Attach:
		step := f.plan.ByID[x.Step]
		return len(x.ByItem[Ask])+len(x.ByItem[Wait]) == 0 && (len(x.ByItem[Fail]) == 0 && len(step.Review) == 0 || f.fails(x) && step.ContinueOnError)
	}
	return false
}

// nameItems lists the first items that run.
func (f *forecast) nameItems(x *Decision) error {
	if len(x.Each) == 0 {
		return nil
	}
	indexes := x.ByItem[Run]
	values, err := f.values(x.Step)
	if err != nil {
		return err
	}
	values = append(values, f.change.NewItems[x.Step]...)
	for i := range x.Each {
		x.Each[i].Value = values[x.Each[i].Index]
	}
	for _, index := range indexes[:min(len(indexes), MaxListed)] {
		x.Items = append(x.Items, values[index])
	}
	return nil
}
