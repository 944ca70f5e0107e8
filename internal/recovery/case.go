// Package recovery judges interrupted steps: which are done, which can safely run again, and which need a person.
//
// It is pure. It turns facts into findings and verdicts, so a verdict can be replayed and explained. It never accepts a
// step as done without proof, and it leaves unsafe decisions to a person.
package recovery

import "iter"

// Case holds everything that a verdict on a step or item depends on.
type Case struct {
	Attempt    Attempt `json:"attempt"`
	Result     Result  `json:"result"`
	Outputs    Outputs `json:"outputs"`
	Checks     Checks  `json:"checks"`
	Idempotent bool    `json:"idempotent"`      // the plan declares the step safe to rerun
	SamePlace  bool    `json:"same_place"`      // the project is the one in which the attempt ran: same folder, same branch
	SameStep   bool    `json:"same_definition"` // the step's definition is unchanged since the attempt started
	TriesLeft  bool    `json:"tries_left"`      // retries are left and the step was not lost too often in a row
}

// Attempt is the state of the newest attempt.
type Attempt string

// States of an attempt.
const (
	NoAttempt Attempt = "none"
	NotBegun  Attempt = "not begun" // the intent is journaled but nothing was started
	Live      Attempt = "live"
	Away      Attempt = "away" // its supervisor here is gone, and a worker may carry it out
	ExitZero  Attempt = "exit 0"
	ExitOther Attempt = "exit ≠ 0" // includes timeouts and requested stops
	Lost      Attempt = "lost"     // the supervisor died; the outcome is unknown
)

// Result is the status in the attempt's result file.
type Result string

// Statuses of a result file.
const (
	NoResult   Result = "none"
	SaysDone   Result = "done"
	SaysOther  Result = "other" // failed, blocked or waiting
	Unreadable Result = "unreadable"
)

// Outputs says how many of the step's declared outputs exist.
type Outputs string

// Values of Outputs.
const (
	Undeclared  Outputs = "undeclared"
	AllOutputs  Outputs = "all"
	SomeOutputs Outputs = "some"
	NoOutputs   Outputs = "none"
)

// Checks is the outcome of the step's acceptance checks.
type Checks string

// Values of Checks.
const (
	NoChecks   Checks = "none" // the step has none, or they did not run
	ChecksPass Checks = "pass"
	ChecksFail Checks = "fail"
)

var (
	attempts = []Attempt{NoAttempt, NotBegun, Live, Away, ExitZero, ExitOther, Lost}
	results  = []Result{NoResult, SaysDone, SaysOther, Unreadable}
	outputs  = []Outputs{Undeclared, AllOutputs, SomeOutputs, NoOutputs}
	checks   = []Checks{NoChecks, ChecksPass, ChecksFail}
	yesOrNo  = []bool{true, false}
)

// Cases yields all 5,376 cases.
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

// noneMissing reports whether no declared output is missing.
func (c Case) noneMissing() bool { return c.Outputs == Undeclared || c.Outputs == AllOutputs }

// claimsDone reports whether the attempt claims success, by its exit code or its result file.
func (c Case) claimsDone() bool {
	return c.Result == SaysDone && (c.Attempt == ExitZero || c.Attempt == Lost) || c.Result == NoResult && c.Attempt == ExitZero
}

// proven reports whether the outputs or the checks prove that the work is done and nothing contradicts it.
func (c Case) proven() bool {
	return c.noneMissing() && c.Checks != ChecksFail && (c.Outputs == AllOutputs || c.Checks == ChecksPass)
}

// complete reports whether both the outputs and the checks confirm that the work is done.
func (c Case) complete() bool { return c.Outputs == AllOutputs && c.Checks == ChecksPass }

// partial reports whether at least some outputs exist.
func (c Case) partial() bool { return c.Outputs == AllOutputs || c.Outputs == SomeOutputs }
