// Package format holds what the formats of other systems share: the words for a project that was read, the files of a
// system, and the plan that continues its work.
//
// A format (internal/interop/format/<system>) is pure: it maps bytes to pawl's words and back. It does no I/O and reads no
// clock. It reads leniently: text that it cannot parse becomes a finding with file and line, and the rest is still read. It
// writes strictly: it edits a file in place, so that text that pawl does not know stays as it is, to the byte.
package format

import (
	"time"

	"pawl"
	"pawl/internal/interop/tables/dump"
)

// Format reads and writes the files of one system. Every function is pure. The first group is always set; a function of the
// second group is nil where the system has no such thing.
type Format struct {
	Name     string   // grid, dotagent, sitebuilder, projectstate, gyoshu
	Patterns []string // of the files that are read for it (see Files.Match); no other file is

	// Read returns what the files say of one project, and findings with file and line. The Project has no Name if nothing could
	// be read. It works with any Env; it verifies more claims the more functions of Env are set.
	Read func(files Files, env Env) (Project, []pawl.Finding)
	// Write returns the files that have to change at this moment of a run, each whole, in the order to write them. A File with
	// nil Data is to be removed; if the system has an archive, the archived copy comes before it. A path that ends in a slash is
	// a folder, to be removed if it is empty.
	Write func(files Files, export Export) []File
	// Verify runs the system's own validation. It returns every fault, and an OK finding for each validation that passed.
	Verify func(files Files, env Env) []pawl.Finding
	// CheckCriterion reports whether a step meets one of its Step.Criteria, or with "" all of them, and why. If the only evidence
	// is the statement of whoever did the step, that statement counts, and why says so.
	CheckCriterion func(files Files, env Env, step pawl.StepID, criterion string) (met bool, why string)
	// Criteria returns the criteria of a step, also of a finished one, each without its time (see CutTime). It returns nil if the
	// files have no such step, or if the step has no criteria.
	Criteria func(files Files, env Env, step pawl.StepID) []string

	// Private are patterns of its files that only their user may read when pawl creates them, with their folders.
	Private []string

	// Archived are patterns of the files in which it keeps what it replaced. It does not read them.
	Archived []string

	// Places returns the folders of the projects in these files, relative to the root. The first one is the one that Read reads.
	Places func(files Files, now time.Time) []string
	// At returns the format of the project at one of the Places. It is nil if and only if Places is.
	At func(place string) Format

	// Projects returns the ids of the projects, or of the runs, that the files hold, if the same files can hold several.
	Projects func(files Files) []string
	// Select returns the format of the project with this name, id or unique id prefix. It is nil if and only if Projects is.
	Select func(project string) Format

	// Tables are the tables to dump from a SQLite database among the files: File.Data is the dump of those that exist, and what
	// Write changes in it is applied to the database. With a run they are only what Write needs for that run.
	Tables func(run *pawl.State) []dump.Part
	// Server is the database server that the name ServerFile stands for; nil if there is none.
	Server Server

	// Unfinished returns the unfinished work that a run of this plan would overwrite, and the file that mentions it; empty if
	// there is none.
	Unfinished func(files Files, env Env, plan *pawl.Plan) (what, file string)
	// Refuses returns why a run cannot be written into these files, as Bad findings: truncated or unparsable files that Write
	// would have to edit. Then nothing is written.
	Refuses func(files Files, run *pawl.State) []pawl.Finding
	// Answers returns the answers to open gates that people wrote into the files, each for exactly the gate that the files show.
	// Where names the file.
	Answers func(files Files, export Export) []pawl.GateAnswered
	// ListedBlockers returns of each open blocker that belongs into a readable file whether the file lists it, by the blocker's id.
	ListedBlockers func(files Files, export Export) map[int]ListedBlocker
	// Paused returns where someone else has paused the project since pawl last wrote the files, "" if nobody has.
	Paused func(files Files, export Export) (where string)
	// Conflicts returns what others have written into the files that contradicts the run, one line each. Write does not overwrite it,
	// or keeps a copy. moved reports whether someone else has continued the work.
	Conflicts func(files Files, export Export) (lines []string, moved bool)
	// UnknownTasks returns the unfinished tasks that the files list and a completed run has no step for, by the system's own
	// names, and the file that lists them.
	UnknownTasks func(files Files, export Export) (tasks []string, file string)
	// Asks returns the question for a person with which the work on a step ended, if its files have one that is new; nil if they
	// have none.
	Asks func(files Files, env Env, step pawl.StepID) *pawl.GateAction
	// Records returns what the files of a finished step record for its run: notes and items.
	Records func(files Files, env Env, step pawl.StepID) []pawl.Line
	// Preconditions returns what the system requires before a step is continued, as text for whoever does the step; empty if it
	// requires nothing.
	Preconditions func(run *pawl.State, plan *pawl.Plan, env Env, step pawl.StepID) string

	// ResumePrompt returns what the system asks before it resumes the work in these files. Its Ask is empty if it asks nothing.
	ResumePrompt func(files Files, env Env) Question
	// Archive returns the files that move the whole state into the system's own archive, as Write does. It is nil if and only if
	// ResumePrompt is.
	Archive func(files Files, now time.Time) []File

	// Prune returns the files to remove so that this many checkpoints of each run remain, as Write does.
	Prune func(files Files, keep int, env Env) ([]File, error)

	// Locks returns the paths of the lock files that the system's sessions hold while they write: those for a run or, without
	// one, for all files. They lie in a folder outside the project.
	Locks func(files Files, run *pawl.State, folder string) []string
}
