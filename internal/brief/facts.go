package brief

import (
	"time"

	"pawl"
)

// Facts is the content of a brief, already checked by the caller.
type Facts struct {
	Now       time.Time
	State     *pawl.State            // nil: no run yet
	Plan      *pawl.Plan             // nil: none
	Engine    *Engine                // the engine that runs it; nil: none
	Inside    *pawl.AttemptRef       // the attempt that asks for the brief; nil: not an attempt
	Root      string                 // the project's folder
	Worktree  string                 // the linked worktree of git that the reader works in; empty: none, so the project's folder
	Git       string                 // HEAD where the reader works; empty: no repository
	GitWas    string                 // the same at the last checkpoint; empty: unknown
	Doubts    []Doubt                // attempts that have started and not ended, according to the journal
	Findings  []pawl.Finding         // only warnings and worse are shown
	Killed    map[pawl.Token]string  // why the watchdog terminated attempts
	Proofs    map[pawl.StepID]Proof  // of finished work
	Left      map[pawl.StepID]Left   // of foreach steps that have started
	Since     *Since                 // nil: nothing to compare with
	Memories  []Memory               // of MEMORY.md
	Elsewhere string                 // why the run counts as made elsewhere, so that nothing in it is verified; empty for a run of this user
	Accept    string                 // the command with which a person accepts such a run, or its project
	Unchecked []string               // what could not be checked, with the reason, one line each
	Moved     map[pawl.GateID]string // gates whose content has changed since, with the difference

	Sessions        []Session   // of agents, most recently active first
	DroppedSessions int         // older ones that the state does not keep
	Operations      []Operation // tool calls without a recorded outcome
	Running         []Running   // processes that finished tool calls left running
	News            *News       // nil: a full brief, else only what is new
}

// Memory is a note of MEMORY.md.
type Memory struct {
	pawl.Memory
	Unverified bool   // no command of this user wrote it
	Source     string // where an unverified one comes from, such as a commit and its author; empty if unknown
}

// Session is a session of an agent.
type Session struct {
	pawl.SessionState
	Gone       bool   // its agent is dead
	Reader     bool   // the brief is for this session
	Branch     string // of its linked worktree, or the commit if HEAD is detached; empty if it works in none
	NoWorktree bool   // its linked worktree no longer exists
}

// Operation is a tool call in doubt, with the evidence found just now.
type Operation struct {
	pawl.OperationState
	Run      pawl.RunID            `json:"run,omitempty"` // another run than that of the brief
	Verdict  pawl.OperationVerdict `json:"verdict"`
	Evidence []string              `json:"evidence"`         // one line each
	Runs     bool                  `json:"runs,omitempty"`   // a process is alive that is, or may be, part of it
	Traces   pawl.OperationVerdict `json:"traces,omitempty"` // if Runs: the verdict from its effects alone
}

// Running is a process that a finished tool call left running, and that is alive.
type Running struct {
	pawl.LeftProcess
	Since time.Time // when it started
}

// News is what happened since the reader's last brief.
type News struct {
	Since time.Time
	Lines []string // oldest first
	More  int      // number of omitted older lines
}

// Engine is the engine that holds the project's lock.
type Engine struct {
	PID   int
	Since time.Time
}

// Doubt is an attempt that has started and has no end in the journal, in the state found just now.
type Doubt struct {
	pawl.AttemptRef
	Value    string        `json:"value,omitempty"` // of the item, if its id is a hash
	Found    Found         `json:"found"`
	Started  time.Time     `json:"started"`
	Ended    time.Time     `json:"ended,omitzero"` // from the exit record, if any
	PID      int           `json:"pid,omitempty"`  // of the supervisor, while it is alive
	Evidence []string      `json:"evidence"`       // one line each
	Verdict  *pawl.Verdict `json:"verdict,omitempty"`
	Folder   string        `json:"folder"` // path of its output and records, relative to the project
}

// Title returns the step, with the value of the item if it is known.
func (d Doubt) Title() string {
	if d.Value == "" {
		return d.Name()
	}
	return string(d.Step) + "/" + d.Value
}

// Found is the state in which an attempt was found.
type Found string

// The states in which an attempt is found.
const (
	NotBegun Found = "not begun" // nothing was started
	Live     Found = "live"      // its lock is held
	Ended    Found = "ended"     // by its exit record
	Lost     Found = "lost"      // its supervisor is gone and left no exit record
	Unknown  Found = "unknown"   // its folder cannot be read
)

// Proof compares the outputs recorded by finished work with the files.
type Proof struct {
	Same      int      // number of unchanged paths
	Differ    []string // changed paths
	Missing   []string // deleted paths
	Unchecked int      // number of paths
	Paths     []Path   // the first paths, by name
}

// Left describes the unfinished items of a foreach step.
type Left struct {
	Count int
	First []string // values
}

// Since is the difference between a checkpoint and now.
type Since struct {
	Checkpoint pawl.Checkpoint
	Files      int // number of Changes, without folders that contain others
	Own        int // number of files that pawl itself changed, for the run's mirror; they are not among Changes
	Changes    []Change
}

// Change is a changed path.
type Change struct {
	Path string
	What string // added, removed, changed, mode, type
	Was  int64  // bytes
	Is   int64
}

// Path is an output with the state in which it was found.
type Path struct {
	Name string
	pawl.Content
	Is string // Same, Differs, Gone or NotChecked
}

// The states of an output.
const (
	Same       = "unchanged"
	Differs    = "changed"
	Gone       = "missing"
	NotChecked = "not checked"
)
