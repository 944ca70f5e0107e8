// Package doubt holds the words in which an evaluator is asked about a step that recovery's rules leave open: what was to
// be done, how far it came, what changed. It is pure, and decides nothing.
package evidence

import (
	"time"

	"pawl"
)

// Evidence is all that an evaluator is told.
type Evidence struct {
	Time       time.Time          `json:"time"` // when it was gathered
	Goal       string             `json:"goal,omitempty"`
	Plan       string             `json:"plan,omitempty"` // its name
	Run        pawl.RunID         `json:"run"`
	Step       Step               `json:"step"`
	Agent      string             `json:"agent,omitempty"`       // who worked on it
	LastAction string             `json:"last_action,omitempty"` // the last thing that was said or done
	Outcome    Outcome            `json:"outcome"`
	Changed    Changes            `json:"changed"` // since the newest snapshot
	Files      Census             `json:"files"`   // all there are; recent are those that changed since the attempt began
	Done       []Task             `json:"done,omitempty"`
	DoneTotal  int                `json:"done_total"` // of Done, also those that are left out
	StepsDone  int                `json:"steps_done"`
	Steps      int                `json:"steps"`
	Findings   []pawl.Finding     `json:"findings,omitempty"`
	Allowed    []pawl.VerdictWord `json:"allowed"` // what the rules left open
}

// Step is what was to be done.
type Step struct {
	ID      pawl.StepID       `json:"id"`
	Item    pawl.ItemID       `json:"item,omitempty"`
	Name    string            `json:"name,omitempty"`
	Goal    string            `json:"goal,omitempty"`
	Action  string            `json:"action,omitempty"` // the command, or the agent's prompt
	Outputs []string          `json:"outputs,omitempty"`
	Accept  map[string]string `json:"accept,omitempty"` // check name → command
}

// Outcome is what is known of how far it came.
type Outcome struct {
	Attempt  string          `json:"attempt"`           // how it stands: lost, exit 0, …
	Exit     *int            `json:"exit,omitempty"`    // exit code
	Result   string          `json:"result,omitempty"`  // what it said of itself: done, failed, …
	Summary  string          `json:"summary,omitempty"` // in its own words
	Outputs  string          `json:"outputs,omitempty"` // what there is of them: all, some, none
	Missing  []string        `json:"missing,omitempty"` // declared outputs that are not there
	Checks   []pawl.CheckRun `json:"checks,omitempty"`
	Printed  string          `json:"printed,omitempty"` // the end of its output
	Attempts int             `json:"attempts,omitempty"`
}

// Task is an item that is finished.
type Task struct {
	ID    pawl.ItemID `json:"id"`
	Title string      `json:"title,omitempty"`
}
