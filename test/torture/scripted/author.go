package scripted

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
)

// Author writes scripts at random: each call for what will be there when it is made, if nothing is cut short.
type Author struct {
	Dice *rand.Rand
	Root string // of the project
	Git  bool

	calls   int // so far
	names   int // of new files
	world   World
	busy    map[string]bool // paths that no new call may touch
	dialect *Dialect
	native  string
}

// Furnish makes the files of a project that scripts work on.
func (a *Author) Furnish() error {
	files := map[string]string{"README.md": "A project.\n", "tools/put.sh": putShell, "tools/put.py": putPython, "tools/put.js": putNode}
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
		path := filepath.Join(a.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	if !a.Git {
		return nil
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "--template="}, {"config", "user.name", "a"}, {"config", "user.email", "a@example.org"},
		{"config", "gc.auto", "0"}, {"add", "README.md", "lib"}, {"commit", "-qm", "base"},
	} {
		git := exec.Command("git", args...)
		git.Dir = a.Root
		if said, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w: %s", args, err, said)
		}
	}
	return nil
}

// The programs that scripts use: each puts a line into some files, with a pause behind each.
const (
	putShell  = "line=$1; pause=$2; shift 2\nfor f do echo \"$line\" > \"$f\"; sleep \"$pause\"; done\n"
	putPython = "import sys, time\nfor f in sys.argv[3:]:\n    open(f, 'w').write(sys.argv[1] + '\\n')\n    time.sleep(float(sys.argv[2]))\n"
	putNode   = "const fs = require('fs'), [line, pause, ...files] = process.argv.slice(2)\n" +
		"for (const f of files) {\n  fs.writeFileSync(f, line + '\\n')\n  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause * 1000)\n}\n"
)

func linesOf(of string, n int) string {
	text := ""
	for i := range n {
		text += fmt.Sprintf("line %d of %s, as it was\n", i+1, of)
	}
	return text
}

// Plot is what a session is to be.
type Plot struct {
	N       int
	Dialect *Dialect
	ID      string
	Source  string
	Again   []*Call // calls of earlier sessions that are to be made anew
	Busy    []*Call // calls in doubt, whose paths nobody else may touch
	Dies    bool
}

// Session writes the script of a session. What it does to the project is read from the disk first.
func (a *Author) Session(p Plot) (*Session, error) {
	a.dialect, a.native, a.busy = p.Dialect, p.ID, map[string]bool{}
	if err := a.look(); err != nil {
		return nil, err
	}
	s := &Session{N: p.N, Dialect: p.Dialect.Name, ID: p.ID, Source: p.Source, Root: a.Root}
	first := Turn{Prompt: fmt.Sprintf("Do part %d of the work.", p.N)}
	for _, c := range p.Again {
		if again := c.again(p.Dialect, a.Root); again != nil {
			first.Groups = append(first.Groups, []*Call{a.sign(again, "")})
			again.do(a.world)
		}
	}
	for _, c := range p.Busy {
		for _, path := range c.Paths {
			a.busy[path] = true
		}
	}
	first.Groups = append(first.Groups, a.groups(2+a.Dice.IntN(4), "")...)
	s.Turns = append(s.Turns, first)
	if a.chance(30) {
		s.Turns = append(s.Turns, Turn{Prompt: "And now the rest.", Groups: a.groups(1+a.Dice.IntN(3), "")})
	}
	if a.chance(3) {
		s.Cut = a.ms(1, 12)
	}
	if p.Dies {
		s.Death = a.death(s)
	}
	return s, nil
}

// look reads what is there.
func (a *Author) look() error {
	a.world = World{}
	err := filepath.WalkDir(a.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == ".pawl") {
			return cmpOr(err, fs.SkipDir)
		}
		name, _ := filepath.Rel(a.Root, path)
		seen, err := observe(a.Root, name)
		a.world[name] = seen.Node
		return err
	})
	if err != nil || !a.Git {
		return err
	}
	git := exec.Command("git", "-c", "core.quotePath=false", "ls-files", "-s")
	git.Dir = a.Root
	out, err := git.Output()
	for line := range strings.Lines(string(out)) {
		about, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		a.world[gitIndex+name] = Node{Kind: Entry, Text: strings.Fields(about)[1]}
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
	}
	return c
}

// groups writes some groups of calls. The calls of a group touch nothing in common.
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
		a.world = maps.Clone(before) // nobody sees what those beside it do
		c := a.call(sub)
		for size > 1 && c.Sort == Background {
			c = a.call(sub)
		}
		a.world = world
		var paths []string
		c.all(func(x *Call) { paths = append(paths, x.Paths...) })
		for _, path := range paths {
			a.busy[path] = true
			if strings.HasPrefix(path, "git:") {
				a.busy["git:"] = true
			}
		}
		group = append(group, c)
		c.all(func(x *Call) {
			if x.do != nil {
				x.do(a.world)
			}
		})
	}
	a.busy = busy
	return group
}

// call writes a call that touches nothing that is busy.
func (a *Author) call(sub string) *Call {
	for {
		c := a.attempt(sub)
		if c != nil && !slices.ContainsFunc(c.Paths, func(p string) bool { return a.busy[p] || a.busy["git:"] && strings.HasPrefix(p, "git:") }) {
			if c.means != toolTask {
				a.sign(c, sub)
			}
			c.spell(a.dialect, a.Root)
			return c
		}
	}
}

// odds are how often there is each sort of call, of a hundred.
var odds = []struct {
	sort Sort
	odds int
}{
	{WriteFile, 10}, {EditFile, 12}, {PatchFiles, 8}, {Plain, 20}, {Sequence, 17}, {Loop, 10}, {Program, 4}, {Git, 6}, {Background, 3},
	{Reading, 5}, {Remote, 3}, {Delegate, 2},
}

// attempt writes a call of any sort; nil: it cannot be made of what there is.
func (a *Author) attempt(sub string) *Call {
	dice := a.Dice.IntN(100)
	for _, o := range odds {
		if dice -= o.odds; dice < 0 {
			return a.ofSort(o.sort, sub)
		}
	}
	return nil
}

func (a *Author) ofSort(sort Sort, sub string) *Call {
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
	case Delegate:
		if sub != "" || !a.dialect.has(toolTask) {
			return nil
		}
		return a.delegate()
	case Git:
		if !a.Git {
			return nil
		}
	}
	return a.shell(sort)
}
