package sessions

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/recovery"
	"pawl/internal/resume"
	"pawl/internal/supervise"
)

// attempts examines each attempt whose end is not in the journal.
func (g *briefer) attempts() {
	names := g.run.ItemNames()
	for _, live := range g.run.State.Live() {
		d := g.attempt(live)
		if d.Item != "" {
			if value := names.Of(d.AttemptRef); value != string(d.Item) {
				d.Value = value
			}
		}
		g.facts.Doubts = append(g.facts.Doubts, d)
	}
}

// attempt examines one attempt: lock, records, result and outputs.
func (g *briefer) attempt(live *pawl.AttemptState) brief.Doubt {
	dir := g.project.AttemptDir(live.AttemptRef, g.run.State.Run)
	d := brief.Doubt{AttemptRef: live.AttemptRef, Started: live.Started, Folder: dir}
	if rel, err := filepath.Rel(g.project.Root, dir); err == nil {
		d.Folder = filepath.ToSlash(rel)
	}
	status, err := supervise.Probe(dir)
	if err != nil {
		d.Found, d.Evidence = brief.Unknown, []string{err.Error()}
		return d
	}
	switch status = status.Under(live.Boot); status.State {
	case supervise.Live:
		g.addLive(&d, status, dir)
		return d
	case supervise.NotBegun:
		d.Found = brief.NotBegun
	case supervise.Ended:
		d.Found, d.Ended = brief.Ended, status.Exit.Ended
		if status.Exit.Token != live.Token || status.ExitSealed(live.Seal) == nil { // the supervisor did not write the record
			d.Found, d.Ended = brief.Lost, time.Time{}
		}
	case supervise.Lost:
		d.Found = brief.Lost
	}
	g.judge(&d, live, dir)
	return d
}

// addLive adds the last sign of life of a running attempt.
func (g *briefer) addLive(d *brief.Doubt, status supervise.Status, dir string) {
	d.Found = brief.Live
	if status.Begun != nil {
		d.PID = status.Begun.Supervisor.PID
	}
	if live := g.run.State.Steps[d.Step].Serving(); live != nil {
		d.Evidence = append(d.Evidence, "it is a service, ready since "+live.Ready.UTC().Format(time.DateTime+" UTC"))
	} else if x := g.run.State.Steps[d.Step].Retries.Live; x != nil && x.Waiting != nil {
		d.Evidence = append(d.Evidence, "it is a service, "+x.Waiting.Text())
	}
	if last := resume.LastWrite(dir); !last.IsZero() {
		d.Evidence = append(d.Evidence, "last activity at "+last.UTC().Format(time.DateTime+" UTC"))
	}
}

// judge adds what an attempt left, and the verdict on it.
func (g *briefer) judge(d *brief.Doubt, live *pawl.AttemptState, dir string) {
	step := g.run.Plan.Step(live.Step)
	planned := step != nil
	if !planned {
		step = &pawl.Step{ID: live.Step}
	}
	ev, _, err := resume.ProbeAttempt(g.project, g.run, step, live)
	if err != nil {
		d.Evidence = append(d.Evidence, err.Error())
		return
	}
	if d.Found != brief.NotBegun {
		d.Evidence = append(d.Evidence, signsOf(ev, step, dir)...)
	}
	c := ev.Case(step)
	c.SameStep = planned
	v, judged := g.Verdicts[live.Token]
	if !judged {
		v = ev.Foresee(c)
	}
	d.Verdict = &v
}

// signsOf describes what an attempt left, one line each.
func signsOf(ev resume.Evidence, step *pawl.Step, dir string) []string {
	var signs []string
	if ev.Rebooted {
		signs = append(signs, "the system was rebooted since")
	}
	if ev.Exit != nil {
		signs = append(signs, endingOf(ev.Exit))
	} else if last := resume.LastWrite(dir); !last.IsZero() {
		signs = append(signs, "last activity at "+last.UTC().Format(time.DateTime+" UTC"))
	}
	if ev.Forged {
		signs = append(signs, "an exit record exists, but its supervisor did not write it")
	}
	signs = append(signs, resultText(ev))
	if len(step.Outputs) > 0 {
		signs = append(signs, outputsText[ev.Present])
	}
	return signs
}

// outputsText describes how many declared outputs exist. Only the step or its checks could tell whether they are
// complete.
var outputsText = map[recovery.Outputs]string{
	recovery.AllOutputs: "all declared outputs exist", recovery.SomeOutputs: "some declared outputs exist",
	recovery.NoOutputs: "no declared output exists",
}

// endingOf describes how an attempt ended. The reader must not mistake a watchdog's action for a person's refusal.
func endingOf(x *pawl.Exit) string {
	after := pawl.Duration(time.Duration(x.Seconds * float64(time.Second)).Round(100 * time.Millisecond))
	switch x.Reason {
	case pawl.ReasonExited:
		if !pawl.Passed(x.Checks) {
			return resume.ExitText(x) + ", " + resume.CheckText(x.Checks)
		}
		return resume.ExitText(x)
	case pawl.ReasonTimeout, pawl.ReasonStalled:
		return fmt.Sprintf("terminated by pawl's watchdog after %s (%s); it was not denied", after, x.Why)
	case pawl.ReasonAbort:
		return fmt.Sprintf("stopped on request after %s (%s); its work was not rejected", after, cmp.Or(x.Why, "no reason given"))
	}
	return fmt.Sprintf("terminated by pawl after %s (%s); it was not denied", after, cmp.Or(x.Why, string(x.Reason)))
}

// resultText describes the result file. Only an exit record of the supervisor confirms it: any program can write the file.
func resultText(ev resume.Evidence) string {
	r := ev.Result
	switch {
	case r == nil && ev.ResultErr == nil:
		return "no result file"
	case ev.Exit == nil:
		return "a result file exists; it is not confirmed"
	case ev.ResultErr != nil:
		return "unreadable result file: " + ev.ResultErr.Error()
	case r.Summary == "":
		return "it reported " + string(r.Status)
	}
	return fmt.Sprintf("it reported %s (%q)", r.Status, r.Summary)
}

// maxLookback is how many events are searched for actions of the watchdog.
const maxLookback = 5000

// watchdogKills finds lost attempts whose supervisors the watchdog killed.
func (g *briefer) watchdogKills() {
	lost := map[pawl.Token]bool{}
	for _, st := range g.run.State.Steps {
		for _, t := range triesOf(st) {
			if t.Live == nil && t.Last != nil && t.Last.Outcome == pawl.Lost {
				lost[t.Last.Token] = true
			}
		}
	}
	if len(lost) == 0 {
		return
	}
	g.facts.Killed = map[pawl.Token]string{}
	for event, err := range g.run.Log.Events(max(0, g.run.State.Seq-maxLookback)) {
		if err != nil {
			g.unchecked("whether the watchdog killed lost attempts: %v", errors.Unwrap(err))
			return
		}
		if event.Type != (pawl.WatchdogActed{}).Event() {
			continue
		}
		payload, err := event.Payload()
		if acted, ok := payload.(pawl.WatchdogActed); err == nil && ok && acted.Action != pawl.WatchdogReports && lost[acted.Token] {
			g.facts.Killed[acted.Token] = acted.Evidence
		}
	}
}

// triesOf returns the retry states of a step and its items.
func triesOf(st *pawl.StepState) []*pawl.Retries {
	tries := []*pawl.Retries{&st.Retries}
	if st.Items != nil {
		for _, t := range st.Items.Retries {
			tries = append(tries, t)
		}
	}
	return tries
}
