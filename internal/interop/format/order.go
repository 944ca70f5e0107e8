package format

import (
	"fmt"
	"slices"

	"pawl"
)

// Ordered sorts the steps of each phase topologically. A need of an unknown step, of a step of a later phase, or of one that
// completes a cycle, is left out with a finding.
func Ordered(phases []Phase) ([]Phase, []pawl.Finding) {
	ordered := slices.Clone(phases)
	var findings []pawl.Finding
	behind := map[pawl.StepID]bool{} // steps placed so far
	for i, phase := range phases {
		here := map[pawl.StepID]Step{}
		for _, s := range phase.Steps {
			here[s.ID] = s
		}
		ordered[i].Steps = make([]Step, 0, len(phase.Steps))
		begun := map[pawl.StepID]bool{}
		var place func(Step)
		place = func(s Step) {
			begun[s.ID] = true
			for _, id := range s.Needs {
				if need, is := here[id]; is && !begun[id] {
					place(need)
				}
			}
			s, left := withNeeds(s, behind)
			findings = append(findings, left...)
			behind[s.ID] = true
			ordered[i].Steps = append(ordered[i].Steps, s)
		}
		for _, s := range phase.Steps {
			if !begun[s.ID] {
				place(s)
			}
		}
	}
	return ordered, findings
}

// withNeeds returns a step with those of its needs that were placed, and a finding for each other one.
func withNeeds(s Step, there map[pawl.StepID]bool) (Step, []pawl.Finding) {
	if s.Needs == nil {
		return s, nil
	}
	var findings []pawl.Finding
	needs := []pawl.StepID{}
	for _, id := range s.Needs {
		if there[id] {
			if !slices.Contains(needs, id) {
				needs = append(needs, id)
			}
			continue
		}
		findings = append(findings, pawl.Finding{Level: pawl.Warn, Where: s.Where, Hint: "check its plan",
			What: fmt.Sprintf("step %s: dependency %s ignored (unknown step, later phase, or circular)", s.ID, id)})
	}
	s.Needs = needs
	return s, findings
}
