// Package planfile reads, checks and writes plan files: YAML in, a [pawl.Plan] or all errors out.
package planfile

import (
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// Errors lists all errors of a plan file by position. [Read] returns it; callers find it with [errors.AsType].
type Errors = strictyaml.Faults

// Read reads a plan strictly and fills in the defaults, except for the parallel of the plan, which stays 0 and means
// the number of processors, and that of a step, where 0 means the plan's. Name is the file's, for messages.
//
// The error is an [Error] of KindUsage around [*Errors] with all that is wrong with the file by itself. What takes a
// look at the disk (lists that are missing, links that lead out of the project) is checked when the plan is run.
func Read(name string, data []byte) (*pawl.Plan, error) {
	var file planFile
	r := &reader{strictyaml.Read("plan", data, &file)}
	plan := r.plan(&file)
	if err := r.Err(name); err != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: "pawl plan check " + quoted(name)}
	}
	return plan, nil
}

// quoted returns s so that a shell takes it for one word.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// planFile is a plan as it is written: bare steps stand for one phase.
type planFile struct {
	pawl.Plan
	Steps []pawl.Step `yaml:"steps,omitempty" json:"steps,omitempty"`
}

// reader makes a plan of what was read, and finds what is wrong with it.
type reader struct{ *strictyaml.File }

// plan returns the plan in a file; it is of use only when no faults were found.
func (r *reader) plan(file *planFile) *pawl.Plan {
	plan := &file.Plan
	switch {
	case !r.Given(file):
		if r.Count() == 0 {
			r.Errorf(nil, "the plan is empty; it needs a name and steps")
		}
		return nil
	case !r.Good(file):
		return nil
	case r.Given(&file.Steps) && r.Given(&plan.Phases):
		r.Errorf(&file.Steps, "a plan has phases (line %d) or steps, not both; put the steps into a phase", r.Line(&plan.Phases))
	case r.Given(&file.Steps):
		plan.Phases = []pawl.Phase{{Name: plan.Name, Steps: file.Steps}}
		r.Same(&plan.Phases[0], &file.Steps)
		r.Same(&plan.Phases[0].Steps, &file.Steps)
	case !r.Given(&plan.Phases):
		r.Errorf(file, "a plan needs \"steps\" or \"phases\"; add one of them")
	}
	r.fillPlan(plan)
	r.checkPlan(plan)
	return plan
}
