package scripted

import (
	"path/filepath"
	"slices"
	"strings"
)

// Bases are the folders that an author may use in addition to the root: a subfolder, one below it, a linked worktree inside and outside of the
// project, and a plain folder outside. Each is furnished like the root.
func Bases(root string, git bool) []string {
	bases := []string{filepath.Join(root, "db"), filepath.Join(root, "db/deep"), filepath.Join(filepath.Dir(root), "elsewhere")}
	if git {
		bases = append(bases, filepath.Join(root, "trees/inner"), filepath.Join(filepath.Dir(root), "outer"))
	}
	return bases
}

// Inside reports whether a folder is the project's root or below it.
func (a *Author) Inside(base string) bool {
	return base == a.Root || strings.HasPrefix(base, a.Root+"/")
}

// isWorktree reports whether a folder is a linked worktree.
func isWorktree(base string) bool {
	return slices.Contains([]string{"inner", "outer"}, filepath.Base(base))
}

// top returns the folder of the repository or linked worktree that contains a base; empty: there is none.
func (a *Author) top(base string) string {
	switch {
	case !a.Git:
		return ""
	case isWorktree(base):
		return base
	case a.Inside(base):
		return a.Root
	}
	return ""
}

// lift returns a path that is relative to a base as it is in the whole world.
func (a *Author) lift(base, path string) string {
	switch name, ofIndex := strings.CutPrefix(path, gitIndex); {
	case ofIndex:
		return gitIndex + relative(a.top(base), filepath.Join(base, name)) + inRepository + a.top(base)
	case strings.HasPrefix(path, "git:"):
		return path + inRepository + a.top(base)
	}
	return filepath.Join(base, path)
}

// lower returns a path of the whole world relative to a base. It is false for what is not below it.
func (a *Author) lower(base, path string) (string, bool) {
	if name, is := strings.CutPrefix(path, "git:"); is {
		name, top, _ := strings.Cut(name, inRepository)
		entry, ofIndex := strings.CutPrefix("git:"+name, gitIndex)
		if !ofIndex || top != a.top(base) {
			return "git:" + name, top == a.top(base)
		}
		rel := relative(base, filepath.Join(top, entry))
		return gitIndex + rel, filepath.IsLocal(rel)
	}
	rel := relative(base, path)
	return rel, filepath.IsLocal(rel)
}

// in calls f with the world relative to a base, and lifts the call that it writes.
func (a *Author) in(base string, f func() *Call) *Call {
	world, busy := a.world, a.busy
	a.base, a.world, a.busy = base, World{}, map[string]bool{}
	for path, node := range world {
		if name, below := a.lower(base, path); below {
			a.world[name] = node
		}
	}
	for path := range busy {
		if name, below := a.lower(base, path); below {
			a.busy[name] = true
		}
	}
	c := f()
	a.world, a.busy = world, busy
	if c != nil {
		a.lifted(c)
	}
	return c
}

// lifted makes the paths of a call relative to the whole world.
func (a *Author) lifted(c *Call) {
	below, do := c.Paths, c.do
	all := func(paths []string) []string {
		var lifted []string
		for _, p := range paths {
			lifted = append(lifted, a.lift(a.base, p))
		}
		return lifted
	}
	c.Base, c.Paths, c.reads, c.stamps = a.base, all(c.Paths), all(c.reads), all(c.stamps)
	lifted := c.Paths
	c.do = func(w World) bool {
		inside := World{}
		for i, path := range lifted {
			if node, ok := w[path]; ok {
				inside[below[i]] = node
			}
		}
		ok := do(inside)
		for i, path := range lifted {
			if w[path] = inside[below[i]]; w[path].Kind == "" {
				delete(w, path)
			}
		}
		return ok
	}
	c.Far = !a.Inside(a.base)
}

// near returns the base of the next call: mostly where the agent works.
func (a *Author) near() string {
	if a.chance(60) {
		return a.cwd
	}
	return pick(a.Dice, append([]string{a.Root}, a.Bases...)...)
}

// inOtherWorktree reports whether a path below the base is in a linked worktree below it. `git add` accepts such a path, and stages
// nothing.
func (a *Author) inOtherWorktree(name string) bool {
	path := filepath.Join(a.base, name)
	return slices.ContainsFunc(a.Bases, func(base string) bool {
		return isWorktree(base) && base != a.base && strings.HasPrefix(path, base+"/")
	})
}

// otherGit reports whether a call uses another repository than that of the folder in which its tool works.
func (c *Call) otherGit(a *Author) bool {
	return c.Sort == Git && c.Dir != c.Base && a.top(c.Dir) != a.top(c.Base)
}

// touches reports whether a call touches a busy path.
func (a *Author) touches(c *Call) bool {
	return slices.ContainsFunc(c.Paths, func(p string) bool {
		return a.busy[p] || strings.HasPrefix(p, "git:") && a.busy["git:"+inRepository]
	})
}

// occupy marks the paths of a call and those of its subagent's calls as busy.
func (a *Author) occupy(c *Call) {
	c.all(func(x *Call) {
		for _, path := range x.Paths {
			a.busy[path] = true
			if strings.HasPrefix(path, "git:") {
				a.busy["git:"+inRepository] = true
			}
		}
	})
}
