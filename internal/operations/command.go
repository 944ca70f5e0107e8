package operations

import (
	"path"
	"slices"
	"strings"

	"pawl"
)

// effect says how much of a command's effect is visible.
type effect int

const (
	unknown     effect = iota // its files do not show it
	none                      // none of it is visible
	partial                   // some of it is visible
	alreadyTrue               // the effect holds now, and may have held before the call
	done                      // all of it is visible, and was made after the call was announced
)

// part is a command of a script that has an effect.
type part struct {
	effect effect
	gates  bool // what follows runs only if this went well, and so on to the last
	names  names
}

// command judges a shell command by the effects of its parts. A shell runs them in order, so if the effect of the last part
// is visible, all parts before it have ended.
func (j *judging) command() pawl.OperationVerdict {
	s := readScript(j.Summary)
	s.unclear = s.unclear || cutOff(j.Summary) || hidden(j.Dir)
	parts, elsewhere := j.parts(s)
	any := func(of ...effect) bool {
		return slices.ContainsFunc(parts, func(p part) bool { return slices.Contains(of, p.effect) })
	}
	switch {
	case strings.TrimSpace(j.Summary) == "":
		j.note("its command was not recorded")
		return j.byChanges(true)
	case len(parts) == 0:
		j.reads = true
		j.note("it seems to only read: repeating it is safe")
		return pawl.OperationUnknown
	case s.unclear:
		return j.byChanges(elsewhere)
	case !any(unknown, none, partial), parts[len(parts)-1].effect == done && allSucceeded(parts):
		switch j.already = !any(done); {
		case j.already && j.contested:
			j.note("all its effects exist, and may be those of other calls: it may never have run")
		case j.already:
			j.note("all its effects exist, and may have existed before the call: it may never have run")
		default:
			j.note("all expected changes are present")
		}
		return pawl.OperationDone
	case !any(unknown, partial, done):
		j.note("none of the expected changes is present")
		return pawl.OperationNotDone
	case any(done, partial):
		j.noteChanges()
		return pawl.OperationPartly
	}
	return j.byChanges(elsewhere)
}

// parts returns the parts of a script that have an effect, and whether one of them may have an effect outside its files.
func (j *judging) parts(s script) (parts []part, elsewhere bool) {
	w := walk{in: place{root: j.Root, dir: j.Dir}, there: func(dir string) bool { return j.Look(dir).There }}
	j.before = names{}
	for i, c := range s.commands {
		in, moved := w.next(c)
		e := footprintOf(c)
		if moved || e == noFootprint {
			continue
		}
		elsewhere = elsewhere || e == anyFootprint
		p := part{gates: !slices.ContainsFunc(s.commands[i:len(s.commands)-1], func(c command) bool { return !c.gates })}
		if !s.unclear && e == localFootprint && !in.lost {
			p.effect = j.state(c, in)
		}
		j.otherGit = j.otherGit || j.usesOtherGit(c, in)
		for _, word := range append(slices.Clone(c.words), targets(c)...) {
			p.names.add(in, word, nil)
			j.before.add(in, word, nil)
		}
		parts = append(parts, p)
	}
	return parts, elsewhere || j.otherGit || j.leavesProject()
}

// allSucceeded reports whether the parts before the last one did what they were to do: their traces are there, or their failure
// would have kept the last from running, or they worked for one that follows.
func allSucceeded(parts []part) bool {
	for i, p := range parts[:len(parts)-1] {
		used := slices.ContainsFunc(parts[i+1:], func(later part) bool {
			return slices.ContainsFunc(later.names.paths, func(path string) bool { return slices.Contains(p.names.paths, path) })
		})
		if p.effect != alreadyTrue && p.effect != done && !p.gates && !used {
			return false
		}
	}
	return true
}

// byChanges judges a command by any change since the call was announced.
func (j *judging) byChanges(elsewhere bool) pawl.OperationVerdict {
	inGit := !j.otherGit && (j.own.unbounded || j.own.git) && (j.moved() || mentions(j.Summary, "git") && j.refsChanged())
	j.ambiguous = j.ambiguous || inGit && j.gitUsedByOthers()
	if j.ambiguous {
		j.note("other tool calls may have run at the same time: only paths that no other call names count as its changes")
	}
	switch changed := j.noteChanges(); {
	case changed, inGit && !j.gitUsedByOthers():
		return pawl.OperationPartly
	case j.Blind != "" || j.ambiguous, !j.otherGit && mentions(j.Summary, "git") && j.indexChanged():
		return pawl.OperationUnknown
	case slices.ContainsFunc(j.own.paths, j.mayBeRemoved):
		j.note("a file that it writes does not exist and the folder changed since: the file may have been removed")
		return pawl.OperationUnknown
	case elsewhere:
		j.note("effects outside this machine's files cannot be checked")
		return pawl.OperationUnknown
	}
	return pawl.OperationNotDone
}

// state returns the visible effect of one command.
func (j *judging) state(c command, in place) effect {
	words := unwrapped(c.words)
	if len(c.redirects) > 0 {
		return j.written(c, words, in)
	}
	if len(words) < 2 {
		return unknown
	}
	name, args := path.Base(words[0]), words[1:]
	var paths []string
	flags := ""
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") && len(arg) > 1 {
			flags += strings.TrimLeft(arg, "-")
			continue
		}
		paths = append(paths, in.at(arg))
	}
	switch {
	case name == "git":
		return j.git(args, in)
	case name == "touch" && strings.Trim(flags, "am") == "":
		return j.each(paths, j.made)
	case name == "mkdir" && strings.Trim(flags, "pv") == "":
		return j.each(paths, func(p string) effect { return j.folder(p, strings.Contains(flags, "p")) })
	case (name == "rm" || name == "rmdir" || name == "unlink") && strings.Trim(flags, "rRfvd") == "":
		return j.each(paths, j.removed)
	case name == "mv" && strings.Trim(flags, "fv") == "" && len(paths) == 2:
		return j.movedFile(paths[0], paths[1])
	case name == "cp" && strings.Trim(flags, "fvp") == "" && len(paths) == 2:
		return j.copied(paths[0], paths[1])
	case name == "ln" && strings.Trim(flags, "sfv") == "" && len(paths) == 2:
		return j.made(paths[1])
	case (name == "sed" || name == "chmod" || name == "chown") && len(paths) > 1:
		return j.each(paths[1:], j.made)
	}
	return unknown
}

// each combines the effects of a command that treats several paths alike.
func (j *judging) each(paths []string, one func(string) effect) effect {
	var all []effect
	for _, p := range paths {
		all = append(all, one(p))
	}
	switch {
	case len(all) == 0, slices.Contains(all, unknown) && slices.Max(all) == none:
		return unknown
	case slices.Min(all) == slices.Max(all):
		return all[0]
	case slices.Min(all) >= alreadyTrue:
		return done
	case slices.Max(all) == alreadyTrue:
		return none
	}
	return partial
}

// unlessOthers returns how far a command came by what is at a path, unless others may have covered what it left there, or left it
// themselves.
func (j *judging) unlessOthers(p string, c effect) effect {
	switch {
	case c == none && j.mayBeOverwritten(p), c > none && j.claimedByOthers(p):
		j.ambiguous = true
		return unknown
	case c == none && j.mayBeRemoved(p):
		return unknown
	}
	return c
}

// reached returns the effect of a command whose path is exactly as the command would leave it. If others name the path, one of them may have
// done that, so it does not prove that the command ran.
func (j *judging) reached(p string) effect {
	if j.claimedByOthers(p) {
		j.contested = true
		return alreadyTrue
	}
	return done
}

// mayBeOverwritten reports whether others may have changed what is at a path, or taken it away, since this operation left it.
func (j *judging) mayBeOverwritten(p string) bool {
	return (j.Overlaps || j.claimedByOthers(p)) && j.changedSince(j.Look(p))
}

// made returns the effect of creating or touching a file. If an earlier command names the same file, that one may have
// done it.
func (j *judging) made(p string) effect {
	l := j.Look(p)
	switch {
	case !l.There || !j.changedSince(l):
		return j.unlessOthers(p, none)
	case slices.Contains(j.before.paths, p):
		return j.unlessOthers(p, partial)
	}
	return j.unlessOthers(p, done)
}

// folder returns the effect of creating a folder, and with parents also the missing ones above it. A created parent that is still
// empty shows that the command did not reach the folder.
func (j *judging) folder(p string, parents bool) effect {
	switch l := j.Look(p); {
	case !l.There && parents && j.createdAbove(p):
		return partial
	case !l.There || !l.Folder:
		return j.unlessOthers(p, none)
	case j.changedSince(l):
		return j.unlessOthers(p, done)
	}
	return alreadyTrue
}

// createdAbove reports whether the nearest existing folder above a path is empty and changed since the call, and no other call names it.
func (j *judging) createdAbove(p string) bool {
	for above := path.Dir(p); above != path.Dir(above); above = path.Dir(above) {
		if l := j.Look(above); l.There {
			return l.Folder && j.changedSince(l) && l.Empty() && !j.claimedByOthers(above)
		}
	}
	return false
}

func (j *judging) removed(p string) effect {
	switch l := j.Look(p); {
	case l.There && l.Folder && j.changedSince(l):
		return j.unlessOthers(p, partial)
	case l.There:
		return j.unlessOthers(p, none)
	case slices.Contains(j.Gone, p):
		return j.reached(p)
	}
	return alreadyTrue
}

func (j *judging) movedFile(from, to string) effect {
	old, now := j.Look(from), j.Look(to)
	if now.Folder {
		to = path.Join(to, path.Base(from))
		now = j.Look(to)
	}
	switch {
	case !now.There, old.There && !j.changedSince(now):
		return j.unlessOthers(to, none)
	case !old.There && (slices.Contains(j.Gone, from) || j.changedSince(now)):
		return j.reached(to)
	}
	return unknown
}

func (j *judging) copied(from, to string) effect {
	old, now := j.Look(from), j.Look(to)
	if now.Folder {
		to = path.Join(to, path.Base(from))
		now = j.Look(to)
	}
	if !now.There || !j.changedSince(now) {
		return j.unlessOthers(to, none)
	}
	a, errA := contentOf(old)
	b, errB := contentOf(now)
	if errA == nil && errB == nil && old.There && a == b {
		return j.reached(to)
	}
	return j.unlessOthers(to, partial)
}

// git returns the visible effect of a git command, by its index and refs. A commit moves HEAD as its last act.
func (j *judging) git(args []string, in place) effect {
	args, in = gitCommand(args, in)
	moved, commits := j.moved(), len(args) > 0 && args[0] == "commit"
	switch {
	case len(args) == 0 || j.otherRepository(in):
		return unknown
	case j.Index.IsZero() && j.Refs.IsZero() && j.Operation.Head == "" && j.World.Head == "", j.Clock.IsZero() && !commits:
		return unknown
	case !moved && (commits || j.Index.Before(j.Clock) && j.Refs.Before(j.Clock)):
		return none
	case j.gitUsedByOthers():
		j.ambiguous = true
		return unknown
	case commits:
		return done
	case moved || j.refsChanged():
		return partial
	}
	return unknown // what changed the index may have been `git status`
}

// gitUsedByOthers reports whether others may have changed what git keeps.
func (j *judging) gitUsedByOthers() bool {
	return j.unboundedOthers || slices.ContainsFunc(j.others, func(n names) bool { return n.git })
}

// refsChanged reports whether HEAD or refs were changed since, and says so.
func (j *judging) refsChanged() bool {
	if j.Clock.IsZero() || j.Refs.Before(j.Clock) {
		return false
	}
	j.note("git's refs changed %s", j.after(j.Refs))
	return true
}

// indexChanged reports whether git's index was changed since, and says so. It proves little: `git status` writes it when it finds that
// only the times of files have changed.
func (j *judging) indexChanged() bool {
	if j.Clock.IsZero() || j.Index.Before(j.Clock) {
		return false
	}
	j.note("git's index changed %s, which git status does too", j.after(j.Index))
	return true
}

// written returns the visible effect of a command that redirects its output to a file. For simple commands the content is
// known.
func (j *judging) written(c command, words []string, in place) effect {
	if len(c.redirects) > 1 {
		return unknown
	}
	r := c.redirects[0]
	p := in.at(r.path)
	l := j.Look(p)
	if !l.There || !j.changedSince(l) {
		return j.unlessOthers(p, none)
	}
	text, known := printed(words)
	if c.here != nil && len(words) == 1 && words[0] == "cat" {
		text, known = *c.here, true
	}
	if known && !c.piped && holds(l, text, r.added) {
		if r.added { // another call may have appended the same text
			return j.unlessOthers(p, done)
		}
		return j.reached(p)
	}
	return j.unlessOthers(p, partial)
}

// holds reports whether the content of a file is a text, or ends with it.
func holds(l Look, text string, atEnd bool) bool {
	if atEnd {
		tail, err := l.Tail(len(text))
		return err == nil && string(tail) == text
	}
	now, err := l.Content()
	return err == nil && now == sum([]byte(text))
}

// printed returns the output of echo and printf, if it does not depend on the shell.
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

// format returns the output of printf for a format without arguments.
func format(text string) (string, bool) {
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text)
	return plain, !strings.ContainsAny(plain, `%\`)
}
