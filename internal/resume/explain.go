package resume

import (
	"time"

	"pawl"
	"pawl/internal/runs"
)

// Explained is a verdict as it was journaled, with what came of it.
type Explained struct {
	Seq     pawl.Seq       `json:"seq"`
	Time    time.Time      `json:"time"`
	Step    pawl.StepID    `json:"step"`
	Item    pawl.ItemID    `json:"item,omitempty"`
	Attempt int            `json:"attempt,omitempty"`
	Outcome string         `json:"outcome"` // done, failed, lost, not_started
	Why     string         `json:"why,omitempty"`
	Verdict pawl.Verdict   `json:"verdict"`
	Found   []pawl.Finding `json:"findings,omitempty"` // what was found when the run was resumed before
}

// Explain lists the verdicts of a run, or only those on one step, the oldest first.
func Explain(r *runs.Run, step pawl.StepID) ([]Explained, error) {
	var list []Explained
	var found []pawl.Finding
	for event, err := range r.Log.Events(0) {
		if err != nil {
			return nil, err
		}
		payload, err := event.Payload()
		if err != nil {
			continue // it is kept and reported by the fold
		}
		if examined, ok := payload.(pawl.RunExamined); ok {
			found = examined.Findings
			continue
		}
		if x := explained(payload); x != nil && (step == "" || x.Step == step) {
			x.Seq, x.Time, x.Found = event.Seq, event.Time, found
			list = append(list, *x)
		}
	}
	return list, nil
}

func explained(payload pawl.Payload) *Explained {
	switch p := payload.(type) {
	case pawl.AttemptEnded:
		if p.Verdict != nil {
			return &Explained{Step: p.Step, Item: p.Item, Attempt: p.Attempt, Outcome: string(p.Outcome), Why: p.Why, Verdict: *p.Verdict}
		}
	case pawl.ItemDone:
		if p.Verdict != nil {
			return &Explained{Step: p.Step, Item: p.Item, Attempt: p.Attempt, Outcome: "done", Why: p.Adopted, Verdict: *p.Verdict}
		}
	case pawl.StepDone:
		if p.Verdict != nil {
			return &Explained{Step: p.Step, Attempt: p.Attempt, Outcome: "done", Why: p.Adopted, Verdict: *p.Verdict}
		}
	}
	return nil
}
