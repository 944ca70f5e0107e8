package scripted

import (
	"fmt"
	"maps"
	"path"
	"strings"
	"time"
)

// commandCall returns a call of a shell.
func (a *Author) commandCall(sort Sort, whole Part, of ...Part) *Call {
	if len(of) == 0 {
		of = []Part{whole}
	}
	c := &Call{Sort: sort, means: toolShell, plain: whole.text, given: map[string]any{"about": "work"}}
	return c.does(whole, of...)
}

// shell writes a shell command of a sort.
func (a *Author) shell(sort Sort) *Call {
	switch sort {
	case Plain:
		p, ok := a.plain()
		if !ok {
			return nil
		}
		return a.commandCall(sort, p)
	case Sequence:
		return a.sequence()
	case Loop:
		p, ok := a.loop()
		if !ok {
			return nil
		}
		return a.commandCall(sort, p)
	case Program:
		return a.program()
	case Git:
		return a.git()
	case Background:
		c := a.commandCall(sort, behind(a.pause(), echo(a.words(), a.fresh(), a.chance(50))))
		c.Pause = 400 * time.Millisecond
		return c
	case Service:
		return a.service()
	}
	return nil
}

// service starts a process that does not end by itself: with the tool's own option, or in the background of the shell.
func (a *Author) service() *Call {
	name := a.fresh()
	mark := "serves-" + a.word()
	p := Part{text: "sh tools/serve.sh " + mark + " " + quote(name), paths: []string{name}, beyond: true, do: func(w World) bool { return put(w, name, mark+"\n") }}
	option := map[string]any{}
	switch keys := a.dialect.tools[toolShell].keys; {
	case keys["background"] != "" && a.chance(70):
		option["background"] = true
	case keys["mode"] != "" && a.chance(70):
		option["mode"] = "async"
	default:
		p.text = pick(a.Dice, "%s &", "%s > /dev/null 2>&1 &", "nohup %s > /dev/null 2>&1 &", "setsid %s > /dev/null 2>&1 < /dev/null &", "(%s &)")
		p.text = strings.Replace(p.text, "%s", "sh tools/serve.sh "+mark+" "+quote(name), 1)
	}
	c := a.commandCall(Service, p)
	maps.Copy(c.given, option)
	c.Serves, c.Mark = true, mark
	return c
}

// pause returns a time as sleep takes it.
func (a *Author) pause() string { return fmt.Sprintf("0.%02d", pick(a.Dice, 0, 1, 3, 10, 30)) }

// short is one for a turn of a loop.
func (a *Author) short() string { return fmt.Sprintf("0.%02d", pick(a.Dice, 0, 1, 3, 8)) }

func (a *Author) words() string {
	a.names++
	return fmt.Sprint(pick(a.Dice, "hello", "it's done", "a  b", "x=1; y", "50% of it", "Größe"), " ", a.names)
}

// new makes a file that does not exist.
func (a *Author) new(name string) Part {
	switch a.Dice.IntN(8) {
	case 0:
		return touch(name)
	case 1:
		return heredoc(a.text(3), name)
	case 2:
		return teeTo(a.words(), name)
	case 3:
		return printf("first", "second", name)
	case 4:
		return many(pick(a.Dice, 10, 200_000, 8_000_000), name)
	case 5:
		return mkdir(strings.TrimSuffix(name, ".txt"), "deep", "er")
	}
	return echo(a.words(), name, a.chance(30))
}

// plain is one simple command.
func (a *Author) plain() (Part, bool) {
	if a.chance(30) {
		return a.new(a.fresh()), true
	}
	if a.chance(10) {
		return a.emptied()
	}
	name, other := a.some(), a.some()
	if name == "" || other == "" || name == other {
		return Part{}, false
	}
	return a.changed(name, other)
}

// emptied removes an existing folder.
func (a *Author) emptied() (Part, bool) {
	dir := fmt.Sprint("old/", 1+a.Dice.IntN(6))
	return rmAll(dir, "a.txt", "b.txt", "c.txt"), a.world[dir].Kind == Folder && !a.busy[dir]
}

// changed changes existing files.
func (a *Author) changed(name, other string) (Part, bool) {
	switch a.Dice.IntN(14) {
	case 0, 1:
		return echo(a.words(), name, true), true
	case 2:
		return echo(a.words(), name, false), true
	case 3:
		return touch(name), true
	case 4:
		return chmod(name), true
	case 5:
		return rm(name, other), true
	case 6:
		return mv(name, a.fresh()), true
	case 7:
		return mvInto(name, "old"), !strings.HasPrefix(name, "old/") && a.world[path.Join("old", path.Base(name))].Kind == ""
	case 8:
		return cp(name, a.fresh()), true
	case 9:
		return cp(name, other), true
	case 10:
		return ln(name, strings.TrimSuffix(a.fresh(), ".txt")), true
	case 11:
		return joined(name, other, a.fresh()), len(a.world[name].Text)+len(a.world[other].Text) < longText
	case 12:
		return reversed(name, a.fresh()), true
	}
	return sed("as it was", a.word(), name, other), a.both(name, other, "as it was")
}

// word returns a word that no call has written before, without special characters of sed.
func (a *Author) word() string {
	a.names++
	return fmt.Sprint("word", a.names)
}

func (a *Author) both(name, other, text string) bool {
	return strings.Contains(a.world[name].Text, text) && strings.Contains(a.world[other].Text, text)
}

// sequence is several commands, with pauses between some of them.
func (a *Author) sequence() *Call {
	between := pick(a.Dice, "&&", "&&", ";")
	if a.chance(15) {
		name := path.Base(a.fresh())
		parts := []Part{a.new(name), sleep(a.pause()), a.new("2-" + name)}
		whole := in("lib", chain(between, parts...))
		return a.commandCall(Sequence, whole, whole)
	}
	var parts []Part
	for range 2 + a.Dice.IntN(3) {
		more, ok := a.step()
		if !ok {
			return nil
		}
		parts = append(parts, more...)
	}
	if a.chance(15) {
		parts = append(parts, fails(pick(a.Dice, "false", "grep -q nothing-like-it README.md", "test -e missing.txt", "(exit 4)")))
	}
	return a.commandCall(Sequence, chain(between, parts...), parts...)
}

// step is one or several commands of a sequence.
func (a *Author) step() ([]Part, bool) {
	name := a.fresh()
	dir := strings.TrimSuffix(name, ".txt")
	switch a.Dice.IntN(14) {
	case 9:
		return []Part{rmForce(name)}, true
	case 0, 1, 2:
		return []Part{sleep(a.pause())}, true
	case 3:
		return []Part{{text: pick(a.Dice, "cat README.md", "ls -l lib", "echo begin", "true", "pwd")}}, true
	case 4:
		return []Part{mkdir(dir), echo(a.words(), dir+"/one.txt", false)}, true
	case 5:
		return []Part{echo(a.words(), name, false), mv(name, dir+".final")}, true
	case 6:
		other := a.some()
		return []Part{cp(other, name), sed("as it was", a.word(), name)}, other != "" && a.both(other, other, "as it was")
	case 7:
		if a.chance(10) {
			a.names++
			return []Part{calls(a.names)}, true
		}
	case 8:
		return []Part{touch(name), echo(a.words(), name, true)}, true
	}
	p, ok := a.plain()
	return []Part{p}, ok
}

// loop is shell syntax such as loops and conditions.
func (a *Author) loop() (Part, bool) {
	name, other := a.some(), a.some()
	switch a.Dice.IntN(6) {
	case 0, 1:
		return counted(2+a.Dice.IntN(5), strings.TrimSuffix(a.fresh(), ".txt")+"-", a.short()), true
	case 2:
		return grown(2+a.Dice.IntN(5), a.fresh(), a.short()), true
	case 3:
		return grown(2+a.Dice.IntN(5), name, a.short()), name != ""
	case 4:
		return edited("as it was", a.word(), a.short(), name, other), name != other && a.both(name, other, "as it was")
	}
	return either(name, echo(a.words(), name, true), a.new(a.fresh())), name != ""
}

// program is a script of the project, or one on the command line.
func (a *Author) program() *Call {
	var paths []string
	for range 1 + a.Dice.IntN(3) {
		paths = append(paths, a.fresh())
	}
	p := script(pick(a.Dice, "sh tools/put.sh", "bash ./tools/put.sh", "python3 tools/put.py", "node tools/put.js"), a.words(), a.short(), paths...)
	if a.chance(25) {
		p = python(a.word(), paths[0])
	}
	if a.chance(30) {
		parts := []Part{p, echo(a.words(), a.fresh(), false)}
		return a.commandCall(Program, chain("&&", parts...), parts...)
	}
	return a.commandCall(Program, p)
}

// git stages, commits, tags or moves.
func (a *Author) git() *Call {
	name := a.some()
	if name == "" || a.inOtherWorktree(name) {
		return nil
	}
	var parts []Part
	switch a.Dice.IntN(6) {
	case 0:
		parts = []Part{gitAdd(name)}
		if a.world[gitIndex+name].Text == blobOf(a.world[name].Text) {
			return nil
		}
	case 1:
		parts = []Part{gitTag("v" + a.word())}
	case 2:
		if a.world[gitIndex+name].Kind == "" {
			return nil
		}
		parts = []Part{gitMove(name, a.fresh())}
	default:
		commit := gitCommit
		if a.chance(30) {
			commit = gitCommitLong
		}
		parts = []Part{echo(a.words(), name, true), gitAdd(name), commit("step " + a.word())}
		if a.chance(40) {
			parts = append(parts, sleep(a.pause()))
		}
	}
	return a.commandCall(Git, chain("&&", parts...), parts...)
}
