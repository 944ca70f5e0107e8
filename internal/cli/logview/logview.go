// Package logview writes the events of a run as lines that people read: the number, the time in UTC, who caused it, and what happened.
// Long values are cut. `pawl log --json` has the events as they are.
package logview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/liveview"
	"pawl/internal/oneline"
	"pawl/internal/recovery"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// Print writes an event as one line, with the names of items.
func Print(w io.Writer, e pawl.Event, names *runs.ItemNames) error {
	text, _ := Describe(e)
	return PrintText(w, e, names.In(text))
}

// PrintText writes an event that a text describes as one line.
func PrintText(w io.Writer, e pawl.Event, text string) error {
	_, colour := Describe(e)
	text = layout.Printable(text)
	return layout.PrintLine(w, layout.Span{Text: fmt.Sprintf("%6d  %s  ", e.Seq, layout.UTCWithZone(e.Time)), Colour: layout.Faint},
		layout.Span{Text: layout.Pad(layout.Fit(layout.Printable(who(e.By)), maxWho), maxWho) + "  "}, layout.Span{Text: text, Colour: colour})
}

// maxWho is how wide the column of authors is.
const maxWho = 12

// who names the author of an event: the engine, a person or agent by name, or a step.
func who(by pawl.Author) string {
	switch by.Kind {
	case pawl.ByStep:
		return strings.TrimSpace("step " + by.Name)
	case pawl.ByHook:
		return cmp.Or(by.Name, "hook")
	}
	return cmp.Or(by.Name, string(by.Kind))
}

// Describe says in words what an event means, on one line, and in which colour.
func Describe(e pawl.Event) (text string, colour layout.Colour) {
	payload, err := e.Payload()
	if err != nil {
		return fmt.Sprintf("%s (%s)", e.Type, clip(err.Error())), layout.Yellow
	}
	for _, describe := range []func(pawl.Payload) string{run, step, attempt, gate, note, checkpoint, rollback, session, operation} {
		if text := describe(payload); text != "" {
			return layout.Printable(strings.ReplaceAll(text, "\n", " ")), colourOf(payload)
		}
	}
	return string(e.Type), layout.Plain
}

func colourOf(payload pawl.Payload) layout.Colour {
	switch p := payload.(type) {
	case pawl.StepDone:
		return layout.Green
	case pawl.RunEnded:
		return layout.RunColour(p.Status)
	case pawl.StepFailed, pawl.AttemptEnded, pawl.WatchdogActed, pawl.UndoFailed:
		return layout.Red
	case pawl.GateOpened, pawl.BlockerOpened, pawl.RunPaused, pawl.RunStopped:
		return layout.Yellow
	}
	return layout.Plain
}

// clip cuts a value.
func clip(text string) string { return layout.OneLine(text) }

// because adds a reason.
func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + clip(why)
}

// list names some ids.
func list[T ~string](ids []T) string { return clip(layout.JoinIDs(ids)) }

// maxItems is more items than a line has room for.
const maxItems = 200

// withoutSecrets returns the first values, as many as a line can have, without secrets.
func withoutSecrets(values []string) []string {
	some := slices.Clone(values[:min(len(values), maxItems)])
	for i := range some {
		some[i] = redact.OfProcess().Text(some[i])
	}
	return some
}

func run(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.RunCreated:
		if p.Forked != nil {
			return fmt.Sprintf("run created as a fork of %s at checkpoint %s", p.Forked.Run, p.Forked.Checkpoint)
		}
		return fmt.Sprintf("run %s created (%s)", p.Run, p.Kind)
	case pawl.RunPlanned:
		return fmt.Sprintf("plan revision %d, %s, sha256 %.12s%s", p.Revision, layout.Count(p.Steps, "step"), p.SHA256, because(p.Source))
	case pawl.RunGiven:
		return fmt.Sprintf("values recorded: %s, %s, %s", layout.Count(len(p.Params), "parameter"), layout.Count(len(p.Env), "variable"), layout.Count(len(p.Dotenv), "dotenv variable"))
	case pawl.RunPaused:
		return "run paused" + because(p.Why)
	case pawl.RunContinued:
		return "run continued"
	case pawl.RunStopped:
		return "run stopped" + because(p.Why)
	case pawl.RunEnded:
		return "run " + string(p.Status) + because(p.Why)
	case pawl.RunReopened:
		return "run reopened" + because(p.Why)
	case pawl.RunExamined:
		return "run examined: " + layout.Count(len(p.Findings), "finding")
	case pawl.RunRecovered:
		return "journal rebuilt" + because(strings.Join(p.Why, "; "))
	case pawl.RunImported:
		return "run imported from " + p.System + because(p.Path)
	case pawl.RunMirrored:
		return "run mirrored to " + cmp.Or(p.System, "no system") + because(p.Path)
	case pawl.EngineStarted:
		return fmt.Sprintf("engine started (%s, pid %d, epoch %d)", p.Why, p.PID, p.Epoch)
	case pawl.EngineStopped:
		return "engine stopped" + because(p.Why)
	case pawl.MachineSlept:
		return "machine was suspended for " + layout.Seconds(p.Seconds)
	}
	return ""
}

func step(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.StepDone:
		return fmt.Sprintf("%s done%s", p.Step, layout.Parenthesized(clip(cmp.Or(p.Adopted, p.Summary))))
	case pawl.StepFailed:
		return fmt.Sprintf("%s failed%s", p.Step, because(p.Why))
	case pawl.StepSkipped:
		return fmt.Sprintf("%s skipped%s", p.Step, because(p.Why))
	case pawl.ServiceWaiting:
		return fmt.Sprintf("service %s is %s", p.Step, clip(p.Text()))
	case pawl.ServiceReady:
		return fmt.Sprintf("service %s is ready", p.Step)
	case pawl.ServiceReleased:
		return fmt.Sprintf("service %s will be ended%s", p.Step, because(p.Why))
	case pawl.StepReopened:
		return fmt.Sprintf("%s will rerun%s", p.Step, because(p.Why))
	case pawl.StepChecked:
		return fmt.Sprintf("%s passed its changed checks", p.Step)
	case pawl.StepReviewed:
		return fmt.Sprintf("%s reviewed by %s: %d of 100%s", p.Step, p.Reviewer, p.Score, because(p.Comment))
	case pawl.OutputsChanged:
		return fmt.Sprintf("outputs of %s were changed from outside: %s", p.Step, clip(oneline.Paths(p.Paths)))
	case pawl.StepListed:
		return fmt.Sprintf("%s has %s%s", p.Step, layout.Count(p.From+len(p.Items), "item"), because(list(withoutSecrets(p.Items))))
	case pawl.ItemNamed:
		return fmt.Sprintf("%s/%s reported as %s%s", p.Step, p.Item, p.Status, because(p.Title))
	case pawl.ItemDone:
		return fmt.Sprintf("%s done%s", p.Name(), layout.Parenthesized(clip(cmp.Or(p.Adopted, p.Summary))))
	case pawl.ItemsSkipped:
		return fmt.Sprintf("%s of %s skipped%s", layout.Count(len(p.Items), "item"), p.Step, because(p.Why))
	}
	return ""
}

func attempt(payload pawl.Payload) string {
	switch p := payload.(type) {
	case pawl.AttemptStarted:
		return fmt.Sprintf("%s started (attempt %d)", p.Name(), p.Attempt)
	case pawl.AttemptRejoined:
		return fmt.Sprintf("%s attempt %d re-attached: a worker may carry it out", p.Name(), p.Attempt)
	case pawl.AttemptEnded:
		outcome := strings.ReplaceAll(liveview.OutcomeText(p.Outcome), "_", " ")
		text := fmt.Sprintf("%s attempt %d ended: %s%s", p.Name(), p.Attempt, outcome, because(p.Why))
		if p.Verdict != nil {
			crashed := p.Outcome == pawl.Lost || p.Outcome == pawl.NotStarted
			text += fmt.Sprintf("; verdict: %s (rule: %s)", recovery.VerdictText(*p.Verdict, crashed), p.Verdict.Rule)
		}
		if !p.RetryAt.IsZero() {
			text += "; next attempt at " + layout.UTCWithZone(p.RetryAt)
		}
		return text
	case pawl.Progressed:
		return progress(p)
	case pawl.Conversed:
		return fmt.Sprintf("%s uses %s session %s", p.Name(), p.Agent, clip(p.ID))
	case pawl.Heartbeat:
		return fmt.Sprintf("%s is %s (%s of output)%s", p.Name(), p.Health, layout.ByteSize(p.OutputBytes), because(p.Evidence))
	case pawl.WatchdogActed:
		if p.Action == pawl.WatchdogReports {
			return p.Name() + " warning" + because(p.Evidence)
		}
		return fmt.Sprintf("%s is %s, watchdog: %s%s", p.Name(), p.Health, p.Action, because(p.Evidence))
	}
	return ""
}

func progress(p pawl.Progressed) string {
	text := p.Name() + " progress"
	if p.Done != nil && p.Total != nil {
		text += fmt.Sprintf(" %g of %g", *p.Done, *p.Total)
	} else if p.Done != nil {
		text += fmt.Sprintf(" %g%%", *p.Done)
	}
	if p.Marker != nil {
		return text + ": marker " + p.Marker.Type
	}
	return text + because(p.Text)
}
