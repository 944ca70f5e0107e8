package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// assumption is what a simulation assumes about what only the resume will know.
type assumption struct {
	changes bool // what runs writes other outputs than before, and changed acceptance checks fail
	fails   bool // conditions on the results of what runs are false
}

// simulation plays a resume: it takes the engine's decisions one after the other, and folds what the engine would journal. What runs
// succeeds.
type simulation struct {
	assumption
	*forecast
	state   *pawl.State
	now     time.Time
	courses map[pawl.StepID]*course
	items   map[pawl.StepID]bool // foreach steps whose items are decided
	guessed map[pawl.StepID]bool // steps whose new key is not known
	ended   map[pawl.StepID]bool // steps whose results are those of a simulated attempt
	open    bool                 // an assumption decided a condition
	err     error                // an event did not fit the state
}

// course is what a resume does with a step: the first thing, and what becomes of it.
type course struct {
	do        Do
	why       string
	all       *itemsCourse // of a foreach step that was begun
	finishes  bool         // without an attempt
	again     bool         // after an attempt that was interrupted has ended well
	condition string       // that is false
	open      string       // condition that an assumption decided
}

// simulate plays a resume to the point where only a person or time can continue it.
func (f *forecast) simulate(a assumption) *simulation {
	m := &simulation{
		assumption: a, forecast: f, state: f.start.Clone(), now: f.now,
		courses: map[pawl.StepID]*course{}, items: map[pawl.StepID]bool{}, ended: map[pawl.StepID]bool{}, guessed: map[pawl.StepID]bool{},
	}
	if m.state.Ended() {
		return m
	}
	m.takeOver()
	for range 16 + 8*(len(f.plan.ByID)+len(m.state.Live())+len(m.state.Gates)) {
		if !m.advance() {
			break
		}
	}
	return m
}

func (m *simulation) decider() *decider {
	d := newDecider(m.plan, m.state, m.now, 0)
	d.free = len(m.plan.ByID) + 1
	d.onRun, d.assume = m.onRun, m.assume
	for id := range m.items {
		d.blocked[id] = d.blocked[id] || m.course(id).waits() // its other items have run
	}
	return d
}

// advance takes the next decisions. It reports whether there were any.
func (m *simulation) advance() bool {
	d, moved := m.decider(), false
	var wake Action
	for _, a := range d.next() {
		if a.Kind == Sleep {
			wake = a
		} else {
			moved = m.act(d, a) || moved
		}
	}
	switch {
	case moved, m.readyServices(d.live), m.endAttempts(d.live):
		return true
	case wake.Kind == Sleep && !wake.NeedsPerson: // a retry, which is due before a foreach step fails
		m.now = wake.Until
		return true
	}
	return m.endForeach(true)
}

// fold applies events to the state.
func (m *simulation) fold(payloads ...pawl.Payload) {
	was := m.state.RejectedCount
	foldInto(m.state, m.now, payloads)
	if m.state.RejectedCount > was && m.err == nil {
		m.err = fmt.Errorf("the state would reject an event of a resume: %s; run pawl verify", m.state.RejectedEvents[len(m.state.RejectedEvents)-1].Why)
	}
}

func foldInto(s *pawl.State, now time.Time, payloads []pawl.Payload) {
	for _, p := range payloads {
		e, err := redact.OfProcess().Event(pawl.Author{Kind: pawl.ByEngine}, p)
		if err != nil {
			panic("payloads are plain data: " + err.Error())
		}
		e.Seq, e.Time = s.Seq+1, now
		s.Apply(e)
	}
}

func (m *simulation) course(id pawl.StepID) *course {
	if m.courses[id] == nil {
		m.courses[id] = &course{}
	}
	return m.courses[id]
}

// note notes what happens to a step. That it runs counts more than what happened to it before.
func (m *simulation) note(id pawl.StepID, do Do, why string) {
	if c := m.course(id); c.do == "" || do == Run && c.do != Run {
		c.again = c.do == Attach
		c.do, c.why = do, why
	}
}

// assume decides a condition on the result of a step that runs.
func (m *simulation) assume(step *pawl.Step, c *condition) (holds, assumed bool) {
	if c.program == nil || !slices.ContainsFunc(c.program.Results(), func(id pawl.StepID) bool { return m.ended[id] }) {
		return false, false
	}
	m.course(step.ID).open, m.open = c.text, true
	return !m.fails, true
}

// act does what the engine does for a decision. It reports whether that changed anything.
func (m *simulation) act(d *decider, a Action) bool {
	if a.Step != nil && m.items[a.Step.ID] {
		return false
	}
	switch {
	case a.Kind == StopLive:
		return m.stopServices(a.Why)
	case a.Kind == Finish:
		m.finish(a)
	case a.Kind == List, a.Step != nil && (a.Kind == Start || a.Kind == Open) && m.listed(a.Step.ID):
		m.decideItems(d, a.Step)
	case a.Kind == Start:
		m.begin(d, a)
	case a.Kind == Open:
		m.ask(a.Step, m.decisionOn(d, a.Step).why, a.Gate)
	case a.Kind == Release:
		return m.release(a)
	default:
		m.record(a)
	}
	return true
}

// record folds what an action journals that starts nothing.
func (m *simulation) record(a Action) {
	switch a.Kind {
	case SkipStep:
		m.course(a.Step.ID).condition = a.Condition
	case Settle:
		m.note(a.Step.ID, Skip, a.Why)
	case Reopen:
		for _, id := range a.Steps { // what was decided about its items does not hold any more
			delete(m.items, id)
		}
	}
	m.fold(a.Payloads(m.state)...)
}

func (m *simulation) listed(id pawl.StepID) bool {
	st := m.state.Steps[id]
	return st != nil && st.Items != nil
}

// decisionOn returns the decision about a step that is not a foreach step, or about a handler.
func (m *simulation) decisionOn(d *decider, step *pawl.Step) decision {
	st := m.state.Steps[step.ID]
	if st == nil {
		st = &pawl.StepState{Status: pawl.Pending}
	}
	if m.plan.HandlesEnd(step.ID) {
		return d.ofTry(step, st, &st.Retries)
	}
	return d.ofStep(step, st)
}

// begin starts an attempt.
func (m *simulation) begin(d *decider, a Action) {
	why := m.decisionOn(d, a.Step).why
	if m.plan.HandlesEnd(a.Step.ID) {
		why = strings.TrimSuffix("when the run has ended: "+a.Why, ": ")
	}
	m.note(a.Step.ID, Run, why)
	st := m.state.Steps[a.Step.ID]
	attempt := 1
	if st != nil {
		attempt = st.Retries.Attempt + 1
	}
	m.fold(pawl.AttemptStarted{
		AttemptRef: pawl.AttemptRef{Step: a.Step.ID, Attempt: attempt, Token: pawl.Token(fmt.Sprintf("simulated-%d", m.state.Seq))},
		Key:        m.key(a.Step, st),
	})
}

// key returns the key of a new attempt. Its inputs are those of the last result unless they are known to differ.
func (m *simulation) key(step *pawl.Step, st *pawl.StepState) pawl.Key {
	key := pawl.Key{Definition: pawl.DefinitionOf(m.plan.Plan, step, ""), Needs: runs.OutputDigests(m.plan.Needs, m.plan.Needs[step.ID], m.state)}
	declared := runs.KeyInputs(runs.Work{Step: step, Index: -1})
	switch {
	case len(declared) == 0:
	case st != nil && st.Key.Definition != "" && !m.changes && !m.rerun[step.ID]:
		key.Inputs = st.Key.Inputs
	default:
		key.Inputs = pawl.Outputs{declared[0]: m.unlike()}
		m.guessed[step.ID] = !m.rerun[step.ID]
	}
	for _, need := range m.plan.Needs[step.ID] {
		for _, source := range runs.Sources(m.plan.Needs, need, m.state) {
			m.guessed[step.ID] = m.guessed[step.ID] || m.guessed[source]
		}
	}
	return key.Compact()
}

// unlike returns a content that no file ever had.
func (m *simulation) unlike() pawl.Content {
	return pawl.Content{SHA256: fmt.Sprintf("simulated %d", m.state.Seq)}
}

// ask opens a gate.
func (m *simulation) ask(step *pawl.Step, why string, gate pawl.Gate) {
	if gate.Ask == "" {
		gate = step.Gate.Gate(step.ID, "", m.now)
	}
	gate.ID = gate.Identify()
	if step != nil {
		m.note(step.ID, Ask, why)
	}
	m.fold(pawl.GateOpened{Gate: gate})
}

// finish finishes a gate step whose gate was answered, or a foreach step whose items are done.
func (m *simulation) finish(a Action) {
	c, st := m.course(a.Step.ID), m.state.Steps[a.Step.ID]
	if c.do == "" || c.do == Ask {
		c.do, c.why, c.finishes = Run, a.Why, true
		if g := m.state.AnsweredGate(a.Step.ID); g != nil {
			c.why = g.AnswerText() + "; " + runs.Then(g.After(), m.onRun)
		} else if st.Items != nil {
			c.why = itemsText(st.Items, 0)
		}
	}
	m.complete(a.Step, pawl.AttemptRef{Step: a.Step.ID}, m.key(a.Step, st))
}

// complete journals the result of a step.
func (m *simulation) complete(step *pawl.Step, ref pawl.AttemptRef, key pawl.Key) {
	done := pawl.StepDone{Step: step.ID, Attempt: ref.Attempt, Token: ref.Token, Key: key, Accept: pawl.AcceptOf(step), Undo: step.Undo, Review: step.Review}
	st := m.state.Steps[step.ID]
	switch {
	case len(step.Outputs) == 0 && step.Foreach == nil: // the key decides
		if m.guessed[step.ID] && !m.changes {
			done.Digest = m.given(step.ID)
		}
	case m.changes:
		done.Outputs, done.Digest = m.otherOutputs(step, st), m.unlike().SHA256
	case st != nil && (st.Digest != "" || len(st.Outputs) > 0):
		done.Outputs, done.Digest = st.Outputs, st.Digest
	default:
		done.Digest = cmp.Or(m.given(step.ID), m.unlike().SHA256)
	}
	m.ended[step.ID] = step.Service == nil
	m.fold(append(runs.WithdrawGates(m.state, step.ID, "ended"), done)...)
}

// given returns the digest of a step's outputs that a step which needs it was given before, "" if there is none.
func (m *simulation) given(id pawl.StepID) string {
	result := func(gave string) bool {
		return gave != "" && gave != pawl.UnknownOutput && !strings.HasPrefix(gave, pawl.PassedOn)
	}
	for _, step := range m.plan.InOrder {
		if st := m.state.Steps[step.ID]; st != nil && result(st.Key.Needs[id]) {
			return st.Key.Needs[id]
		}
	}
	if gave := m.gave[id]; result(gave) {
		return gave
	}
	return ""
}

// otherOutputs returns outputs with a content that they never had.
func (m *simulation) otherOutputs(step *pawl.Step, st *pawl.StepState) pawl.Outputs {
	all := pawl.Outputs{}
	for _, path := range step.Outputs {
		all[path] = m.unlike()
	}
	if st != nil {
		for path := range st.Outputs {
			all[path] = m.unlike()
		}
	}
	return all
}

// release ends a service that no step needs any more, or that is outdated.
func (m *simulation) release(a Action) bool {
	live := m.state.Steps[a.Step.ID].Retries.Live
	if live == nil { // it was stopped in the same round
		return false
	}
	m.fold(pawl.ServiceReleased{AttemptRef: live.AttemptRef, Why: a.Why})
	m.complete(a.Step, live.AttemptRef, live.Key)
	return true
}

// stopServices ends all services, since the run ends or pauses.
func (m *simulation) stopServices(why string) (stopped bool) {
	for _, live := range m.state.Live() {
		step := m.plan.ByID[live.Step]
		if step == nil || step.Service == nil {
			continue
		}
		stopped = true
		if NeedsService(m.plan, m.state, live.Step) {
			m.fold(pawl.AttemptEnded{AttemptRef: live.AttemptRef, Outcome: pawl.Aborted, Reason: pawl.ReasonAbort, Why: why})
		} else {
			m.complete(step, live.AttemptRef, live.Key)
		}
	}
	return stopped
}

// readyServices makes the services ready that have started. It reports whether there were any.
func (m *simulation) readyServices(all []*pawl.AttemptState) (moved bool) {
	for _, live := range all {
		step := m.plan.ByID[live.Step]
		if step != nil && step.Service != nil && live.Ready.IsZero() {
			m.fold(pawl.ServiceReady{AttemptRef: live.AttemptRef})
			moved = true
		}
	}
	return moved
}

// endAttempts ends what runs, apart from services. It reports whether anything ran.
func (m *simulation) endAttempts(all []*pawl.AttemptState) (moved bool) {
	for _, live := range all {
		switch step := m.plan.ByID[live.Step]; {
		case step == nil: // it was removed from the plan
			m.fold(pawl.AttemptEnded{AttemptRef: live.AttemptRef, Outcome: pawl.Aborted})
		case live.Item != "":
			m.fold(pawl.ItemDone{AttemptRef: live.AttemptRef, Key: live.Key})
		case step.Service != nil:
			continue
		default:
			m.end(step, live)
		}
		moved = true
	}
	return m.endForeach(false) || moved
}

// end ends an attempt that succeeds. One of a gate step has run its checks, and the gate opens.
func (m *simulation) end(step *pawl.Step, live *pawl.AttemptState) {
	if step.Gate == nil {
		m.complete(step, live.AttemptRef, live.Key)
		return
	}
	gate := step.Gate.Gate(step.ID, "", m.now)
	for name := range step.Accept {
		gate.Checks = append(gate.Checks, pawl.CheckRun{Name: name})
	}
	m.waitAt(live.AttemptRef, gate)
}

// waitAt ends an attempt that waits for a gate.
func (m *simulation) waitAt(ref pawl.AttemptRef, gate pawl.Gate) {
	gate.ID = cmp.Or(gate.ID, gate.Identify())
	if g := m.state.Gate(gate.ID); g == nil || !g.Open() && (g.Source == nil || g.Source.Token != ref.Token) {
		m.fold(pawl.GateOpened{Gate: gate})
	}
	m.fold(pawl.AttemptEnded{AttemptRef: ref, Outcome: pawl.WaitsFor, Reason: pawl.ReasonExited, Gate: gate.ID})
}
