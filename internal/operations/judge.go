package operations

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
)

// World is what was found of an operation in doubt.
type World struct {
	Root      string                 // absolute; the project's
	Look      func(path string) Look // at a path, relative to the project or absolute
	Changed   []Change               // what was changed since it was meant; the first of them
	More      int                    // changes that are not named
	Blind     string                 // why it could not be found out what was changed; empty: it was
	Head      string                 // the commit that git stands at
	Git       time.Time              // when git's index, HEAD or refs were last changed
	Processes []Process              // that it may have left running
	Beside    []*pawl.OperationState // others in doubt, which may have changed something since it was meant
}

// Look is what is at a path.
type Look struct {
	There   bool
	Folder  bool
	Changed time.Time                      // its ctime, or that of the nearest folder above it where nothing is there
	Content func() (sha string, err error) // of a file
	Tail    func(n int) ([]byte, error)    // its last bytes
}

// Change is a path that was changed, made or removed.
type Change struct {
	Path string
	What string // changed | removed
	At   time.Time

	Folder bool // something was made, removed or renamed in it
	Busy   bool // something that is in it was changed too, which may be all
}

// Process is one that still runs.
type Process struct {
	Text   string // what is known of it
	Sure   bool   // it is the operation's
	Shared bool   // it may be another's with the same command
}

// said is what is known of a process and of whose it is.
func (p Process) said() string {
	switch {
	case p.Sure:
		return "it still runs: " + p.Text
	case p.Shared:
		return "it still runs, or another with the same command does: " + p.Text
	}
	return "perhaps of it: " + p.Text
}

// Judgement is how far an operation came.
type Judgement struct {
	Verdict  pawl.OperationVerdict
	Traces   pawl.OperationVerdict // the same by what it has left alone, where a process of it lives
	Evidence []string              // one line each
}

// Judge says how far an operation came, and by what evidence.
func Judge(o *pawl.OperationState, w World) Judgement {
	j := &judging{OperationState: o, World: w}
	alive, maybe := false, false
	for _, p := range w.Processes {
		j.note("%s", p.said())
		alive, maybe = alive || p.Sure, maybe || p.Shared
	}
	j.attribute()
	v := Judgement{Verdict: j.verdict()}
	v.Traces = v.Verdict
	switch {
	case alive && v.Verdict != pawl.OperationDone:
		v.Verdict = pawl.OperationPartly
	case maybe && v.Verdict == pawl.OperationNotDone:
		v.Verdict = pawl.OperationUnknown
	}
	j.noteHead()
	v.Evidence = j.evidence
	return v
}

// judging is an operation being judged.
type judging struct {
	*pawl.OperationState
	World
	own             names   // what it changes
	others          []names // what others are about that may have changed something
	unboundedOthers bool    // of commands that may have changed anything
	ambiguous       bool    // what may be its own cannot be told from what others did
	before          names   // of the commands before the one that is looked at
	evidence        []string
}

func (j *judging) note(format string, args ...any) {
	j.evidence = append(j.evidence, fmt.Sprintf(format, args...))
}

func (j *judging) verdict() pawl.OperationVerdict {
	switch {
	case j.Kind == pawl.OperationReads:
		j.note("it only reads: doing it again does no harm")
		return pawl.OperationUnknown
	case j.Kind == pawl.OperationFiles && slices.ContainsFunc(j.Paths, hidden):
		j.note("the name of a file that it was to change was taken for a secret, and was not kept")
		return pawl.OperationUnknown
	case j.Kind == pawl.OperationFiles && len(j.Expect) > 0:
		return j.files()
	case j.Kind == pawl.OperationFiles && len(j.Paths) > 0:
		return j.named()
	case j.Kind == pawl.OperationCommand:
		return j.command()
	}
	j.noteChanges()
	j.note("what it does elsewhere cannot be seen from here")
	return pawl.OperationUnknown
}

// hidden reports whether something of a text was left out as a secret.
func hidden(text string) bool { return strings.Contains(text, "[redacted:") }

// head says whether git has moved.
func (j *judging) noteHead() {
	switch {
	case j.Operation.Head == "" && j.World.Head == "":
	case !j.moved():
		j.note("git's HEAD is where it was")
	default:
		j.note("git's HEAD has moved from %s to %s since", short(j.Operation.Head), short(j.World.Head))
	}
}

func (j *judging) moved() bool { return j.Operation.Head != j.World.Head }

func short(commit string) string {
	if commit == "" {
		return "no commit"
	}
	return commit[:min(12, len(commit))]
}

// files compares what files hold with what they were to hold.
func (j *judging) files() pawl.OperationVerdict {
	found := map[effect]int{}
	for _, e := range j.Expect {
		found[j.expected(e)]++
	}
	switch len(j.Expect) {
	case found[done] + found[alreadyTrue]:
		return pawl.OperationDone
	case found[none] + found[alreadyTrue]:
		return pawl.OperationNotDone
	case found[none] + found[alreadyTrue] + found[unknown]:
		return pawl.OperationUnknown
	}
	return pawl.OperationPartly
}

// expected says how far an operation came with one file, and why.
func (j *judging) expected(e pawl.Expected) effect {
	found, why := partial, "holds neither what was there before nor what it was to hold"
	switch now, err := contentOf(j.Look(e.Path)); {
	case err != nil:
		why = "cannot be read: " + err.Error()
	case now == e.Was && now == e.Will && !e.Open:
		found, why = alreadyTrue, "is as it was to be, and was so before"
	case now == e.Will && !e.Open:
		found, why = done, map[bool]string{true: "is gone, as it was to be", false: "holds what it was to hold"}[e.Will == ""]
	case now == e.Was:
		found, why = none, map[bool]string{true: "is not there", false: "is as it was before"}[e.Was == ""]
	case e.Open:
		why = "is not as it was before, and what it was to hold is not known"
	}
	if found == none && j.mayBeOverwritten(e.Path) || found == partial && j.claimedByOthers(e.Path) {
		found, why = unknown, why+", which may be others' doing since"
	}
	j.note("`%s` %s", e.Path, why)
	return found
}

// contentOf returns the hash of a file's content, empty where nothing is there.
func contentOf(l Look) (string, error) {
	if !l.There {
		return "", nil
	}
	if l.Folder {
		return "a folder", nil
	}
	return l.Content()
}

// named looks whether the paths that an operation names were changed since.
func (j *judging) named() pawl.OperationVerdict {
	verdict := pawl.OperationNotDone
	for _, path := range j.Paths {
		l := j.Look(path)
		if j.changedSince(l) {
			verdict = pawl.OperationPartly
			j.note("`%s` was changed %s", path, j.after(l.Changed))
		} else {
			j.note("`%s` was not changed since", path)
		}
	}
	return verdict
}

// since reports whether something was changed since the operation was meant.
func (j *judging) changedSince(l Look) bool { return !l.Changed.Before(j.Clock) && !j.Clock.IsZero() }

// after says when something happened.
func (j *judging) after(t time.Time) string {
	text := "at " + t.UTC().Format("15:04:05 UTC")
	if d := t.Sub(j.Began); d > 0 {
		text += ", " + d.Round(10*time.Millisecond).String() + " after it was meant"
	}
	return text
}

// manyChanges is how many changed paths are named as evidence.
const manyChanges = 8

// changes tells what was changed since, and reports whether anything was.
func (j *judging) noteChanges() bool {
	if j.Blind != "" {
		j.note("what was changed since could not be found out: %s", j.Blind)
		return false
	}
	for _, c := range j.Changed[:min(len(j.Changed), manyChanges)] {
		j.note("`%s` was %s %s", c.Path, c.What, j.after(c.At))
	}
	if more := len(j.Changed) + j.More - manyChanges; more > 0 {
		j.note("%d more paths were changed since", more)
	}
	if len(j.Changed) == 0 {
		j.note("no file here was changed since")
	}
	return len(j.Changed) > 0
}
