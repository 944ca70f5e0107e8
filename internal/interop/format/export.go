package format

import (
	"slices"
	"time"

	"pawl"
	"pawl/internal/kernel"
)

// Export is the run that a format writes.
type Export struct {
	Now        time.Time
	Root       string // the project's, absolute
	Host       string // the machine's name
	Dir        string // of the files, relative to the project's; empty: the project's
	State      *pawl.State
	Plan       *pawl.Plan
	Status     pawl.RunStatus // see State.StatusIn
	Memories   []pawl.Memory
	Items      func(pawl.StepID) []Item   // of a foreach step, finished or not, in order
	Checkpoint *pawl.Checkpoint           // the newest
	Partial    func(pawl.StepID) *Partial // what an unfinished step has done so far; nil if unknown
	Trigger    Trigger

	// Hash returns the SHA-256 and the size of a file below Root, as Env.Hash does. Defaults to nil: nothing is looked at.
	Hash func(path string) (sum string, size int64, err error)

	// Python returns the path and the packages, as name==version, of the interpreter of the run; nil: unknown.
	Python func() (path string, packages []string)

	// Kernel returns where the newest attempt at a kernel step ended, a zero report if none did. Defaults to nil: none did.
	Kernel func(pawl.StepID) kernel.Report

	// UnknownCommit reports whether git has no such commit. It is false if there is no git.
	UnknownCommit func(commit string) bool

	// Commits returns the ancestors of HEAD that were made between two times, the oldest first, with their files.
	Commits func(from, until time.Time) []Commit

	// Files returns the files that a finished step created and modified.
	Files func(pawl.StepID) StepFiles

	// Beat is the interval between two heartbeats of a running step; 0: unknown.
	Beat time.Duration

	// Removed are the ids of open blockers that somebody removed from the files; Write does not list them again.
	Removed map[int]bool

	// Uncommitted reports whether a file that git tracks has changes that are not committed.
	Uncommitted func(path string) bool

	// LearnedIn returns the notes that the run learned in a step, and whether it learned a note in any step.
	LearnedIn func(pawl.StepID) []pawl.Memory
	Learned   func(pawl.Memory) bool

	// Existed reports whether something was at a path before a step began, and whether that is known.
	Existed func(step pawl.StepID, path string) (existed, known bool)
}

// StepFiles are the files that a step created and modified: the difference between the snapshot before it and the one after it.
type StepFiles struct {
	Created, Modified []string
	Unknown           string // why they are not known; empty: they are
}

// ListedBlocker says whether a file lists an open blocker.
type ListedBlocker struct {
	File   string
	Listed bool
}

// Trigger is the event that makes pawl write the files.
type Trigger string

// The triggers, in ascending order. What a format writes at one, it also writes at each later one: if several come together,
// Export has the last of them.
const (
	Beat        Trigger = "beat" // a sign of life
	ItemEnded   Trigger = "item ended"
	StepBegan   Trigger = "step began"
	Learned     Trigger = "learned"
	GateClosed  Trigger = "gate closed"
	GateOpened  Trigger = "gate opened"
	StepEnded   Trigger = "step ended"
	WaveEnded   Trigger = "wave ended"
	PhaseEnded  Trigger = "phase ended"
	Began       Trigger = "began"
	Interrupted Trigger = "interrupted"
	RunEnded    Trigger = "run ended"
	Exported    Trigger = "exported" // by pawl export: write everything
)

var byWeight = []Trigger{Beat, ItemEnded, StepBegan, Learned, GateClosed, GateOpened, StepEnded, WaveEnded, PhaseEnded, Began, Interrupted, RunEnded, Exported}

// Weightier returns the later one of two triggers in their order; an empty one comes before all.
func Weightier(a, b Trigger) Trigger {
	if slices.Index(byWeight, b) > slices.Index(byWeight, a) {
		return b
	}
	return a
}
