package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"pawl"
)

// came says how far a command of a script came.
type came int

const (
	unseen came = iota // it cannot be told from its files
	none               // nothing of it is there
	begun              // something of it is
	asIs               // all that it is to bring about is so, and may have been before
	full               // all of it is there, and was not before it was meant
)

// command judges a shell command by the traces that its parts leave. Where a shell runs its commands one behind the other,
// and what the last of them leaves is there, all before have ended.
func (j *judging) command() pawl.OperationVerdict {
	s := readScript(j.Summary)
	s.unclear = s.unclear || strings.HasSuffix(j.Summary, "…") || hidden(j.Summary) || hidden(j.Dir)
	traces, elsewhere := 0, false
	var states []came
	dir := j.Dir
	for _, c := range s.commands {
		if len(c.words) == 2 && c.words[0] == "cd" {
			dir = at(dir, c.words[1])
			continue
		}
		e := effectOf(c)
		if e == noEffect {
			continue
		}
		traces++
		elsewhere = elsewhere || e == anywhere
		state := unseen
		if !s.unclear && e == local {
			state = j.state(c, dir)
		}
		states = append(states, state)
	}
	switch {
	case traces == 0:
		j.changes()
		j.say("as far as can be told it only reads: doing it again does no harm")
		return pawl.OperationUnknown
	case s.unclear:
		return j.byChanges(elsewhere)
	case states[traces-1] == full, !slices.ContainsFunc(states, func(c came) bool { return c < asIs }):
		j.say("all that it was to leave here is there")
		return pawl.OperationDone
	case !slices.ContainsFunc(states, func(c came) bool { return c != none }):
		j.say("nothing that it was to leave here is there")
		return pawl.OperationNotDone
	case slices.Contains(states, full), slices.Contains(states, begun):
		j.changes()
		return pawl.OperationPartly
	}
	return j.byChanges(elsewhere)
}

// byChanges judges by what was changed since, whatever it was.
func (j *judging) byChanges(elsewhere bool) pawl.OperationVerdict {
	if j.Overlaps {
		j.say("another command ran beside it: only what this one names is held to be its own")
		j.Changed, j.More = j.mentioned(), 0
	}
	changed := j.changes() || j.moved()
	switch {
	case changed:
		return pawl.OperationPartly
	case j.Blind != "" || j.Overlaps:
		return pawl.OperationUnknown
	case elsewhere:
		j.say("what it does elsewhere cannot be seen from here")
		return pawl.OperationUnknown
	}
	return pawl.OperationNotDone
}

// at returns a path as seen from where the project is.
func at(dir, name string) string {
	if path.IsAbs(name) || dir == "" {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// state says how far one command came, by what it leaves.
func (j *judging) state(c command, dir string) came {
	words := bare(c.words)
	if len(c.redirects) > 0 {
		return j.written(c, words, dir)
	}
	if len(words) < 2 {
		return unseen
	}
	name, args := path.Base(words[0]), words[1:]
	var paths []string
	flags := ""
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") && len(arg) > 1 {
			flags += strings.TrimLeft(arg, "-")
			continue
		}
		paths = append(paths, at(dir, arg))
	}
	switch {
	case name == "git":
		return j.git(args)
	case name == "touch" && strings.Trim(flags, "am") == "":
		return j.each(paths, j.made)
	case name == "mkdir" && strings.Trim(flags, "pv") == "":
		return j.each(paths, j.folder)
	case (name == "rm" || name == "rmdir" || name == "unlink") && strings.Trim(flags, "rRfvd") == "":
		return j.each(paths, j.removed)
	case name == "mv" && strings.Trim(flags, "fv") == "" && len(paths) == 2:
		return j.movedFile(paths[0], paths[1])
	case name == "cp" && strings.Trim(flags, "fvp") == "" && len(paths) == 2:
		return j.copied(paths[0], paths[1])
	case name == "ln" && strings.Trim(flags, "sfv") == "" && len(paths) == 2:
		return j.made(paths[1])
	case name == "sed" && len(paths) > 1:
		return j.each(paths[1:], j.made)
	}
	return unseen
}

// each says how far a command came that does the same with several paths.
func (j *judging) each(paths []string, one func(string) came) came {
	var all []came
	for _, p := range paths {
		all = append(all, one(p))
	}
	switch {
	case len(all) == 0:
		return unseen
	case slices.Min(all) == slices.Max(all):
		return all[0]
	case slices.Min(all) >= asIs:
		return full
	case slices.Max(all) == asIs:
		return none
	}
	return begun
}

func (j *judging) made(p string) came {
	if l := j.Look(p); l.There && j.since(l) {
		return full
	}
	return none
}

func (j *judging) folder(p string) came {
	switch l := j.Look(p); {
	case !l.There || !l.Folder:
		return none
	case j.since(l):
		return full
	}
	return asIs
}

func (j *judging) removed(p string) came {
	switch l := j.Look(p); {
	case l.There && l.Folder && j.since(l):
		return begun
	case l.There:
		return none
	case j.since(l):
		return full
	}
	return asIs
}

func (j *judging) movedFile(from, to string) came {
	old, now := j.Look(from), j.Look(to)
	if now.Folder {
		now = j.Look(path.Join(to, path.Base(from)))
	}
	switch {
	case !old.There && now.There && (j.since(now) || j.since(old)):
		return full
	case old.There && !j.since(now):
		return none
	}
	return unseen
}

func (j *judging) copied(from, to string) came {
	old, now := j.Look(from), j.Look(to)
	if now.Folder {
		now = j.Look(path.Join(to, path.Base(from)))
	}
	if !now.There || !j.since(now) {
		return none
	}
	a, errA := contentOf(old)
	b, errB := contentOf(now)
	if errA == nil && errB == nil && old.There && a == b {
		return full
	}
	return begun
}

// git says how far a command of git came: a commit moves HEAD, and does so last.
func (j *judging) git(args []string) came {
	if args[0] != "commit" || j.Operation.Head == "" && j.World.Head == "" {
		return unseen
	}
	if j.moved() {
		return full
	}
	return none
}

// written says how far a command came whose output goes to a file. What the simplest of them write is known.
func (j *judging) written(c command, words []string, dir string) came {
	if len(c.redirects) > 1 {
		return unseen
	}
	r := c.redirects[0]
	l := j.Look(at(dir, r.path))
	if !l.There || !j.since(l) {
		return none
	}
	text, known := printed(words)
	if !known || c.piped {
		return begun
	}
	if r.added {
		tail, err := l.Tail(len(text))
		if err == nil && string(tail) == text {
			return full
		}
		return begun
	}
	h := sha256.Sum256([]byte(text))
	if now, err := l.Content(); err == nil && now == hex.EncodeToString(h[:]) {
		return full
	}
	return begun
}

// printed returns what echo and printf print, where that does not depend on the shell.
func printed(words []string) (string, bool) {
	if len(words) == 0 {
		return "", true // > file
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "\\") && words[0] == "echo" }) {
		return "", false
	}
	switch words[0] {
	case ":", "true":
		return "", true
	case "echo":
		if len(words) > 1 && words[1] == "-n" {
			return strings.Join(words[2:], " "), true
		}
		return strings.Join(words[1:], " ") + "\n", len(words) < 2 || !strings.HasPrefix(words[1], "-")
	case "printf":
		if len(words) == 2 {
			return format(words[1])
		}
		if len(words) == 3 && (words[1] == "%s" || words[1] == `%s\n`) {
			end, _ := format(words[1][2:])
			return words[2] + end, true
		}
	}
	return "", false
}

// format returns what printf makes of a format without values.
func format(text string) (string, bool) {
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text)
	return plain, !strings.ContainsAny(plain, `%\`)
}
