package liveview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
)

// frame returns the lines that are redrawn in place, as many as the terminal has room for.
func (l *View) frame() []layout.Line {
	width, height := l.screen.size()
	return l.frameFor(time.Now(), width, height)
}

// frameFor returns the lines for a terminal of a width and height; 0: unknown. On a low terminal it leaves out output first, then items,
// then steps.
func (l *View) frameFor(now time.Time, width, height int) []layout.Line {
	d := drawing{View: l, now: now, label: 20, cells: 20, folded: maxFolded, items: maxItems}
	if width > 0 && width < 80 {
		d.label, d.cells = max(8, width/4), 10
	}
	if width > 0 && width < 50 {
		d.cells = 0
	}
	if len(l.state.Live()) > 1 {
		d.folded = 1
	}
	lines := d.lines()
	for height > 1 && len(lines) > height-1 {
		switch {
		case d.folded > 0:
			d.folded--
		case d.items > 0:
			d.items--
		default:
			return slices.Concat(lines[:max(0, height-2)], lines[len(lines)-1:])
		}
		lines = d.lines()
	}
	return lines
}

// maxItems is how many running items of a foreach step are shown.
const maxItems = 4

// drawing draws a frame.
type drawing struct {
	*View
	now           time.Time
	label         int // columns for names
	cells         int // of a bar; 0: no bars
	folded, items int // lines of output of each attempt; items of each step
}

func (d drawing) lines() []layout.Line {
	var lines []layout.Line
	for _, step := range d.plan.Steps() {
		lines = append(lines, d.step(step)...)
	}
	return append(lines, d.total())
}

// row is a line with a name, a status, the time elapsed, unless nothing runs, and details.
func (d drawing) row(name, status string, elapsed time.Duration, details string) layout.Line {
	time := ""
	if elapsed >= 0 {
		time = Elapsed(elapsed)
	}
	text := strings.TrimRight("  "+layout.Pad(time, 6)+"  "+layout.Printable(strings.ReplaceAll(details, "\n", " ")), " ")
	name = layout.Pad(layout.Fit(layout.Printable(name), d.label), d.label)
	return layout.Line{{Text: name + " ", Colour: layout.Plain}, {Text: layout.Pad(status, 7), Colour: layout.StepColour(status)}, {Text: text, Colour: layout.Plain}}
}

// noTime is the elapsed time of what does not run.
const noTime = -1

func (d drawing) step(step *pawl.Step) []layout.Line {
	st := d.state.Steps[step.ID]
	if st == nil {
		return nil
	}
	if serving := st.Serving(); serving != nil {
		return []layout.Line{d.row(string(step.ID), "ready", d.now.Sub(serving.Ready), "service")}
	}
	switch live := st.Live(); {
	case st.Status == pawl.AwaitsGate:
		return []layout.Line{d.row(string(step.ID), string(st.Status), noTime, "for an answer: pawl gates")}
	case st.Status == pawl.AwaitsReview:
		return []layout.Line{d.row(string(step.ID), "waiting", noTime, "for a review by "+strings.Join(st.Unreviewed(), ", "))}
	case st.Items != nil && st.Status == pawl.Running:
		return d.foreach(step.ID, st, live)
	case len(live) > 0 && step.Service != nil:
		return d.starting(step, live[0])
	case len(live) > 0:
		return d.attempt(string(step.ID), live[0], d.folded)
	case st.Status == pawl.Running && st.Retries.Last != nil && st.Retries.Last.RetryAt.After(d.now):
		return []layout.Line{d.row(string(step.ID), "waiting", noTime, "next attempt in "+Elapsed(st.Retries.Last.RetryAt.Sub(d.now)))}
	case st.Status == pawl.Running:
		return []layout.Line{d.row(string(step.ID), string(st.Status), d.now.Sub(st.Started), "")}
	}
	return nil
}

// starting draws a service that is not ready: how long it is waited for, and why. Once it is released, it is ending.
func (d drawing) starting(step *pawl.Step, a *pawl.AttemptState) []layout.Line {
	lines := d.attempt(string(step.ID), a, d.folded)
	details := a.NotReady(step.Service.Timeout, d.now)
	if a.Released != "" {
		details = "ending: " + a.Released
	}
	lines[0] = d.row(string(step.ID), string(pawl.Running), d.now.Sub(a.Started), details)
	return lines
}

// foreach draws a foreach step: how many items are finished, how many failed, and how fast; below it, items that run.
func (d drawing) foreach(id pawl.StepID, st *pawl.StepState, live []*pawl.AttemptState) []layout.Line {
	details := d.bar(st.Items.Count, st.Items.Size()) + fmt.Sprintf("%d/%d", st.Items.Count, st.Items.Size())
	if failed := len(st.Items.Failed); failed > 0 {
		details += fmt.Sprintf(", %d failed", failed)
	}
	begun := st.Started
	if pace := d.paces[id]; pace != nil {
		begun = pace.begun
		details += pace.text(st.Items, d.now)
	}
	lines := []layout.Line{d.row(string(id), string(pawl.Running), d.now.Sub(begun), details)}
	shown := live[:min(len(live), d.items)]
	for _, item := range shown {
		lines = append(lines, d.attempt("  "+d.itemOf(item.AttemptRef), item, min(1, d.folded))...)
	}
	if more := len(live) - len(shown); more > 0 && len(shown) > 0 {
		lines = append(lines, layout.Line{{Text: fmt.Sprintf("  … and %d more", more), Colour: layout.Faint}})
	}
	return lines
}

// attempt draws an attempt that runs: what it reported last, and below it the last lines of its output.
func (d drawing) attempt(name string, a *pawl.AttemptState, folded int) []layout.Line {
	details := ""
	if a.Attempt > 1 && a.Item == "" {
		details = fmt.Sprintf("attempt %d, ", a.Attempt)
	}
	details = strings.TrimSuffix(details+d.progress(a), ", ")
	lines := []layout.Line{d.row(name, string(pawl.Running), d.now.Sub(a.Started), details)}
	for _, warning := range a.Warnings {
		lines = append(lines, layout.Line{{Text: "    warning: " + warning, Colour: layout.Yellow}})
	}
	for _, text := range d.outputs.last(a.Token, folded) {
		lines = append(lines, layout.Line{{Text: "    | " + text, Colour: layout.Faint}})
	}
	return lines
}

// progress says what an attempt reported last, with a bar if that has a number.
func (d drawing) progress(a *pawl.AttemptState) string {
	p := a.Progress
	if p == nil {
		return ""
	}
	if p.Done == nil {
		return p.Text
	}
	total := 100.0
	if p.Total != nil {
		total = *p.Total
	}
	text := d.bar(int(*p.Done), int(total)) + cmp.Or(p.Text, fmt.Sprintf("%g/%g", *p.Done, total))
	if *p.Done > 0 && *p.Done < total {
		took := p.Time.Sub(a.Started)
		if left := time.Duration(float64(took)*(total-*p.Done) / *p.Done) - d.now.Sub(p.Time); left >= time.Second {
			text += ", ETA " + Elapsed(left)
		}
	}
	return text
}

// total draws the whole run.
func (d drawing) total() layout.Line {
	percent, tally := d.state.Percent(d.plan), d.state.Tally(d.plan)
	details := fmt.Sprintf("%s%d%%, %d of %s", d.bar(percent, 100), percent, len(tally.Done)+len(tally.Skipped), layout.Count(tally.Total, "step"))
	status := d.state.StatusNow(true)
	line := d.row("run "+d.state.Name, string(status), d.now.Sub(d.state.Created), details)
	line[0].Colour, line[1].Colour = layout.Bold, layout.RunColour(status)
	return line
}

// bar draws done of total, with a space after it.
func (d drawing) bar(done, total int) string {
	if d.cells == 0 {
		return ""
	}
	full := 0
	if total > 0 {
		full = min(d.cells, max(0, done)*d.cells/total)
	}
	return "[" + strings.Repeat("█", full) + strings.Repeat("░", d.cells-full) + "] "
}

// nameOf returns the name of what an attempt works on: the step, or the step and the value of the item.
func (l *View) nameOf(ref pawl.AttemptRef) string {
	if ref.Item == "" {
		return string(ref.Step)
	}
	return string(ref.Step) + "/" + l.itemOf(ref)
}

// itemOf returns the value of the item that an attempt works on or, if the value is not known, its id.
func (l *View) itemOf(ref pawl.AttemptRef) string {
	return l.names.Of(ref)
}
