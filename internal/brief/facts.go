package brief

import (
	"time"

	"pawl"
)

// Facts is all that a brief tells, checked by whoever gathered it.
type Facts struct {
	Now       time.Time
	State     *pawl.State            // nil: nothing has been run here
	Plan      *pawl.Plan             // nil: there is none
	Engine    *Engine                // the one that works on the run; nil: none
	Inside    *pawl.AttemptRef       // the attempt that asks; nil: somebody else
	Git       string                 // where git stands; empty: no repository
	GitWas    string                 // where it stood at the last checkpoint; empty: not known
	Doubts    []Doubt                // attempts that the journal has as started and not ended
	Findings  []pawl.Finding         // of these only warnings and worse are told
	Killed    map[pawl.Token]string  // what the watchdog did to attempts, and why
	Proofs    map[pawl.StepID]Proof  // of finished work
	Left      map[pawl.StepID]Left   // of work lists that were taken up
	Since     *Since                 // nil: there is nothing to compare with
	Memories  []pawl.Memory          //
	Unchecked []string               // what could not be checked, and why, one line each
	Moved     map[pawl.GateID]string // gates that show what is no longer so, and what differs

	Sessions   []Session   // of agents, the one that was heard of last first
	Operations []Operation // tool calls whose outcome nobody has told
	News       *News       // to tell only what is new; nil: all is told
}

// Session is a session of an agent.
type Session struct {
	pawl.SessionState
	Gone   bool // its agent is no more
	Reader bool // it is the one that the brief is for
}

// Operation is a tool call in doubt, as it was found just now.
type Operation struct {
	pawl.OperationState
	Verdict  pawl.OperationVerdict `json:"verdict"`
	Evidence []string              `json:"evidence"`         // one line each
	Runs     bool                  `json:"runs,omitempty"`   // a process of it lives, or one that may be of it
	Traces   pawl.OperationVerdict `json:"traces,omitempty"` // then: the verdict by what it has left alone
}

// News is what happened since the reader was told last.
type News struct {
	Since time.Time
	Lines []string // the oldest first
	More  int      // older lines that are left out
}

// Engine is the one that holds the run's project.
type Engine struct {
	PID   int
	Since time.Time
}

// Doubt is an attempt that has been started and whose end the journal does not have, as it was found just now.
type Doubt struct {
	pawl.AttemptRef
	Found    Found         `json:"found"`
	Started  time.Time     `json:"started"`
	Ended    time.Time     `json:"ended,omitzero"` // where an exit record says so
	PID      int           `json:"pid,omitempty"`  // of the supervisor, while it lives
	Evidence []string      `json:"evidence"`       // one line each
	Verdict  *pawl.Verdict `json:"verdict,omitempty"`
	Folder   string        `json:"folder"` // where its output and records are, relative to the project
}

// Found is how an attempt was found.
type Found string

// How an attempt was found.
const (
	NotBegun Found = "not begun" // nothing was started
	Live     Found = "live"      // its lock is held
	Ended    Found = "ended"     // by its exit record
	Lost     Found = "lost"      // its supervisor is gone without a word
	Unknown  Found = "unknown"   // its folder cannot be read
)

// Proof is what was found of the outputs that finished work recorded.
type Proof struct {
	Same      int      // paths that are as recorded
	Differ    []string // that are not, or not there
	Unchecked int      // paths
	Paths     []Path   // the first of them, by name
}

// Left is what of a work list is not done.
type Left struct {
	Count int
	First []string // values
}

// Since is what differs between a checkpoint and now.
type Since struct {
	Checkpoint pawl.Checkpoint
	Files      int // of Changes, without folders that hold others
	Changes    []Change
}

// Change is a path that differs.
type Change struct {
	Path string
	What string // added, removed, changed, mode, type
	Was  int64  // bytes
	Is   int64
}

// Path is an output with what was found there.
type Path struct {
	Name string
	pawl.Content
	Is string // Same, Differs, Gone or NotChecked
}

// What is found at a path.
const (
	Same       = "as this run left it"
	Differs    = "changed since then"
	Gone       = "gone"
	NotChecked = "not checked"
)
