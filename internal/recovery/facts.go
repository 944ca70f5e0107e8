package recovery

import (
	"time"

	"pawl"
)

// Facts are the observations about a run, without interpretation.
type Facts struct {
	Now          time.Time
	Run          pawl.RunID
	Last         time.Time            // time of the newest event
	Events       int                  // number of events, all verified
	Rejected     []pawl.RejectedEvent // events that the state rejected
	Holder       string               // who holds the project's lock; "" for nobody
	Location     []string             // notices about the project's location: moved, or a copy
	Elsewhere    *Elsewhere           // nil: the newest engine worked in this project
	Git          Git
	Plan         PlanFact
	Attempts     []AttemptFact
	Claims       []Claim
	Commits      []CommitClaim
	Gates        int // number of open gates
	Blocked      int // number of open blockers
	Checkpoint   *pawl.Checkpoint
	SnapshotLost string           // why the newest good checkpoint has no snapshot; "" if it has one
	Fallback     *pawl.Checkpoint // the newest good checkpoint with a snapshot, if SnapshotLost is set
	Disk         DiskFact
	Leftover     []string      // orphaned processes of this run, one line each
	Stuck        []pawl.StepID // steps that need a step missing from the plan
}

// Git compares HEAD at the newest checkpoint with HEAD now. All fields are empty outside a git repository.
type Git struct {
	CommitThen, CommitNow string // commit IDs
	BranchThen, BranchNow string // full branch names; "" if HEAD is detached
	InProgress            string // operation in progress: rebase, merge, …; "" for none
	InProgressThen        string
	Rewritten             bool // CommitThen is not an ancestor of CommitNow
	Unavailable           string
}

// PlanFact compares the user's plan file with the plan that the run uses.
type PlanFact struct {
	Path   string
	Edited bool
	Gone   bool
	Fault  string // why the file cannot be read
	Reruns int    // number of steps whose finished work the edit would rerun
}

// AttemptFact describes an attempt whose end is not in the journal.
type AttemptFact struct {
	pawl.AttemptRef
	Case  Case
	Why   string // a description for people
	Since time.Time
}

// Claim is an output that a finished step recorded.
type Claim struct {
	Step  pawl.StepID
	Path  string
	State ClaimState
	Why   string // why the path could not be checked
}

// ClaimState is the current state of a recorded output.
type ClaimState string

// States of a recorded output.
const (
	ClaimHolds   ClaimState = "as recorded"
	ClaimChanged ClaimState = "changed"
	ClaimMissing ClaimState = "missing"
	ClaimUnseen  ClaimState = "not looked at"
)

// CommitClaim is a git commit that an item recorded.
type CommitClaim struct {
	Step      pawl.StepID
	Commit    string
	Reachable bool
}

// DiskFact is the space on the project's file system, in bytes.
type DiskFact struct{ Free, Size uint64 }

// Elsewhere is what the newest engine left in another project, probably on another host.
type Elsewhere struct {
	Host       string
	Hint       string            // a command that fetches the files; "" for none
	Gone       bool              // a person, or a setting, said that the host is gone
	Attempts   []string          // names of attempts that may still run there
	Checkpoint pawl.CheckpointID // the newest one of the work; "" for none
	Differ     int               // number of paths here that differ from it
	Lost       string            // why its files are not known here; "" if they are
}
