package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
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

// Forecast returns what a resume would do with each step of the plan. It plays the resume: the engine's decisions, with what runs
// succeeding. It changes nothing. onRun adds the run to a command that needs it.
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
		change: c, plan: runs.NewOutline(c.Plan()), before: s, start: s.Clone(), now: now, onRun: onRun,
		fixed: map[pawl.AttemptRef]decision{}, rerun: map[pawl.StepID]bool{},
	}
}

// forecast is what a resume starts from.
type forecast struct {
	change *resume.PlanDiff
	plan   *runs.Outline
	before *pawl.State
	start  *pawl.State // with the current plan, inputs and lists
	now    time.Time
	onRun  func(command string) string

	interrupted []resume.Judged
	fixed       map[pawl.AttemptRef]decision // about attempts whose records decide
	rerun       map[pawl.StepID]bool         // steps that run again because of the plan or files
	gave        map[pawl.StepID]string       // of an update: what steps gave in the earlier run
	values      func(pawl.StepID) ([]string, error)
}

// fold applies events to the state.
func (f *forecast) fold(payloads ...pawl.Payload) { foldInto(f.start, f.now, payloads) }

// decisions returns the decision about each step, in order.
func (f *forecast) decisions() ([]Decision, error) {
	m := f.simulate(assumption{})
	all := m.decisions()
	if err := cmp.Or(m.err, f.addUnless(m, all)); err != nil {
		return nil, err
	}
	for i := range all {
		if err := f.nameItems(&all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// addUnless adds to the decisions that are others if something comes out differently what they depend on.
func (f *forecast) addUnless(m *simulation, all []Decision) error {
	uncertain := map[pawl.StepID]bool{}
	compare := func(a assumption) *simulation {
		other := f.simulate(a)
		m.compare(all, other, uncertain)
		return other
	}
	changed := compare(assumption{changes: true})
	err := changed.err
	if m.open || changed.open {
		err = cmp.Or(err, compare(assumption{fails: true}).err, compare(assumption{changes: true, fails: true}).err)
	}
	f.dependOn(m, all, uncertain)
	return err
}

// compare adds to uncertain the steps that another simulation decides about differently, or leaves in another status.
func (m *simulation) compare(all []Decision, other *simulation, uncertain map[pawl.StepID]bool) {
	steps, others := len(m.plan.InOrder), other.decisions()
	for i, x := range others[:steps] {
		if x.Do != all[i].Do || x.Runs != all[i].Runs || !maps.EqualFunc(x.ByItem, all[i].ByItem, slices.Equal) || m.statusOf(x.Step) != other.statusOf(x.Step) {
			uncertain[x.Step] = true
		}
	}
	for _, x := range all[steps:] {
		if !slices.ContainsFunc(others[steps:], func(o Decision) bool { return o.Step == x.Step }) {
			uncertain[x.Step] = true
		}
	}
}

// statusOf returns the status of a step when nothing happens any more.
func (m *simulation) statusOf(id pawl.StepID) pawl.StepStatus {
	if st := m.state.Steps[id]; st != nil {
		return st.Status
	}
	return pawl.Pending
}

// dependOn adds to uncertain decisions the steps that run, are checked or are uncertain themselves and on which they depend.
func (f *forecast) dependOn(m *simulation, all []Decision, uncertain map[pawl.StepID]bool) {
	moving := func(own pawl.StepID, among []pawl.StepID) (ids []pawl.StepID) {
		for _, x := range all {
			if x.Step != own && (among == nil || slices.Contains(among, x.Step)) && (x.Runs || x.Do == Recheck || uncertain[x.Step]) {
				ids = append(ids, x.Step)
			}
		}
		return ids
	}
	for i := range all {
		x := &all[i]
		needs, users := m.sources(x.Step), f.plan.Users[x.Step]
		switch {
		case uncertain[x.Step] && f.plan.HandlesEnd(x.Step):
			if x.Unless = moving(x.Step, nil); len(x.Unless) > 0 {
				x.Why += "; the end of the run depends on " + joined(x.Unless)
			}
		case uncertain[x.Step]:
			if len(needs) > 0 {
				x.Unless = moving(x.Step, needs)
			}
			if len(x.Unless) == 0 && x.Do != Recheck {
				x.Unless = moving(x.Step, users)
			}
			f.explainUnless(x, m)
		case x.Do == Attach && len(users) > 0: // a service may end, and start again when a step needs it
			x.Unless = moving(x.Step, users)
		}
	}
}

// sources returns the needs of a step, and in place of those that are skipped or fail what they pass on.
func (m *simulation) sources(id pawl.StepID) (all []pawl.StepID) {
	for _, need := range m.plan.Needs[id] {
		all = append(append(all, need), runs.Sources(m.plan.Needs, need, m.state)...)
	}
	return all
}

// explainUnless says in which case the decision is another one.
func (f *forecast) explainUnless(x *Decision, m *simulation) {
	c := m.courses[x.Step]
	switch {
	case len(x.Unless) == 0:
	case c != nil && c.open != "":
		x.Why += "; its condition " + c.open + " decides"
	case x.Do == Skip && f.plan.ByID[x.Step].Service != nil:
		x.Why += "; starts again if a step that needs it runs"
	case f.plan.ByID[x.Step].Gate != nil:
		x.Why += "; asks again if the outputs of " + joined(x.Unless) + " change"
	case x.ByItem != nil:
		x.Why += "; all items run if the outputs of " + joined(x.Unless) + " change"
	case x.Do == Skip, x.Do == Attach, x.Do == Recheck, c != nil && c.finishes:
		x.Why += "; runs if the outputs of " + joined(x.Unless) + " change"
	}
}

// decisions returns what the simulated resume does with each step, and then the handler that runs.
func (m *simulation) decisions() []Decision {
	all := make([]Decision, 0, len(m.plan.InOrder))
	d := m.decider()
	for _, step := range m.plan.InOrder {
		all = append(all, m.of(d, step))
	}
	for _, step := range m.plan.Handlers() {
		if c := m.courses[step.ID]; c != nil && c.do == Run {
			all = append(all, Decision{Step: step.ID, Do: Run, Runs: true, Why: c.why})
		}
	}
	return all
}

// of returns the decision about a step.
func (m *simulation) of(d *decider, step *pawl.Step) Decision {
	x, st := Decision{Step: step.ID}, m.state.Steps[step.ID]
	c := cmp.Or(m.courses[step.ID], &course{})
	if c.all != nil {
		x.ByItem, x.Each = c.all.byItem, c.all.each
	}
	switch end := d.ofStep(step, st); {
	case c.do != "":
		x.Do, x.Why = c.do, c.why
		if !c.finishes && !c.again && c.do != Skip {
			m.judged(&x)
		}
	case c.condition != "" && st.Status == pawl.Skipped:
		x.Do, x.Why = Skip, pawl.ConditionFalse(c.condition)
		if slices.Contains(m.change.Recheck, step.ID) {
			x.Why += rechecked
		}
	case st.Finished() && !m.start.Ended() && slices.Contains(m.change.Recheck, step.ID):
		x.Do, x.Why = Recheck, "acceptance checks changed"
	default:
		x.set(end)
		m.stuck(d, &x, step, st)
	}
	x.Runs = x.Do == Run || x.Do == Attach
	return x
}

// rechecked says that a finished step is checked before it is known that it will be skipped.
const rechecked = "; before that, its changed acceptance checks run"

// stuck decides about a step that nothing happens to.
func (m *simulation) stuck(d *decider, x *Decision, step *pawl.Step, st *pawl.StepState) {
	if x.Do == Fail && st.Items != nil {
		all := m.ofItems(d, step, st)
		all.halt("its step has failed")
		x.ByItem, x.Each = all.byItem, all.each
	}
	if was := m.before.Steps[step.ID]; x.Do == Fail && (was == nil || was.Status != pawl.FailedForGood) {
		x.Why = st.Why + "; " + runs.Then("pawl resume ends the run as failed", m.onRun)
		return
	}
	if st.Finished() || x.Do == Fail {
		return
	}
	m.judged(x)
	if st != nil && st.Items != nil {
		c := m.ofItems(d, step, st)
		x.Do, x.Why, x.ByItem, x.Each = c.do, c.why, c.byItem, c.each
	}
	if why := m.obstacle(d, step, st); why != "" {
		x.Do, x.Why = Wait, why
	}
}

// obstacle returns why a step that is not finished does not start, "" if nothing keeps it.
func (m *simulation) obstacle(d *decider, step *pawl.Step, st *pawl.StepState) string {
	handles := d.handlesFailure(step)
	for _, need := range m.plan.Needs[step.ID] {
		if !handles && m.state.Steps[need].FailsRun() {
			return fmt.Sprintf("needs step %s, which %s", need, m.failed(need))
		}
	}
	switch failed := d.failedStep(); {
	case m.start.Ended() && m.start.Status == pawl.StatusFailed:
		return "the run has failed: " + m.start.Why
	case m.start.Ended():
		return "the run has completed"
	case !d.mayStart():
		return m.halted()
	case d.blocked[step.ID]:
		return m.blockers(step.ID)
	case failed != "" && startsNothing(st) && !handles && !d.serves(step):
		return "step " + string(failed) + " " + m.failed(failed)
	}
	for _, need := range m.plan.Needs[step.ID] {
		if handles && !d.over(need) || !handles && !d.stepSettled(d.plan.At[need]) {
			return fmt.Sprintf("needs step %s, which waits", need)
		}
	}
	return ""
}

// failed says whether a step has failed or will.
func (m *simulation) failed(id pawl.StepID) string {
	if m.before.Steps[id].FailsRun() {
		return "failed"
	}
	return "will fail"
}

// halted says what keeps every step from starting.
func (m *simulation) halted() string {
	for _, g := range m.state.OpenGates() {
		if g.Halts() {
			return waitingFor(g)
		}
	}
	if text := m.blockers(""); text != "" {
		return text
	}
	return "a person stopped the run at a gate"
}

// blockers names the blocker of a step, or of the run.
func (m *simulation) blockers(id pawl.StepID) string {
	for _, b := range m.state.OpenBlockers() {
		if b.Step == id {
			return fmt.Sprintf("blocked: %s (%s)", strings.Join(strings.Fields(b.Text), " "), m.onRun(fmt.Sprintf("pawl unblock %d", b.ID)))
		}
	}
	return ""
}

func (x *Decision) set(c decision) { x.Do, x.Why = c.do, c.why }

// maxJoined is how many steps a text names.
const maxJoined = 5

// joined names the first steps and counts the others.
func joined(ids []pawl.StepID) string {
	var names []string
	for _, id := range ids[:min(len(ids), maxJoined)] {
		names = append(names, string(id))
	}
	text := strings.Join(names, ", ")
	if more := len(ids) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// adopt brings the state to where a resume starts: with the current plan, inputs and lists.
func (f *forecast) adopt(interrupted []resume.Judged) {
	s, c := f.start, f.change
	if c.Edited {
		f.fold(pawl.RunPlanned{Revision: s.Plan.Revision + 1, Goal: c.Plan().Goal, Mode: c.Plan().Mode})
	}
	for _, live := range interrupted {
		if Outdates(c, live.Live, f.values) {
			if end := OutdatedEnd(c, live.Live, live.Evidence, live.Alive); end != nil {
				f.fold(*end)
				f.rerun[live.Step] = true
			}
		}
	}
	f.fold(Adoption(s, c)...)
	for _, x := range c.Rerun {
		f.rerun[x.Step] = f.rerun[x.Step] || len(x.Items) == 0
	}
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
	if step == nil || !slices.ContainsFunc(f.start.Live(), func(l *pawl.AttemptState) bool { return l.Token == live.Live.Token }) {
		return
	}
	attach := func(why string) { f.fixed[live.Live.AttemptRef] = decision{do: Attach, why: why} }
	if step.Service != nil && Unneeded(f.plan, f.start, live.Live) {
		if NeedsService(f.plan, f.start, live.Step) { // it was released before a step needed it again
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
		ev.Checks = passedChecks(step)
		if done, _, _ := resume.Conclude(step, ev); done || step.Gate != nil { // else they run, and decide nothing
			attach("its acceptance checks decide; " + live.Text())
			return
		}
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

// passedChecks returns the acceptance checks of a step as if they had passed.
func passedChecks(step *pawl.Step) (all []pawl.CheckRun) {
	for name := range step.Accept {
		all = append(all, pawl.CheckRun{Name: name})
	}
	return all
}

// judged says how interrupted attempts at a step were judged, the first ones of many.
func (f *forecast) judged(x *Decision) {
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
	if was := f.before.Steps[x.Step]; was != nil && was.Items != nil {
		x.Why = fmt.Sprintf("%d of %d items finished; %s", was.Items.Count, was.Items.Size(), x.Why)
	}
}

// maxJudged is how many interrupted items of a step are named.
const maxJudged = 3

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
