package operations

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
)

// World is the state found after an operation whose outcome is unknown.
type World struct {
	Root      string                 // absolute; the project's
	Look      func(path string) Look // at a path, relative to the project or absolute
	Changed   []Change               // the first of the changes since the call was announced
	More      int                    // how many more changes there are
	Blind     string                 // why changes could not be determined; empty if they were
	Head      string                 // the commit of HEAD, in the repository of the operation's working folder
	Index     time.Time              // when git's index of this repository was last changed
	Refs      time.Time              // when HEAD or refs of this repository were last changed
	Processes []Process              // that it may have left running
	Beside    []*pawl.OperationState // other operations with unknown outcome that may have changed something since
}

// Look is what is at a path.
type Look struct {
	There   bool
	Folder  bool
	Changed time.Time                      // its ctime, or that of the nearest folder above it where nothing is there
	Content func() (sha string, err error) // of a file
	Tail    func(n int) ([]byte, error)    // its last bytes
	Empty   func() bool                    // whether a folder has no entries
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
	Shared bool   // it may be another's
}

// said is what is known of a process and of whose it is.
func (p Process) said() string {
	switch {
	case p.Sure:
		return "still running: " + p.Text
	case p.Shared:
		return "still running, or of another call: " + p.Text
	}
	return "possibly started by it: " + p.Text
}

// Judgement is the verdict on an operation.
type Judgement struct {
	Verdict  pawl.OperationVerdict
	Traces   pawl.OperationVerdict // the same by what it has left alone, where a process of it lives
	Evidence []string              // one line each
	Paths    []string              // paths that it changed or may have changed
	Reads    bool                  // it seems to only read
}

// Judge decides how far an operation came, and returns the evidence.
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
	if !j.Asked.IsZero() && !alive {
		v.Verdict = j.permitted(v.Verdict)
	}
	j.noteHead()
	v.Evidence, v.Reads = j.evidence, j.reads
	for _, c := range j.Changed {
		v.Paths = append(v.Paths, c.Path)
	}
	return v
}

// permitted returns the verdict on an operation for which permission was asked. Without any of its effects it counts as refused. Where its
// effects cannot be checked, it may have run, because agents do not report that permission was granted.
func (j *judging) permitted(verdict pawl.OperationVerdict) pawl.OperationVerdict {
	asked := "permission was asked at " + j.Asked.UTC().Format("15:04:05 UTC") + " but pawl saw no grant: "
	switch {
	case verdict == pawl.OperationNotDone, verdict == pawl.OperationDone && j.already && !j.contested:
		j.note("%streat the call as refused", asked)
		return pawl.OperationRefused
	case verdict == pawl.OperationUnknown, verdict == pawl.OperationDone && j.already:
		j.note("%sthe call was refused, or it ran", asked)
		return pawl.OperationUnknown
	}
	return verdict
}

// judging is the state of judging one operation.
type judging struct {
	*pawl.OperationState
	World
	own             names    // what it changes
	others          []names  // what others are about that may have changed something
	unboundedOthers bool     // of commands that may have changed anything
	shared          []string // files that changed since, by it or by others
	ambiguous       bool     // its own changes cannot be distinguished from those of others
	emptied         []string // folders in which a command that may have changed anything may have removed something
	before          names    // of the commands before the one that is looked at
	otherGit        bool     // it uses another repository than that of its working folder
	reads           bool     // it seems to only read
	already         bool     // all of its effects may have been there before
	contested       bool     // some of them are there only since the call, by it or by others
	evidence        []string
}

func (j *judging) note(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !slices.Contains(j.evidence, line) {
		j.evidence = append(j.evidence, line)
	}
}

func (j *judging) verdict() pawl.OperationVerdict {
	switch {
	case j.Kind == pawl.OperationReads:
		j.note("it only reads: repeating it is safe")
		return pawl.OperationUnknown
	case j.Kind == pawl.OperationFiles && slices.ContainsFunc(j.Paths, hidden):
		j.note("a file name was redacted as a secret, so the file cannot be checked")
		return pawl.OperationUnknown
	case j.Kind == pawl.OperationFiles && len(j.Expect) > 0:
		return j.files()
	case j.Kind == pawl.OperationFiles && len(j.Paths) > 0:
		return j.named()
	case j.Kind == pawl.OperationCommand:
		return j.command()
	}
	if len(j.Made) > 0 {
		j.note("its subagents finished changes of: `%s`", strings.Join(j.Made, "`, `"))
	}
	if changed := j.noteChanges(); !changed && len(j.Made) == 0 {
		j.note("effects outside this machine's files cannot be checked")
	}
	if len(j.Made) > 0 {
		return pawl.OperationPartly
	}
	return pawl.OperationUnknown
}

// hidden reports whether something of a text was left out as a secret.
func hidden(text string) bool { return strings.Contains(text, "[redacted:") }

// noteHead notes whether git's HEAD has moved.
func (j *judging) noteHead() {
	switch {
	case j.Operation.Head == "" && j.World.Head == "", j.removedDir():
	case !j.moved():
		j.note("HEAD unchanged")
	default:
		j.note("HEAD moved from %s to %s", short(j.Operation.Head), short(j.World.Head))
	}
}

// moved reports whether HEAD has moved. Where the working folder is gone, its repository is unknown.
func (j *judging) moved() bool { return j.Operation.Head != j.World.Head && !j.removedDir() }

func short(commit string) string {
	if commit == "" {
		return "no commit"
	}
	return commit[:min(12, len(commit))]
}

// files compares the content of files with the expected content.
func (j *judging) files() pawl.OperationVerdict {
	found := map[effect]int{}
	for _, e := range j.Expect {
		found[j.expected(e)]++
	}
	switch len(j.Expect) {
	case found[done] + found[alreadyTrue]:
		j.already = found[done] == 0
		return pawl.OperationDone
	case found[none] + found[alreadyTrue]:
		return pawl.OperationNotDone
	case found[none] + found[alreadyTrue] + found[unknown]:
		return pawl.OperationUnknown
	}
	return pawl.OperationPartly
}

// expected returns the effect on one file, and notes the reason.
func (j *judging) expected(e pawl.Expected) effect {
	found, why := partial, "has neither the old nor the expected content"
	switch now, err := contentOf(j.Look(e.Path)); {
	case err != nil:
		why = "cannot be read: " + err.Error()
	case now == e.Was && now == e.Will && !e.Open:
		found, why = alreadyTrue, "has the expected content, and had it before"
	case now == e.Will && !e.Open:
		found, why = done, map[bool]string{true: "is removed, as expected", false: "has the expected content"}[e.Will == ""]
	case now == e.Was:
		found, why = none, map[bool]string{true: "does not exist", false: "has the old content"}[e.Was == ""]
	case e.Open:
		why = "has changed; the expected content is not known"
	}
	if found == none && j.mayBeOverwritten(e.Path) || found == partial && j.claimedByOthers(e.Path) {
		found, why = unknown, why+", possibly changed by another call since"
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

// named checks whether the paths that an operation names have changed.
func (j *judging) named() pawl.OperationVerdict {
	verdict := pawl.OperationNotDone
	for _, path := range j.Paths {
		l := j.Look(path)
		if j.changedSince(l) {
			verdict = pawl.OperationPartly
			j.note("`%s` changed %s", path, j.after(l.Changed))
		} else {
			j.note("`%s` unchanged", path)
		}
	}
	return verdict
}

// changedSince reports whether a path changed after the call was announced.
func (j *judging) changedSince(l Look) bool { return !l.Changed.Before(j.Clock) && !j.Clock.IsZero() }

// after returns when something happened, relative to the call.
func (j *judging) after(t time.Time) string {
	text := "at " + t.UTC().Format("15:04:05 UTC")
	if d := t.Sub(j.Began); d > 0 {
		text += ", " + d.Round(10*time.Millisecond).String() + " after the call was announced"
	}
	return text
}

// manyChanges is the limit of changed paths named as evidence.
const manyChanges = 8

// listed names the first of some paths.
func listed(paths []string) string {
	text := "`" + strings.Join(paths[:min(len(paths), manyChanges)], "`, `") + "`"
	if more := len(paths) - manyChanges; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// noteChanges notes what has changed since, and reports whether anything has.
func (j *judging) noteChanges() bool {
	if j.Blind != "" {
		j.note("changes since could not be determined: %s", j.Blind)
		return false
	}
	for _, c := range j.Changed[:min(len(j.Changed), manyChanges)] {
		j.note("`%s` %s %s", c.Path, c.What, j.after(c.At))
	}
	if more := len(j.Changed) + j.More - manyChanges; more > 0 {
		j.note("%d more paths changed", more)
	}
	switch {
	case len(j.Changed)+len(j.Made) > 0:
	case len(j.shared) > 0:
		j.note("changed since, by it or by another call: %s", listed(j.shared))
	default:
		j.note("no file has changed since")
	}
	return len(j.Changed) > 0
}
