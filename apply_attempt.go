package pawl

import (
	"fmt"
	"math"
)

// step returns the state of a step, making it where none is yet.
func (s *State) step(id StepID) *StepState {
	st := s.Steps[id]
	if st == nil {
		st = &StepState{Status: Pending}
		if s.Steps == nil { // decoded from a state without steps
			s.Steps = map[StepID]*StepState{}
		}
		s.Steps[id] = st
	}
	return st
}

// concluded reports whether the step's work is done, be it reviewed or not: it is not done again unless it is reopened.
func (st *StepState) concluded() bool {
	return st != nil && (st.Status == Done || st.Status == AwaitsReview)
}

// try returns the history of tries that an attempt belongs to, nil where there is none.
func (st *StepState) try(ref AttemptRef) *Try {
	switch {
	case st == nil:
		return nil
	case ref.Item == "":
		return &st.Try
	case st.Items == nil:
		return nil
	}
	return st.Items.Tries[ref.Index]
}

// Conversation returns the session of an agent that the newest attempt at a piece of work had, nil where none is known.
func (s *State) Conversation(ref AttemptRef) *Conversation {
	if t := s.Steps[ref.Step].try(ref); t != nil {
		return t.Conversation
	}
	return nil
}

// unfinished reports whether there is an item at the index that is not finished.
func (it *ItemsState) unfinished(index int) bool {
	return it != nil && index >= 0 && index < it.Total && it.Done.At(index) == 0
}

// live returns the tries whose live attempt this is, or why it is none: a result is believed only with the token of
// the newest attempt.
func (s *State) live(ref AttemptRef) (*StepState, *Try, error) {
	st := s.Steps[ref.Step]
	if st == nil {
		return nil, nil, fmt.Errorf("step %s was never started", ref.Step)
	}
	t := st.try(ref)
	if t == nil || t.Live == nil || t.Live.Token != ref.Token {
		return nil, nil, fmt.Errorf("attempt %d of %s is not the live one", ref.Attempt, ref.Name())
	}
	return st, t, nil
}

// Name returns "step" or "step/item".
func (r AttemptRef) Name() string {
	if r.Item == "" {
		return string(r.Step)
	}
	return string(r.Step) + "/" + string(r.Item)
}

func (s *State) applyAttempt(e Event, payload Payload) error {
	switch p := payload.(type) {
	case AttemptStarted:
		return s.attemptStarted(e, p)
	case AttemptEnded:
		return s.attemptEnded(p)
	case ItemDone:
		return s.itemDone(e, p)
	case Heartbeat:
		_, t, err := s.live(p.AttemptRef)
		if err != nil {
			return err
		}
		t.Live.Beat = e.Time
	case Progressed:
		return s.progressed(e, p)
	case Conversed:
		return s.conversed(p)
	}
	return nil
}

func (s *State) attemptStarted(e Event, p AttemptStarted) error {
	if err := s.Steps[p.Step].mayStart(p.AttemptRef); err != nil {
		return err
	}
	st := s.step(p.Step)
	t := st.try(p.AttemptRef)
	if t == nil {
		t = &Try{}
		if st.Items.Tries == nil {
			st.Items.Tries = map[int]*Try{}
		}
		st.Items.Tries[p.Index] = t
	}
	s.settleGates(p.Step)
	t.Attempt, t.Again = p.Attempt, false
	t.Live = &AttemptState{AttemptRef: p.AttemptRef, Key: p.Key, Started: e.Time, Seq: e.Seq}
	for _, o := range s.Operations {
		o.Overlaps = true
	}
	st.Attempts++
	st.Status = Running
	st.Reviews = nil
	if st.Started.IsZero() {
		st.Started = e.Time
	}
	return nil
}

// mayStart returns why an attempt cannot be the step's next one.
func (st *StepState) mayStart(ref AttemptRef) error {
	newest := 0
	if t := st.try(ref); t != nil {
		newest = t.Attempt
	}
	switch {
	case st.concluded():
		return fmt.Errorf("step %s is done already", ref.Step)
	case st.Finished():
		return fmt.Errorf("step %s is skipped", ref.Step)
	case ref.Item != "" && (st == nil || !st.Items.unfinished(ref.Index)):
		return fmt.Errorf("%s is finished or not listed", ref.Name())
	case ref.Attempt <= newest:
		return fmt.Errorf("attempt %d of %s follows attempt %d", ref.Attempt, ref.Name(), newest)
	}
	return nil
}

func (s *State) attemptEnded(p AttemptEnded) error {
	st, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	t.Live, t.Last = nil, &p
	switch p.Outcome {
	case Failed:
		t.Failures++
		t.Losses = 0
	case Lost, NotStarted:
		t.Losses++
	default:
		t.Losses = 0
	}
	if p.CutShort() {
		st.CutShort++
	}
	if p.Stats != nil && p.Outcome != WaitsFor {
		st.Lost = finite(st.Lost + p.Stats.Seconds)
	}
	s.spend(st, p.Stats, p.Usage)
	if p.Item == "" {
		if st.Status == Running { // not skipped meanwhile
			st.Status = Pending
		}
		if g := s.Gate(p.Gate); st.Status == Pending && p.Outcome == WaitsFor && g != nil && g.Open() {
			st.Status = AwaitsGate
		}
	} else if p.Final {
		if st.Items.Failed == nil {
			st.Items.Failed = map[int]AttemptEnded{}
		}
		st.Items.Failed[p.Index] = p
	}
	return nil
}

func (s *State) itemDone(e Event, p ItemDone) error {
	if p.Item == "" {
		return fmt.Errorf("an item of step %s is done, but which?", p.Step)
	}
	st, _, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	st.Items.Done.Set(p.Index, e.Seq)
	st.Items.Count++
	delete(st.Items.Tries, p.Index)
	delete(st.Items.Failed, p.Index)
	s.spend(st, p.Stats, p.Usage)
	return nil
}

func (s *State) progressed(e Event, p Progressed) error {
	_, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	progress := &Progress{Text: p.Text, Done: p.Done, Total: p.Total, Time: e.Time}
	t.Live.Progress = progress
	if p.Usage != (Usage{}) {
		t.Live.Usage = p.Usage
	}
	s.Steps[p.Step].Progress = progress
	return nil
}

func (s *State) conversed(p Conversed) error {
	_, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	c := p.Conversation
	c.Definition = t.Live.Key.Definition
	t.Conversation = &c
	return nil
}

func (s *State) spend(st *StepState, stats *AttemptStats, usage Usage) {
	if stats != nil {
		st.Seconds = finite(st.Seconds + stats.Seconds)
		s.Spent.Seconds = finite(s.Spent.Seconds + stats.Seconds)
	}
	for _, sum := range []*Usage{&st.Usage, &s.Spent.Usage} {
		*sum = sum.Add(usage)
		sum.USD = finite(sum.USD)
	}
}

// finite keeps a sum within what JSON can hold: a step may say any number.
func finite(v float64) float64 { return min(max(v, -math.MaxFloat64), math.MaxFloat64) }
