// Package planfile reads, checks and writes plan files: YAML in, a [pawl.Plan] or all errors out.
package planfile

import (
	"errors"
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// Errors lists all errors of a plan file by position. [Read] returns it; callers find it with [errors.AsType].
type Errors = strictyaml.Faults

// Read reads a plan strictly and sets defaults. "parallel" has none: 0 means the number of processors in a plan, and the
// plan's value in a step. name is the file's name in messages.
//
// The error is a [pawl.Error] of KindUsage around [*Errors] with all errors in the file. The run itself checks what depends
// on the disk: missing lists, links that lead out of the project.
func Read(name string, data []byte) (*pawl.Plan, error) {
	plan, _, err := ReadPositions(name, data)
	return plan, err
}

// ReadSaved is Read for a plan that was accepted before, such as the copy of a run. It does not check its expressions again.
func ReadSaved(name string, data []byte) (*pawl.Plan, error) {
	plan, _, err := read(name, data, true)
	return plan, err
}

// ReadPositions is Read that also returns the positions of the plan's values.
func ReadPositions(name string, data []byte) (*pawl.Plan, *strictyaml.File, error) {
	return read(name, data, false)
}

func read(name string, data []byte, saved bool) (*pawl.Plan, *strictyaml.File, error) {
	l, err := loadFile(name, data, nil, saved)
	if err != nil {
		return nil, nil, err
	}
	return l.Plan, l.File, nil
}

// EditError returns an error for a plan file that the user has to edit. If the first error is in an included file, that is the
// file to edit.
func EditError(name string, err error) error {
	if all, ok := errors.AsType[*Errors](err); ok && all.Faults[0].File != "" {
		name = all.Faults[0].File
	}
	return &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: "edit " + quoted(name)}
}

// quoted returns s as one word of a shell.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// planFile is the content of a plan file. Steps without a phase form a single phase.
type planFile struct {
	pawl.Plan
	Steps []pawl.Step `yaml:"steps,omitempty" json:"steps,omitempty"`
}

// reader builds a plan from a decoded file and checks it.
type reader struct {
	*strictyaml.File
	partial bool // some steps are not there: those of an include that is wrong, or of a plan that includes the file
	saved   bool // the plan was accepted before
}

// plan returns the plan in a file. It is valid only where there are no errors.
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
		r.Errorf(&file.Steps, "the plan has both phases (line %d) and steps; move the steps into a phase", r.Line(&plan.Phases))
	case r.Given(&file.Steps):
		plan.Phases = []pawl.Phase{{Name: plan.Name, Steps: file.Steps}}
		r.Same(&plan.Phases[0], &file.Steps)
		r.Same(&plan.Phases[0].Steps, &file.Steps)
	case !r.Given(&plan.Phases):
		r.Errorf(file, "the plan has neither \"steps\" nor \"phases\"; add one of them")
	}
	r.fillPlan(plan)
	r.checkPlan(plan)
	return plan
}
