package dotagent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// checkCriterion reports whether the agent of a step wrote the required file, by the same rule by which Read takes a step as
// done: the report of a phase exists, is readable, belongs to this workflow and reports no failure; the output of a task has
// the status done. Files from before the run do not count.
func checkCriterion(files format.Files, env format.Env, id pawl.StepID, name string) (bool, string) {
	r := readWorkflow(files, env)
	what, since := format.CutTime(name)
	if i := slices.IndexFunc(r.tasks, func(t *task) bool { return t.step == id }); i >= 0 {
		t := r.tasks[i]
		t.out = cmp.Or(strings.TrimSuffix(what, saysDone), t.out)
		return r.meetsTask(t, since)
	}
	for p := requirements; p < phaseEnd; p++ {
		if slices.Contains(stepsOf(p), id) {
			return r.meetsPhase(p, id, since)
		}
	}
	return false, fmt.Sprintf("there is no task %s", id)
}

// criteriaOf returns the criterion of a step.
func criteriaOf(files format.Files, env format.Env, id pawl.StepID) []string {
	r := readWorkflow(files, env)
	known := slices.ContainsFunc(r.tasks, func(t *task) bool { return t.step == id })
	for p := requirements; p < phaseEnd; p++ {
		known = known || slices.Contains(stepsOf(p), id)
	}
	if !known {
		return nil
	}
	criterion, _ := format.CutTime(r.criterion(id))
	return []string{criterion}
}

// stepsOf returns the steps of a phase that are not tasks.
func stepsOf(p phase) []pawl.StepID {
	if p == architecture {
		return []pawl.StepID{stepArchitects, stepRoundtable}
	}
	return []pawl.StepID{[]pawl.StepID{stepRequirements, "", stepImplementation, stepVerification, stepReflection}[p]}
}

// meetsTask reports whether the output of a task says that it is done.
func (r *workflowReader) meetsTask(t *task, since time.Time) (bool, string) {
	t.output, t.doubt = nil, ""
	r.readOutput(t)
	f := r.outputFile(t)
	switch {
	case t.doubt != "":
		return false, t.doubt
	case t.output == nil:
		return false, t.out + " is missing"
	case f != nil && !f.Changed.IsZero() && !f.Changed.After(since):
		return false, t.out + " belongs to an earlier attempt"
	case taskStatus(t.output.status) != pawl.Done || t.output.status == "" && f != nil:
		return false, joined(t.out+" has the status "+short(t.output.status), t.output.reason)
	}
	for _, c := range t.output.claims {
		if there, known := r.exists(c.Path); !there && known {
			return false, t.out + " names " + c.Path + ", which is missing"
		}
	}
	return true, t.out + " says that the task is done"
}

// meetsPhase reports whether the required report of a phase exists. Earlier phases do not matter.
func (r *workflowReader) meetsPhase(p phase, id pawl.StepID, since time.Time) (bool, string) {
	if id == stepImplementation && len(r.tasks) > 0 {
		return r.meetsTasks()
	}
	if f := r.file(p.report()); id != stepArchitects && f != nil && !since.IsZero() && !f.Changed.After(since) {
		return false, f.Path + " is unchanged"
	}
	r.steps[p] = nil
	r.evalPhase(p, false)
	for _, s := range r.steps[p] {
		if s.ID == id && s.Status == pawl.Done {
			return true, "the files that the step requires exist"
		}
	}
	for _, f := range slices.Backward(r.Findings()) {
		if file, _, _ := strings.Cut(f.Where, ":"); file == p.report() || file == phasePath && strings.Contains(f.What, p.String()) {
			return false, f.Where + ": " + f.What
		}
	}
	return false, "none of the files that the step requires exists"
}

// meetsTasks reports whether all tasks in execution.json are done.
func (r *workflowReader) meetsTasks() (bool, string) {
	for _, t := range r.tasks {
		if met, why := r.meetsTask(t, time.Time{}); !met {
			return false, "task " + t.id + ": " + why
		}
	}
	return true, fmt.Sprintf("the outputs of all %d tasks say that they are done", len(r.tasks))
}

// criteria returns the required files of a step that is not done.
func (r *workflowReader) criteria(s format.Step) map[string]bool {
	if s.Gate != nil || s.Status == pawl.Done || s.Status == pawl.Skipped {
		return nil
	}
	return map[string]bool{r.criterion(s.ID): false}
}

// saysDone ends the criterion of a task, after the path of its output.
const saysDone = " says that it is done"

// criterion returns the criterion for the required file of a step. If an invalid file exists already, the criterion names its time: the
// new file must be newer.
func (r *workflowReader) criterion(id pawl.StepID) string {
	if i := slices.IndexFunc(r.tasks, func(t *task) bool { return t.step == id }); i >= 0 {
		out := r.tasks[i].out
		return r.newerThan(out+saysDone, out)
	}
	switch id {
	case stepRequirements:
		return r.newerThan(requirements.report()+" is there", requirements.report())
	case stepArchitects:
		return "a design is in " + reportsFolder + "designs/"
	case stepRoundtable:
		return r.newerThan(architecture.report()+" is there", architecture.report())
	case stepImplementation:
		return executionPath + " names the tasks, and the output of each says that it is done"
	case stepVerification:
		return r.newerThan(verification.report()+" is there, and says no failure", verification.report())
	}
	return "a file in " + reflectionsFor + " looks back on the workflow"
}

func (r *workflowReader) newerThan(criterion, name string) string {
	f := r.file(name)
	if f == nil || f.Changed.IsZero() {
		return criterion
	}
	return format.WithTime(criterion, f.Changed)
}
