package pawl

import "time"

// Verdict is what is safe to do with a step after a death, and why.
type Verdict struct {
	Word    VerdictWord   `json:"verdict"`
	Rule    string        `json:"rule"`            // of the table that gave it
	Reasons []string      `json:"reasons"`         // one line each
	Open    []VerdictWord `json:"open,omitempty"`  // what an evaluator could have chosen as well; empty: the rule decides alone
	By      string        `json:"by,omitempty"`    // the evaluator that chose; empty: the rule
	Cost    Usage         `json:"cost,omitzero"`   // of asking it
	Doubt   string        `json:"doubt,omitempty"` // why an evaluator was asked and not followed
	Judged  time.Time     `json:"judged,omitzero"`
}

// VerdictWord is what a verdict says is to be done.
type VerdictWord string

// The verdicts.
const (
	Continue    VerdictWord = "continue"     // go on with what is there: re-attach, or tell the next attempt of the partial work
	Restart     VerdictWord = "restart"      // begin the step again
	Next        VerdictWord = "next"         // it is done
	HumanReview VerdictWord = "human_review" // ask a person
)
