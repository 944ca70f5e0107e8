package gyoshu

import (
	"fmt"
	"path"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// A stage is complete when Gyoshu's own files say so: the last end marker in the saved outputs of the notebook, or a valid
// checkpoint of the stage. Whoever executes a stage and only ends has completed nothing.

// endedWell ends the criterion of a stage.
const endedWell = " ended with success"

// criterion returns the criterion of a stage. An end marker that was there before proves nothing.
func (s *stageState) criterion() string {
	by := "the notebook or a checkpoint"
	if s.marker == "success" {
		by = "a checkpoint"
	}
	return by + " says that " + s.id + endedWell
}

// require sets what a stage needs to be done, and tells whoever continues an unfinished one.
func (s *stageState) require(step *format.Step, title string) {
	done := step.Status == pawl.Done
	if step.Criteria = map[string]bool{s.criterion(): done}; done {
		return
	}
	marker := fmt.Sprintf("[STAGE:end:id=%s:status=success]", s.id)
	says := fmt.Sprintf("the saved output of its cell in %s has %s, or a", notebookPath(title), marker)
	if s.marker == "success" {
		says = "a"
	}
	step.Facts["done when"] = fmt.Sprintf("%s checkpoint of it with status saved is in %s; without that it does not count as done", says, path.Join(reports, title, "checkpoints"))
}

// checkCriterion reports whether the files say that a stage ended with success.
func (s scope) checkCriterion(files format.Files, env format.Env, id pawl.StepID, name string) (bool, string) {
	if env.Hash == nil {
		env.Hash = hashAmong(files)
	}
	why := fmt.Sprintf("there is no stage %s", id)
	for _, r := range newestFirstOf(files, env) {
		if s.title != "" && r.title != s.title {
			continue
		}
		for _, run := range r.runsOf(env.IDs) {
			for _, stage := range r.stages(run, env, r.queues[run]) {
				if pawl.StepIDOf(stage.id) != id {
					continue
				}
				met, says := stage.endedSince(env.Redone, stage.requiresCheckpoint(name))
				if met {
					return true, says
				}
				why = says
			}
		}
	}
	return false, why
}

// criteriaOf returns the criterion of a stage in its two forms.
func (s scope) criteriaOf(files format.Files, env format.Env, id pawl.StepID) []string {
	if env.Hash == nil {
		env.Hash = hashAmong(files)
	}
	for _, r := range newestFirstOf(files, env) {
		if s.title != "" && r.title != s.title {
			continue
		}
		for _, run := range r.runsOf(env.IDs) {
			for _, stage := range r.stages(run, env, r.queues[run]) {
				if pawl.StepIDOf(stage.id) == id {
					return []string{(&stageState{id: stage.id}).criterion(), (&stageState{id: stage.id, marker: "success"}).criterion()}
				}
			}
		}
	}
	return nil
}

// runsOf returns the runs of the research with these ids, the newest without ids. A research may have a notebook and no run.
func (r *research) runsOf(ids []string) []string {
	if len(ids) == 0 || len(r.runs()) == 0 {
		return []string{r.newest}
	}
	return slices.DeleteFunc(r.runs(), func(run string) bool { return !slices.Contains(ids, run) })
}

// requiresCheckpoint reports whether a criterion of the stage accepts no marker.
func (s *stageState) requiresCheckpoint(name string) bool {
	return name == (&stageState{id: s.id, marker: "success"}).criterion()
}

// endedSince reports whether the stage ended with success after a time.
func (s *stageState) endedSince(since time.Time, checkpoint bool) (bool, string) {
	switch {
	case s.good != nil && s.good.Manifest.Time().After(since):
		return true, "checkpoint " + s.good.ID + " says that it" + endedWell + ", and its artifacts exist"
	case s.invalid != nil:
		return false, "its checkpoint " + s.invalid.ID + " is not valid: " + s.why
	case s.marker == "success" && !checkpoint && (since.IsZero() || s.ended.After(since)):
		return true, s.line + " says that it" + endedWell
	case s.marker != "" && s.marker != "success":
		return false, s.line + " says that it ended with status " + s.marker
	}
	return false, "neither the notebook nor a checkpoint says how it ended"
}
