package interop

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/runs"
)

// Only returns a project with only the steps of one agent, or one step, and with what concerns them. A step that needs another one
// which is neither selected nor finished has a finding.
func Only(p format.Project, name string) (format.Project, []pawl.Finding, error) {
	all := stepsByID(p)
	selected := func(id pawl.StepID) bool {
		s := all[id]
		return s != nil && (s.Agent == name || s.Role == name || s.ID == pawl.StepIDOf(name))
	}
	var findings []pawl.Finding
	var phases []format.Phase
	for _, phase := range p.Phases {
		var kept []format.Step
		for _, s := range phase.Steps {
			if !selected(s.ID) {
				continue
			}
			for _, need := range s.Needs {
				if other := all[need]; other != nil && !selected(need) && other.Status != pawl.Done && other.Status != pawl.Skipped {
					findings = append(findings, pawl.Finding{Level: pawl.Warn, Where: s.Where, What: fmt.Sprintf("step %s needs step %s, which is unfinished and not imported with it", s.ID, need)})
				}
			}
			if s.Needs != nil {
				s.Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(id pawl.StepID) bool { return !selected(id) })
			}
			kept = append(kept, s)
		}
		if len(kept) > 0 {
			phases = append(phases, format.Phase{Name: phase.Name, Steps: kept})
		}
	}
	if len(phases) == 0 {
		return p, nil, runs.UsageError("pawl import "+p.System+" --dry-run", "no agent or step %q; there are %s", name, strings.Join(agentsOf(p), ", "))
	}
	p.Name, p.Phases = format.PlanName(p)+"-"+name, phases
	p.Gates = slices.DeleteFunc(slices.Clone(p.Gates), func(g format.Gate) bool { return g.Step != "" && !selected(g.Step) })
	p.Blockers = slices.DeleteFunc(slices.Clone(p.Blockers), func(b pawl.Blocker) bool { return b.Step != "" && !selected(b.Step) })
	if p.Doubt != nil && !selected(p.Doubt.Evidence.Step.ID) {
		p.Doubt = nil
	}
	return p, findings, nil
}

func stepsByID(p format.Project) map[pawl.StepID]*format.Step {
	all := map[pawl.StepID]*format.Step{}
	for i := range p.Phases {
		for j := range p.Phases[i].Steps {
			s := &p.Phases[i].Steps[j]
			all[s.ID] = s
		}
	}
	return all
}

// agentsOf returns the agents of a project's steps, or the steps if they have none.
func agentsOf(p format.Project) []string {
	var agents, steps []string
	for _, phase := range p.Phases {
		for _, s := range phase.Steps {
			steps = append(steps, string(s.ID))
			if s.Agent != "" && !slices.Contains(agents, s.Agent) {
				agents = append(agents, s.Agent)
			}
		}
	}
	if len(agents) == 0 {
		return steps
	}
	return agents
}
