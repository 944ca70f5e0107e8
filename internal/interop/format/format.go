// Package foreign holds what the codecs of the systems share whose files pawl reads and writes: what was read of a
// project, in pawl's words, and the files themselves.
//
// A codec (internal/interop/format/<system>) is pure: bytes and pawl's words, no disk, no clock. It reads leniently: what cannot
// be understood is a finding with file and line, never a failure, and what was read so far stays. It writes strictly, and
// only what differs: a file is never encoded anew, but changed in place, so that what pawl does not know stays as it is,
// to the byte.
package format

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/doubt"
	"pawl/internal/interop/tables/dump"
)

// File is a file of another system.
type File struct {
	Path    string // relative to the folder that the system lives in, with slashes
	Data    []byte
	Changed time.Time   // when it was last written; zero where that is not known
	Was     []byte      // not nil: it is a database; Data has tables of it as SQL text, and these are they as they were read
	Parts   []dump.Part // of a database, which were read
	Named   bool        // somebody named it, and no other file is read
	Broken  string      // of what is written: the path of the file that it is a copy of, which could not be read and is made anew
}

// Files are the files of a project, by path.
type Files []File

// Find returns a file, nil where there is none.
func (f Files) Find(name string) *File {
	for i := range f {
		if f[i].Path == name {
			return &f[i]
		}
	}
	return nil
}

// Match returns the files whose path matches a pattern of path.Match, by path. "**/" in front stands for any folders.
func (f Files) Match(pattern string) []File {
	var found []File
	for _, file := range f {
		if matches(pattern, file.Path) {
			found = append(found, file)
		}
	}
	slices.SortFunc(found, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return found
}

func matches(pattern, name string) bool {
	rest, anywhere := strings.CutPrefix(pattern, "**/")
	for more := strings.Count(name, "/") - strings.Count(rest, "/"); anywhere && more > 0; more-- {
		_, name, _ = strings.Cut(name, "/")
	}
	ok, err := path.Match(rest, name)
	return ok && err == nil
}

// Codec reads and writes the files of one system.
type Format interface {
	// System is its name: grid, dotagent, sitebuilder, projectstate, gyoshu.
	System() string
	// Wants are patterns (see Files.Match) of the files that it reads, and nothing else is read for it.
	Wants() []string
	// Read says what the files say. Findings name file and line. Nothing readable at all gives a Reading without a Name.
	Read(files Files, now time.Time) (Project, []pawl.Finding)
	// Write returns the files that differ from how they are to be at this moment of a run, whole; a File with nil Data is
	// to be removed (moved to an archive, where the system has one: then the archived file is among them); one whose path ends
	// in a slash is a folder, which is removed where it is empty.
	Write(files Files, v Export) []File
	// Verify is the system's own validation, done right: every fault, and what was found to be good.
	Verify(files Files, w Env) []pawl.Finding
}

// Historian is a codec that reads more where it is told what git knows: what was done after the last file was written.
type Historian interface {
	// ReadHistory is Read with the commits of the project's branch, the newest first; a few hundred are enough.
	ReadHistory(files Files, log []Commit, now time.Time) (Project, []pawl.Finding)
}

// Witness is a codec that reads better where it may ask what is true of the files that it only names.
type Witness interface {
	// ReadIn is Read with the world, whose Now is the time.
	ReadIn(files Files, w Env) (Project, []pawl.Finding)
}

// Prover is a codec of a system whose steps have criteria of their own (Step.Criteria), each of which it can look at.
type Prover interface {
	// Meets says whether a step meets a criterion, "" all of them, and by what that is known. Of a criterion that only the
	// word of who does the step speaks for, that word counts, and it is said that there is no more.
	Meets(files Files, w Env, step pawl.StepID, criterion string) (bool, string)
}

// Plural is a codec that may find several runs in one project.
type Plural interface {
	// Places returns the folders that they are in, relative to the project; the first is the one that Read reads.
	Places(files Files, now time.Time) []string
	// At returns the codec that reads and writes only the one at a place.
	At(place string) Format
}

// Pruner is a codec of a system that lets go of old checkpoints.
type Pruner interface {
	// Prune returns what goes so that so many checkpoints of each run stay, as Write returns what is to be removed.
	Prune(files Files, keep int, w Env) ([]File, error)
}

// Owner is a codec that says whose work a new run would go on over.
type Owner interface {
	// Unfinished returns what is unfinished among the files that a run of this plan would write over, and the file that says
	// so; empty where nothing is.
	Unfinished(files Files, w Env, plan *pawl.Plan) (what, file string)
}

// Refuser is a codec that cannot write a run beside everything that may be there.
type Refuser interface {
	// Refuses returns what keeps it from writing a run: files that break off, or cannot be understood, in which its words would have
	// to stand. Then nothing is written, and people are told.
	Refuses(files Files, run *pawl.State) []pawl.Finding
}

// Listener is a codec of a system in whose files people write what they answer.
type Listener interface {
	// Answers returns what stands in the files as answers to gates that are open, each to exactly the gate that the files
	// show. Where says in which file.
	Answers(files Files, v Export) []pawl.GateAnswered
}

// Prescriber is a codec of a system that prescribes what is to be done before its work is gone on with.
type Prescriber interface {
	// Prescribes returns what who carries out a step is told of that; empty: nothing is prescribed.
	Prescribes(run *pawl.State, plan *pawl.Plan, w Env, step pawl.StepID) string
}

// Surveyor is a codec of a system whose files may name tasks that the run has no step for, because somebody added them.
type Surveyor interface {
	// Beyond returns those that are not done, by their own names, and the file that names them. A run that is completed does not
	// complete their project.
	Beyond(files Files, v Export) (tasks []string, file string)
}

// Archivist is a codec that keeps what it replaced in files that it does not read.
type Archivist interface {
	// Archived are patterns of these files.
	Archived() []string
}

// Tabular is a codec whose files may also be SQLite databases. Of such a file Data is a dump of these tables, as far as they
// are there, and what differs in what Write returns is changed in the database.
type Tabular interface {
	// Tables are what is read of a database; with a run what Write needs of it for that, and no more.
	Tables(run *pawl.State) []dump.Part
}

// Chooser is a codec of a system whose files hold several projects.
type Chooser interface {
	// Choose returns the codec that reads the project of this name, id or beginning of an id, where no other one's begins so.
	Choose(project string) Format
	// Projects returns the ids of those that there are.
	Projects(files Files) []string
}

var (
	// ErrLink means that at a path is a link, which is not followed.
	ErrLink = errors.New("it is a symbolic link")
	// ErrOutside means that a link above a path leads out of the project.
	ErrOutside = errors.New("it leads out of the project")
	// ErrChanged means that somebody else has changed a file, or the tables of a database, since they were read.
	ErrChanged = errors.New("somebody else has changed it meanwhile")
)

// World is what a validation may ask of the world beyond the files that it was given. Paths are relative to the project's
// root. Hash looks at one file: a link at the path itself is ErrLink, to whatever it leads; a link above it is followed
// within the project, and ErrOutside where it leads out; what is not there is fs.ErrNotExist.
type Env struct {
	Now       time.Time
	Exists    func(path string) bool // never outside of the project
	Hash      func(path string) (sha256 string, size int64, err error)
	HasCommit func(hash string) bool // whether git knows a commit; nil: there is no git

	// Unread are the files and folders of the codec's system that are there and could not be read: links, what is too large,
	// what nobody may read. The findings say so; what they stand for is there all the same.
	Unread []string

	// Run returns what the project's own journal says of one of its runs. Nil, or no state: it knows none of that name.
	Run func(id string) (*pawl.State, *pawl.Plan)

	// Scan counts the project's files but these, those that are ignored and what others made, and those that changed since. Nil:
	// nobody knows.
	Scan func(since time.Time, but ...string) doubt.Census

	// Quiet is after how long without a sign of life nobody is taken to be at work any more, Stalled after how long the work is
	// taken to stand still. Zero: as the codec has it.
	Quiet, Stalled time.Duration

	// Items are those of the step that Meets is asked of, as the run knows them that asks. Nil: no run does.
	Items []Item
}

// View is what a codec is told when it writes.
type Export struct {
	Now        time.Time
	Root       string // the project's, absolute
	State      *pawl.State
	Plan       *pawl.Plan
	Status     pawl.RunStatus // as people mean it, see State.StatusNow
	Memories   []pawl.Memory
	Items      func(pawl.StepID) []Item   // of a work list, finished or not, in order
	Checkpoint *pawl.Checkpoint           // the newest
	Partial    func(pawl.StepID) *Partial // what was begun of a step and not finished; nil where nobody knows
	Trigger    Trigger

	// Unknown reports whether git knows no such commit. Where there is no git, nobody knows, and it does not.
	UnknownCommit func(commit string) bool

	// Commits returns those that were made between two times and that HEAD builds on, the oldest first, with their files.
	Commits func(from, until time.Time) []Commit

	// Existed says whether something was at a path before a step began, and whether that is known.
	Existed func(step pawl.StepID, path string) (existed, known bool)
}

// Moment is what a mirror is written for.
type Trigger string

// The moments, the lighter before the weightier. What a codec writes at one, it writes at a weightier one too: where
// several come at once, it is told the weightiest.
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
	Exported    Trigger = "exported" // somebody asked for all of it
)

var byWeight = []Trigger{Beat, ItemEnded, StepBegan, Learned, GateClosed, GateOpened, StepEnded, WaveEnded, PhaseEnded, Began, Interrupted, RunEnded, Exported}

// Weightier returns the weightier of two moments; the empty one weighs nothing.
func Weightier(a, b Trigger) Trigger {
	if slices.Index(byWeight, b) > slices.Index(byWeight, a) {
		return b
	}
	return a
}

// MayHold reports whether a file that matches one of a codec's patterns can lie below a folder.
func MayHold(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if strings.HasPrefix(pattern, "**/") {
			return true
		}
		parts, deep := strings.Split(pattern, "/"), strings.Count(folder, "/")+1
		return len(parts) > deep && matches(strings.Join(parts[:deep], "/"), folder)
	})
}

// OnTheWay reports whether a folder is one that a codec's patterns name: .grid of **/.grid/*.md.
func OnTheWay(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		for above := path.Dir(pattern); above != "." && above != "**"; above = path.Dir(above) {
			if matches(above, folder) {
				return true
			}
		}
		return false
	})
}

// Wanted reports whether a path matches one of a codec's patterns.
func Wanted(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
}
