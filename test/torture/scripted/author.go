package scripted

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"pawl"
)

// Author writes scripts at random. Each call fits the files that will exist when it is made, if nothing is interrupted.
type Author struct {
	Dice  *rand.Rand
	Root  string   // of the project
	Bases []string // other folders that calls use
	Git   bool

	calls   int // so far
	names   int // of new files
	world   World
	busy    map[string]bool // paths that no new call may touch
	dialect *Dialect
	native  string
	cwd     string // where the agent works
	base    string // the folder of the call that is being written
}

// Furnish makes the files of the project and of the other folders.
func (a *Author) Furnish() error {
	if err := furnish(a.Root); err != nil {
		return err
	}
	if a.Git {
		if err := a.initGit(); err != nil {
			return err
		}
	}
	for _, base := range a.Bases {
		if err := furnish(base); err != nil {
			return err
		}
	}
	return nil
}

// initGit makes a repository, and the linked worktrees among the bases.
func (a *Author) initGit() error {
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "--template="}, {"config", "user.name", "a"}, {"config", "user.email", "a@example.org"},
		{"config", "gc.auto", "0"}, {"add", "README.md", "lib"}, {"commit", "-qm", "base"},
	} {
		if err := a.runGit(args...); err != nil {
			return err
		}
	}
	for _, base := range a.Bases {
		if isWorktree(base) {
			if err := a.runGit("worktree", "add", "-q", "-b", filepath.Base(base), base); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *Author) runGit(args ...string) error {
	git := exec.Command("git", args...)
	git.Dir = a.Root
	if said, err := git.CombinedOutput(); err != nil {
		return fmt.Errorf("git %v: %w: %s", args, err, said)
	}
	return nil
}

func furnish(root string) error {
	files := map[string]string{"README.md": "A project.\n", "tools/put.sh": putShell, "tools/put.py": putPython, "tools/put.js": putNode, "tools/serve.sh": serveShell}
	for i := range 6 {
		files[fmt.Sprintf("lib/part%d.txt", i+1)] = linesOf(fmt.Sprint("part ", i+1), 12)
		files[fmt.Sprintf("docs/page-%d.md", i+1)] = linesOf(fmt.Sprint("page ", i+1), 8)
		for _, name := range []string{"a", "b", "c"} {
			files[fmt.Sprintf("old/%d/%s.txt", i+1, name)] = linesOf(fmt.Sprint("old ", i+1, name), 3)
		}
	}
	files["my files/it's a note.txt"] = linesOf("note", 6)
	files["my files/Übersicht.txt"] = linesOf("Übersicht", 6)
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// The programs that scripts use: most write a line into some files, with a pause after each. One runs for five minutes, or until it is killed.
const (
	serveShell = "echo \"$1\" > \"$2\"\nfor i in 1 2 3 4 5; do sleep 60; done\n"
	putShell   = "line=$1; pause=$2; shift 2\nfor f do echo \"$line\" > \"$f\"; sleep \"$pause\"; done\n"
	putPython  = "import sys, time\nfor f in sys.argv[3:]:\n    open(f, 'w').write(sys.argv[1] + '\\n')\n    time.sleep(float(sys.argv[2]))\n"
	putNode    = "const fs = require('fs'), [line, pause, ...files] = process.argv.slice(2)\n" +
		"for (const f of files) {\n  fs.writeFileSync(f, line + '\\n')\n  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause * 1000)\n}\n"
)

func linesOf(of string, n int) string {
	text := ""
	for i := range n {
		text += fmt.Sprintf("line %d of %s, as it was\n", i+1, of)
	}
	return text
}

// Plot is the outline of a session.
type Plot struct {
	N       int
	Dialect *Dialect
	ID      string
	Source  string
	Again   []*Call // calls of earlier sessions to repeat
	Busy    []*Call // calls in doubt, whose paths no other call may touch
	Dir     string  // where the agent works
	Hosts   bool    // another agent comes and goes meanwhile
	Dies    bool
}

// Session writes the script of a session. What it does to the project is read from the disk first.
func (a *Author) Session(p Plot) (*Session, error) {
	a.dialect, a.native, a.busy, a.cwd = p.Dialect, p.ID, map[string]bool{}, p.Dir
	if err := a.look(); err != nil {
		return nil, err
	}
	s := &Session{N: p.N, Dialect: p.Dialect.Name, ID: p.ID, Source: p.Source, Root: a.Root, Dir: p.Dir}
	first := Turn{Prompt: fmt.Sprintf("Do part-%d-a of the work.", p.N)}
	for _, c := range p.Again {
		if again := c.again(a); again != nil {
			a.sign(again, "").Ask = ""
			first.Groups = append(first.Groups, []*Call{again})
			again.do(a.world)
		}
	}
	for _, c := range p.Busy {
		a.occupy(c)
	}
	first.Groups = append(first.Groups, a.groups(2+a.Dice.IntN(4), "")...)
	s.Turns = append(s.Turns, first)
	if a.chance(30) {
		s.Turns = append(s.Turns, Turn{Prompt: fmt.Sprintf("And now part-%d-b, the rest.", p.N), Groups: a.groups(1+a.Dice.IntN(3), "")})
	}
	if a.chance(3) {
		s.Cut = a.ms(1, 12)
	}
	if p.Hosts {
		a.host(s)
	}
	if p.Dies {
		s.Death = a.death(s)
		if p.Hosts { // it must not die while the other one is running
			s.Death.After = 0
		}
	}
	return s, nil
}

// look reads the current files.
func (a *Author) look() error {
	a.world = World{}
	for _, base := range append([]string{a.Root}, a.Bases...) {
		var err error
		if base == a.Root || !a.Inside(base) {
			err = a.lookBelow(base)
		}
		if err == nil && (base == a.Root || isWorktree(base)) && a.Git {
			err = a.lookGit(base)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lookBelow reads all files below a folder.
func (a *Author) lookBelow(base string) error {
	return filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == ".pawl"):
			return cmpOr(err, fs.SkipDir)
		case d.Name() == ".git": // of a linked worktree
			return nil
		}
		seen, err := observe(a.Root, path)
		a.world[path] = seen.Node
		return err
	})
}

// lookGit reads the index of a repository or of a linked worktree.
func (a *Author) lookGit(top string) error {
	git := exec.Command("git", "-c", "core.quotePath=false", "ls-files", "-s")
	git.Dir = top
	out, err := git.Output()
	for line := range strings.Lines(string(out)) {
		about, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		a.world[gitIndex+name+inRepository+top] = Node{Kind: Entry, Text: strings.Fields(about)[1]}
	}
	return err
}

func cmpOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func (a *Author) chance(percent int) bool { return a.Dice.IntN(100) < percent }

// ms returns a time between two, in milliseconds.
func (a *Author) ms(from, to int) time.Duration {
	return time.Duration(from*1000+a.Dice.IntN((to-from)*1000+1)) * time.Microsecond
}

func pick[T any](dice *rand.Rand, from ...T) T { return from[dice.IntN(len(from))] }

// sign gives a call its number and its name.
func (a *Author) sign(c *Call, sub string) *Call {
	a.calls++
	c.N = a.calls
	if !a.dialect.Nameless {
		c.ID = fmt.Sprintf("toolu_%02d", c.N)
	}
	c.Session = pawl.SessionIDOf(a.dialect.Name, a.native, sub)
	switch a.Dice.IntN(70) {
	case 0:
		c.Silent = true
	case 1, 2:
		c.CutIntent = a.ms(1, 10)
	case 3, 4:
		c.CutReport = a.ms(1, 10)
	case 5, 6, 7, 8:
		c.Ask = Granted
	case 9, 10, 11:
		c.Ask = Denied
	case 12:
		c.Ask = Broken
	}
	if c.Sort == Reading || c.Sort == Delegate || c.Ask == Broken && sub != "" {
		c.Ask = ""
	}
	return c
}

// groups writes some groups of calls. The calls of a group have no paths in common.
func (a *Author) groups(n int, sub string) [][]*Call {
	var groups [][]*Call
	for range n {
		size := 1
		if a.chance(30) {
			size = 2 + a.Dice.IntN(3)
		}
		groups = append(groups, a.group(size, sub))
	}
	return groups
}

func (a *Author) group(size int, sub string) []*Call {
	var group []*Call
	before, busy := maps.Clone(a.world), maps.Clone(a.busy)
	for range size {
		world := a.world
		a.world = maps.Clone(before) // concurrent calls do not see one another's changes
		c := a.call(sub)
		for size > 1 && (c.Sort == Background || c.Sort == Service) {
			c = a.call(sub)
		}
		if size > 1 {
			c.Ask = "" // one request for permission at a time
		}
		a.world = world
		a.occupy(c)
		group = append(group, c)
		c.all(func(x *Call) {
			if x.do != nil && !x.Ask.Refuses() {
				x.do(a.world)
			}
		})
	}
	a.busy = busy
	for _, c := range group {
		c.all(func(x *Call) {
			if x.Ask.Refuses() { // no other call has these effects, so that they are known to be missing
				a.occupy(x)
			}
		})
	}
	return group
}

// call writes a call that touches nothing that is busy.
func (a *Author) call(sub string) *Call {
	for {
		c := a.attempt(sub)
		if c != nil && !a.touches(c) {
			if c.means != toolTask {
				a.sign(c, sub)
			}
			c.spell(a)
			c.Mark = cmp.Or(c.Mark, a.mark(c))
			c.Far = c.Far || c.otherGit(a)
			return c
		}
	}
}

// named are words that are made up once, for a name or a text.
var named = regexp.MustCompile(`(new|notes|result|a b|word)-?[0-9]+`)

// mark returns words that are unique to the summary of this call, if its paths do not exist yet.
func (a *Author) mark(c *Call) string {
	path, _ := c.given["path"].(string)
	mark := named.FindString(cmp.Or(c.plain, path))
	for path := range a.world {
		if mark != "" && strings.Contains(path, mark) {
			return ""
		}
	}
	return mark
}

// odds are the percentages of each sort of call.
var odds = []struct {
	sort Sort
	odds int
}{
	{WriteFile, 10}, {EditFile, 12}, {PatchFiles, 8}, {Plain, 18}, {Sequence, 15}, {Loop, 8}, {Program, 4}, {Git, 6}, {Background, 3},
	{Service, 4}, {Reading, 5}, {Remote, 3}, {Delegate, 4},
}

// attempt writes a call of a sort; nil if the current files do not allow it.
func (a *Author) attempt(sub string) *Call {
	dice := a.Dice.IntN(100)
	for _, o := range odds {
		if dice -= o.odds; dice < 0 {
			if o.sort == Delegate {
				return a.delegate(sub)
			}
			return a.in(a.near(), func() *Call { return a.ofSort(o.sort) })
		}
	}
	return nil
}

func (a *Author) ofSort(sort Sort) *Call {
	switch sort {
	case WriteFile:
		return a.write()
	case EditFile:
		return a.edit()
	case PatchFiles:
		return a.patch()
	case Reading:
		return a.reading()
	case Remote:
		return a.remote()
	case Git:
		if a.top(a.base) == "" {
			return nil
		}
	}
	return a.shell(sort)
}
