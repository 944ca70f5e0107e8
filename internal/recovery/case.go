// Package recovery decides, after a death, what is true of a run and what is safe to do with it.
//
// It is pure: facts that somebody gathered go in, findings and verdicts come out, so every verdict can be replayed and
// explained. It never calls a step done that is not proven to be, and what is unsafe it leaves to a person.
package recovery

import "iter"

// Case is all that a verdict about a step or item depends on.
type Case struct {
	Attempt    Attempt `json:"attempt"`
	Result     Result  `json:"result"`
	Outputs    Outputs `json:"outputs"`
	Checks     Checks  `json:"checks"`
	Idempotent bool    `json:"idempotent"`      // the plan says that doing it twice does no harm
	SamePlace  bool    `json:"same_place"`      // the files are those of the project in which it ran: folder, branch
	SameStep   bool    `json:"same_definition"` // the plan says the same of it as when it started
	TriesLeft  bool    `json:"tries_left"`      // it may be tried again, and was not lost too often
}

// Attempt is how the newest attempt stands.
type Attempt string

// How an attempt stands.
const (
	NoAttempt Attempt = "none"
	NotBegun  Attempt = "not begun" // its intent is journaled, and nothing was started
	Live      Attempt = "live"
	ExitZero  Attempt = "exit 0"
	ExitOther Attempt = "exit ≠ 0" // also ended by a limit or on request
	Lost      Attempt = "lost"     // its supervisor died, and nobody knows how it ended
)

// Result is what the attempt said of itself in its result file.
type Result string

// What a result file says.
const (
	NoResult   Result = "none"
	SaysDone   Result = "done"
	SaysOther  Result = "other" // failed, blocked, waiting
	Unreadable Result = "unreadable"
)

// Outputs is what there is of the outputs that the step declares.
type Outputs string

// What there is of the outputs.
const (
	Undeclared  Outputs = "undeclared"
	AllOutputs  Outputs = "all"
	SomeOutputs Outputs = "some"
	NoOutputs   Outputs = "none"
)

// Checks is how the step's acceptance checks came out.
type Checks string

// How the checks came out.
const (
	NoChecks   Checks = "none" // it has none, or they were not run
	ChecksPass Checks = "pass"
	ChecksFail Checks = "fail"
)

var (
	attempts = []Attempt{NoAttempt, NotBegun, Live, ExitZero, ExitOther, Lost}
	results  = []Result{NoResult, SaysDone, SaysOther, Unreadable}
	outputs  = []Outputs{Undeclared, AllOutputs, SomeOutputs, NoOutputs}
	checks   = []Checks{NoChecks, ChecksPass, ChecksFail}
	yesOrNo  = []bool{true, false}
)

// Cases yields every case there is: 4,608.
func Cases() iter.Seq[Case] {
	return func(yield func(Case) bool) {
		for _, a := range attempts {
			for _, r := range results {
				for _, o := range outputs {
					for _, c := range checks {
						for bits := range 16 {
							x := Case{
								Attempt: a, Result: r, Outputs: o, Checks: c,
								Idempotent: yesOrNo[bits>>3&1], SamePlace: yesOrNo[bits>>2&1], SameStep: yesOrNo[bits>>1&1], TriesLeft: yesOrNo[bits&1],
							}
							if !yield(x) {
								return
							}
						}
					}
				}
			}
		}
	}
}

// noneMissing reports whether nothing that was declared is missing.
func (c Case) noneMissing() bool { return c.Outputs == Undeclared || c.Outputs == AllOutputs }

// claimsDone reports whether the attempt says of itself that its work is done, by its end or in its result.
func (c Case) claimsDone() bool {
	return c.Result == SaysDone && (c.Attempt == ExitZero || c.Attempt == Lost) || c.Result == NoResult && c.Attempt == ExitZero
}

// proven reports whether outputs or checks prove that the work is there, and nothing speaks against it.
func (c Case) proven() bool {
	return c.noneMissing() && c.Checks != ChecksFail && (c.Outputs == AllOutputs || c.Checks == ChecksPass)
}

// complete reports whether both outputs and checks say that the work is there.
func (c Case) complete() bool { return c.Outputs == AllOutputs && c.Checks == ChecksPass }

// partial reports whether something of the work is there.
func (c Case) partial() bool { return c.Outputs == AllOutputs || c.Outputs == SomeOutputs }
