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
	what, since := sinceIn(name)
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
	return map[string]bool{r.criterion(s): false}
}

// saysDone ends the criterion of a task, after the path of its output.
const saysDone = " says that it is done"

// criterion returns the criterion for a required file. If an invalid file exists already, the criterion names its time: the
// new file must be newer.
func (r *workflowReader) criterion(s format.Step) string {
	if i := slices.IndexFunc(r.tasks, func(t *task) bool { return t.step == s.ID }); i >= 0 {
		out := r.tasks[i].out
		return out + saysDone + r.newerThan(out)
	}
	switch s.ID {
	case stepRequirements:
		return requirements.report() + " is there" + r.newerThan(requirements.report())
	case stepArchitects:
		return "a design is in " + reportsFolder + "designs/"
	case stepRoundtable:
		return architecture.report() + " is there" + r.newerThan(architecture.report())
	case stepImplementation:
		return executionPath + " names the tasks, and the output of each says that it is done"
	case stepVerification:
		return verification.report() + " is there, and says no failure" + r.newerThan(verification.report())
	}
	return "a file in " + reflectionsFor + " looks back on the workflow"
}

// behind separates a criterion from the time after which the file must have been written.
const behind = ", written after "

func (r *workflowReader) newerThan(name string) string {
	f := r.file(name)
	if f == nil || f.Changed.IsZero() {
		return ""
	}
	return behind + f.Changed.UTC().Format(time.RFC3339Nano)
}

// sinceIn returns the time in a criterion.
func sinceIn(name string) (what string, since time.Time) {
	if what, text, found := cutLast(name, behind); found {
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return what, at
		}
	}
	return name, time.Time{}
}
