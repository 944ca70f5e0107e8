package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/content"
	"pawl/internal/recovery"
	"pawl/internal/snapshot"
	"pawl/internal/supervise"
)

// doubts looks at each attempt whose end the journal does not have.
func (g *briefer) doubts() {
	for _, live := range g.run.State.Live() {
		g.facts.Doubts = append(g.facts.Doubts, g.doubt(live))
	}
}

// doubt looks at one attempt: at its lock, its records, its result and its outputs.
func (g *briefer) doubt(live *pawl.AttemptState) brief.Doubt {
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
	c := recovery.Case{SamePlace: g.samePlace(), TriesLeft: true}
	say := func(format string, args ...any) { d.Evidence = append(d.Evidence, fmt.Sprintf(format, args...)) }
	switch status.State {
	case supervise.Live:
		d.Found = brief.Live
		if status.Begun != nil {
			d.PID = status.Begun.Supervisor.PID
		}
		if last := lastSign(dir); !last.IsZero() {
			say("its last sign of life was %s ago", g.facts.Now.Sub(last).Round(time.Second))
		}
		return d
	case supervise.NotBegun:
		d.Found, c.Attempt = brief.NotBegun, recovery.NotBegun
	case supervise.Ended:
		d.Found, d.Ended = brief.Ended, status.Exit.Ended
		c.Attempt, c.Checks = exitCase(status.Exit)
		say("%s", endingOf(status.Exit))
	case supervise.Lost:
		d.Found, c.Attempt, c.Checks = brief.Lost, recovery.Lost, recovery.NoChecks
		if status.Rebooted() {
			say("the system was restarted since")
		}
		if last := lastSign(dir); !last.IsZero() {
			say("it was last heard of at %s", last.UTC().Format(time.DateTime+" UTC"))
		}
	}
	g.judge(&d, c, live, dir)
	return d
}

// judge adds what an attempt said and left, and what is safe to do with it.
func (g *briefer) judge(d *brief.Doubt, c recovery.Case, live *pawl.AttemptState, dir string) {
	result, err := readResult(dir)
	var said string
	c.Result, said = resultCase(result, err)
	w, known := g.workOf(live)
	var there string
	if known {
		c.Outputs, there = outputsCase(g.project.Root, w.paths(w.step.Outputs))
		c.Idempotent, c.TriesLeft = w.step.MayRepeat(), g.triesLeft(w)
		c.SameStep = live.Key.Definition == pawl.DefinitionOf(g.run.Plan, w.step, w.value)
	}
	if c.Checks == "" {
		c.Checks = recovery.NoChecks
	}
	for _, text := range []string{said, there} {
		if text != "" && d.Found != brief.NotBegun {
			d.Evidence = append(d.Evidence, text)
		}
	}
	if v, judged := g.Verdicts[live.Token]; judged {
		d.Verdict = &v
	} else if known {
		v := recovery.Judge(c)
		d.Verdict = &v
	}
}

// samePlace reports whether the files are those of the branch that the last checkpoint was taken on.
func (g *briefer) samePlace() bool {
	if len(g.records) == 0 {
		return true
	}
	was := g.records[len(g.records)-1].Head
	return branchOf(was) == branchOf(g.head)
}

func branchOf(h *snapshot.Head) string {
	if h == nil {
		return ""
	}
	return h.Branch
}

func exitCase(x *pawl.Exit) (recovery.Attempt, recovery.Checks) {
	how, checks := recovery.ExitOther, recovery.NoChecks
	if x.Reason == pawl.ReasonExited && x.Exit != nil && *x.Exit == 0 {
		how = recovery.ExitZero
	}
	if len(x.Checks) > 0 {
		checks = recovery.ChecksFail
		if pawl.Passed(x.Checks) {
			checks = recovery.ChecksPass
		}
	}
	return how, checks
}

// endingOf says how an attempt ended. What a machine did is not to be taken for a person's no.
func endingOf(x *pawl.Exit) string {
	after := pawl.Duration(time.Duration(x.Seconds * float64(time.Second)).Round(100 * time.Millisecond))
	switch x.Reason {
	case pawl.ReasonExited:
		if !pawl.Passed(x.Checks) {
			return exitText(x) + ", " + checkText(x.Checks)
		}
		return exitText(x)
	case pawl.ReasonTimeout, pawl.ReasonStalled:
		return fmt.Sprintf("ended by pawl's watchdog after %s (%s); nobody refused anything", after, x.Why)
	case pawl.ReasonAbort:
		return fmt.Sprintf("ended on request after %s (%s); that is no verdict on its work", after, orElse(x.Why, "no reason given"))
	}
	return fmt.Sprintf("ended by pawl after %s (%s); nobody refused anything", after, orElse(x.Why, string(x.Reason)))
}

func resultCase(r *pawl.Result, err error) (recovery.Result, string) {
	switch {
	case err != nil:
		return recovery.Unreadable, "its result cannot be read: " + err.Error()
	case r == nil:
		return recovery.NoResult, "it left no result"
	}
	text := "it said that it is " + string(r.Status)
	if r.Summary != "" {
		text += fmt.Sprintf(" (%q)", r.Summary)
	}
	if r.Status == pawl.ResultDone {
		return recovery.SaysDone, text
	}
	return recovery.SaysOther, text
}

// outputsCase says what there is at the declared outputs. Whether it is complete, only the step or its checks could say.
func outputsCase(root string, declared []string) (recovery.Outputs, string) {
	if len(declared) == 0 {
		return recovery.Undeclared, "it declares no outputs"
	}
	there := 0
	for _, path := range declared {
		if found, err := content.Files(root, path); err == nil && len(found) > 0 {
			there++
		}
	}
	text := fmt.Sprintf("of the %d outputs that it declares %d are there", len(declared), there)
	switch there {
	case len(declared):
		return recovery.AllOutputs, text
	case 0:
		return recovery.NoOutputs, text
	}
	return recovery.SomeOutputs, text
}

// workOf returns what a live attempt works on; false where the plan no longer has it.
func (g *briefer) workOf(live *pawl.AttemptState) (work, bool) {
	w := work{step: g.run.Plan.Step(live.Step), index: -1}
	if w.step == nil {
		return w, false
	}
	if live.Item != "" {
		values, err := listedValues(g.run.Log, g.run.State.Steps[live.Step].Items)
		if err != nil || live.Index >= len(values) {
			return w, false
		}
		w.index, w.value = live.Index, values[live.Index]
	}
	w.vars = pathVars(g.run.State.Origin(), w)
	return w, true
}

func (g *briefer) triesLeft(w work) bool {
	st := g.run.State.Steps[w.step.ID]
	t := &st.Try
	if w.index >= 0 {
		t = st.Items.Tries[w.index]
	}
	return t.Failures < w.step.Retry.Attempts && t.Losses < maxLosses
}

// lookedBack is how many events are searched for what the watchdog did.
const lookedBack = 5000

// killed finds the attempts that count as lost because the watchdog killed their supervisors.
func (g *briefer) killed() {
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
	for event, err := range g.run.Log.Events(max(0, g.run.State.Seq-lookedBack)) {
		if err != nil {
			g.unchecked("whether the watchdog ended what was lost: %v", errors.Unwrap(err))
			return
		}
		if event.Type != (pawl.WatchdogActed{}).Event() {
			continue
		}
		payload, err := event.Payload()
		if acted, ok := payload.(pawl.WatchdogActed); err == nil && ok && lost[acted.Token] {
			g.facts.Killed[acted.Token] = acted.Evidence
		}
	}
}

// triesOf returns the tries of a step and of its items.
func triesOf(st *pawl.StepState) []*pawl.Try {
	tries := []*pawl.Try{&st.Try}
	if st.Items != nil {
		for _, t := range st.Items.Tries {
			tries = append(tries, t)
		}
	}
	return tries
}
