// Package dotagent reads and writes what the checkpoint skill of dotagent keeps below memory/: state/phase.json,
// state/execution.json, the reports of its five phases and the outputs of its tasks. Agents write them after a document.
//
// What they say is evidence, and not more. A phase is done when what it was to leave is there, newer than what it was made
// from, and says no failure itself; a task, when its output says so. A file that does not hold loses that phase or task its
// word, and no other. So a death between two phases, a state without its flag and a report left from an older workflow all
// come out where the work really stands.
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
		UnknownTasks: unknownTasks, CheckCriterion: checkCriterion, ResumePrompt: resumePrompt, Archive: archiveState,
	}
}

// Where its files are.
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

// week is the age at which a state is ancient: a person is warned, and may set it aside.
const week = 7 * 24 * time.Hour

// skew is how far clocks may differ before a time counts as one of the future.
const skew = 5 * time.Minute

// mostTries is how often a task is tried before dotagent gives it up.
const mostTries = 3
