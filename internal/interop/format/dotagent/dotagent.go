// Package dotagent reads and writes what the checkpoint skill of dotagent keeps below memory/: state/phase.json,
// state/execution.json, the reports of its five phases and the outputs of its tasks. Agents write them, following a document.
//
// The files are only evidence. A phase is done if its output exists, is newer than its input and reports no failure; a task is
// done if its output says so. An unusable file only affects its own phase or task. So a crash between two phases, a state without
// its flag and a report of an older workflow all lead to the position of the actual work.
package dotagent

import (
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// System is the name of the system.
const System = "dotagent"

// Format reads and writes a project of dotagent.
func Format() format.Format {
	return format.Format{
		Name: System, Patterns: patterns(), Read: readProject, Write: write, Verify: verify,
		UnknownTasks: unknownTasks, CheckCriterion: checkCriterion, Criteria: criteriaOf, ResumePrompt: resumePrompt, Archive: archiveState,
	}
}

// The paths of its files.
const (
	phasePath      = "memory/state/phase.json"
	executionPath  = "memory/state/execution.json"
	archiveFolder  = "memory/state/.archive/"
	reportsFolder  = "memory/reports/"
	tasksFolder    = "memory/tasks/"
	reflectionsFor = "memory/reflections/"
)

func patterns() []string {
	return []string{
		"memory/state/*.json", "memory/state/*.json.tmp", "memory/state/.archive/*/*", "memory/reports/*.json", "memory/reports/designs/*.json",
		"memory/tasks/*/*.json", "memory/contracts/*.json", "memory/reflections/*.json", "memory/evolution/*.json",
		"memory/knowledge/*/*.json", "workflows/main.json",
	}
}

// readProject reads the workflow in memory/state, or what the reports alone show of one.
func readProject(files format.Files, env format.Env) (format.Project, []pawl.Finding) {
	r := readWorkflow(files, env)
	return r.out, r.Findings()
}

// ancientAge is the age from which a state is ancient: dotagent warns the user and offers to archive it.
const ancientAge = 7 * 24 * time.Hour

// skew is the clock difference up to which a time does not count as in the future.
const clockSkew = 5 * time.Minute

// maxAttempts is the number of attempts after which dotagent gives up on a task.
const maxAttempts = 3
