package pawl

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ReadyToResume is the word for an unfinished run that nothing interrupted and that only waits for `pawl resume`.
const ReadyToResume = "ready to resume"

// Standing returns the status of a run as people read it: a word and its reason. engine is as in StatusNow. All texts about a
// run use it, so that they agree.
func (s *State) Standing(engine bool) (word, why string) { return s.StandingIn(nil, engine) }

// StandingIn is Standing with the plan; see StatusIn.
func (s *State) StandingIn(plan *Plan, engine bool) (word, why string) {
	status := s.StatusIn(plan, engine)
	switch {
	case s.Rollback != nil && !s.Ended():
		return string(status), fmt.Sprintf("the rollback to checkpoint %s is unfinished", s.Rollback.Checkpoint)
	case status == StatusInterrupted && len(s.Working()) == 0 && s.Kind != DurableRun:
		if why := s.readyWhy(); why != "" {
			return ReadyToResume, why
		}
	case status == StatusWaiting:
		return string(status), s.waitingFor()
	case s.Ended(), status == StatusPaused:
		return string(status), s.Why
	}
	return string(status), ""
}

// readyWhy returns what a person did since the last engine stopped, so that a resume continues; "" for nothing.
func (s *State) readyWhy() string {
	if g := s.AnsweredLast(); g != nil {
		return g.AnswerText()
	}
	var queued []string
	for id, st := range s.Steps {
		switch {
		case st.Status == Pending && st.Retries.Again:
			queued = append(queued, fmt.Sprintf("step %s queued for retry", id))
		case st.Status == Skipped && st.Ended.Equal(s.Updated):
			queued = append(queued, fmt.Sprintf("step %s was skipped", id))
		}
		if g := s.WithdrawnGate(id); g != nil {
			queued = append(queued, g.WithdrawnText())
		}
	}
	slices.Sort(queued)
	return strings.Join(queued, ", ")
}

// waitingFor counts what a waiting run asks of people.
func (s *State) waitingFor() string {
	reviews := 0
	for _, st := range s.Steps {
		if st.Status == AwaitsReview {
			reviews += len(st.Unreviewed())
		}
	}
	var parts []string
	for _, x := range []struct {
		n    int
		noun string
	}{{len(s.OpenGates()), "open gate"}, {len(s.OpenBlockers()), "blocker"}, {reviews, "missing review"}} {
		switch {
		case x.n == 1:
			parts = append(parts, "1 "+x.noun)
		case x.n > 1:
			parts = append(parts, strconv.Itoa(x.n)+" "+x.noun+"s")
		}
	}
	return strings.Join(parts, ", ")
}

// WithdrawnGate returns the newest gate of an unfinished step if it was withdrawn and nothing has asked again since; nil for none.
func (s *State) WithdrawnGate(step StepID) *GateState {
	if s.Ended() || s.Steps[step].Finished() {
		return nil
	}
	for _, g := range slices.Backward(s.Gates) {
		if g.Step == step {
			if g.Withdrawn != "" && !g.Settled {
				return &g
			}
			return nil
		}
	}
	return nil
}

// WithdrawnText says why a withdrawn gate asks no more, such as "gate 3f2a91c0 was closed: its content has changed: a.txt".
func (g *GateState) WithdrawnText() string {
	return fmt.Sprintf("gate %s was closed: %s", g.ID, g.Withdrawn)
}

// After says what a resume does with the answer of a gate.
func (g *GateState) After() string {
	switch {
	case g.EndsRun():
		return "pawl resume ends the run as failed"
	case g.Answer.Answer == Rejected:
		return "pawl resume reruns the steps that the gate covers"
	}
	return "pawl resume continues"
}

// EndsRun reports whether the answer of a gate fails the run: a rejection for good, or of a question that pawl itself asked.
func (g *GateState) EndsRun() bool {
	return g.Answer.Answer == Refused || g.Answer.Answer == Rejected && g.Purpose != "" && g.Purpose != ForImported
}

// RejectionText says who rejected the gate, with the person's own words in quotes.
func (g *GateState) RejectionText() string {
	text := fmt.Sprintf("a person rejected gate %s", g.ID)
	if g.Answer.Answer == Refused {
		text += " for good"
	}
	return withWords(text, g.Answer.Why)
}

// withWords adds what a person said, in quotes.
func withWords(text, said string) string {
	if strings.TrimSpace(said) == "" {
		return text
	}
	return text + ": " + strconv.Quote(said)
}

// AskedForRetry is the reason of a retry for which a person gave none.
const AskedForRetry = "a person asked for a retry"

// RerunText says why a step runs again, and who wants it: a gate's rejection, a retry, or a change. "" if nothing reopened it.
func (s *State) RerunText(id StepID) string {
	st := s.Steps[id]
	if st == nil || st.Rejected == "" {
		return ""
	}
	return s.reopenedText(st.Rejected, st.Retries.Again)
}

// Text says why the step runs again, for a state with the event already folded.
func (p StepReopened) Text(s *State) string { return s.reopenedText(p.Why, p.Asked) }

// reopenedText finds out who gave the reason of a reopened step. The journal has only the words, because the step gets them.
func (s *State) reopenedText(why string, asked bool) string {
	if asked {
		if why == AskedForRetry {
			return why
		}
		return withWords(AskedForRetry, why)
	}
	for _, g := range slices.Backward(s.Gates) {
		if g.Answer != nil && g.Answer.Answer == Rejected && g.Answer.Why == why {
			return g.RejectionText()
		}
	}
	return why
}

// ScoredTooLow returns which reviewer's score is below the minimum, so that the step runs again; "" if none is.
func (st *StepState) ScoredTooLow() string {
	for _, name := range slices.Sorted(maps.Keys(st.Reviews)) {
		r := st.Reviews[name]
		if minimum, wanted := st.Minimum[name]; wanted && r.Score < minimum {
			return withWords(fmt.Sprintf("%s scored it %d, minimum %d", name, r.Score, minimum), r.Comment)
		}
	}
	return ""
}

// Tally counts the steps of a plan by how they stand.
type Tally struct {
	Total   int
	Done    []StepID
	Skipped []StepID
	Failed  []StepID // with continue_on_error
}

// Tally returns how many steps of the plan are done or skipped.
func (s *State) Tally(plan *Plan) Tally {
	var t Tally
	for _, step := range plan.Steps() {
		t.Total++
		switch st := s.Steps[step.ID]; {
		case st == nil:
		case st.Status == Done:
			t.Done = append(t.Done, step.ID)
		case st.Status == Skipped:
			t.Skipped = append(t.Skipped, step.ID)
		case st.Tolerated():
			t.Failed = append(t.Failed, step.ID)
		}
	}
	return t
}

// ToleratedText counts steps that failed without failing the run, "" for none.
func ToleratedText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 step failed (continue_on_error)"
	}
	return strconv.Itoa(n) + " steps failed (continue_on_error)"
}

// ConditionFalse is why a step with a false condition is skipped.
func ConditionFalse(condition string) string { return "condition is false: " + condition }

// SkippedText says that a step was skipped, and why, in one line.
func (st *StepState) SkippedText() string {
	switch {
	case st.Condition != "":
		return "skipped: " + ConditionFalse(st.Condition)
	case st.Why != "":
		return fmt.Sprintf("skipped: %q", st.Why)
	}
	return "skipped by a person"
}
