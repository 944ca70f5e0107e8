package client

import (
	"time"

	"pawl"
	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/resumeview"
	"pawl/internal/cli/rollbackview"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// Projects is a page of projects.
type Projects struct {
	Projects []Project `json:"projects"`
	Next     string    `json:"next,omitempty" doc:"cursor of the next page; missing: this is the last one"`
	Ready    bool      `json:"ready" doc:"the server has looked at all projects"`
	Reasons  []Reason  `json:"reasons,omitempty" doc:"of failing projects: why their first failed step failed, the most frequent reason first"`
}

// Reason is why steps failed.
type Reason struct {
	Reason   string `json:"reason"`
	Projects int    `json:"projects"`
}

// RunLine is a run in a list.
type RunLine struct {
	Run      pawl.RunID     `json:"run"`
	Name     string         `json:"name,omitempty"`
	Kind     pawl.RunKind   `json:"kind,omitempty"`
	Status   pawl.RunStatus `json:"status,omitempty"`
	Standing string         `json:"standing,omitempty" doc:"the status for people"`
	Percent  int            `json:"progress_percent"`
	Created  time.Time      `json:"created_at,omitzero"`
	Updated  time.Time      `json:"updated_at,omitzero"`
	Error    string         `json:"error,omitempty" doc:"why the run cannot be read, or is from elsewhere"`
}

// RunLines is a page of runs.
type RunLines struct {
	Runs []RunLine `json:"runs"`
	Next string    `json:"next,omitempty" doc:"cursor of the next page; missing: this is the last one"`
}

// Acted is the answer to an action.
type Acted struct {
	Success  bool        `json:"success"`
	Message  string      `json:"message"`
	Run      pawl.RunID  `json:"run"`
	Verdicts []Judgement `json:"verdicts,omitempty" doc:"of a resume: how interrupted attempts were judged"`
	Recovery *Recovery   `json:"recovery,omitempty" doc:"of a dry run: what a resume would find and do"`
}

// Judgement is what a resume does about an interrupted attempt.
type Judgement struct {
	Step    pawl.StepID `json:"step"`
	Item    pawl.ItemID `json:"item,omitempty"`
	Attempt int         `json:"attempt"`
	Verdict string      `json:"verdict" doc:"continue_task, restart_task, next_task or human_review"`
	Reasons []string    `json:"reasons"`
}

// Recovery is what a resume would find and do.
type Recovery struct {
	resumeview.Examined
	Notes []string `json:"notes,omitempty"`
}

// Events is a page of events.
type Events struct {
	Events []EventLine `json:"events"`
	Next   pawl.Seq    `json:"next" doc:"after of the next page"`
	More   bool        `json:"more" doc:"there are more events now"`
}

// EventLine is an event with what it means in words, as `pawl log` prints it.
type EventLine struct {
	pawl.Event
	Text string `json:"text"`
}

// Started is a run that was started.
type Started struct {
	Run pawl.RunID `json:"run"`
}

// Checkpoints are the checkpoints of a run, the oldest first.
type Checkpoints struct {
	Checkpoints []checkpointview.Report `json:"checkpoints"`
}

// RolledBack is what a rollback undoes, or has undone, as `pawl rollback --json` prints it.
type RolledBack struct {
	rollbackview.Report
	Done    bool `json:"done" doc:"false: it was a dry run, or runs still"`
	Running bool `json:"running,omitempty" doc:"it takes long, and continues: the events of the run tell when it has ended"`
}

// OpenGate is an open gate.
type OpenGate struct {
	ID      string           `json:"id" doc:"<run>~<gate>"`
	Project string           `json:"project" doc:"id of the project"`
	Path    string           `json:"path" doc:"folder of the project"`
	Run     pawl.RunID       `json:"run"`
	Gate    pawl.GateID      `json:"gate"`
	Type    pawl.GateType    `json:"type"`
	Purpose pawl.Purpose     `json:"purpose,omitempty"`
	Step    pawl.StepID      `json:"step,omitempty"`
	Item    pawl.ItemID      `json:"item,omitempty"`
	Ask     string           `json:"ask"`
	Options []string         `json:"options"`
	Default string           `json:"default,omitempty"`
	Expect  string           `json:"expect,omitempty"`
	Opened  time.Time        `json:"opened"`
	Expires *time.Time       `json:"expires,omitempty"`
	Outputs pawl.Outputs     `json:"outputs,omitempty" doc:"what the gate shows, by hash"`
	Covers  []runs.ScopeStep `json:"covers" doc:"the steps that an approval lets through"`
	Checks  []Check          `json:"checks"`
	Changed []string         `json:"changed,omitempty" doc:"what has changed since the gate was opened: it cannot be answered before pawl resume has asked again"`

	Diff []snapshot.FileDiff `json:"diff" doc:"what changed since the gate before it, or in the plan; of one gate or of one project only"`
	More bool                `json:"more,omitempty" doc:"the diff is too large; only its beginning is here"`

	Viewers []Viewer `json:"viewers,omitempty" doc:"who else has opened this gate since the server started, the newest first; of one gate only"`

	Shown string `json:"shown" doc:"hash of all of this but viewers, for the answer; empty if something has changed"`
}

// Viewer is a client that has opened a gate.
type Viewer struct {
	Name string    `json:"name" doc:"of its token"`
	At   time.Time `json:"at" doc:"when it last did"`
}

// Check is the result of an acceptance check of a gate.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

// Gates are open gates, the oldest first.
type Gates struct {
	Gates []OpenGate `json:"gates"`
	More  bool       `json:"more,omitempty" doc:"more projects have open gates; only those that wait longest are here"`
}

// Answered is the answer to an answer.
type Answered struct {
	Success    bool        `json:"success"`
	Message    string      `json:"message"`
	Gate       pawl.GateID `json:"gate"`
	Run        pawl.RunID  `json:"run"`
	ResolvedBy string      `json:"resolved_by" doc:"name of the token"`
}

// Project is a project, with its current run as the server saw it last.
type Project struct {
	ID      string         `json:"id"`
	Path    string         `json:"path"`
	Run     pawl.RunID     `json:"run,omitempty"` // the current run
	Name    string         `json:"name,omitempty"`
	Status  pawl.RunStatus `json:"status,omitempty"`
	Why     string         `json:"why,omitempty"`     // as `pawl status` says
	Percent int            `json:"percent,omitempty"` // of the run's work
	Updated time.Time      `json:"updated,omitzero"`  // time of the run's last event

	Gates      int         `json:"gates"`                   // open ones
	Waiting    *time.Time  `json:"waiting_since,omitempty"` // when the oldest of them was opened
	Stuck      bool        `json:"stuck,omitempty"`         // the watchdog calls an attempt stalled or overdue
	FailedStep pawl.StepID `json:"failed_step,omitempty"`   // the first one
	FailedWhy  string      `json:"failed_why,omitempty"`    // why it failed
	Reason     string      `json:"reason,omitempty"`        // the same without what only this failure has
	Retrying   bool        `json:"retrying,omitempty"`      // a step or item failed or crashed and is tried again
	Session    bool        `json:"session,omitempty"`       // the run is that of an attached agent

	Recovery string    `json:"recovery"`        // what the server did at its last look, and why
	Error    string    `json:"error,omitempty"` // why the project or its run could not be read or resumed
	Looked   time.Time `json:"looked"`          // when
}

// States of a bulk action.
const (
	BulkCounted = "counted" // nothing is done
	BulkRunning = "running"
	BulkDone    = "done"
)

// Bulk is an action in several projects.
type Bulk struct {
	Token    string        `json:"token" doc:"names the action: sent back, it begins it"`
	Action   string        `json:"action"`
	State    string        `json:"state" enum:"counted,running,done" doc:"counted: nothing is done yet"`
	Count    int           `json:"count" doc:"projects that were selected"`
	Possible int           `json:"possible" doc:"those of them in which the action is possible"`
	Done     int           `json:"done" doc:"projects with a result"`
	Failed   int           `json:"failed" doc:"those of them in which the action failed"`
	Projects []BulkProject `json:"projects" doc:"by id"`
}

// BulkProject is a project in which an action is done.
type BulkProject struct {
	Project string         `json:"project"`
	Path    string         `json:"path,omitempty"`
	Name    string         `json:"name,omitempty"`
	Run     pawl.RunID     `json:"run,omitempty"`
	Status  pawl.RunStatus `json:"status,omitempty" doc:"of the run when it was counted"`
	Will    string         `json:"will,omitempty" doc:"what the action does; missing: it is not possible"`
	Refused string         `json:"refused,omitempty" doc:"why it is not possible"`
	Result  *BulkResult    `json:"result,omitempty"`
}

// BulkResult is what an action did in one project.
type BulkResult struct {
	Status  int    `json:"status" doc:"the HTTP status that the action of this project alone would have"`
	Success bool   `json:"success"`
	Message string `json:"message,omitempty"`
	Detail  string `json:"detail,omitempty" doc:"why it was not done"`
	Hint    string `json:"hint,omitempty" doc:"command that helps"`
}
