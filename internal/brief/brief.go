// Package brief writes what a fresh agent, a notebook or a person is told of a run: where it stands, what is in doubt,
// what to do next and how to know that it is done.
//
// It is pure: facts that somebody checked a moment before go in, text comes out, and no clock is asked. It promises that
// a brief is never longer than its budget, is valid UTF-8, and begins with where things stand. Each line stands for
// itself, so a brief that is cut anywhere, by us or by the agent that takes it, is still true in what is left; and
// whoever reads it can tell that it was cut. Words of others stand in quotes, on one line each, and cannot pass for ours.
package brief

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// Brief is the text, and what it was made of.
type Brief struct {
	For      Audience       `json:"for"`
	Run      pawl.RunID     `json:"run,omitempty"`
	Status   pawl.RunStatus `json:"status,omitempty"`
	Checked  time.Time      `json:"checked_at"`
	Budget   int            `json:"budget"` // bytes
	Cut      bool           `json:"cut"`    // lines were left out for lack of room
	Sections []Section      `json:"sections"`
	Doubts   []Doubt        `json:"doubts,omitempty"`

	Operations []Operation `json:"operations,omitempty"`

	Findings []pawl.Finding `json:"findings,omitempty"`
	Text     string         `json:"text"`
}

// Section is a part of a brief as it was written.
type Section struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
	More  int      `json:"more,omitempty"` // lines left out
}

// Options say for whom a brief is.
type Options struct {
	For    Audience // Defaults to Human.
	Budget int      // bytes. Defaults to what suits the audience, and is never more than it takes in.

	Redact func(string) string // takes secrets out of words. Defaults to leaving them.
}

// MinBudget is the least that a brief makes sense in; a smaller budget counts as this.
const MinBudget = 2000

// Make writes a brief.
func Make(f Facts, o Options) Brief {
	w := newWriter(f, o)
	sections := w.sections()
	b := Brief{
		For: w.audience, Checked: f.Now.UTC(), Budget: w.budget, Doubts: w.bareDoubts(), Operations: w.bareOperations(), Findings: w.bareFindings(),
	}
	if f.State != nil {
		b.Run, b.Status = f.State.Run, w.status
	}
	fit := w.fit(sections)
	b.Cut = fit.cut
	b.Text = w.text(fit)
	for _, s := range fit.taken {
		b.Sections = append(b.Sections, Section{Title: s.title, Lines: s.lines, More: s.more()})
	}
	return b
}

// writer is what all sections are written with.
type writer struct {
	Facts
	audience Audience
	budget   int
	redact   func(string) string
	status   pawl.RunStatus
	run      string // for commands
	steps    []step
	planned  int // how many of them are the plan's
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
		w.status = w.State.StatusNow(w.Engine != nil)
		w.steps, w.planned = stepsOf(w.State, w.Plan)
	}
	return w
}

// bareDoubts returns the doubts without secrets.
func (w *writer) bareDoubts() []Doubt {
	bare := slices.Clone(w.Doubts)
	for i := range bare {
		d := &bare[i]
		d.Item, d.Folder, d.Evidence = pawl.ItemID(w.flat(string(d.Item))), w.flat(d.Folder), w.bare(d.Evidence)
		if d.Verdict != nil {
			v := *d.Verdict
			v.Word, v.Reasons, v.Doubt = pawl.VerdictWord(w.flat(string(v.Word))), w.bare(v.Reasons), w.flat(v.Doubt)
			d.Verdict = &v
		}
	}
	return bare
}

// bareOperations returns the operations in doubt without secrets.
func (w *writer) bareOperations() []Operation {
	bare := slices.Clone(w.Operations)
	for i := range bare {
		o := &bare[i]
		o.Summary, o.Evidence, o.Paths, o.Judged = w.flat(o.Summary), w.bare(o.Evidence), w.bare(o.Paths), nil
	}
	return bare
}

// bareFindings returns the findings without secrets.
func (w *writer) bareFindings() []pawl.Finding {
	bare := slices.Clone(w.Findings)
	for i := range bare {
		f := &bare[i]
		f.What, f.Where, f.Evidence, f.Hint = w.flat(f.What), w.flat(f.Where), w.flat(f.Evidence), w.flat(f.Hint)
	}
	return bare
}

func (w *writer) bare(lines []string) []string {
	bare := slices.Clone(lines)
	for i := range bare {
		bare[i] = w.flat(bare[i])
	}
	return bare
}

// sections returns all there is to say, the most important first.
func (w *writer) sections() []section {
	if w.State == nil {
		return present(w.nothing(), w.memories())
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

// present leaves out sections in which nothing is.
func present(all ...section) []section {
	kept := all[:0]
	for _, s := range all {
		if s.total > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// text puts the sections one behind the other.
func (w *writer) text(f fitted) string {
	var out strings.Builder
	out.WriteString(w.head(f))
	for i := range f.taken {
		out.WriteString(w.render(i+1, &f.taken[i]))
	}
	out.WriteString(w.tail(f))
	return out.String()
}

// lastLine ends every brief.
const lastLine = "end of brief"

// head says what this is, and to those who may get a part of it, how to tell that it is whole.
func (w *writer) head(f fitted) string {
	title := "Brief"
	if w.State != nil {
		title = "Brief of run " + w.code(w.run)
	}
	text := "pawl checked all of this at " + at(w.Now) + ", but for what is said not to be checked."
	if w.audience != Human {
		text += " It has sections 1 to " + strconv.Itoa(len(f.taken)+1) + " and ends with the line \"" + lastLine +
			"\". If one of these is missing, it was cut on its way; what is left is still true."
	}
	if f.cut {
		text += " Lines were left out, for it may have " + strconv.Itoa(w.budget) + " bytes; each such place says so."
	}
	return w.title(title) + w.paragraph(text)
}

// tail says where to read more. It stands last, where agents that cut in the middle keep it.
func (w *writer) tail(f fitted) string {
	s := w.readMore(f)
	text := w.render(len(f.taken)+1, &s)
	if w.audience != Human {
		text += w.blank() + w.paragraph(lastLine)
	}
	return text
}
