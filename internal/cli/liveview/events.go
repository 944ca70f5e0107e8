package liveview

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/disk"
	"pawl/internal/redact"
)

// colourOf returns the color of an event.
func colourOf(t pawl.EventType) layout.Colour {
	switch t {
	case pawl.StepDone{}.Event():
		return layout.Green
	case pawl.StepFailed{}.Event(), pawl.AttemptEnded{}.Event(), pawl.WatchdogActed{}.Event():
		return layout.Red
	case pawl.GateOpened{}.Event(), pawl.BlockerOpened{}.Event():
		return layout.Yellow
	}
	return layout.Plain
}

// colourOf returns the color of an event in this run.
func (l *View) colourOf(payload pawl.Payload) layout.Colour {
	if done, ok := payload.(pawl.StepDone); ok && l.matchesNothing(done.Step) {
		return layout.Yellow
	}
	return colourOf(payload.Event())
}

// matchesNothing reports whether the items of a finished step are files, and there are none.
func (l *View) matchesNothing(id pawl.StepID) bool {
	step, st := l.plan.Step(id), l.state.Steps[id]
	return step != nil && step.Foreach != nil && step.Foreach.Files != "" && st != nil && st.Items != nil && st.Items.Total == 0
}

// eventLines describes an event; none for events that are not shown.
func (l *View) eventLines(e pawl.Event) []layout.Line {
	payload, err := e.Payload()
	if err != nil {
		return nil
	}
	text := l.names.In(l.eventText(payload, e.Time))
	if text == "" {
		return nil
	}
	var lines []layout.Line
	for i, line := range strings.Split(text, "\n") {
		colour := l.colourOf(payload)
		if i > 0 {
			colour = layout.Plain
		}
		lines = append(lines, layout.Line{{Text: line, Colour: colour}})
	}
	return lines
}

func (l *View) eventText(payload pawl.Payload, at time.Time) string {
	switch p := payload.(type) {
	case pawl.StepListed:
		return fmt.Sprintf("%-20s %s", p.Step, layout.Count(p.From+len(p.Items), "item"))
	case pawl.AttemptStarted:
		return l.startedText(p, at)
	case pawl.ItemDone:
		l.paces[p.Step].finished(at)
		return l.itemText(p.Step)
	case pawl.StepDone:
		return l.doneText(p)
	case pawl.AttemptEnded:
		if p.Outcome == pawl.WaitsFor {
			return "" // the line of its gate says so
		}
		return l.endedText(p) + leftoversText(p.Stats) + l.outputTail(p)
	case pawl.StepFailed:
		if p.Continued {
			return fmt.Sprintf("%-20s failed: %s; the run continues (continue_on_error)", p.Step, p.Why)
		}
		return fmt.Sprintf("%-20s failed: %s", p.Step, p.Why)
	case pawl.StepReopened:
		delete(l.paces, p.Step)
		delete(l.started, p.Step)
		return fmt.Sprintf("%-20s rerun: %s", p.Step, p.Text(l.state))
	case pawl.StepSkipped:
		if p.Condition != "" {
			return fmt.Sprintf("%-20s skipped: %s", p.Step, layout.OneLine(pawl.ConditionFalse(p.Condition)))
		}
		return fmt.Sprintf("%-20s skipped", p.Step)
	case pawl.GateOpened:
		return fmt.Sprintf("%-20s gate %s: %s", p.Step, p.ID, p.Ask)
	case pawl.GateAnswered:
		return fmt.Sprintf("%-20s gate %s %s%s%s", p.Step, p.Gate, strings.TrimSpace(string(p.Answer)+" "+p.Option), layout.Parenthesized(p.Why), inFile(p.Where))
	case pawl.BlockerOpened:
		return fmt.Sprintf("%-20s blocked: %s", p.Step, p.Text)
	case pawl.Progressed:
		if l.screen == nil && (p.Marker == nil || isPercentage(p.Marker)) && p.Text != "" && !p.Saving {
			return fmt.Sprintf("%-20s %s", l.nameOf(p.AttemptRef), p.Text)
		}
	default:
		return l.supervisionText(payload, at)
	}
	return ""
}

// isPercentage reports whether a marker says how far a step is. Others are of no interest without the output in which they are.
func isPercentage(m *pawl.Marker) bool { return m.Subtype != nil && *m.Subtype == "progress" }

// supervisionText describes events of the engine, the watchdog and services.
func (l *View) supervisionText(payload any, at time.Time) string {
	switch p := payload.(type) {
	case pawl.EngineStarted:
		if p.Parallel.Limit > 0 && l.plan.Concurrent() {
			return "parallel: " + p.Parallel.String()
		}
	case pawl.ServiceWaiting:
		if l.screen == nil { // elsewhere its line is redrawn
			return fmt.Sprintf("%-20s %s", p.Step, p.Text())
		}
	case pawl.ServiceReady:
		return fmt.Sprintf("%-20s ready%s", p.Step, l.readyAfter(p.AttemptRef, at))
	case pawl.WatchdogActed:
		if p.Action == pawl.WatchdogReports {
			return fmt.Sprintf("%-20s warning: %s", l.nameOf(p.AttemptRef), p.Evidence)
		}
		return fmt.Sprintf("%-20s watchdog: %s: %s (%s)", l.nameOf(p.AttemptRef), p.Health, p.Action, p.Evidence)
	case pawl.MachineSlept:
		return fmt.Sprintf("the machine was suspended for %s", layout.Seconds(p.Seconds))
	}
	return ""
}

func (l *View) startedText(p pawl.AttemptStarted, now time.Time) string {
	if st := l.state.Steps[p.Step]; p.Item != "" && l.paces[p.Step] == nil && st != nil && st.Items != nil {
		l.paces[p.Step] = &pace{begun: now, base: st.Items.Count}
	}
	if _, seen := l.started[p.Step]; p.Item == "" && !seen {
		l.started[p.Step] = now
	}
	switch {
	case p.Item != "":
		return ""
	case p.Attempt > 1:
		return fmt.Sprintf("%-20s started (attempt %d)", p.Step, p.Attempt)
	}
	return fmt.Sprintf("%-20s started", p.Step)
}

// doneText describes a finished step with the time that passed for it. If the sum over its attempts is another time, it says that too.
func (l *View) doneText(p pawl.StepDone) string {
	st := l.state.Steps[p.Step]
	note, took := cmp.Or(p.Adopted, p.Summary), st.Seconds
	begun, seen := l.started[p.Step]
	if pace := l.paces[p.Step]; pace != nil && st.Items != nil {
		begun, seen = pace.begun, true
	}
	if seen && p.Adopted == "" {
		took = st.Ended.Sub(begun).Seconds()
	}
	if difference := math.Abs(took - st.Seconds); st.Items != nil || difference > max(1, took/10) {
		note = strings.TrimPrefix(note+", "+cmp.Or(layout.Seconds(st.Seconds), "0s")+" of step time", ", ")
	}
	if p.Save != nil && p.Save.Unsaved() != "" {
		note = layout.WithoutSnapshot(note, p.Save.Unsaved())
	}
	if l.matchesNothing(p.Step) {
		return fmt.Sprintf("%-20s warning: %s; the step is done", p.Step, cmp.Or(p.Summary, "no items"))
	}
	text := fmt.Sprintf("%-20s done", p.Step)
	if took > 0 {
		text += " in " + layout.Seconds(took)
	}
	return text + layout.Parenthesized(note) + leftoversText(p.Stats)
}

// readyAfter says how long a service took until it was ready; "" if it was ready when pawl found it again.
func (l *View) readyAfter(ref pawl.AttemptRef, now time.Time) string {
	live := l.state.Steps[ref.Step].Serving()
	if live == nil || l.state.Engines > 1 && live.Seq < l.began {
		return ""
	}
	return " after " + cmp.Or(layout.Seconds(now.Sub(live.Started).Seconds()), "0s")
}

// leftoversText is a line about processes that a step left running; "" for none.
func leftoversText(stats *pawl.AttemptStats) string {
	if stats == nil || stats.Killed == 0 {
		return ""
	}
	return "\n    " + layout.Leftovers(stats.Killed, stats.Leftovers) + "; for a process that later steps need, use a service step"
}

// itemText reports in a pipe how many items are finished, about ten times per step.
func (l *View) itemText(id pawl.StepID) string {
	items := l.state.Steps[id].Items
	if l.screen != nil || items.Count < items.Size() && items.Count-l.printed[id] < max(1, items.Size()/10) {
		return ""
	}
	l.printed[id] = items.Count
	return fmt.Sprintf("%-20s %d of %d items", id, items.Count, items.Size())
}

func (l *View) endedText(p pawl.AttemptEnded) string {
	text := fmt.Sprintf("%-20s attempt %d %s: %s", l.nameOf(p.AttemptRef), p.Attempt, OutcomeText(p.Outcome), p.Why)
	if !p.RetryAt.IsZero() {
		text += fmt.Sprintf("; next attempt at %s UTC", p.RetryAt.UTC().Format(time.TimeOnly))
	}
	return text
}

// OutcomeText returns the outcome of an attempt for people.
func OutcomeText(o pawl.Outcome) string {
	switch o {
	case pawl.Lost:
		return "crashed"
	case pawl.NotStarted:
		return "crashed before it started"
	}
	return string(o)
}

// inFile names the file of another system in which a user wrote an answer.
func inFile(where string) string {
	if where == "" {
		return ""
	}
	return ", written in " + where
}

// outputTail returns the last lines that a failed attempt printed, indented, unless all of its output is shown.
func (l *View) outputTail(p pawl.AttemptEnded) string {
	if p.Outcome != pawl.Failed || l.command || l.outputs.mode == OutputStream {
		return ""
	}
	dir := l.project.AttemptDir(p.AttemptRef, l.state.Run)
	for _, name := range []string{pawl.ErrFile, pawl.OutFile} {
		if lines := lastLines(filepath.Join(dir, name), 5); len(lines) > 0 {
			return "\n    | " + strings.Join(lines, "\n    | ")
		}
	}
	return ""
}

// lastLines returns the last n lines of a file, redacted; none if it cannot be read.
func lastLines(path string, n int) []string {
	f, err := disk.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	const limit = 4096
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	tail := make([]byte, min(limit, info.Size()))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return nil
	}
	text := strings.TrimSpace(redact.OfProcess().Text(string(layout.WithoutNUL(tail))))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}
