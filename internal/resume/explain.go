package resume

import (
	"time"

	"pawl"
	"pawl/internal/runs"
)

// Explained is a journaled verdict and its outcome.
type Explained struct {
	Seq     pawl.Seq       `json:"seq"`
	Time    time.Time      `json:"time"`
	Step    pawl.StepID    `json:"step"`
	Item    pawl.ItemID    `json:"item,omitempty"`
	Attempt int            `json:"attempt,omitempty"`
	Outcome string         `json:"outcome"` // done, failed, lost or not_started
	Why     string         `json:"why,omitempty"`
	Verdict pawl.Verdict   `json:"verdict"`
	Found   []pawl.Finding `json:"findings,omitempty"` // findings of the preceding resume
}

// Explain returns the verdicts of a run, or only those on one step, oldest first.
func Explain(r *runs.Run, step pawl.StepID) ([]Explained, error) {
	var list []Explained
	var found []pawl.Finding
	for event, err := range r.Log.Events(0) {
		if err != nil {
			return nil, err
		}
		payload, err := event.Payload()
		if err != nil {
			continue // the fold records it as rejected
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
