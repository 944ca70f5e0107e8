package sitebuilder

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/lazyregexp"
	"pawl/internal/oneline"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
)

// message is a message in an inbox, an outbox or the broadcasts.
type message struct {
	id, from, to, kind, priority, native, task, subject, body string

	at, expires time.Time
	file        string
	line        int
}

// progressLine is the progress of a task in its agent's outbox.
type progressLine struct {
	task, percent string
	line          int
}

// escalation is a question to people.
type escalation struct {
	id, title, native, owner, priority, by string

	tasks []string
	at    time.Time
	needs string
	line  int

	statusLine textedit.Line // of its status
}

var (
	messageTitle = lazyregexp.New(`^(?:MSG|BROADCAST)-\d{8,}`)
	escapeTitle  = lazyregexp.New(`^(ESC-\d+):\s*(.*)$`)
	progressText = lazyregexp.New(`^@orchestrator: Task (\S+) progress: (\d+)%`)
)

// readMessages reads all of a team's messages.
func (r *teamReader) readMessages() {
	for _, f := range r.files {
		folder, name := path.Split(f.Path)
		if folder != r.base+"messages/" {
			continue
		}
		switch {
		case name == "human-escalations.md":
			r.readEscalations(&f)
		case strings.HasPrefix(name, "inbox-"), strings.HasPrefix(name, "outbox-"), name == "broadcast.md":
			r.messages = append(r.messages, r.messagesIn(&f)...)
		}
	}
}

// messagesIn returns the messages of a file. Each begins with a heading that is its id.
func (r *teamReader) messagesIn(f *format.File) []message {
	var all []message
	within := false // inside a message
	for _, s := range markdown.Sections(textedit.Lines(f.Data)) {
		lead := markdown.Join(s.Lead())
		switch {
		case messageTitle.MatchString(s.Title):
			m := message{id: s.Title, file: f.Path, line: s.Line.Number}
			for _, l := range s.Lead() {
				if key, value, ok := field(l.Text); ok {
					r.readField(&m, key, value, l.Number)
				}
			}
			all, within = append(all, m), true
		case within && strings.EqualFold(s.Title, "Subject"):
			last := &all[len(all)-1]
			last.subject = cmp.Or(last.subject, oneLine(lead))
		case within && strings.EqualFold(s.Title, "Body"):
			last := &all[len(all)-1]
			last.body = cmp.Or(last.body, oneline.Clip(oneLine(lead), maxText))
		}
	}
	return all
}

func (r *teamReader) readField(m *message, key, value string, line int) {
	switch key {
	case "From":
		m.from = agentIn(value)
	case "To":
		m.to = agentIn(value)
	case "Type":
		m.kind = value
	case "Priority":
		m.priority = value
	case "Status":
		m.native = strings.ToLower(value)
	case "Related Task":
		m.task = value
	case "Timestamp":
		m.at = r.time(m.file, line, value)
	case "Expires":
		m.expires, _, _ = format.ParseTime(value) // "until acknowledged" is not a time
	}
}

// agentIn returns the agent in a text: "@content (Harper)" is content.
func agentIn(text string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "@"), " ")
	return first
}

// progressLines returns the last progress of each task in an outbox.
func progressLines(data []byte) map[string]progressLine {
	said := map[string]progressLine{}
	for _, l := range textedit.Lines(data) {
		if m := progressText.FindStringSubmatch(strings.TrimSpace(l.Text)); m != nil {
			said[m[1]] = progressLine{task: m[1], percent: m[2], line: l.Number}
		}
	}
	return said
}

// readEscalations reads the escalations. Their fields are in a table, or in lines.
func (r *teamReader) readEscalations(f *format.File) {
	for _, s := range markdown.Sections(textedit.Lines(f.Data)) {
		m := escapeTitle.FindStringSubmatch(strings.Trim(s.Title, "* "))
		if m == nil {
			continue
		}
		e := escalation{id: m[1], title: strings.ToValidUTF8(m[2], "\uFFFD"), line: s.Line.Number}
		for _, row := range markdown.Table(s.Lead()) {
			if len(row.Cells) > 1 {
				r.readAsked(&e, f.Path, strings.Trim(row.Cells[0], "* "), strings.ToValidUTF8(row.Cells[1], "\uFFFD"), row.Line)
			}
		}
		for _, l := range s.Lead() {
			if key, value, ok := field(l.Text); ok {
				r.readAsked(&e, f.Path, key, value, l)
			}
		}
		e.needs = fieldLines(s.Lead(), "Action Required")
		r.asked = append(r.asked, e)
	}
}

func (r *teamReader) readAsked(e *escalation, file, key, value string, line textedit.Line) {
	switch key {
	case "Status":
		e.native, e.statusLine = strings.ToLower(value), line
	case "Raised By":
		e.by = value
	case "Priority":
		e.priority = value
	case "Assigned To":
		e.owner = value
	case "Timestamp":
		e.at = r.time(file, line.Number, value)
	case "Blocking Tasks":
		e.tasks = tasksIn(value)
	}
}

func tasksIn(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' })
}

// fieldLines returns the lines after "**Key**:", up to an empty one.
func fieldLines(lines []textedit.Line, name string) string {
	at := slices.IndexFunc(lines, func(l textedit.Line) bool { key, _, ok := field(l.Text); return ok && key == name })
	if at < 0 {
		return ""
	}
	end := at + 1
	for end < len(lines) && strings.TrimSpace(lines[end].Text) != "" {
		end++
	}
	return oneline.Clip(oneLine(markdown.Join(lines[at+1:end])), maxText)
}

// open reports whether a message waits for its reader.
func (m message) open(now time.Time) bool {
	return m.native == "pending" && (m.expires.IsZero() || m.expires.After(now))
}

// oneLine returns a text without line breaks.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
}
