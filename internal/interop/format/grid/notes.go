package grid

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format/report"
	"pawl/internal/lazyregexp"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
)

// noteField is a line "**Question:** text" of a decision or a blocker.
var noteField = lazyregexp.New(`^\s*(?:[-*]\s+)?\*\*([^*:]+):?\*\*:?\s*(.*)$`)

// note is a section of DECISIONS.md or BLOCKERS.md.
type note struct {
	number  int
	title   string // behind "Decision N:"
	fields  map[string]string
	options []string
	line    int
}

var noteHead = lazyregexp.New(`^(?:Decision|Blocker)\s+(\d+)\s*[:—–-]?\s*(.*)$`)

// notesOf reads the sections of DECISIONS.md or BLOCKERS.md.
func notesOf(lines []textedit.Line) []note {
	var all []note
	for _, s := range markdown.Sections(lines) {
		m := noteHead.FindStringSubmatch(s.Title)
		if m == nil {
			continue
		}
		n := note{number: blockNumber(m[1]), title: m[2], fields: map[string]string{}, line: s.Line.Number}
		last := ""
		for _, l := range s.Lead() {
			if f := noteField.FindStringSubmatch(l.Text); f != nil {
				last = strings.ToLower(strings.TrimSpace(f[1]))
				n.fields[last] = strings.TrimSpace(f[2])
			} else if text, ok := markdown.Bullet(l.Text); ok && strings.HasPrefix(last, "options") {
				n.options = append(n.options, text)
			} else if text := strings.TrimSpace(l.Text); last != "" && text != "" && len(n.fields[last]) < maxText {
				n.fields[last] = strings.TrimSpace(n.fields[last] + "\n" + text)
			}
		}
		all = append(all, n)
	}
	return all
}

// says returns a field without quotes around it.
func (n note) says(name string) string {
	text := n.fields[name]
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}

// readNotes returns the notes of a file, with the front matter's cluster taken up.
func (r *clusterReader) readNotes(name string) (string, []note) {
	f := r.file(name)
	if f == nil {
		return "", nil
	}
	c, body, ok := r.front(f, false)
	if ok {
		r.named(c.text("cluster"))
		c.unusedFacts(r.out.Facts, strings.ToLower(strings.TrimSuffix(name, ".md")))
	}
	return f.Path, notesOf(bodyLines(f.Data, body))
}

var affected = lazyregexp.New(`(?i)\bblock\s+(\d+)`)

func (r *clusterReader) readDecisions() {
	file, notes := r.readNotes("DECISIONS.md")
	for _, n := range notes {
		d := pawl.Decision{
			Question: n.says("question"), Options: n.options, Choice: n.says("user choice"), Why: n.says("rationale"), By: "person",
		}
		if text := strings.TrimSpace(n.title); text != "" {
			d.Time = r.time(file, n.line, text)
		}
		if d.Choice == "" {
			r.Warn(report.Where(file, n.line), "decision %d has no choice", n.number)
			continue
		}
		if m := affected.FindStringSubmatch(n.says("affects")); m != nil {
			d.Step = pawl.StepIDOf(blockID(m[1]))
		}
		r.fact("decision_"+strconv.Itoa(n.number)+"_affects", n.says("affects"))
		r.out.Decisions = append(r.out.Decisions, d)
	}
}

func (r *clusterReader) readBlockers() {
	file, notes := r.readNotes("BLOCKERS.md")
	for _, n := range notes {
		b := pawl.Blocker{ID: n.number, Text: n.says("description"), Needs: n.says("waiting for"), How: n.says("resolution")}
		if b.Text == "" {
			r.Warn(report.Where(file, n.line), "blocker %d has no description", n.number)
			b.Text = cmp.Or(n.says("type"), n.title, "?")
		}
		if id := blockID(n.says("block")); id != "" {
			b.Step = pawl.StepIDOf(id)
		}
		b.Opened = r.noteTime(file, n, "created at")
		b.Cleared = r.noteTime(file, n, "resolved at")
		switch resolved := strings.Contains(strings.ToUpper(n.title), "RESOLVED"); {
		case resolved && b.Cleared.IsZero():
			b.Cleared = firstKnown(b.Opened, r.out.Updated, r.file("BLOCKERS.md").Changed.UTC(), r.now.UTC())
		case strings.Contains(strings.ToUpper(n.title), "ACTIVE"):
			b.Cleared = time.Time{}
		}
		for _, key := range []string{"type", "thread"} {
			r.fact("blocker_"+strconv.Itoa(n.number)+"_"+key, n.says(key))
		}
		r.out.Blockers = append(r.out.Blockers, b)
	}
}

func (r *clusterReader) noteTime(file string, n note, field string) time.Time {
	if text := n.says(field); text != "" {
		return r.time(file, n.line, text)
	}
	return time.Time{}
}

// firstKnown returns the first of the times that is known.
func firstKnown(times ...time.Time) time.Time {
	for _, at := range times {
		if !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}
