package statusview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// standing returns the status of a run and its reason. An engine of another project that has not ended may still work: nothing here tells.
func standing(p *project.Project, r *runs.Run, alive bool) string {
	word, why := r.State.StandingIn(r.Plan, alive)
	if e := r.State.Engine; e != nil && !alive && why == "" && resume.Elsewhere(p, r.State) {
		why = fmt.Sprintf("its newest engine is or was another one, in project %.13s on host %s, pid %d", e.Home, e.Host, e.PID)
	}
	if why == "" {
		return word
	}
	return word + ": " + layout.OneLine(why)
}

func printPosition(w io.Writer, pos pawl.Position) {
	if pos.Complete || pos.StepTotal == 0 {
		return
	}
	fmt.Fprintf(w, "position  phase %d of %d (%s), step %d of %d (%s)", pos.Phase, pos.PhaseTotal, pos.PhaseName, pos.Step, pos.StepTotal, pos.StepID)
	if pos.WaveTotal > 0 {
		fmt.Fprintf(w, ", level %d of %d", pos.Wave, pos.WaveTotal)
	}
	if pos.ItemTotal > 0 {
		fmt.Fprintf(w, ", item %d of %d", pos.Item, pos.ItemTotal)
	}
	fmt.Fprintln(w)
}

// Print prints the report.
func (r Report) Print(w io.Writer) error {
	w, flush := layout.Buffered(w)
	return cmp.Or(r.print(w), flush())
}

func (r Report) print(w io.Writer) error {
	layout.Print(w, layout.Span{Text: string(r.Run), Colour: layout.Bold}, layout.Span{Text: "  "},
		layout.Span{Text: r.statusText(), Colour: layout.RunColour(r.Status)}, layout.Span{Text: r.percentText() + "\n"})
	if r.Goal != "" {
		fmt.Fprintf(w, "goal      %s\n", r.Goal)
	}
	if r.ParamsLine != "" {
		fmt.Fprintf(w, "params    %s\n", layout.OneLine(r.ParamsLine))
	}
	printPosition(w, r.Position)
	if r.Full != nil {
		fmt.Fprintf(w, "disk      the disk that holds .pawl is full: %s; pawl waits until there is space\n", r.Full)
	}
	if r.Restore != nil {
		fmt.Fprintf(w, "files     %s\n", runs.UnfinishedRestoreText(r.Restore))
	}
	fmt.Fprintf(w, "activity  %s%s\n", layout.UTCWithZone(r.Updated), r.stepTime())
	if len(r.Steps) > 0 || r.Kind != pawl.SessionRun {
		fmt.Fprintln(w)
		if err := r.stepTable(w); err != nil {
			return err
		}
	}
	r.printWarnings(w)
	r.printFailures(w)
	r.printEnd(w)
	for _, g := range r.Gates {
		fmt.Fprintln(w)
		layout.PrintGate(w, g)
	}
	for _, b := range r.Blockers {
		fmt.Fprintf(w, "\nblocker %d  %s\n  %s\n", b.ID, b.Text, r.onRun(fmt.Sprintf("pawl unblock %d", b.ID)))
	}
	printSessions(w, r.Sessions)
	printInDoubt(w, r.Doubts)
	for _, found := range r.Importable {
		fmt.Fprintf(w, "\n%s\n", found.Offer())
	}
	switch {
	case r.Unverified: // it cannot be resumed
	case r.Status != pawl.StatusInterrupted && r.Status != pawl.StatusPaused:
	case r.Kind == pawl.SessionRun:
	case r.Kind == pawl.DurableRun:
		fmt.Fprintln(w, "\n"+runs.StartProgram)
	default:
		fmt.Fprintf(w, "\n%s\n", r.Next)
	}
	return nil
}

// percentText returns how much of a plan is finished; empty for a session, which has no plan.
func (r Report) percentText() string {
	if r.Kind == pawl.SessionRun {
		return ""
	}
	return fmt.Sprintf("  %d%%", r.Percent)
}

// stepTime returns the total time of the attempts; empty for a session without any.
func (r Report) stepTime() string {
	if r.Kind == pawl.SessionRun && r.Seconds == 0 {
		return ""
	}
	return fmt.Sprintf(", %s of step time", cmp.Or(layout.Seconds(r.Seconds), "0s"))
}

// printWarnings prints what pawl warns about cells that run.
func (r Report) printWarnings(w io.Writer) {
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, live := range s.Live {
			for _, warning := range live.Warnings {
				layout.Print(w, layout.Span{Text: fmt.Sprintf("\nstep %s warning", s.ID), Colour: layout.Yellow}, layout.Span{Text: "  " + layout.OneLine(warning) + "\n"})
			}
		}
	}
}

// printFailures prints the failed steps with commands that help. Failures that the plan allows come last, without a task.
func (r Report) printFailures(w io.Writer) {
	var allowed []string
	for i := range r.Steps {
		s := &r.Steps[i]
		switch {
		case s.Continued:
			text := fmt.Sprintf("%s  %s", s.ID, layout.OneLine(s.Why))
			if len(s.Offers) > 0 { // the first one is the retry
				text += "; " + s.Offers[0] + " reruns it"
			}
			allowed = append(allowed, text)
		case len(s.Offers) > 0:
			layout.Print(w, layout.Span{Text: fmt.Sprintf("\nstep %s failed", s.ID), Colour: layout.Red}, layout.Span{Text: fmt.Sprintf("  %s\n  %s\n", s.Why, strings.Join(s.Offers, "\n  "))})
		}
	}
	if len(allowed) > 0 {
		fmt.Fprintf(w, "\nfailed, allowed (continue_on_error):\n  %s\n", strings.Join(allowed, "\n  "))
	}
}

// maxUnsent is how many notices that could not be sent are printed.
const maxUnsent = 5

// printEnd prints the handlers that have started, and the last notices that could not be sent.
func (r Report) printEnd(w io.Writer) {
	for _, h := range r.Handlers {
		if h.Status != pawl.FailedForGood {
			fmt.Fprintf(w, "\n%s %s\n", h.ID, h.statusWord())
			continue
		}
		fmt.Fprintf(w, "\n%s failed  %s (this does not change the result of the run)\n  %s\n", h.ID, h.Why, strings.Join(h.Offers, "\n  "))
	}
	for i, n := range r.Unsent[max(0, len(r.Unsent)-maxUnsent):] {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s notification to %s not delivered: %s\n", n.Kind, n.To, layout.OneLine(n.Error))
	}
	if more := len(r.Unsent) - maxUnsent; more > 0 {
		fmt.Fprintf(w, "%s more not delivered\n", layout.Count(more, "notification"))
	}
}

// StandingWord returns the status without its reason, as people read it.
func (r Report) StandingWord() string {
	word, _, _ := strings.Cut(r.statusText(), ": ")
	return word
}

// statusText returns the status as people read it. A session is active only while its agent is alive.
func (r Report) statusText() string {
	switch {
	case r.Engine != nil:
		word, why, reason := strings.Cut(r.Standing, ": ")
		word += fmt.Sprintf(" (engine pid %d)", r.Engine.PID)
		if reason {
			word += ": " + why
		}
		return word
	case r.Kind == pawl.SessionRun && r.Status == pawl.StatusActive && !slices.ContainsFunc(r.Sessions, func(x Session) bool { return !x.Gone }):
		return "session, no live agent"
	case r.Kind == pawl.SessionRun:
		return "session, " + r.Standing
	}
	return r.Standing
}

func (r Report) stepTable(w io.Writer) error {
	rows := make([][]string, 0, len(r.Steps))
	for i := range r.Steps {
		s, items := &r.Steps[i], ""
		if s.Items.Total > 0 {
			items = fmt.Sprintf("%d/%d", s.Items.Done, s.Items.Total)
			if s.Items.Failed > 0 {
				items += fmt.Sprintf(" (%d failed)", s.Items.Failed)
			}
		}
		note := cmp.Or(s.Why, s.Summary)
		switch {
		case s.Note != "":
			note = s.Note
		case s.Condition != "":
			note = pawl.ConditionFalse(s.Condition)
		case s.Status == pawl.Skipped:
			note = s.Why
		case s.Continued:
			note = s.Why + " (continue_on_error)"
		case s.From != nil && s.Status == pawl.Done:
			note = s.Adopted
		case s.Status == pawl.Running && s.Progress != nil:
			note = s.Progress.Text
		case s.Status == pawl.Running && s.Service != nil:
			note = s.Service.text()
		}
		note = strings.TrimPrefix(strings.TrimSuffix(note+"; "+layout.Leftovers(s.Killed, s.Leftovers), "; "), "; ")
		if s.Unsaved != "" {
			note = layout.WithoutSnapshot(note, s.Unsaved)
		}
		rows = append(rows, []string{s.Phase, string(s.ID), s.statusWord(), items, layout.NonZero(s.Attempts), layout.Seconds(s.Seconds), layout.OneLine(note)})
	}
	head := []string{"PHASE", "STEP", "STATUS", "ITEMS", "ATTEMPTS", "TIME", "NOTE"}
	return layout.PaintedTable(w, head, rows, func(row, column int) layout.Colour {
		if column != 2 {
			return layout.Plain
		}
		return layout.StepColour(rows[row][column])
	})
}
