package format

import (
	"time"

	"pawl"
	"pawl/internal/evidence"
)

// Env is what a reader may know besides the files that it was given. Only Now is always set; a nil function means that its
// answer is unknown. Paths are relative to the project's root.
type Env struct {
	Now     time.Time
	Commits []Commit // of the project's branch, the newest first; a few hundred are enough

	Exists func(path string) bool // never outside of the project

	// Hash hashes one file. The error is ErrLink if the path itself is a symbolic link, ErrOutside if a link above it leads out of
	// the project (others are followed), fs.ErrNotExist if there is no such file.
	Hash func(path string) (sha256 string, size int64, err error)

	HasCommit func(hash string) bool // reports whether git knows a commit; nil: there is no git

	// Unread are the system's files and folders that exist and could not be read: links, files above the size limit, files
	// without read permission. There is a finding for each.
	Unread []string

	// Engine says whether an engine of the project is alive.
	Engine bool

	// Run returns what the project's own journal says of one of its runs; a nil state if it has no such run.
	Run func(id string) (*pawl.State, *pawl.Plan)

	// Scan counts the project's files except these, ignored ones and those that others made, and how many changed since.
	Scan func(since time.Time, but ...string) evidence.Census

	// Quiet is the silence after which a session counts as dead, Stalled the time without progress after which work counts as
	// stalled. Zero: the format's own default.
	Quiet, Stalled time.Duration

	// Items are the items of the step that CheckCriterion is called for, as the calling run knows them; nil without a run.
	Items []Item

	// IDs are the ids that this step's work may have in the files: that of what the run was imported from, and the run's own. They
	// are empty without a run.
	IDs []string

	// Made returns the files that this step has created or modified so far, from the snapshots around it, or why that is unknown;
	// nil without a run.
	Made func() (files []string, unknown string)

	// Redone is when that step was done last, if it runs again: what was written before proves nothing. Asked is since when a
	// question in the files is new to that run. Both are zero without a run.
	Redone, Asked time.Time
}
