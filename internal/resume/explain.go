package resume

import (
	"strings"
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

	Failures int `json:"-"` // failed attempts of the step or item up to this one, since it was last reopened
}

// Explain returns the verdicts of a run, or only those on one step, oldest first.
func Explain(r *runs.Run, step pawl.StepID) ([]Explained, error) {
	var list []Explained
	var found []pawl.Finding
	failures := map[string]int{}
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
		countFailures(failures, payload)
		if x := explained(payload); x != nil && (step == "" || x.Step == step) {
			x.Seq, x.Time, x.Found = event.Seq, event.Time, found
			x.Failures = failures[pawl.AttemptRef{Step: x.Step, Item: x.Item}.Name()]
			list = append(list, *x)
		}
	}
	return list, nil
}

// countFailures counts failed attempts by step or item, as the fold does.
func countFailures(failures map[string]int, payload pawl.Payload) {
	switch p := payload.(type) {
	case pawl.AttemptEnded:
		if p.Outcome == pawl.Failed {
			failures[p.Name()]++
		}
	case pawl.StepReopened:
		for name := range failures {
			if name == string(p.Step) || strings.HasPrefix(name, string(p.Step)+"/") {
				delete(failures, name)
			}
		}
	}
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
