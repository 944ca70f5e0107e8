package scripted

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"
)

// fresh returns an unused name.
func (a *Author) fresh() string {
	a.names++
	dir := pick(a.Dice, ".", "lib", "docs", "my files")
	return path.Join(dir, fmt.Sprintf("%s-%d.txt", pick(a.Dice, "new", "notes", "result", "a b"), a.names))
}

// some returns a file that is there, short and with lines; empty: there is none.
func (a *Author) some() string {
	var found []string
	for name, node := range a.world {
		if node.Kind == File && !a.busy[name] && !strings.HasPrefix(name, "tools/") && !strings.HasPrefix(name, "old/") && name != "README.md" &&
			len(node.Text) < longText/2 && strings.Count(node.Text, "\n") > 1 {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return pick(a.Dice, found...)
}

// line returns a line of a file that is in it once; empty: there is none.
func (a *Author) line(name string) string {
	text := a.world[name].Text
	var once []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && strings.Count(text, line) == 1 {
			once = append(once, line)
		}
	}
	if len(once) == 0 {
		return ""
	}
	return pick(a.Dice, once...)
}

// text returns lines that no call has written before.
func (a *Author) text(n int) string {
	a.names++
	return linesOf(fmt.Sprint("text ", a.names), n)
}

func (a *Author) size() int { return pick(a.Dice, 1, 3, 20, 4000) }

// file returns a call of a tool for files.
func (a *Author) file(sort Sort, means tool, given map[string]any, changes ...Change) *Call {
	c := &Call{Sort: sort, means: means, given: given, Changes: changes, Style: pick(a.Dice, InPlace, Renamed), Pause: a.ms(0, 25)}
	if means == toolPatch {
		c.Style = InPlace
	}
	return c.does(changing(changes...))
}

func (a *Author) write() *Call {
	if !a.dialect.has(toolWrite) {
		return nil
	}
	name, content := a.fresh(), a.text(a.size())
	if a.chance(40) {
		if name = a.some(); name == "" {
			return nil
		}
	}
	return a.file(WriteFile, toolWrite, map[string]any{"path": name, "content": content}, Change{Path: name, Content: &content})
}

// edit replaces one line, or several with a tool that can.
func (a *Author) edit() *Call {
	name := a.some()
	if name == "" || !a.dialect.has(toolEdit) {
		return nil
	}
	old := a.line(name)
	if old == "" {
		return nil
	}
	a.names++
	now := fmt.Sprintf("changed for the %dth time", a.names)
	if a.chance(5) {
		old = "a line that is not there"
	}
	if a.chance(10) && a.dialect.has(toolNotebook) {
		return a.notebook()
	}
	if !a.dialect.has(toolMulti) || a.chance(50) {
		return a.file(EditFile, toolEdit, map[string]any{"path": name, "old": old, "now": now, "all": false}, Change{Path: name, Swaps: []Swap{{old, now}}})
	}
	then := now + ", and once more"
	edits := []map[string]any{{"old_string": old, "new_string": now}, {"old_string": now, "new_string": then}}
	return a.file(EditFile, toolMulti, map[string]any{"path": name, "edits": edits}, Change{Path: name, Swaps: []Swap{{old, now}, {now, then}}})
}

// notebook writes a file with a tool whose result is unknown.
func (a *Author) notebook() *Call {
	name, content := strings.TrimSuffix(a.fresh(), ".txt")+".ipynb", a.text(3)
	return a.file(EditFile, toolNotebook, map[string]any{"path": name, "content": content}, Change{Path: name, Content: &content})
}

// patch changes up to three files at once, and sometimes gives one another name.
func (a *Author) patch() *Call {
	if !a.dialect.has(toolPatch) || a.base != a.cwd { // it names files as they are where the agent works
		return nil
	}
	var changes []Change
	text := "*** Begin Patch\n"
	for range 1 + a.Dice.IntN(3) {
		change, words := a.patching()
		if slices.ContainsFunc(changes, func(c Change) bool { return c.Path == change.Path }) || change.Path == "" {
			return nil
		}
		changes = append(changes, change)
		text += words
	}
	return a.file(PatchFiles, toolPatch, map[string]any{"patch": text + "*** End Patch"}, changes...)
}

// patching returns one change and its words in a patch.
func (a *Author) patching() (Change, string) {
	if a.chance(35) {
		name, content := a.fresh(), a.text(pick(a.Dice, 1, 3, 20))
		words := "*** Add File: " + name + "\n"
		for line := range strings.Lines(content) {
			words += "+" + line
		}
		return Change{Path: name, Content: &content}, words
	}
	name := a.some()
	if name == "" {
		return Change{}, ""
	}
	if a.chance(15) {
		return Change{Path: name, Gone: true}, "*** Delete File: " + name + "\n"
	}
	old := a.line(name)
	a.names++
	now := fmt.Sprintf("patched for the %dth time", a.names)
	change := Change{Path: name, Swaps: []Swap{{old, now}}}
	words := "*** Update File: " + name + "\n"
	if a.chance(10) {
		change.To = a.fresh()
		words += "*** Move to: " + change.To + "\n"
	}
	return change, words + a.hunk(name, old, now)
}

// hunk replaces a line, with those around it for context.
func (a *Author) hunk(name, old, now string) string {
	lines := strings.Split(strings.TrimSuffix(a.world[name].Text, "\n"), "\n")
	at := slices.Index(lines, old)
	words := "@@\n"
	if at > 0 {
		words += " " + lines[at-1] + "\n"
	}
	words += "-" + old + "\n+" + now + "\n"
	if at+1 < len(lines) {
		words += " " + lines[at+1] + "\n"
	}
	return words
}

// reading looks at something.
func (a *Author) reading() *Call {
	if a.dialect.has(toolRead) && a.chance(25) {
		c := &Call{Sort: Reading, means: toolRead, given: map[string]any{"path": "README.md"}, Pause: a.ms(0, 20)}
		return c.does(Part{})
	}
	if a.dialect.has(toolSearch) && a.chance(25) {
		c := &Call{Sort: Reading, means: toolSearch, given: map[string]any{"pattern": "line", "path": "lib"}, Pause: a.ms(0, 20)}
		return c.does(Part{})
	}
	text := pick(a.Dice, "cat README.md", "ls -la lib", "grep -rn line docs | head -3", "wc -l README.md; sleep 0.1", "sleep 0.3", "find . -name '*.txt' | sort",
		"cat README.md && sleep 0.2 && ls", "for f in README.md; do head -1 \"$f\"; done", "git status --short || true", "git log --oneline | head -3; sleep 0.05")
	return a.commandCall(Reading, Part{text: text})
}

// remote asks another machine for something.
func (a *Author) remote() *Call {
	a.names++
	switch a.Dice.IntN(3) {
	case 0:
		return a.commandCall(Remote, calls(a.names))
	case 1:
		if a.dialect.has(toolWeb) {
			c := &Call{Sort: Remote, means: toolWeb, given: map[string]any{"url": "http://127.0.0.1:9/", "about": fmt.Sprint("page ", a.names)}, Pause: a.ms(0, 40)}
			return c.does(Part{})
		}
	}
	c := &Call{Sort: Remote, means: toolServer, given: map[string]any{"about": fmt.Sprint("issue ", a.names)}, Pause: a.ms(0, 60)}
	return c.does(Part{beyond: true, remote: true})
}

// delegate has a subagent do some calls.
func (a *Author) delegate(sub string) *Call {
	if sub != "" || !a.dialect.has(toolTask) {
		return nil
	}
	a.names++
	sub = fmt.Sprintf("sub%d", a.names)
	c := &Call{Sort: Delegate, means: toolTask, given: map[string]any{"about": sub, "prompt": "Do this part, which is " + sub + "."}, Mark: sub}
	a.sign(c, "")
	c.Sub = &Subagent{ID: sub, Groups: a.groups(1+a.Dice.IntN(2), sub)}
	c.Base = a.cwd
	return c.does(Part{})
}

// host has another agent come and go while one of the calls is carried out.
func (a *Author) host(s *Session) {
	groups := s.Turns[0].Groups
	for _, group := range groups[len(groups)/2:] {
		c := group[0]
		if len(group) == 1 && c.Sub == nil && !c.Ask.Refuses() && c.CutIntent == 0 {
			c.Holds = true
			return
		}
	}
}

// death says when and how the agent of a session is to die.
func (a *Author) death(s *Session) *Death {
	var calls []*Call
	s.Calls(func(c *Call) { calls = append(calls, c) })
	c := calls[a.Dice.IntN(len(calls))]
	d := &Death{How: pick(a.Dice, Alone, Alone, Alone, Group, Group, Machine)}
	dice := a.Dice.IntN(100)
	for _, w := range []struct {
		at    When
		odds  int
		after time.Duration
	}{
		{Running, 42, a.within(a.Dice)}, {AnyTime, 14, a.ms(0, 60*len(calls))}, {Between, 12, 0}, {Announcing, 8, a.ms(0, 12)}, {Done, 10, 0},
		{Reporting, 6, a.ms(0, 12)}, {Stopping, 3, a.ms(0, 12)}, {Idle, 2, 0}, {AtStart, 3, a.ms(0, 30)},
	} {
		if dice -= w.odds; dice < 0 {
			d.At, d.After = w.at, w.after
			break
		}
	}
	if d.At == AnyTime && s.Hosts() {
		d.At = Idle
	}
	if c.Ask != "" && a.chance(30) {
		d.At, d.After = Asking, 0
	}
	if slices.Contains([]When{Running, Between, Announcing, Asking, Done, Reporting}, d.At) {
		d.Call = c.N
	}
	return d
}

// within returns a moment in a tool's life: most die young.
func (a *Author) within(dice *rand.Rand) time.Duration {
	return a.ms(0, pick(dice, 5, 20, 60, 200))
}
