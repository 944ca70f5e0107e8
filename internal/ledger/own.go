package ledger

import (
	"path"
	"slices"
	"strings"

	"pawl"
)

// own leaves out the changes that this operation did not make: those of a file that another tool is about, those that it does
// not name where it names all that it changes, and where another command may have changed anything, or names the same, all
// that only this one does not name. It is crowded where something was left out that may have been its own.
func (j *judging) own() {
	mine := namesOf(j.OperationState, j.Root)
	files, others := j.others()
	j.company = j.Overlaps || slices.ContainsFunc(others, func(n names) bool { return n.more })
	j.crowded = j.company && mine.more
	kept := j.Changed[:0:0]
	for _, c := range j.Changed {
		its := mine.names(c)
		theirs := ofFile(c.Path, files) || ofFile(c.Path, j.Others) || slices.ContainsFunc(others, func(n names) bool { return n.names(c) })
		switch hidden := c.Folder && (c.Busy || j.company); {
		case hidden && mine.removes && (its || mine.more), its && theirs && !c.Busy:
			j.crowded = true
		case hidden, theirs, !its && (j.company || !mine.more):
		default:
			kept = append(kept, c)
		}
	}
	if j.Changed = kept; j.company || !mine.more {
		j.More = 0
	}
}

// others returns what the other operations are about that may have changed something: the files of tools for files, and what
// commands name.
func (j *judging) others() (files []string, others []names) {
	for _, o := range j.Beside {
		switch n := namesOf(o, j.Root); {
		case o.Kind == pawl.OperationFiles && len(o.Paths) > 0:
			files = append(files, o.Paths...)
		case !n.reads:
			others = append(others, n)
		}
	}
	return files, others
}

// ofFile reports whether a path is one of some files, or one that is written to take the place of one of them.
func ofFile(name string, files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		return name == file || path.Dir(name) == path.Dir(file) && strings.Contains(path.Base(name), path.Base(file))
	})
}

// names are what an operation names, as far as its words can be read.
type names struct {
	text    string
	paths   []string
	heads   []string // of paths that a shell completes
	more    bool     // it may change what it does not name
	removes bool     // it may remove something
	reads   bool     // it changes nothing
}

// namesOf reads the words of an operation in the project at root.
func namesOf(o *pawl.OperationState, root string) names {
	switch o.Kind {
	case pawl.OperationReads:
		return names{reads: true}
	case pawl.OperationFiles:
		return names{paths: o.Paths, more: len(o.Paths) == 0}
	case pawl.OperationOther:
		return names{more: true, removes: true}
	}
	s := readScript(o.Summary)
	n := names{text: o.Summary, more: cutOff(o.Summary) || hidden(o.Dir), reads: !s.unclear && !cutOff(o.Summary)}
	in := place{root, o.Dir}
	vars := n.loops(s.loops, in)
	for _, c := range s.commands {
		if goes, to := c.goes(in); goes {
			in = to
			continue
		}
		n.reads = n.reads && effectOf(c) == noEffect
		n.more = n.more || !bounded(c, vars)
		n.removes = n.removes || n.more || len(c.words) > 0 && remover[path.Base(c.words[0])]
		for _, word := range append(slices.Clone(c.words), targets(c)...) {
			n.add(in, word)
		}
	}
	return n
}

// cutOff reports whether not all of a command is on record.
func cutOff(summary string) bool {
	return strings.HasSuffix(summary, "…") || hidden(summary)
}

func targets(c command) []string {
	var paths []string
	for _, r := range c.redirects {
		paths = append(paths, r.path)
	}
	return paths
}

// remover are commands that remove something, under its name or altogether.
var remover = wordSet("rm rmdir unlink mv git")

// loops takes in what loops go through, and returns the variables that stand for nothing else.
func (n *names) loops(loops []command, in place) []string {
	var vars []string
	for _, c := range loops {
		if slices.ContainsFunc(c.words, nameless) {
			continue
		}
		vars = append(vars, "$"+c.each, "${"+c.each)
		for _, word := range c.words {
			n.add(in, word+"*")
		}
	}
	return vars
}

// bounded reports whether a command changes no more than what it names, as far as files go. Some variables are known.
func bounded(c command, vars []string) bool {
	words := bare(c.words)
	open := func(word string) bool {
		return nameless(word) && !slices.ContainsFunc(vars, func(v string) bool { return strings.HasPrefix(word, v) })
	}
	if slices.ContainsFunc(targets(c), open) || slices.ContainsFunc(words, runsAnother) {
		return false
	}
	if len(words) == 0 || effectOf(command{words: c.words}) == noEffect {
		return true
	}
	switch path.Base(words[0]) {
	case "touch", "mkdir", "rm", "rmdir", "unlink", "mv", "cp", "ln", "sed", "tee", "chmod", "chown", "truncate":
		return !slices.ContainsFunc(words[1:], open)
	case "git":
		return len(words) > 1 && slices.Contains([]string{"add", "commit", "tag", "branch"}, words[1])
	}
	return false
}

// nameless reports whether nothing of a word can be read but by a shell.
func nameless(word string) bool { return strings.IndexAny(word, "$`*?[{(~") == 0 }

// runsAnother reports whether a shell runs another command to know a word, one that may change something.
func runsAnother(word string) bool {
	_, inside, is := strings.Cut(word, "$(")
	name, _, _ := strings.Cut(inside, " ")
	return strings.Contains(word, "`") || is && !strings.HasPrefix(inside, "(") && !readers[strings.TrimSuffix(name, ")")]
}

// add takes in a word that may be a path.
func (n *names) add(in place, word string) {
	head := strings.IndexAny(word, "$`*?[{(")
	switch {
	case word == "" || head == 0 || strings.HasPrefix(word, "-"):
	case head > 0 && strings.HasSuffix(word[:head], "/"):
		n.heads = append(n.heads, in.at(word[:head])+"/")
	case head > 0:
		n.heads = append(n.heads, in.at(word[:head]))
	default:
		n.paths = append(n.paths, in.at(word))
	}
}

// names reports whether a change is of what is named. A folder is what something was removed from.
func (n names) names(c Change) bool {
	return n.has(c.Path) || c.Folder && slices.ContainsFunc(append(slices.Clone(n.paths), n.heads...), func(p string) bool { return path.Dir(p) == c.Path })
}

// has reports whether a path, as seen from the project, is named.
func (n names) has(name string) bool {
	return mentions(n.text, path.Base(name)) ||
		slices.ContainsFunc(n.paths, func(p string) bool {
			return p == name || strings.HasPrefix(name, p+"/")
		}) ||
		slices.ContainsFunc(n.heads, func(head string) bool { return strings.HasPrefix(name, head) })
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

// Commands returns the simple commands of a shell command, their words without quotes, as they stand in a process table.
func Commands(text string) []string {
	var all []string
	for _, c := range readScript(text).commands {
		all = append(all, strings.Join(strings.Fields(strings.Join(c.words, " ")), " "))
	}
	return all
}
