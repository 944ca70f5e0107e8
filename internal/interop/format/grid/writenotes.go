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

// beatLead begins pawl's heartbeat line in SCRATCHPAD.md.
const beatLead = "<!-- pawl: alive "

// readNotes returns a file of notes, or a new one, and the notes in it.
func (w *clusterWriter) readNotes(name string) ([]byte, []note) {
	f := w.file(name)
	if f == nil {
		return newFrontMatter(yamledit.MapOf(pair("cluster", yamledit.Word(w.cluster))), ""), nil
	}
	_, body, _, fenced := markdown.Front(f.Data)
	if !fenced {
		body = textedit.Whole(f.Data)
	}
	return f.Data, notesOf(bodyLines(f.Data, body))
}

// decisions adds missing decisions to DECISIONS.md.
func (w *clusterWriter) decisions() {
	data, notes := w.readNotes("DECISIONS.md")
	there, last := map[string]bool{}, 0
	for _, n := range notes {
		there[oneLine(n.field("question"))+"\n"+oneLine(n.field("user choice"))] = true
		last = max(last, n.number)
	}
	text := ""
	for _, d := range slices.Concat(w.State.Made, w.skipDecisions()) {
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

// skipDecisions returns the blocks that a person skipped, as decisions.
func (w *clusterWriter) skipDecisions() []pawl.Decision {
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
	text = strings.ReplaceAll(onNewLine(data, text), "\n", textedit.EOL(data))
	w.put(name, append(data[:len(data):len(data)], text...))
}

// blockers adds missing blockers to BLOCKERS.md, and resolves pawl's own there.
func (w *clusterWriter) blockers() {
	data, notes := w.readNotes("BLOCKERS.md")
	there, last := map[string]int{}, 0
	for i, n := range notes {
		there[oneLine(n.field("description"))] = i + 1
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
		if now, _ := currentOf(w.threads(k)); now != nil {
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

// resolving returns the edits that mark an active blocker as resolved.
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

// activityWindow is the age of the scratchpad from which pawl adds its own heartbeat. The agents write to it too.
const activityWindow = 5 * time.Minute

// scratchpad writes a heartbeat line if the agents write nothing: the position of the run and its last progress text. It
// replaces its own line if that is still the last one.
func (w *clusterWriter) scratchpad() {
	k, f := w.currentBlock(), w.file("SCRATCHPAD.md")
	if k == nil || w.Status != pawl.StatusActive || w.Trigger == format.Exported {
		return
	}
	at := ", " + w.blockPosition(k) + " -->"
	text := beatLead + stamp(w.Now) + at
	if f == nil {
		w.put("SCRATCHPAD.md", []byte("# Scratchpad\n\n"+text+"\n"))
		return
	}
	quiet := w.Now.Sub(f.Changed) >= activityWindow
	for _, l := range textedit.Lines(f.Data) {
		if !strings.HasPrefix(l.Text, beatLead) {
			continue
		}
		said, rest, _ := strings.Cut(strings.TrimPrefix(l.Text, beatLead), ",")
		written, _, _ := format.ParseTimeIn(said, w.Now.Location())
		if quiet || ","+rest != at && f.Changed.Sub(written).Abs() < ownWriteWindow {
			w.put("SCRATCHPAD.md", textedit.Apply(f.Data, []textedit.Edit{{From: l.From, To: l.To, Text: text}}))
		}
		return
	}
	if quiet {
		w.addNotes("SCRATCHPAD.md", f.Data, "\n"+text+"\n")
	}
}

// ownWriteWindow is how long after the time in pawl's line the file may have been modified by pawl itself.
const ownWriteWindow = 3 * time.Second

// blockPosition returns the position of a block in a few words.
func (w *clusterWriter) blockPosition(k *blockStep) string {
	at := "block " + k.block
	if now, _ := currentOf(w.threads(k)); now != nil {
		at += ", thread " + now.ID
	}
	if last := w.lastAction(k, nil); last != "" {
		at += ": " + strings.ReplaceAll(last, "-->", "->")
	}
	return at
}

// archiveScratchpad moves the content of the scratchpad to its archive.
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
		w.put("SCRATCHPAD_ARCHIVE.md", append(old[:len(old):len(old)], onNewLine(old, text)...))
	}
	w.remove("SCRATCHPAD.md")
}
