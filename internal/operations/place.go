package operations

import (
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/project"
)

// place is the folder in which a command runs.
type place struct {
	root string // absolute; the project's. Empty: paths are absolute.
	dir  string // relative to root if inside
	lost bool   // the folder is unknown
}

// at returns a path relative to root if it is inside, else absolute.
func (p place) at(name string) string {
	if !path.IsAbs(name) {
		name = path.Join(p.dir, name)
	}
	name = path.Clean(name)
	if p.root == "" {
		return name
	}
	if !path.IsAbs(name) && !filepath.IsLocal(name) {
		name = path.Join(p.root, name)
	}
	if inside, is := strings.CutPrefix(name, p.root+"/"); is {
		return inside
	}
	if name == p.root {
		return "."
	}
	return name
}

// contains reports whether a change at a path, as returned by at, is found by a search of the project.
func (p place) contains(name string) bool {
	if p.root == "" {
		return true
	}
	return !path.IsAbs(name) && !slices.ContainsFunc(strings.Split(name, "/"), func(n string) bool { return n == ".git" || n == project.Folder })
}

// shellCharacters begin what a shell expands.
const shellCharacters = "$`*?[{(~"

// chdir returns the folder of the commands after this one, if it changes the folder.
func (c command) chdir(in place) (to place, is bool) {
	words := unwrapped(c.words)
	if len(words) == 0 || words[0] != "cd" && words[0] != "pushd" && words[0] != "popd" {
		return in, false
	}
	args := slices.DeleteFunc(slices.Clone(words[1:]), func(word string) bool { return strings.HasPrefix(word, "-") && word != "-" })
	if words[0] == "popd" || len(words) != len(c.words) || len(args) != 1 || args[0] == "" || strings.ContainsAny(args[0], shellCharacters) ||
		args[0] == "-" || words[0] == "pushd" && args[0][0] == '+' {
		in.lost = true
		return in, true
	}
	in.dir, in.lost = in.at(args[0]), in.lost && !path.IsAbs(args[0])
	return in, true
}

// maxPlaces is how many folders a command is looked for in.
const maxPlaces = 8

// inPlaces returns the commands that do not change the folder, with the folders in which they may run: one if each command runs
// only if the one before succeeded. Otherwise a cd may have failed, or may hold for a subshell only.
func (s script) inPlaces(in place) iter.Seq2[command, []place] {
	return func(yield func(command, []place) bool) {
		places := []place{in}
		chained := s.chained()
		for _, c := range s.commands {
			var moved []place
			for _, in := range places {
				if to, is := c.chdir(in); is {
					moved = append(moved, to)
				}
			}
			switch {
			case moved == nil:
				if !yield(c, places) {
					return
				}
			case chained:
				places = moved
			default:
				places = joined(places, moved)
			}
		}
	}
}

// Folders returns the absolute folders in which the commands of an operation of the project at root run, and whether these are all.
func Folders(o pawl.Operation, root string) (dirs []string, all bool) {
	dirs, all = []string{Dir(o, root)}, !cutOff(o.Summary)
	for _, places := range readScript(o.Summary).inPlaces(place{dir: dirs[0]}) {
		for _, in := range places {
			if all = all && !in.lost; !in.lost && !slices.Contains(dirs, in.dir) {
				dirs = append(dirs, in.dir)
			}
		}
	}
	return dirs, all
}

// joined returns the places of both lists. Too many are like an unknown one.
func joined(some, more []place) []place {
	for _, p := range more {
		if !slices.Contains(some, p) {
			some = append(some, p)
		}
	}
	if len(some) > maxPlaces {
		some = some[:maxPlaces]
		some[maxPlaces-1].lost = true
	}
	return some
}

// chained reports whether each command runs only if the one before succeeded.
func (s script) chained() bool {
	for i, c := range s.commands {
		if last := i == len(s.commands)-1; !last && !c.gates && !s.commands[i+1].piped {
			return false
		}
	}
	return !s.unclear
}

// walk follows the folder of a script's commands. If a folder is not there, cd may have failed: then only the commands that run
// after its success have a known folder.
type walk struct {
	in      place
	there   func(dir string) bool
	missing bool
}

// next returns the folder of the next command, and whether the command only changes it.
func (w *walk) next(c command) (in place, moved bool) {
	to, moved := c.chdir(w.in)
	w.missing = w.missing || moved && !to.lost && !w.there(to.dir)
	in, w.in = to, to
	w.in.lost = w.in.lost || w.missing && !c.gates
	return in, moved
}

// gitCommand returns the arguments of git without its global options, and the folder in which it works.
func gitCommand(args []string, in place) ([]string, place) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch name, _, glued := strings.Cut(args[0], "="); {
		case name == "-C" && len(args) > 1:
			in.dir, in.lost = in.at(args[1]), in.lost && !path.IsAbs(args[1]) || strings.ContainsAny(args[1], shellCharacters)
			args = args[1:]
		case name == "-c" && len(args) > 1:
			args = args[1:]
		case name == "--git-dir", name == "--work-tree":
			in.lost = true
			if !glued && len(args) > 1 {
				args = args[1:]
			}
		}
		args = args[1:]
	}
	return args, in
}

// usesOtherGit reports whether a command may change another repository than that of the operation's folder, of which alone the
// state before is known.
func (j *judging) usesOtherGit(c command, in place) bool {
	words := unwrapped(c.words)
	if len(words) == 0 || path.Base(words[0]) != "git" {
		return false
	}
	args, in := gitCommand(words[1:], in)
	return len(args) == 0 || !gitReads[args[0]] && j.otherRepository(in)
}

// otherRepository reports whether a command works in another repository than that of the operation's folder, or may do so.
func (j *judging) otherRepository(in place) bool {
	return in.lost || j.removedDir() || j.repository(in.dir) != j.repository(j.Dir)
}

// removedDir reports whether the operation's folder is not there, so that nothing is known of its repository.
func (j *judging) removedDir() bool { return j.Dir != "" && !j.Look(j.Dir).There }

// repository returns the folder of the repository or linked worktree that contains a folder; empty: none.
func (j *judging) repository(dir string) string {
	dir = filepath.ToSlash(filepath.Clean(dir))
	if !path.IsAbs(dir) {
		dir = path.Join("/", j.Root, dir)
	}
	for ; !j.Look(path.Join(dir, ".git")).There; dir = path.Dir(dir) {
		if dir == "/" {
			return ""
		}
	}
	return dir
}

// leavesProject reports whether an operation may change something where no search for changes looks: outside the project, or
// behind a symbolic link.
func (j *judging) leavesProject() bool {
	linked := func(dir string) bool {
		for ; dir != "." && dir != "/" && dir != ""; dir = path.Dir(dir) {
			if l := j.Look(dir); l.There && !l.Folder {
				return true
			}
		}
		return false
	}
	return j.own.outside || slices.ContainsFunc(j.own.dirs, linked) ||
		slices.ContainsFunc(slices.Concat(j.own.paths, j.own.prefixes), func(name string) bool { return linked(path.Dir(name)) })
}
