package grid

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// beatLead begins the line by which pawl shows in SCRATCHPAD.md that the run is alive.
const beatLead = "<!-- pawl: alive "

// notesThere returns a file of notes, a new one where there is none, and the notes in it.
func (w *clusterWriter) notesThere(name string) ([]byte, []note) {
	f := w.file(name)
	if f == nil {
		return fresh(yamledit.MapOf(pair("cluster", yamledit.Word(w.cluster))), ""), nil
	}
	_, body, _, fenced := markdown.Front(f.Data)
	if !fenced {
		body = textedit.Whole(f.Data)
	}
	return f.Data, notesOf(bodyLines(f.Data, body))
}

// decisions adds those that DECISIONS.md does not have.
func (w *clusterWriter) decisions() {
	data, notes := w.notesThere("DECISIONS.md")
	there, last := map[string]bool{}, 0
	for _, n := range notes {
		there[oneLine(n.says("question"))+"\n"+oneLine(n.says("user choice"))] = true
		last = max(last, n.number)
	}
	text := ""
	for _, d := range slices.Concat(w.State.Made, w.skips()) {
		key := oneLine(d.Question) + "\n" + oneLine(d.Choice)
		if there[key] {
			continue
		}
		there[key] = true
		last++
		text += w.decision(last, d)
	}
	w.addNotes("DECISIONS.md", data, text)
}

// skips returns the blocks that a person skipped as decisions, which they are.
func (w *clusterWriter) skips() []pawl.Decision {
	var all []pawl.Decision
	for _, k := range w.works {
		if k.skipped() && k.state.Why != "skipped in grid" { // as it was imported
			all = append(all, pawl.Decision{Question: "What about block " + k.block + "?", Choice: "skip it", Why: k.state.Why, Step: k.ID, Time: k.state.Ended})
		}
	}
	return all
}

func (w *clusterWriter) decision(n int, d pawl.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Decision %d: %s\n", n, stamp(firstKnown(d.Time, w.State.Updated)))
	field(&b, "Question", d.Question)
	if len(d.Options) > 0 {
		b.WriteString("**Options Presented:**\n")
		for _, o := range d.Options {
			b.WriteString("- " + oneLine(o) + "\n")
		}
	}
	field(&b, "User Choice", d.Choice)
	if d.Why != "" {
		field(&b, "Rationale", `"`+oneLine(d.Why)+`"`)
	}
	if k := w.byStep[d.Step]; k != nil {
		field(&b, "Affects", "Block "+k.block+" ("+k.name()+")")
	}
	return b.String()
}

func field(b *strings.Builder, name, text string) {
	if text != "" {
		b.WriteString("**" + name + ":** " + oneLine(text) + "\n")
	}
}

// addNotes appends notes to a file, with the file's line ends.
func (w *clusterWriter) addNotes(name string, data []byte, text string) {
	if text == "" {
		return
	}
	text = strings.ReplaceAll(atEnd(data, text), "\n", textedit.EOL(data))
	w.put(name, append(data[:len(data):len(data)], text...))
}

// blockers adds those that BLOCKERS.md does not have, and says of its own which are resolved.
func (w *clusterWriter) blockers() {
	data, notes := w.notesThere("BLOCKERS.md")
	there, last := map[string]int{}, 0
	for i, n := range notes {
		there[oneLine(n.says("description"))] = i + 1
		last = max(last, n.number)
	}
	var edits []textedit.Edit
	text := ""
	for _, b := range w.State.Blockers {
		i := there[oneLine(b.Text)]
		if i == 0 {
			last++
			text += w.blocker(last, b)
			there[oneLine(b.Text)] = len(notes) + 1
		} else if i <= len(notes) && !b.Cleared.IsZero() {
			edits = append(edits, resolving(data, notes[i-1], b)...)
		}
	}
	if len(edits) > 0 {
		data = textedit.Apply(data, edits)
		w.put("BLOCKERS.md", data)
	}
	w.addNotes("BLOCKERS.md", data, text)
}

func (w *clusterWriter) blocker(n int, b pawl.Blocker) string {
	var s strings.Builder
	status := "ACTIVE"
	if !b.Cleared.IsZero() {
		status = "RESOLVED"
	}
	fmt.Fprintf(&s, "\n## Blocker %d: %s\n", n, status)
	if k := w.byStep[b.Step]; k != nil {
		field(&s, "Block", k.block)
		if now, _ := current(w.threads(k)); now != nil {
			field(&s, "Thread", now.ID)
		}
	}
	field(&s, "Type", "human_action_required")
	field(&s, "Description", b.Text)
	if b.Cleared.IsZero() {
		field(&s, "Waiting For", b.Needs)
	}
	if !b.Opened.IsZero() {
		field(&s, "Created At", stamp(b.Opened))
	}
	if !b.Cleared.IsZero() {
		s.WriteString(resolution(b))
	}
	return s.String()
}

func resolution(b pawl.Blocker) string {
	var s strings.Builder
	field(&s, "Resolution", b.How)
	field(&s, "Resolved At", stamp(b.Cleared))
	return s.String()
}

// resolving returns the edits by which a blocker that a file has as active is resolved.
func resolving(data []byte, n note, b pawl.Blocker) []textedit.Edit {
	if !strings.Contains(n.title, "ACTIVE") {
		return nil
	}
	lines := textedit.Lines(data)
	head := lines[n.line-1]
	from := head.From + strings.LastIndex(head.Text, "ACTIVE")
	end := head.End
	for _, s := range markdown.Sections(lines[n.line-1:]) {
		end = s.End()
		break
	}
	text := resolution(b)
	if data[end-1] != '\n' {
		text = "\n" + strings.TrimSuffix(text, "\n")
	}
	return []textedit.Edit{
		{From: from, To: from + len("ACTIVE"), Text: "RESOLVED"},
		{From: end, To: end, Text: strings.ReplaceAll(text, "\n", textedit.EOL(data))},
	}
}

// alive is how old the scratchpad may be before pawl itself shows that the run is alive: those who work write there.
const alive = 5 * time.Minute

// scratchpad shows a sign of life where the agents show none, in one line that says where the run is and what was said
// last. A line that nobody has written after it is kept up to date.
func (w *clusterWriter) scratchpad() {
	k, f := w.at(), w.file("SCRATCHPAD.md")
	if k == nil || w.Status != pawl.StatusActive || w.Trigger == format.Exported {
		return
	}
	at := ", " + w.whereabouts(k) + " -->"
	text := beatLead + stamp(w.Now) + at
	if f == nil {
		w.put("SCRATCHPAD.md", []byte("# Scratchpad\n\n"+text+"\n"))
		return
	}
	quiet := w.Now.Sub(f.Changed) >= alive
	for _, l := range textedit.Lines(f.Data) {
		if !strings.HasPrefix(l.Text, beatLead) {
			continue
		}
		said, rest, _ := strings.Cut(strings.TrimPrefix(l.Text, beatLead), ",")
		written, _, _ := format.ParseTimeIn(said, w.Now.Location())
		if quiet || ","+rest != at && f.Changed.Sub(written).Abs() < ownWrite {
			w.put("SCRATCHPAD.md", textedit.Apply(f.Data, []textedit.Edit{{From: l.From, To: l.To, Text: text}}))
		}
		return
	}
	if quiet {
		w.addNotes("SCRATCHPAD.md", f.Data, "\n"+text+"\n")
	}
}

// ownWrite is how long after the time that pawl's line has its file may have been written by pawl.
const ownWrite = 3 * time.Second

// whereabouts says in a few words where a block is.
func (w *clusterWriter) whereabouts(k *blockStep) string {
	at := "block " + k.block
	if now, _ := current(w.threads(k)); now != nil {
		at += ", thread " + now.ID
	}
	if last := w.lastAction(k, nil); last != "" {
		at += ": " + strings.ReplaceAll(last, "-->", "->")
	}
	return at
}

// archiveScratchpad moves what is in the scratchpad to its archive.
func (w *clusterWriter) archiveScratchpad() {
	f := w.file("SCRATCHPAD.md")
	if f == nil {
		return
	}
	var kept strings.Builder
	for _, l := range textedit.Lines(f.Data) {
		if !strings.HasPrefix(l.Text, beatLead) {
			kept.Write(f.Data[l.From:l.End])
		}
	}
	if text := strings.TrimSpace(kept.String()); text != "" && text != "# Scratchpad" {
		old := []byte("# Scratchpad archive\n")
		if a := w.file("SCRATCHPAD_ARCHIVE.md"); a != nil {
			old = a.Data
		}
		text = "\n## " + w.cluster + ", " + stamp(w.State.Updated) + "\n\n" + text + "\n"
		w.put("SCRATCHPAD_ARCHIVE.md", append(old[:len(old):len(old)], atEnd(old, text)...))
	}
	w.remove("SCRATCHPAD.md")
}
