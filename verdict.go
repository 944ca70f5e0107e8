package pawl

import "time"

// Verdict is the safe action for a step after a crash, with reasons.
type Verdict struct {
	Word    VerdictWord   `json:"verdict"`
	Rule    string        `json:"rule"`            // the rule of the verdict table that applied
	Reasons []string      `json:"reasons"`         // one line each
	Open    []VerdictWord `json:"open,omitempty"`  // the other verdicts that an evaluator could have chosen; empty: the rule alone decides
	By      string        `json:"by,omitempty"`    // the evaluator that chose; empty: the rule
	Cost    Usage         `json:"cost,omitzero"`   // of the evaluator
	Doubt   string        `json:"doubt,omitempty"` // why an evaluator's answer was not followed
	Judged  time.Time     `json:"judged,omitzero"`
}

// VerdictWord is the action of a verdict.
type VerdictWord string

// Verdicts.
const (
	Continue    VerdictWord = "continue"     // use the existing work: re-attach, or tell the next attempt about it
	Restart     VerdictWord = "restart"      // rerun the step
	Next        VerdictWord = "next"         // accept the step as done
	HumanReview VerdictWord = "human_review" // ask a person
)
