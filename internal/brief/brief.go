// Package brief writes the handover summary of a run for a new agent, a notebook or a person: where the run stands, what
// is in doubt, what to do next and how to verify that it is done.
//
// It is pure: the caller passes facts that it has just checked, and gets text; no clock is read. A brief never exceeds its
// budget, is valid UTF-8, and starts with the status. Each line is true by itself, so a brief that is truncated anywhere,
// by pawl or by the agent that receives it, stays true, and its reader can detect the truncation. Untrusted text is
// quoted, on one line, and cannot be mistaken for pawl's own.
package brief

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// Brief is the text with the data that it was made from.
type Brief struct {
	For      Audience       `json:"for"`
	Run      pawl.RunID     `json:"run,omitempty"`
	Status   pawl.RunStatus `json:"status,omitempty"`
	Checked  time.Time      `json:"checked_at"`
	Budget   int            `json:"budget"` // bytes
	Cut      bool           `json:"cut"`    // lines were omitted to fit the budget
	Sections []Section      `json:"sections"`
	Doubts   []Doubt        `json:"doubts,omitempty"`

	Operations []Operation `json:"operations,omitempty"`

	Findings []pawl.Finding `json:"findings,omitempty"`
	Text     string         `json:"text"`

	Nothing bool             `json:"-"` // a brief with the news, and there are none
	Open    []pawl.SessionID `json:"-"` // the sessions whose unfinished turns it reports
}

// Section is a part of a brief as written.
type Section struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
	More  int      `json:"more,omitempty"` // number of omitted lines
}

// Parse reads a brief that was written as JSON.
func Parse(data []byte) (b Brief, err error) {
	if err = json.Unmarshal(data, &b); err != nil {
		err = fmt.Errorf("read the brief: %w", err)
	}
	return b, err
}

// HandsOver reports whether a brief has what others left for the reader: decisions, memories or finished steps.
func (b Brief) HandsOver() bool {
	return slices.ContainsFunc(b.Sections, func(s Section) bool {
		return s.Title == decisionsTitle || s.Title == memoriesTitle || s.Title == finishedTitle
	})
}

// Options select the audience and the size of a brief.
type Options struct {
	For    Audience // Defaults to Human.
	Budget int      // bytes. Defaults to the audience's usual size and is capped at its maximum.

	Redact func(string) string // removes secrets from text. Defaults to no redaction.
}

// MinBudget is the smallest useful budget; smaller values are raised to it.
const MinBudget = 2000

// Make writes a brief.
func Make(f Facts, o Options) Brief {
	if f.Elsewhere != "" {
		f.Doubts, f.Operations, f.Findings = nil, nil, nil
	}
	w := newWriter(f, o)
	var fit fitted
	for i := w.firstLengths(); i < len(lengths); i++ {
		w.maxText, w.maxName = lengths[i].text, lengths[i].name
		all := w.sections()
		if slices.ContainsFunc(all, func(s section) bool { return s.total > maxLines }) && i < len(lengths)-1 {
			i = len(lengths) - 2 // it is cut with any lengths
			continue
		}
		if fit = w.fit(all); !fit.cut {
			break
		}
	}
	b := Brief{
		For: w.audience, Checked: f.Now.UTC(), Budget: w.budget, Doubts: w.redactedDoubts(), Operations: w.redactedOperations(), Findings: w.redactedFindings(),
	}
	if f.State != nil {
		b.Run, b.Status = f.State.Run, w.status
	}
	b.Cut = fit.cut
	b.Text = w.text(fit)
	b.Nothing, b.Open = w.nothingNew(), w.openTurns()
	for _, s := range fit.taken {
		b.Sections = append(b.Sections, Section{Title: s.title, Lines: s.lines, More: s.more()})
	}
	return b
}

// writer holds the input of all sections.
type writer struct {
	Facts
	audience Audience
	budget   int
	maxText  int // bytes of a quoted text
	maxName  int // bytes of a name, a path or a command
	redact   func(string) string
	status   pawl.RunStatus
	run      string // the run's id, for commands
	steps    []step
	planned  int    // number of the plan's steps
	done     []step // those whose work is done, newest first
}

func newWriter(f Facts, o Options) *writer {
	w := &writer{Facts: f, audience: o.For, budget: o.For.budget(o.Budget), redact: o.Redact}
	if w.audience == "" {
		w.audience = Human
	}
	if w.Plan == nil {
		w.Plan = &pawl.Plan{}
	}
	if w.State != nil {
		w.run = string(w.State.Run)
		w.status = w.State.StatusIn(w.Plan, w.Engine != nil)
		w.steps, w.planned = stepsOf(w.State, w.Plan)
		w.done = newestFirst(w.steps)
	}
	return w
}

// firstLengths returns the first lengths to try. A brief of so many finished steps is cut with any.
func (w *writer) firstLengths() int {
	if w.Elsewhere == "" && w.News == nil && len(w.done) > maxLines {
		return len(lengths) - 1
	}
	return 0
}

// nothingNew reports whether a brief with the news has none, and nothing is in doubt or waits for a person.
func (w *writer) nothingNew() bool {
	return w.News != nil && len(w.News.Lines)+len(w.Doubts)+len(w.Operations)+len(w.Running) == 0 && (w.Since == nil || w.Since.Files == 0) &&
		w.doubts().total == 0 && w.asked().total == 0
}

// openTurns returns the sessions that left a turn unfinished.
func (w *writer) openTurns() (open []pawl.SessionID) {
	for i := range w.Sessions {
		if w.News == nil && w.Sessions[i].open() {
			open = append(open, w.Sessions[i].Session)
		}
	}
	return open
}

// redactedDoubts returns the doubts without secrets.
func (w *writer) redactedDoubts() []Doubt {
	bare := slices.Clone(w.Doubts)
	for i := range bare {
		d := &bare[i]
		d.Item, d.Folder, d.Evidence = pawl.ItemID(w.flat(string(d.Item))), w.flat(d.Folder), w.redacted(d.Evidence)
		if d.Verdict != nil {
			v := *d.Verdict
			v.Word, v.Reasons, v.Doubt = pawl.VerdictWord(w.flat(string(v.Word))), w.redacted(v.Reasons), w.flat(v.Doubt)
			d.Verdict = &v
		}
	}
	return bare
}

// redactedOperations returns the operations in doubt without secrets.
func (w *writer) redactedOperations() []Operation {
	bare := slices.Clone(w.Operations)
	for i := range bare {
		o := &bare[i]
		o.Summary, o.Evidence, o.Paths, o.Judged = w.flat(o.Summary), w.redacted(o.Evidence), w.redacted(o.Paths), nil
	}
	return bare
}

// redactedFindings returns the findings without secrets.
func (w *writer) redactedFindings() []pawl.Finding {
	bare := slices.Clone(w.Findings)
	for i := range bare {
		f := &bare[i]
		f.What, f.Where, f.Evidence, f.Hint = w.flat(f.What), w.flat(f.Where), w.flat(f.Evidence), w.flat(f.Hint)
	}
	return bare
}

func (w *writer) redacted(lines []string) []string {
	bare := slices.Clone(lines)
	for i := range bare {
		bare[i] = w.flat(bare[i])
	}
	return bare
}

// sections returns all sections, the most important first.
func (w *writer) sections() []section {
	if w.State == nil {
		return present(w.noRun(), w.memories())
	}
	if w.Elsewhere != "" {
		return present(w.elsewhere(), w.memories())
	}
	if w.News != nil {
		return present(w.where(), w.doubts(), w.news(), w.since(), w.asked())
	}
	all := []section{w.where(), w.doubts(), w.next()}
	if w.audience == Kernel {
		all = append(all, w.artifacts())
	}
	return present(append(all, w.since(), w.sessions(), w.asked(), w.decisions(), w.memories(), w.finished())...)
}

// present drops empty sections.
func present(all ...section) []section {
	left := all[:0]
	for _, s := range all {
		if s.total > 0 {
			left = append(left, s)
		}
	}
	return left
}

// text joins the header, the sections and the last section.
func (w *writer) text(f fitted) string {
	var out strings.Builder
	out.WriteString(w.head(f))
	for i := range f.taken {
		out.WriteString(w.render(i+1, &f.taken[i]))
	}
	out.WriteString(w.tail(f))
	return out.String()
}

// lastLine ends every brief for an agent or a notebook.
const lastLine = "end of brief"

// head returns the title and, for readers that may receive only a part, how to detect truncation.
func (w *writer) head(f fitted) string {
	title := "Brief"
	if w.State != nil {
		title = "Brief of run " + w.code(w.run)
	}
	text := "pawl checked everything here at " + at(w.Now) + ", except what is marked \"not checked\"."
	if w.audience != Human {
		text += " It has sections 1 to " + strconv.Itoa(len(f.taken)+1) + " and ends with the line \"" + lastLine +
			"\". If any of these is missing, the brief was truncated; what remains is still true."
	}
	if f.cut {
		text += " Lines were omitted to fit " + strconv.Itoa(w.budget) + " bytes; each omission is marked."
	}
	return w.title(title) + w.paragraph(text)
}

// tail returns the section with further commands. It comes last, because agents that truncate the middle keep the end.
func (w *writer) tail(f fitted) string {
	s := w.readMore(f)
	text := ""
	if s.total > 0 {
		text = w.render(len(f.taken)+1, &s)
	}
	if w.audience != Human {
		text += w.blank() + w.paragraph(lastLine)
	}
	return text
}
