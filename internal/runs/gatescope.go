package runs

import (
	"maps"
	"path"
	"slices"
	"strings"

	"pawl"
)

// Scope is what an approval of a gate lets through: the steps that the gate depends on since the gate before it.
type Scope struct {
	Steps []ScopeStep
	Since pawl.StepID // the gate before it that was passed last, whose checkpoint has the files as they were then; empty: none
}

// ScopeStep is a finished step that a gate depends on, as the journal has it.
type ScopeStep struct {
	Step    pawl.StepID     `json:"step"`
	Status  pawl.StepStatus `json:"status"`
	Result  string          `json:"result,omitempty"` // its summary, or why it was skipped or failed
	Outputs []ScopeOutput   `json:"outputs"`          // as recorded when the step was done; those that the gate shows are left out
}

// ScopeOutput is a file or folder.
type ScopeOutput struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Files int    `json:"files,omitempty"` // of a folder
}

// GateScope returns the scope of a gate of the plan; nothing for other gates.
func GateScope(plan *pawl.Plan, s *pawl.State, g *pawl.GateState) (scope Scope) {
	if step := plan.Step(g.Step); step == nil || step.Gate == nil || g.Purpose != "" {
		return scope
	}
	covered, gates := behindGate(plan, g.Step)
	for _, step := range plan.Steps() {
		st := s.Steps[step.ID]
		switch {
		case st == nil:
		case gates[step.ID] && st.Status == pawl.Done && st.Unsaved == "" && (scope.Since == "" || st.Done > s.Steps[scope.Since].Done):
			scope.Since = step.ID
		case covered[step.ID] && step.Service == nil:
			scope.Steps = append(scope.Steps, scopeStep(step.ID, st, g.Shown))
		}
	}
	if len(scope.Steps) == 0 {
		scope.Since = ""
	}
	return scope
}

// behindGate returns the steps that a gate depends on, up to the gates before it, and these gates.
func behindGate(plan *pawl.Plan, gate pawl.StepID) (covered, gates map[pawl.StepID]bool) {
	covered, gates = map[pawl.StepID]bool{}, map[pawl.StepID]bool{}
	needs, todo := plan.Order(), []pawl.StepID{gate}
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		for _, need := range needs[id] {
			switch step := plan.Step(need); {
			case step == nil || covered[need]:
			case step.Gate != nil:
				gates[need] = true
			default:
				covered[need] = true
				todo = append(todo, need)
			}
		}
	}
	return covered, gates
}

func scopeStep(id pawl.StepID, st *pawl.StepState, shown pawl.Outputs) ScopeStep {
	c := ScopeStep{Step: id, Status: st.Status, Result: st.Summary, Outputs: []ScopeOutput{}}
	if st.Status != pawl.Done {
		c.Result = st.Why
	}
	for _, path := range slices.Sorted(maps.Keys(st.Outputs)) {
		if _, is := shown[path]; !is {
			o := st.Outputs[path]
			c.Outputs = append(c.Outputs, ScopeOutput{Path: path, Bytes: o.Size, Files: o.Files})
		}
	}
	return c
}

// GateOptions returns the options of a gate step that shows these outputs: those of the plan, or the names of the outputs that match its
// pattern, without folder and extension.
func GateOptions(gate *pawl.GateAction, shown pawl.Outputs) []string {
	options := slices.Clone(gate.Options)
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		base := path.Base(name)
		option := strings.TrimSuffix(base, path.Ext(base))
		if match, _ := path.Match(gate.OptionsFrom, name); match && !slices.Contains(options, option) { // a bad pattern matches nothing
			options = append(options, option)
		}
	}
	return options
}
