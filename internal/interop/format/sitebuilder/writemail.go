package sitebuilder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pawl"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
)

// postProgress posts the progress of a task in its agent's outbox, and a message when it is complete or blocked, with a copy
// for the reader. It posts nothing twice.
func (w *teamWriter) postProgress(k *taskStep) {
	if !k.touched || k.imported || k.state.Attempts == 0 {
		return
	}
	w.progress(k)
	open, cleared := w.blockers(k.ID)
	for _, b := range cleared {
		w.resolve(k, letterKey{k.task, "escalation", blockedBy(b), b.Opened.Unix()})
	}
	if k.state.Status != pawl.FailedForGood {
		for key := range w.box("outbox-" + k.agent).posted {
			if key.task == k.task && key.subject == failedOf(k) {
				w.resolve(k, key)
			}
		}
	}
	switch {
	case k.taskStatus == complete:
		w.post(k, letter{to: "orchestrator", kind: "notification", priority: "normal", at: k.state.Ended,
			subject: "Task " + k.task + " Complete", body: cmp.Or(k.state.Summary, "Completed "+cmp.Or(k.Name, k.task)+".") + w.effortText(k)})
	case len(open) > 0:
		for _, b := range open {
			w.post(k, letter{to: "supervisor", kind: "escalation", priority: "critical", at: b.Opened,
				subject: blockedBy(b), body: "Task " + k.task + " cannot continue: " + b.Text, wanted: cmp.Or(b.Needs, "Clear it: pawl unblock "+strconv.Itoa(b.ID))})
		}
	case k.state.Status == pawl.FailedForGood:
		w.post(k, letter{to: "supervisor", kind: "escalation", priority: "high", at: k.state.Ended,
			subject: failedOf(k), body: cmp.Or(k.state.Why, "It failed."), wanted: "pawl retry " + string(k.ID)})
	}
}

func blockedBy(b pawl.Blocker) string { return "BLOCKED: " + oneLine(b.Text) }

func failedOf(k *taskStep) string { return "FAILED: " + k.task }

// resolve marks a message that no longer applies, in the outbox and in its reader's inbox.
func (w *teamWriter) resolve(k *taskStep, key letterKey) {
	id, posted := w.box("outbox-" + k.agent).posted[key]
	if !posted {
		return
	}
	for _, name := range []string{w.message("outbox-" + k.agent), w.message("inbox-supervisor")} {
		data := w.files.Data(name)
		for _, s := range markdown.Sections(textedit.Lines(data)) {
			if s.Title != id {
				continue
			}
			for _, l := range s.Lead() {
				if key, value, ok := field(l.Text); ok && key == "Status" && value == "pending" {
					w.files.Put(name, textedit.Apply(data, []textedit.Edit{{From: l.From, To: l.To, Text: "**Status**: resolved"}}))
				}
			}
		}
	}
}

// effortText returns the actual time and, if somebody estimated it, the estimate.
func (w *teamWriter) effortText(k *taskStep) string {
	if k.state.Seconds <= 0 {
		return ""
	}
	text := fmt.Sprintf("\nActual effort: %v h", hours(k.state.Seconds))
	if estimate := k.estimated(); estimate > 0 {
		text += fmt.Sprintf(", estimated: %v h", estimate)
	}
	return text + "."
}

func (w *teamWriter) progress(k *taskStep) {
	box := w.box("outbox-" + k.agent)
	now := strconv.Itoa(k.percent)
	if box.said[k.task] != now {
		box.said[k.task] = now
		box.more = append(box.more, fmt.Sprintf("@orchestrator: Task %s progress: %s%%\n", k.task, now))
	}
}

// box is an inbox or an outbox: its content, and what to add.
type box struct {
	title  string
	said   map[string]string // the last progress of each task
	ids    map[string]bool
	posted map[letterKey]string // id of each message
	more   []string
}

// letterKey identifies a message.
type letterKey struct {
	task, kind, subject string
	at                  int64
}

// box returns an inbox or an outbox by its name.
func (w *teamWriter) box(name string) *box {
	if b := w.boxes[name]; b != nil {
		return b
	}
	b := &box{said: map[string]string{}, ids: map[string]bool{}, posted: map[letterKey]string{}}
	kind, of, _ := strings.Cut(name, "-")
	b.title = "# " + titled(kind) + ": " + titled(of) + "\n"
	if f := w.files.File(w.message(name)); f != nil {
		for task, line := range progressLines(f.Data) {
			b.said[task] = line.percent
		}
		for _, m := range w.reader.messagesIn(f) {
			b.ids[m.id] = true
			b.posted[letterKey{m.task, m.kind, m.subject, m.at.Unix()}] = m.id
		}
	}
	w.boxes[name] = b
	return b
}

// deliver writes each box: an inbox below the heading of waiting messages, an outbox at the end.
func (w *teamWriter) deliver() {
	for _, inboxes := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(w.boxes)) {
			b := w.boxes[name]
			if len(b.more) == 0 || strings.HasPrefix(name, "inbox-") != inboxes {
				continue
			}
			if inboxes {
				w.insertBelow(w.message(name), "PENDING MESSAGES", b.title, strings.Join(b.more, "\n"))
			} else {
				w.add(w.message(name), b.title, strings.Join(b.more, ""))
			}
		}
	}
}

// add appends text to a Markdown file, which it creates if missing.
func (w *teamWriter) add(name, title, text string) {
	data := w.files.Data(name)
	if len(data) == 0 {
		data = []byte(strings.ReplaceAll(title+"\n", "\n", w.eol))
	}
	w.files.Put(name, markdown.Added(data, text))
}

// letter is a message to post.
type letter struct {
	to, kind, priority, subject, body, wanted string
	at                                        time.Time
}

// post appends a message to an agent's outbox, and adds it to the reader's inbox, once.
func (w *teamWriter) post(k *taskStep, l letter) {
	outbox, inbox := w.box("outbox-"+k.agent), w.box("inbox-"+l.to)
	key := letterKey{k.task, l.kind, oneLine(l.subject), l.at.Unix()}
	id, posted := outbox.posted[key]
	if !posted {
		id = outbox.idFor(k.agent, l.at)
		outbox.ids[id], outbox.posted[key] = true, id
		outbox.more = append(outbox.more, "\n---\n## "+id+"\n\n"+l.text(k)+"\n---\n")
	}
	if !inbox.ids[id] {
		inbox.ids[id] = true
		inbox.more = append(inbox.more, "### "+id+"\n\n"+l.text(k)+"\n---\n")
	}
}

// idFor returns the id of a message, MSG-{time}-{from}: of two in one second the later one has the next second.
func (b *box) idFor(agent string, at time.Time) string {
	for ; ; at = at.Add(time.Second) {
		if id := "MSG-" + at.UTC().Format("20060102150405") + "-" + agent; !b.ids[id] {
			return id
		}
	}
}

func (l letter) text(k *taskStep) string {
	var b strings.Builder
	from := "@" + k.agent
	if called := names[k.agent]; called != "" {
		from += " (" + called + ")"
	}
	for _, field := range [][2]string{
		{"From", from}, {"To", "@" + l.to}, {"Type", l.kind}, {"Priority", l.priority}, {"Status", "pending"}, {"Timestamp", stamp(l.at)}, {"Related Task", k.task},
	} {
		fmt.Fprintf(&b, "**%s**: %s\n", field[0], field[1])
	}
	fmt.Fprintf(&b, "\n### Subject\n%s\n\n### Body\n%s\n", oneLine(l.subject), plain(l.body))
	if l.wanted != "" {
		fmt.Fprintf(&b, "\n### Required Response\n%s\n", plain(l.wanted))
	}
	return b.String()
}

// plain returns a text without lines that would parse as a heading, a rule or a field of a message.
func plain(text string) string {
	lines := strings.Split(strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r \t")
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "**") || strings.HasPrefix(line, "@orchestrator") {
			line = "> " + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// insertBelow adds text below a heading, in place of the line that says that there is none.
func (w *teamWriter) insertBelow(inbox, waiting, title, text string) {
	data := w.files.Data(inbox)
	for _, s := range markdown.Sections(textedit.Lines(data)) {
		if !strings.EqualFold(s.Title, waiting) {
			continue
		}
		eol := textedit.EOL(data)
		edit := textedit.Edit{From: s.Line.End, To: s.Line.End, Text: eol + strings.ReplaceAll(text, "\n", eol)}
		if s.Line.End == s.Line.To {
			edit.Text = eol + edit.Text
		}
		for _, l := range s.Lead() {
			if strings.HasPrefix(strings.ToLower(strings.TrimSpace(l.Text)), "*no ") {
				edit = textedit.Edit{From: l.From, To: l.End, Text: strings.ReplaceAll(text, "\n", eol)}
			}
		}
		w.files.Put(inbox, textedit.Apply(data, []textedit.Edit{edit}))
		return
	}
	w.add(inbox, title, "---\n\n## "+waiting+"\n\n"+text)
}

// titled returns a name with its first letter in upper case.
func titled(name string) string {
	_, size := utf8.DecodeRuneInString(name)
	return strings.ToUpper(name[:size]) + name[size:]
}
