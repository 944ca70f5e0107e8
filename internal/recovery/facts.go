package recovery

import (
	"time"

	"pawl"
)

// Facts are what was gathered about a run, without any opinion.
type Facts struct {
	Now          time.Time
	Run          pawl.RunID
	Last         time.Time            // of the newest event
	Events       int                  // all of them checked, byte by byte
	Rejected     []pawl.RejectedEvent // events that did not fit when they came
	Holder       string               // who works in the project right now; empty: nobody
	Location     []string             // what is to be said of where the project lies: it was moved, it is a copy
	Git          Git
	Plan         PlanFact
	Attempts     []AttemptFact
	Claims       []Claim
	Commits      []CommitClaim
	Gates        int // open ones
	Blocked      int // open blockers
	Checkpoint   *pawl.Checkpoint
	SnapshotLost string           // why the newest good checkpoint has no snapshot; empty where it has one
	Fallback     *pawl.Checkpoint // then the newest good one before it that has one
	Disk         DiskFact
	Leftover     []string      // processes of this run's dead attempts, one line each
	Stuck        []pawl.StepID // steps that wait for one that is not in the plan
}

// Git is where git stood at the newest checkpoint, and stands now. Both are empty without git.
type Git struct {
	CommitThen, CommitNow string // commit
	BranchThen, BranchNow string // branch
	InProgress            string // what is in progress now: rebase, merge, …
	InProgressThen        string
	Rewritten             bool // the commit of then is no ancestor of the one of now
	Unavailable           string
}

// PlanFact is how the user's plan file compares with the plan as it is run.
type PlanFact struct {
	Path   string
	Edited bool
	Gone   bool
	Fault  string // why it cannot be read
	Reruns int    // finished steps that would run again because of it
}

// AttemptFact is an attempt without an end in the journal.
type AttemptFact struct {
	pawl.AttemptRef
	Case  Case
	Why   string // what is known of it, in words
	Since time.Time
}

// Claim is a path that a finished step says it made.
type Claim struct {
	Step  pawl.StepID
	Path  string
	State ClaimState
	Why   string // where it could not be looked at
}

// ClaimState is how a claimed path looks now.
type ClaimState string

// The states of a claim.
const (
	ClaimHolds   ClaimState = "as recorded"
	ClaimChanged ClaimState = "changed"
	ClaimMissing ClaimState = "missing"
	ClaimUnseen  ClaimState = "not looked at"
)

// CommitClaim is a commit that an item says it made.
type CommitClaim struct {
	Step      pawl.StepID
	Commit    string
	Reachable bool
}

// DiskFact is the room on the file system of the project, in bytes.
type DiskFact struct{ Free, Size uint64 }
