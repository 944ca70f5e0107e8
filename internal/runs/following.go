package runs

import (
	"cmp"
	"slices"

	"pawl"
	"pawl/internal/project"
)

// RetryFollowing reruns a step and all steps that need it and have started, even if the outputs of the step stay the same. Gates among
// them ask again.
func RetryFollowing(id pawl.StepID, why string) Act {
	return func(p *project.Project, r *Run) ([]pawl.Payload, error) {
		payloads, err := Retry(id, why)(p, r)
		if err != nil {
			return nil, err
		}
		for _, step := range following(NewOutline(r.Plan), id) {
			st, err := idleStep(r, step)
			if err != nil {
				return nil, err
			}
			if st == nil || st.Status == pawl.Pending && st.Attempts == 0 {
				continue
			}
			payloads = append(payloads, WithdrawGates(r.State, step, "was queued for retry")...)
			payloads = append(payloads, pawl.StepReopened{Step: step, Why: cmp.Or(why, pawl.AskedForRetry), Asked: true})
		}
		return payloads, nil
	}
}

// following returns the steps that need a step, directly or through others, in the plan's order.
func following(o *Outline, first pawl.StepID) (steps []pawl.StepID) {
	needs := map[pawl.StepID]bool{first: true}
	for before := 0; len(needs) > before; {
		before = len(needs)
		for _, step := range o.InOrder {
			if slices.ContainsFunc(o.Needs[step.ID], func(need pawl.StepID) bool { return needs[need] }) {
				needs[step.ID] = true
			}
		}
	}
	for _, step := range o.InOrder {
		if needs[step.ID] && step.ID != first {
			steps = append(steps, step.ID)
		}
	}
	return steps
}
