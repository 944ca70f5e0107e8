package decide

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/recovery"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// Adoption returns the events by which a resume takes over a plan diff, in order, after outdated attempts have ended. Two
// things are not among them: the plan's new revision, and the acceptance checks that run again.
func Adoption(s *pawl.State, c *resume.PlanDiff) []pawl.Payload {
	all := withdrawEdited(s, c.Plan())
	for _, id := range c.Tolerance {
		all = append(all, pawl.StepFailed{Step: id, Why: s.Steps[id].Why, Continued: c.Plan().Step(id).ContinueOnError})
	}
	for _, a := range c.Rerun {
		all = append(all, pawl.StepReopened{Step: a.Step, Why: runs.ClipText(strings.Join(a.Why, "; ")), Items: a.Index})
	}
	for _, id := range c.Reset {
		all = append(all, pawl.StepReopened{Step: id, Why: runs.ClipText(cmp.Or(c.ResetWhy[id], pawl.DefinitionChanged))})
	}
	for _, o := range c.OutputEdits {
		all = append(all, pawl.OutputsChanged{Step: o.Step, Paths: o.Paths[:min(len(o.Paths), runs.MaxShown)]})
	}
	for _, id := range c.Relisted {
		all = append(all, pawl.StepReopened{Step: id, Why: "its item list changed", Keep: true})
	}
	for _, x := range c.Returned {
		all = append(all, pawl.StepReopened{Step: x.Step, Why: "back on the list", Items: x.Index})
	}
	for _, x := range c.Dropped {
		if indexes := idle(s, x); len(indexes) > 0 {
			all = append(all, pawl.ItemsSkipped{Step: x.Step, Items: indexes, Why: notListed, Dropped: true})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.NewItems)) {
		all = append(all, runs.ListPayloads(id, s.Steps[id].Key, c.ListLength[id], c.NewItems[id])...)
	}
	return all
}

// idle returns the indexes of items without a live attempt. What runs may finish.
func idle(s *pawl.State, x resume.ListedItems) []int {
	return slices.DeleteFunc(slices.Clone(x.Index), func(index int) bool {
		t := s.Steps[x.Step].Items.Retries[index]
		return t != nil && t.Live != nil
	})
}

const notListed = "no longer on the list"

// withdrawEdited withdraws open gates of gate steps that were removed from the plan or edited, and those about a changed
// plan: it is used, or was changed back.
func withdrawEdited(s *pawl.State, plan *pawl.Plan) (all []pawl.Payload) {
	for _, g := range s.OpenGates() {
		if g.Purpose == pawl.ForPlan {
			all = append(all, pawl.GateWithdrawn{Gate: g.ID, Why: "the run continues without this answer"})
		}
		if g.Step == "" || g.Purpose != "" || g.Source != nil {
			continue
		}
		step := plan.Step(g.Step)
		if step == nil {
			all = append(all, pawl.GateWithdrawn{Gate: g.ID, Why: "its step was removed from the plan"})
		} else if step.Gate != nil && !asksSame(step, g.Gate) {
			all = append(all, pawl.GateWithdrawn{Gate: g.ID, Why: "its step was edited"})
		}
	}
	return all
}

// asksSame reports whether step still asks what g asks.
func asksSame(step *pawl.Step, g pawl.Gate) bool {
	now := step.Gate.Gate(step.ID, g.Item, g.Opened)
	now.Shown, now.Options = g.Shown, runs.GateOptions(step.Gate, g.Shown)
	return now.Identify() == g.ID
}

// Outdates reports whether a plan diff changes the definition of a live attempt, or reruns its step anyway. listed returns
// the values of a step's item list.
func Outdates(c *resume.PlanDiff, live *pawl.AttemptState, listed func(pawl.StepID) ([]string, error)) bool {
	return restarts(c, live.Step) || !resume.SameDefinition(c.Plan(), live, listed)
}

// restarts reports whether a plan diff reruns a whole step.
func restarts(c *resume.PlanDiff, id pawl.StepID) bool {
	return slices.Contains(c.Reset, id) ||
		slices.ContainsFunc(c.Rerun, func(a resume.Rerun) bool { return a.Step == id && len(a.Items) == 0 })
}

// OutdatedEnd returns how an outdated attempt ends. It returns nil for one that is running and not safe to rerun: it keeps
// running with its old definition.
func OutdatedEnd(c *resume.PlanDiff, live *pawl.AttemptState, ev resume.Evidence, alive bool) *pawl.AttemptEnded {
	step := c.Plan().Step(live.Step)
	facts := resume.Evidence{Begun: ev.Begun, Exit: ev.Exit}.Case(&pawl.Step{})
	if alive {
		facts.Attempt = recovery.Live
	}
	facts.Idempotent, facts.SameStep = step == nil || step.MayRepeat() || ev.Serves, false
	verdict := recovery.Judge(facts)
	if verdict.Rule == recovery.LiveUnsafe && !restarts(c, live.Step) {
		return nil
	}
	return &pawl.AttemptEnded{
		AttemptRef: live.AttemptRef, Outcome: pawl.Aborted, Reason: pawl.ReasonOutdated, Why: pawl.DefinitionChanged, Verdict: &verdict,
	}
}

// FailedEnd completes the end of a failed attempt: it is retried, or it was the last one. failures is how many attempts
// failed before it.
func FailedEnd(end pawl.AttemptEnded, step *pawl.Step, failures int, ev resume.Evidence) pawl.AttemptEnded {
	if end.Outcome != pawl.Failed {
		return end
	}
	if end.Final = failures+1 >= step.Retry.Attempts; !end.Final {
		end.RetryAt = ev.Now.Add(step.Retry.Delay(failures + 1))
	}
	return end
}
