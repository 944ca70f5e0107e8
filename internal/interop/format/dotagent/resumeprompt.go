package dotagent

import (
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// resumePrompt returns the question that dotagent asks before it resumes, with its own default answer.
func resumePrompt(files format.Files, env format.Env) format.Question {
	r := readWorkflow(files, env)
	switch {
	case r.out.Name == "" || r.file(phasePath) == nil && r.file(phasePath+".tmp") == nil || r.out.Status == pawl.StatusCompleted:
		return format.Question{}
	case r.flow.lost || invalid(r):
		return format.Question{Workflow: r.out.ID, Tell: r.out.Prompt, Ask: "State appears corrupted. Start fresh?", Fresh: true}
	}
	return format.Question{Workflow: r.out.ID, Tell: r.out.Prompt, Ask: "Resume workflow from " + r.current().String() + "?", Yes: true}
}

// invalid reports whether one of the document's validations found a fault. What is only suspect is told, and no more.
func invalid(r *workflowReader) bool {
	v := &workflowVerifier{workflowReader: r}
	v.validate()
	return slices.ContainsFunc(v.found.Findings(), func(f pawl.Finding) bool { return f.Level == pawl.Bad })
}

// archiveState archives the state, so that a fresh start finds none. Reports, outputs and what was learned stay where they are: a
// report that is older than a workflow does not count for it.
func archiveState(files format.Files, now time.Time) []format.File {
	m := newWorkflowWriter(files, format.Export{Now: now})
	m.archiveState(now, false)
	return m.files.ByLastChange()
}
