package pawl

import (
	"fmt"
	"slices"
	"time"
)

// settleGates notes that a step has gone on from the answers it was given so far.
func (s *State) settleGates(id StepID) {
	for i := range s.Gates {
		if g := &s.Gates[i]; g.Step == id && !g.Open() {
			g.Settled = true
		}
	}
}

func (s *State) applyStep(e Event, payload Payload) error {
	switch p := payload.(type) {
	case StepListed:
		return s.stepListed(e, p)
	case ItemNamed:
		st := s.step(p.Step)
		if st.Named == nil {
			st.Named = map[ItemID]ItemNamed{}
		}
		st.Named[p.Item] = p
	case StepDone:
		return s.stepDone(e, p)
	case StepFailed:
		return s.stepLeft(e, p.Step, GaveUp, p.Why)
	case StepReopened:
		return s.stepReopened(p)
	case StepSkipped:
		return s.stepLeft(e, p.Step, Skipped, p.Why)
	case StepChecked:
		s.step(p.Step).Accept = p.Accept
	case StepReviewed:
		return s.stepReviewed(p)
	case OutputsChanged:
		s.step(p.Step).Changed = p.Paths
	}
	return nil
}

// stepLeft ends a step that is not done.
func (s *State) stepLeft(e Event, id StepID, status StepStatus, why string) error {
	if st := s.Steps[id]; st != nil && st.Status == Done {
		return fmt.Errorf("step %s is done already", id)
	}
	st := s.step(id)
	st.Status, st.Why, st.Ended = status, why, e.Time
	s.settleGates(id)
	return nil
}

func (s *State) stepListed(e Event, p StepListed) error {
	listed := 0
	if st := s.Steps[p.Step]; st != nil && st.Items != nil {
		listed = st.Items.Total
	}
	if st := s.Steps[p.Step]; st != nil && st.Status == Skipped {
		return fmt.Errorf("step %s is skipped", p.Step)
	}
	if p.From != listed {
		return fmt.Errorf("items from %d listed behind %d", p.From, listed)
	}
	st := s.step(p.Step)
	if st.Items == nil {
		st.Items = &ItemsState{}
		st.Key = p.Key
	}
	st.Items.Total += len(p.Items)
	st.Items.Lists = append(st.Items.Lists, e.Seq)
	st.Status = Running
	if st.Started.IsZero() {
		st.Started = e.Time
	}
	return nil
}

func (s *State) stepDone(e Event, p StepDone) error {
	if s.Steps[p.Step].concluded() {
		return fmt.Errorf("step %s is done already", p.Step)
	}
	if p.Token != "" {
		if _, _, err := s.live(AttemptRef{Step: p.Step, Attempt: p.Attempt, Token: p.Token}); err != nil {
			return err
		}
	}
	st := s.step(p.Step)
	if p.Token == "" && !p.Started.IsZero() {
		st.Started = p.Started
		st.Attempts++
	}
	s.settleGates(p.Step)
	st.Try.Live, st.Try.Last, st.Try.Failures, st.Try.Losses = nil, nil, 0, 0
	st.Status, st.Ended, st.Done = Done, e.Time, e.Seq
	st.Key, st.Outputs, st.Digest, st.Accept = p.Key, p.Outputs, p.Digest, p.Accept
	st.Summary, st.Undo, st.Adopted = p.Summary, p.Undo, p.Adopted
	st.Why, st.Rejected, st.Changed, st.Progress = "", "", nil, nil
	st.Minimum = p.Review
	if len(p.Review) > 0 {
		st.Status, st.Reviews = AwaitsReview, nil
	}
	s.spend(st, p.Stats, p.Usage)
	st.Unsaved = ""
	if p.Save != nil {
		s.save(e, *p.Save)
		st.Unsaved = p.Save.Unsaved()
	}
	return nil
}

func (s *State) stepReopened(p StepReopened) error {
	if len(s.Steps[p.Step].Live()) > 0 {
		return fmt.Errorf("step %s is running", p.Step)
	}
	st := s.step(p.Step)
	s.settleGates(p.Step)
	st.Status, st.Why, st.Rejected = Pending, p.Why, p.Why
	st.Try.Failures, st.Try.Losses, st.Ended, st.Reviews = 0, 0, time.Time{}, nil
	st.Try.Again = p.Asked
	if st.Items == nil {
		return nil
	}
	st.Floor = max(st.Floor, st.Attempts)
	switch {
	case p.Keep:
		st.Items.Failed, st.Items.Tries = nil, nil
		return nil
	case len(p.Items) == 0:
		st.Items = nil
		return nil
	}
	for _, index := range p.Items {
		if st.Items.Done.At(index) != 0 {
			st.Items.Done.Set(index, 0)
			st.Items.Count--
		}
		delete(st.Items.Failed, index)
		delete(st.Items.Tries, index)
	}
	return nil
}

func (s *State) stepReviewed(p StepReviewed) error {
	st := s.Steps[p.Step]
	if st == nil || st.Status != AwaitsReview && st.Status != Done {
		return fmt.Errorf("step %s has nothing to review", p.Step)
	}
	if st.Reviews == nil {
		st.Reviews = map[string]StepReviewed{}
	}
	st.Reviews[p.Reviewer] = p
	if st.Status == AwaitsReview && len(st.Unreviewed()) == 0 {
		st.Status = Done
	}
	return nil
}

// Unreviewed returns the reviewers whose score is missing or below their minimum, sorted.
func (st *StepState) Unreviewed() []string {
	var names []string
	for name, minimum := range st.Minimum {
		if r, ok := st.Reviews[name]; !ok || r.Score < minimum {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
