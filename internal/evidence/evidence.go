// Package evidence holds what an evaluator gets to see about a step that the recovery rules leave open: the task, its
// outcome so far, and changed files. It is pure and decides nothing.
package evidence

import (
	"time"

	"pawl"
)

// Evidence is everything that an evaluator gets to see.
type Evidence struct {
	Time       time.Time          `json:"time"` // when it was gathered
	Goal       string             `json:"goal,omitempty"`
	Plan       string             `json:"plan,omitempty"` // the plan's name
	Run        pawl.RunID         `json:"run"`
	Step       Step               `json:"step"`
	Agent      string             `json:"agent,omitempty"`       // who worked on it
	LastAction string             `json:"last_action,omitempty"` // the last reported progress
	Outcome    Outcome            `json:"outcome"`
	Changed    Changes            `json:"changed"` // since the newest snapshot
	Files      Census             `json:"files"`   // all files; recent ones changed since the attempt started
	Done       []Task             `json:"done,omitempty"`
	DoneTotal  int                `json:"done_total"` // length of Done before it was shortened
	StepsDone  int                `json:"steps_done"`
	Steps      int                `json:"steps"`
	Findings   []pawl.Finding     `json:"findings,omitempty"`
	Allowed    []pawl.VerdictWord `json:"allowed"` // verdicts that the rules leave open
}

// Step is the task.
type Step struct {
	ID      pawl.StepID       `json:"id"`
	Item    pawl.ItemID       `json:"item,omitempty"`
	Name    string            `json:"name,omitempty"`
	Goal    string            `json:"goal,omitempty"`
	Action  string            `json:"action,omitempty"` // the command, or the agent's prompt
	Outputs []string          `json:"outputs,omitempty"`
	Accept  map[string]string `json:"accept,omitempty"` // check name → command
}

// Outcome is what is known of the result.
type Outcome struct {
	Attempt  string          `json:"attempt"`           // state of the attempt: lost, exit 0, …
	Exit     *int            `json:"exit,omitempty"`    // exit code
	Result   string          `json:"result,omitempty"`  // status in the result file: done, failed, …
	Summary  string          `json:"summary,omitempty"` // summary in the result file
	Outputs  string          `json:"outputs,omitempty"` // how many outputs exist: all, some, none
	Missing  []string        `json:"missing,omitempty"` // missing declared outputs
	Checks   []pawl.CheckRun `json:"checks,omitempty"`
	Printed  string          `json:"printed,omitempty"` // the end of the captured output
	Attempts int             `json:"attempts,omitempty"`
}

// Task is a finished item.
type Task struct {
	ID    pawl.ItemID `json:"id"`
	Title string      `json:"title,omitempty"`
}
