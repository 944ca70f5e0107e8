package pawl

import "fmt"

// Parallel is how many attempts run at a time at most, and what limits them.
type Parallel struct {
	Limit int           `json:"limit"`
	From  ParallelLimit `json:"from"`
	Step  StepID        `json:"step,omitempty"` // whose number it is
}

// ParallelLimit is what limits how many attempts run at a time.
type ParallelLimit string

// The limits, in the order in which they count.
const (
	LimitFlag   ParallelLimit = "flag"   // --parallel
	LimitConfig ParallelLimit = "config" // parallel in config.yaml
	LimitPlan   ParallelLimit = "plan"   // parallel of the plan
	LimitStep   ParallelLimit = "step"   // the largest parallel of a step, if it is more than the number of processors
	LimitCPUs   ParallelLimit = "cpus"   // the number of processors
)

// ParallelOn returns the limit of a plan that sets none with a flag or in the configuration, on a machine with a number of processors.
func (p *Plan) ParallelOn(cpus int) Parallel {
	if p.Parallel > 0 {
		return Parallel{Limit: p.Parallel, From: LimitPlan}
	}
	most := Parallel{Limit: cpus, From: LimitCPUs}
	for _, step := range p.Steps() { // a number in the plan takes precedence over the number of processors
		if step.Parallel > most.Limit {
			most = Parallel{Limit: step.Parallel, From: LimitStep, Step: step.ID}
		}
	}
	return most
}

// String says the limit and where it comes from: "at most 4 at a time (the number of processors)".
func (p Parallel) String() string {
	from := map[ParallelLimit]string{
		LimitFlag: "--parallel", LimitConfig: "parallel in config.yaml", LimitPlan: "parallel of the plan", LimitStep: "parallel of step " + string(p.Step),
		LimitCPUs: "the number of processors",
	}[p.From]
	return fmt.Sprintf("at most %d at a time (%s)", p.Limit, from)
}

// Concurrent reports whether attempts of a plan can run at the same time: items of one step, or steps that do not need each other. Without
// that, no limit matters.
func (p *Plan) Concurrent() bool {
	for i := range p.Phases {
		for j := range p.Phases[i].Steps {
			if step := &p.Phases[i].Steps[j]; step.Foreach != nil && step.Parallel != 1 {
				return true
			}
		}
		for _, level := range p.Waves(i) {
			if len(level) > 1 {
				return true
			}
		}
	}
	return false
}
