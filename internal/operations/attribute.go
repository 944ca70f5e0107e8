package operations

import (
	"path"
	"slices"
	"strings"

	"pawl"
)

// attribute drops the changes that this operation did not make: those that another operation names, and those that it does
// not name itself, if it names all that it changes or if another command may have changed anything. It sets ambiguous if a
// dropped change may have been its own.
func (j *judging) attribute() {
	j.own = namesOf(j.OperationState, j.Root)
	mine := j.own
	j.others = []names{{paths: j.Others, removes: true}} // perhaps
	for _, o := range j.Beside {
		n := namesOf(o, j.Root)
		if same := o.Summary == j.Summary && o.Dir == j.Dir; !n.reads && !same { // identical calls need not be distinguished
			j.others = append(j.others, n)
		}
	}
	j.unboundedOthers = j.Overlaps || slices.ContainsFunc(j.others, func(n names) bool { return n.unbounded })
	j.ambiguous = j.unboundedOthers && mine.unbounded
	kept := j.Changed[:0:0]
	for _, c := range j.Changed {
		its := mine.include(c)
		theirs := slices.ContainsFunc(j.others, func(n names) bool { return n.include(c) })
		if c.Folder && !c.Busy && !theirs && j.unboundedOthers {
			j.emptied = append(j.emptied, c.Path)
		}
		switch hidden := c.Folder && (c.Busy || j.unboundedOthers); {
		case hidden && (its && !c.Busy || mine.removes && (its || mine.unbounded)), its && theirs && !c.Busy:
			j.ambiguous = true
		case hidden:
		case theirs, !its && (j.unboundedOthers || !mine.unbounded):
			if !c.Folder && mine.unbounded {
				j.shared = append(j.shared, c.Path)
			}
		default:
			kept = append(kept, c)
		}
	}
	if j.Changed = kept; j.unboundedOthers || !mine.unbounded {
		j.More = 0
	}
}

// mayBeRemoved reports whether a path is missing and another command may have removed it since: its folder changed.
func (j *judging) mayBeRemoved(p string) bool {
	return slices.Contains(j.emptied, path.Dir(p)) && !j.Look(p).There
}

// claimedByOthers reports whether another operation names a path.
func (j *judging) claimedByOthers(p string) bool {
	return slices.ContainsFunc(j.others, func(n names) bool { return n.has(p) })
}

// names are the paths that an operation changes, as far as its text can be analyzed.
type names struct {
	paths     []string
	prefixes  []string // of paths that the shell expands
	text      string   // the command, if it may name other paths
	unbounded bool     // it may change paths that it does not name
	removes   bool     // it may remove something
	reads     bool     // it changes nothing
	git       bool     // it changes git's index or refs
	dirs      []string // the folders of commands that change paths that they do not name
	outside   bool     // some of what it changes is not below the project, or at an unknown path
}

// namesOf returns what an operation changes in the project at root.
func namesOf(o *pawl.OperationState, root string) names {
	switch o.Kind {
	case pawl.OperationReads:
		return names{reads: true}
	case pawl.OperationFiles:
		removes := slices.ContainsFunc(o.Expect, func(e pawl.Expected) bool { return e.Will == "" })
		return names{paths: o.Paths, unbounded: len(o.Paths) == 0, removes: removes}
	case pawl.OperationOther:
		return names{unbounded: true, removes: true}
	}
	return namesIn(o.Summary, place{root: root, dir: o.Dir})
}

// namesIn returns what a shell command changes.
func namesIn(text string, in place) names {
	s := readScript(text)
	n := names{unbounded: cutOff(text) || hidden(in.dir) || strings.TrimSpace(text) == ""}
	variables := s.variables()
	for c, places := range s.inPlaces(in) {
		for _, in := range places {
			n.addCommand(c, in, variables)
		}
	}
	if n.unbounded {
		n.text, n.removes = text, true
		n.addWords(s, in)
	}
	n.reads = !n.unbounded && !n.git && len(n.paths)+len(n.prefixes) == 0
	return n
}

// cutOff reports whether only a part of a command was recorded.
func cutOff(text string) bool {
	return strings.HasSuffix(text, "…") || hidden(text)
}

// removers are commands that remove files.
var removers = wordSet("rm rmdir unlink mv git")

// addCommand adds what one command changes.
func (n *names) addCommand(c command, in place, variables map[string][]string) {
	words := unwrapped(c.words)
	n.unbounded = n.unbounded || slices.ContainsFunc(words, runsAnother)
	changed := targets(c)
	switch footprintOf(command{words: c.words}) {
	case localFootprint:
		args, known := changedBy(words)
		changed = append(changed, args...)
		if !known {
			n.unbounded = true
			n.addUnnamed(words, in)
		}
		n.git = n.git || path.Base(words[0]) == "git"
		n.removes = n.removes || removers[path.Base(words[0])]
	case anyFootprint:
		n.unbounded = true
	}
	for _, word := range changed {
		n.unbounded = !n.add(in, word, variables) || n.unbounded
	}
}

// changedBy returns the arguments of a command that name what it changes, and whether these are all.
func changedBy(words []string) ([]string, bool) {
	var args []string
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") {
			args = append(args, word)
		}
	}
	switch name := path.Base(words[0]); {
	case len(args) == 0:
		return nil, false
	case name == "git":
		return nil, slices.Contains([]string{"add", "commit", "tag", "branch"}, args[0])
	case name == "sed" || name == "chmod" || name == "chown":
		return args[1:], true
	case name == "mv", name == "cp", name == "ln":
		from, to := args[:len(args)-1], args[len(args)-1]
		changed := []string{to}
		for _, arg := range from {
			changed = append(changed, path.Join(to, path.Base(arg)))
		}
		if name == "mv" {
			changed = append(changed, from...)
		}
		return changed, true
	}
	return args, slices.Contains([]string{"touch", "mkdir", "rm", "rmdir", "unlink", "tee", "truncate"}, path.Base(words[0]))
}

func targets(c command) []string {
	var paths []string
	for _, r := range c.redirects {
		paths = append(paths, r.path)
	}
	return paths
}

// runsAnother reports whether a word has a command substitution that may change something.
func runsAnother(word string) bool {
	_, inside, is := strings.Cut(word, "$(")
	name, _, _ := strings.Cut(inside, " ")
	return strings.Contains(word, "`") || is && !strings.HasPrefix(inside, "(") && !readers[strings.TrimSuffix(name, ")")]
}

// variables returns the values of loop variables.
func (s script) variables() map[string][]string {
	values := map[string][]string{}
	for _, c := range s.loops {
		values[c.loopVar] = append(values[c.loopVar], c.words...)
	}
	return values
}

// add adds a path, or the prefix of one that the shell expands. It returns false if the path cannot be determined.
func (n *names) add(in place, word string, variables map[string][]string) bool {
	i := strings.IndexAny(word, shellCharacters)
	head := word[:max(i, 0)]
	switch p := in.at(head); {
	case i == 0:
		return n.addValues(in, word, variables)
	case in.lost && !path.IsAbs(word):
		n.outside = true
		return false
	case i < 0 && word != "":
		p = in.at(word)
		n.paths = append(n.paths, p)
		n.outside = n.outside || !in.contains(p)
	case head != "":
		if strings.HasSuffix(head, "/") {
			p += "/"
		}
		n.prefixes = append(n.prefixes, p)
		n.outside = n.outside || !in.contains(p)
	}
	return true
}

// addUnnamed adds where a command works that changes paths that it does not name. Those may be below any folder that it does
// name.
func (n *names) addUnnamed(words []string, in place) {
	n.dirs = append(n.dirs, in.dir)
	n.outside = n.outside || in.lost || !in.contains(in.dir)
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") {
			_, value, _ := strings.Cut(word, "=")
			if i := strings.Index(word, "/"); i > 0 && value == "" {
				value = word[i:]
			}
			word = value
		}
		n.outside = n.outside || strings.IndexAny(word, "$`~") == 0 || !in.contains(in.at(word))
	}
}

// addValues adds a word that begins with a loop variable, for each of its values.
func (n *names) addValues(in place, word string, variables map[string][]string) bool {
	for name, values := range variables {
		for _, spelled := range []string{"$" + name, "${" + name + "}"} {
			rest, is := strings.CutPrefix(word, spelled)
			if !is {
				continue
			}
			known := true
			for _, value := range values {
				if rest != "" {
					value += "*"
				}
				known = n.add(in, value, nil) && known
			}
			return known
		}
	}
	n.outside = true
	return false
}

// addWords adds all words of a script, because any of them may be a path that it changes.
func (n *names) addWords(s script, in place) {
	outside := n.outside // of what it changes, not of what it may change
	for c, places := range s.inPlaces(in) {
		for _, in := range places {
			for _, word := range append(slices.Clone(c.words), targets(c)...) {
				n.add(in, word, nil)
			}
		}
	}
	n.outside = outside
}

// include reports whether a change is of what is named. A folder is what something was removed from.
func (n names) include(c Change) bool {
	return n.has(c.Path) || c.Folder && n.removes && slices.ContainsFunc(append(slices.Clone(n.paths), n.prefixes...), func(p string) bool { return path.Dir(p) == c.Path })
}

// has reports whether a path, as seen from the project, is named.
func (n names) has(name string) bool {
	return n.text != "" && mentions(n.text, path.Base(name)) ||
		slices.ContainsFunc(n.paths, func(p string) bool { return strings.HasPrefix(name, p+"/") || ofFile(name, p) }) ||
		slices.ContainsFunc(n.prefixes, func(head string) bool { return strings.HasPrefix(name, head) })
}

// ofFile reports whether a path is that of a file, or of a temporary file that replaces it.
func ofFile(name, file string) bool {
	return name == file || path.Dir(name) == path.Dir(file) && len(path.Base(file)) >= 4 && strings.Contains(path.Base(name), path.Base(file))
}

// mentions reports whether a text has a name in it that is not a part of another.
func mentions(text, name string) bool {
	const more = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	for rest := text; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		end := i + len(name)
		if (i == 0 || !strings.Contains(more, rest[i-1:i])) && (end == len(rest) || !strings.Contains(more, rest[end:end+1])) {
			return true
		}
		rest = rest[i+1:]
	}
}

// Commands returns the simple commands of a shell command without quotes, as a process table shows them: with and without wrappers such
// as nohup, which a command replaces in its process.
func Commands(text string) []string {
	var all []string
	for _, c := range readScript(text).commands {
		for _, shown := range c.shown() {
			if !slices.Contains(all, shown) {
				all = append(all, shown)
			}
		}
	}
	return all
}

// shown returns a command as a process table may show it.
func (c command) shown() []string {
	plain := func(words []string) string { return strings.Join(strings.Fields(strings.Join(words, " ")), " ") }
	return []string{plain(c.words), plain(unwrapped(c.words))}
}

// RunsIn reports whether one of an operation's simple commands, as Commands returns it, starts in a folder. there tells which folders
// exist: if one does not, cd may have failed.
func RunsIn(o pawl.Operation, root, command, dir string, there func(dir string) bool) bool {
	w := walk{in: place{dir: Dir(o, root)}, there: there}
	for _, c := range readScript(o.Summary).commands {
		if in, moved := w.next(c); !moved && slices.Contains(c.shown(), command) && in == (place{dir: dir}) {
			return true
		}
	}
	return false
}
