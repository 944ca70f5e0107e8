package resumeview

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/liveview"
	"pawl/internal/oneline"
	"pawl/internal/project"
	"pawl/internal/recovery"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/shellwords"
)

// Explain prints the journaled verdicts of a run, or of one step, and what a resume would do about attempts without a verdict
// yet. onRun names the run in a command.
func Explain(w io.Writer, p *project.Project, r *runs.Run, step pawl.StepID, list []resume.Explained, onRun func(command string) string) error {
	e := explainer{out: w, run: r, step: step, onRun: onRun, names: r.ItemNames()}
	for _, x := range list {
		e.verdict(x)
	}
	holder, alive := p.EngineHolder()
	if err := e.unjudged(p, alive && holder.Run == r.State.Run); err != nil {
		return err
	}
	if e.printed == 0 {
		e.nothing()
	}
	return nil
}

// explainer prints the verdicts of a run, or of one step.
type explainer struct {
	out     io.Writer
	run     *runs.Run
	step    pawl.StepID // empty: all
	onRun   func(command string) string
	printed int
	names   *runs.ItemNames
}

// line begins a paragraph.
func (e *explainer) line(format string, args ...any) {
	if e.printed > 0 {
		fmt.Fprintln(e.out)
	}
	e.printed++
	fmt.Fprintln(e.out, e.names.In(fmt.Sprintf(format, args...)))
}

// verdict prints a journaled verdict.
func (e *explainer) verdict(x resume.Explained) {
	ref := pawl.AttemptRef{Step: x.Step, Item: x.Item, Attempt: x.Attempt}
	e.line("%s  attempt %d of %s %s: %s", layout.UTCWithZone(x.Time), x.Attempt, ref.Name(), liveview.OutcomeText(pawl.Outcome(x.Outcome)), x.Why)
	for _, f := range x.Found {
		if f.Level != pawl.OK {
			fmt.Fprintf(e.out, "  finding  %s: %s\n", oneline.Path(e.names.In(cmp.Or(f.Where, "run"))), e.names.In(f.What))
		}
	}
	failed := x.Outcome == string(pawl.Failed)
	if failed {
		fmt.Fprintf(e.out, "  reason   %s\n", e.failure(x))
	}
	if !failed || x.Verdict.Rule != recovery.NoTries && x.Verdict.Rule != recovery.Again {
		for _, reason := range x.Verdict.Reasons {
			fmt.Fprintf(e.out, "  reason   %s\n", reason)
		}
	}
	crashed := x.Outcome == string(pawl.Lost) || x.Outcome == string(pawl.NotStarted)
	fmt.Fprintf(e.out, "  verdict  %s: %s (rule: %s)\n", x.Verdict.Word, recovery.VerdictText(x.Verdict, crashed), x.Verdict.Rule)
	if x.Verdict.By != "" {
		fmt.Fprintf(e.out, "  chosen   by %s\n", x.Verdict.By)
	}
	if x.Verdict.Doubt != "" {
		fmt.Fprintf(e.out, "  doubt    the evaluator's answer was rejected: %s\n", x.Verdict.Doubt)
	}
	if now := e.now(x); now != "" {
		fmt.Fprintf(e.out, "  now      %s\n", now)
	}
	for _, command := range layout.Changed(e.commandsAfter(x), e.onRun) {
		fmt.Fprintf(e.out, "  next     %s\n", command)
	}
}

// now says that a step was finished after a verdict that did not finish it; otherwise it is empty.
func (e *explainer) now(x resume.Explained) string {
	st := e.run.State.Steps[x.Step]
	switch {
	case st == nil || x.Verdict.Word == pawl.Next:
	case st.Status == pawl.Skipped:
		return fmt.Sprintf("step %s was %s", x.Step, st.SkippedText())
	case st.Status == pawl.Done && x.Item == "" && st.Attempts > x.Attempt:
		return fmt.Sprintf("step %s is done (attempt %d)", x.Step, st.Attempts)
	case st.Status == pawl.Done:
		return fmt.Sprintf("step %s is done", x.Step)
	}
	return ""
}

// failure says how many of the allowed attempts a failed attempt used, its limit, and where its output is.
func (e *explainer) failure(x resume.Explained) string {
	text := "the plan no longer has this step"
	if step := e.run.Plan.Step(x.Step); step != nil {
		text = fmt.Sprintf("%d of %s used", x.Failures, layout.Count(max(x.Failures, step.Retry.Attempts), "attempt"))
		if step.Timeout > 0 {
			text += fmt.Sprintf(", timeout %s", step.Timeout)
		}
	}
	command := "pawl output " + string(x.Step)
	if x.Item != "" {
		command += " --item " + shellwords.Word(string(x.Item))
	}
	return text + "; its output: " + e.onRun(fmt.Sprintf("%s --attempt %d --stderr", command, x.Attempt))
}

// commandsAfter returns the commands that continue after the newest verdict on a step.
func (e *explainer) commandsAfter(x resume.Explained) []string {
	st := e.run.State.Steps[x.Step]
	if st == nil || x.Item == "" && x.Attempt < st.Attempts {
		return nil
	}
	switch {
	case st.Status == pawl.FailedForGood && x.Verdict.Word == pawl.HumanReview:
		if e.run.Plan.HandlesEnd(x.Step) {
			return []string{"pawl retry " + string(x.Step)}
		}
		return []string{"pawl retry " + string(x.Step), "pawl skip " + string(x.Step)}
	case st.Status == pawl.Pending && st.Retries.Again:
		return []string{"pawl resume"}
	}
	return nil
}

// unjudged prints the attempts whose end is not in the journal. Without an engine it says what a resume would do about them.
func (e *explainer) unjudged(p *project.Project, engine bool) error {
	var verdicts []resume.Judged
	if !engine && len(e.run.State.Live()) > 0 {
		change, err := resume.DiffPlan(p, e.run, pawl.GivenValues{})
		if err == nil {
			verdicts, err = resume.Interrupted(p, e.run, change)
		}
		if err != nil {
			return err
		}
	}
	for i, live := range e.run.State.Live() {
		switch {
		case e.step != "" && live.Step != e.step:
		case engine && e.step == "": // a running step is nothing to explain
		case engine:
			e.line("attempt %d of %s is running: nothing to explain", live.Attempt, live.Name())
		default:
			j := verdicts[i]
			e.line("attempt %d of %s (unfinished): %s", live.Attempt, live.Name(), j.Why)
			fmt.Fprintf(e.out, "  verdict  %s\n", j.Text())
			fmt.Fprintf(e.out, "  next     %s\n", e.onRun("pawl resume"))
		}
	}
	return nil
}

// nothing says why there is no verdict.
func (e *explainer) nothing() {
	s, st := e.run.State, e.run.State.Steps[e.step]
	switch {
	case e.step == "":
		e.line("no step was interrupted or failed: nothing to explain")
	case st != nil && st.Status == pawl.Skipped:
		e.line("step %s was %s", e.step, st.SkippedText())
	case st != nil && st.Status == pawl.FailedForGood:
		e.line("step %s failed: %s; pawl judged no attempt of it", e.step, st.Why)
	case st != nil && !st.Finished() && st.Retries.Last != nil:
		last := st.Retries.Last
		e.line("attempt %d of %s %s: %s; pawl judges only failed and crashed attempts", last.Attempt, e.step, strings.ReplaceAll(liveview.OutcomeText(last.Outcome), "_", " "), last.Why)
	case st == nil || st.Attempts == 0 && s.AnsweredGate(e.step) == nil && !st.Finished():
		e.line("step %s has not started: nothing to explain", e.step)
	default:
		e.line("step %s was not interrupted and did not fail: nothing to explain", e.step)
	}
}
