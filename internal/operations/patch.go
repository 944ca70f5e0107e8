package operations

import (
	"slices"
	"strings"
)

// patchPlan is what apply_patch does, whose patches look so:
//
//	*** Begin Patch
//	*** Add File: NAME        and then lines that begin with +
//	*** Delete File: NAME
//	*** Update File: NAME     perhaps *** Move to: NAME, then hunks: @@ lines, and lines that begin with ' ', - or +
//	*** End Patch
func patchPlan(in input, c Call) []planned {
	text, ok := in.text(patchKeys...)
	if !ok {
		return nil
	}
	_, text, _ = strings.Cut(text, "*** Begin Patch")
	text, _, _ = strings.Cut(text, "*** End Patch")
	var plan []planned
	for part := range strings.SplitSeq(text, "\n*** ") {
		head, body, _ := strings.Cut(part, "\n")
		verb, name, _ := strings.Cut(head, ": ")
		name = strings.TrimSpace(name)
		switch strings.TrimSpace(verb) {
		case "Add File":
			plan = append(plan, planned{path: name, content: added(body)})
		case "Delete File":
			plan = append(plan, planned{path: name, gone: true})
		case "Update File":
			plan = append(plan, c.updated(name, body))
		case "Move to":
			plan = c.moved(plan, name, body)
		}
	}
	return plan
}

// added returns the content of a new file.
func added(body string) []byte {
	var out strings.Builder
	for line := range strings.Lines(body) {
		if text, ok := strings.CutPrefix(line, "+"); ok {
			out.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		}
	}
	return []byte(out.String())
}

// moved has the file that was to be updated last get another name. Its hunks follow the new name.
func (c Call) moved(plan []planned, name, body string) []planned {
	if len(plan) == 0 {
		return nil
	}
	old := &plan[len(plan)-1]
	p := c.updated(old.path, body)
	p.path = name
	*old = planned{path: old.path, gone: true}
	return append(plan, p)
}

// updated returns a file with hunks applied, each where its old lines stand, behind the one before.
func (c Call) updated(name, body string) planned {
	p := planned{path: name}
	data, err := c.Read(c.absolute(name))
	if err != nil || strings.Contains(string(data), "\r") {
		p.unsure = true
		return p
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	at := 0
	for _, h := range hunksOf(body) {
		i := index(lines, h.old, at)
		if i < 0 || len(h.old) == 0 {
			p.unsure = true
			return p
		}
		lines = slices.Concat(lines[:i], h.now, lines[i+len(h.old):])
		at = i + len(h.now)
	}
	p.content = []byte(strings.Join(lines, "\n") + "\n")
	return p
}

// hunk replaces lines.
type hunk struct{ old, now []string }

func hunksOf(body string) []hunk {
	var hunks []hunk
	for line := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n") {
		if strings.HasPrefix(line, "@@") || len(hunks) == 0 {
			hunks = append(hunks, hunk{})
		}
		h := &hunks[len(hunks)-1]
		switch {
		case strings.HasPrefix(line, "@@"):
		case strings.HasPrefix(line, "-"):
			h.old = append(h.old, line[1:])
		case strings.HasPrefix(line, "+"):
			h.now = append(h.now, line[1:])
		case line == "" || line[0] == ' ':
			text := strings.TrimPrefix(line, " ")
			h.old, h.now = append(h.old, text), append(h.now, text)
		}
	}
	return slices.DeleteFunc(hunks, func(h hunk) bool { return len(h.old)+len(h.now) == 0 })
}

// index returns where some lines stand, one behind the other, at or behind a place; -1: nowhere.
func index(lines, some []string, from int) int {
	for i := from; i+len(some) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(some)], some) {
			return i
		}
	}
	return -1
}
