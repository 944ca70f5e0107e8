// Package resumeview prints what a resume finds and does: the run, the changes of its plan, verdicts, and its steps.
package resumeview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/decide"
	"pawl/internal/oneline"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// Resuming prints the run, its phase, its last activity and what is finished.
func Resuming(w io.Writer, r *runs.Run) {
	s, pos, names := r.State, r.State.Position(r.Plan), r.ItemNames()
	fmt.Fprintf(w, "Resuming %s\n", s.Run)
	if s.Goal != "" {
		fmt.Fprintf(w, "  goal           %s\n", s.Goal)
	}
	fmt.Fprintf(w, "  phase          %d of %d (%s)\n", pos.Phase, pos.PhaseTotal, pos.PhaseName)
	fmt.Fprintf(w, "  last activity  %s\n", layout.UTCWithZone(s.LastActive()))
	tally, live := s.Tally(r.Plan), []string(nil)
	for _, l := range s.Live() {
		live = append(live, names.In(fmt.Sprintf("%s (attempt %d)", l.Name(), l.Attempt)))
	}
	fmt.Fprintf(w, "  finished       %d of %s%s, %d%%\n", len(tally.Done), layout.Count(tally.Total, "step"), nameList(tally.Done), s.Percent(r.Plan))
	if len(tally.Skipped) > 0 {
		fmt.Fprintf(w, "  skipped        %d%s\n", len(tally.Skipped), nameList(tally.Skipped))
	}
	if len(tally.Failed) > 0 {
		fmt.Fprintf(w, "  failed         %d (continue_on_error)%s\n", len(tally.Failed), nameList(tally.Failed))
	}
	if pos.ItemTotal > 0 {
		fmt.Fprintf(w, "  items of %-5s %d of %d finished\n", pos.StepID, s.Steps[pos.StepID].Items.Count, pos.ItemTotal)
	}
	if len(live) > 0 {
		fmt.Fprintf(w, "  checking       interrupted attempts: %s\n", strings.Join(live, ", "))
	}
	if s.Shell == "" && hasDefaultShell(r.Plan) {
		fmt.Fprintf(w, "  shell          an earlier version of pawl started this run; its scripts without a shell run with plain sh, which ignores failed commands\n")
	}
}

// Parallel prints how many attempts of a plan run at a time, if more than one could.
func Parallel(w io.Writer, plan *pawl.Plan, limit pawl.Parallel) {
	if plan.Concurrent() {
		fmt.Fprintf(w, "  parallel       %s\n", limit)
	}
}

// hasDefaultShell reports whether a plan has scripts for the default shell.
func hasDefaultShell(plan *pawl.Plan) bool {
	return slices.ContainsFunc(plan.Steps(), func(s *pawl.Step) bool {
		return s.Shell == "" && (s.Run != "" || s.Undo != "" || len(s.Accept) > 0)
	})
}

func nameList(ids []pawl.StepID) string {
	switch {
	case len(ids) == 0:
		return ""
	case len(ids) > 8:
		return fmt.Sprintf(" (…, %s)", layout.JoinIDs(ids[len(ids)-7:]))
	}
	return " (" + layout.JoinIDs(ids) + ")"
}

// PlanDiff prints what changed in the plan, inputs and outputs, and which steps rerun because of it.
// resuming says that the resume is about to use it.
func PlanDiff(w io.Writer, c *resume.PlanDiff, resuming bool) {
	switch {
	case c.Edited && resuming:
		fmt.Fprintln(w, "The plan has changed since the last run:")
	case c.Edited:
		fmt.Fprintln(w, "The plan has changed since the last run; resume will use the new version.")
	}
	for line := range strings.Lines(c.Patch) {
		fmt.Fprintf(w, "  %s", line)
	}
	for _, text := range c.Weakened {
		fmt.Fprintf(w, "  weaker   %s\n", text)
	}
	for _, x := range c.Rerun {
		fmt.Fprintf(w, "  rerun    %s\n", x.Text())
	}
	for _, id := range c.Recheck {
		fmt.Fprintf(w, "  recheck  step %s (acceptance checks changed)\n", id)
	}
	for _, id := range c.Reset {
		fmt.Fprintf(w, "  rerun    step %s (%s)\n", id, cmp.Or(c.ResetWhy[id], pawl.DefinitionChanged))
	}
	for _, id := range c.Conditions {
		fmt.Fprintf(w, "  check    the condition of step %s, which was false\n", id)
	}
	for _, id := range c.Tolerance {
		fmt.Fprintf(w, "  change   continue_on_error of step %s, which failed\n", id)
	}
	for _, id := range c.NewAxes {
		fmt.Fprintf(w, "  rerun    step %s: the axes of its matrix changed, so all combinations are new items\n", id)
	}
	for _, x := range c.Dropped {
		fmt.Fprintf(w, "  drop     %s of step %s, no longer on the list: %s\n", layout.Count(len(x.Values), "item"), x.Step, values(x.Values))
	}
	for _, x := range c.Returned {
		fmt.Fprintf(w, "  run      %s of step %s, back on the list: %s\n", layout.Count(len(x.Values), "item"), x.Step, values(x.Values))
	}
	for _, o := range c.OutputEdits {
		edited := slices.DeleteFunc(slices.Clone(o.Paths), func(path string) bool { return slices.Contains(o.Missing, path) })
		noteOutputs(w, o.Step, edited, "edited")
		noteOutputs(w, o.Step, o.Missing, "deleted")
	}
}

// noteOutputs prints which outputs of a finished step were changed since.
func noteOutputs(w io.Writer, step pawl.StepID, paths []string, what string) {
	if len(paths) > 0 {
		fmt.Fprintf(w, "  note     output of step %s %s since: %s; no step reruns because of it\n", step, what, oneline.Paths(paths))
	}
}

// Verdict prints what a resume does about an interrupted attempt.
func Verdict(w io.Writer, names *runs.ItemNames, j resume.Judged) {
	name := names.In(pawl.AttemptRef{Step: j.Step, Item: j.Item}.Name())
	fmt.Fprintf(w, "  %-20s attempt %d: %s\n", name, j.Attempt, j.Text())
}

// Examination prints findings, verdicts and what happens to each step.
func Examination(w io.Writer, r *runs.Run, change *resume.PlanDiff, x *resume.Examination, limit pawl.Parallel, steps []decide.Decision) {
	Resuming(w, r)
	Parallel(w, change.Plan(), limit)
	PlanDiff(w, change, false)
	fmt.Fprintln(w, "\nFindings:")
	Findings(w, r.ItemNames(), x, true)
	fmt.Fprintln(w, "\nVerdicts:")
	for _, j := range x.Verdicts {
		Verdict(w, r.ItemNames(), j)
	}
	if len(x.Verdicts) == 0 {
		fmt.Fprintln(w, "  none: no attempt was interrupted")
	}
	if r.State.Import.Next != "" && !hasAttempts(r.State) {
		fmt.Fprintf(w, "  imported from %s: %s\n", r.State.Import.System, r.State.Import.Next)
	}
	fmt.Fprintln(w, "\nSteps:")
	Decisions(w, "  ", steps, false)
}

// hasAttempts reports whether any step was started.
func hasAttempts(s *pawl.State) bool {
	for _, st := range s.Steps {
		if st.Attempts > 0 {
			return true
		}
	}
	return false
}

// Findings prints all findings, or only those that are not ok.
func Findings(w io.Writer, names *runs.ItemNames, x *resume.Examination, all bool) {
	for _, f := range x.Findings {
		if all || f.Level != pawl.OK {
			fmt.Fprint(w, "  ")
			f.Where, f.What = names.In(f.Where), names.In(f.What)
			layout.PrintFinding(w, f)
		}
	}
}
