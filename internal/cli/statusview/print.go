package statusview

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
)

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
	fmt.Fprintf(w, "%s  %s  %d%%\n", r.Run, statusText(r), r.Percent)
	if r.Goal != "" {
		fmt.Fprintf(w, "goal      %s\n", r.Goal)
	}
	printPosition(w, r.Position)
	if r.Full != nil {
		fmt.Fprintf(w, "disk      the disk that holds .pawl is full: %s; pawl waits until there is space\n", r.Full)
	}
	fmt.Fprintf(w, "activity  %s, %s of step time\n", layout.UTCWithZone(r.Updated), cmp.Or(layout.Seconds(r.Seconds), "0s"))
	if len(r.Steps) > 0 || r.Kind != pawl.SessionRun {
		fmt.Fprintln(w)
		if err := stepTable(w, r.Steps); err != nil {
			return err
		}
	}
	for _, s := range r.Steps {
		if len(s.Offers) > 0 {
			fmt.Fprintf(w, "\nstep %s failed  %s\n  %s\n", s.ID, s.Why, strings.Join(s.Offers, "\n  "))
		}
	}
	for _, g := range r.Gates {
		fmt.Fprintln(w)
		layout.PrintGate(w, g)
	}
	for _, b := range r.Blockers {
		fmt.Fprintf(w, "\nblocker %d  %s\n  %s\n", b.ID, b.Text, r.onRun(fmt.Sprintf("pawl unblock %d", b.ID)))
	}
	printSessions(w, r.Sessions)
	printInDoubt(w, r.Doubts)
	switch {
	case r.Status != pawl.StatusInterrupted && r.Status != pawl.StatusPaused:
	case r.Kind == pawl.SessionRun:
	case r.Kind == pawl.DurableRun:
		fmt.Fprintln(w, "\nTo resume this run, start the program that created it.")
	default:
		fmt.Fprintf(w, "\npawl resume %s\n", r.Run)
	}
	return nil
}

func statusText(r Report) string {
	text := string(r.Status)
	if r.Engine != nil {
		text += fmt.Sprintf(" (engine pid %d)", r.Engine.PID)
	}
	if r.answered != "" && r.Status == pawl.StatusInterrupted {
		return "ready to resume: " + r.answered
	}
	if r.Why != "" {
		text += ": " + layout.OneLine(r.Why)
	}
	return text
}

func stepTable(w io.Writer, steps []Step) error {
	rows := make([][]string, 0, len(steps))
	for _, s := range steps {
		items := ""
		if s.Items.Total > 0 {
			items = fmt.Sprintf("%d/%d", s.Items.Done, s.Items.Total)
			if s.Items.Failed > 0 {
				items += fmt.Sprintf(" (%d failed)", s.Items.Failed)
			}
		}
		note := cmp.Or(s.answered, s.review, s.Why, s.Summary)
		if s.Status == pawl.Running && s.Progress != nil {
			note = s.Progress.Text
		}
		if s.Unsaved != "" {
			note = layout.WithoutSnapshot(note, s.Unsaved)
		}
		rows = append(rows, []string{s.Phase, string(s.ID), s.statusWord(), items, layout.NonZero(s.Attempts), layout.Seconds(s.Seconds), layout.OneLine(note)})
	}
	return layout.Table(w, []string{"PHASE", "STEP", "STATUS", "ITEMS", "ATTEMPTS", "TIME", "NOTE"}, rows)
}
