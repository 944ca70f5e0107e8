// Package sitebuilder reads and writes what a team of site-building agents keeps of its work: a checkpoint in JSON for
// each task of an agent, STATUS.md over all of them, messages between them, and the registry of tasks.
//
// All of it is written by agents that follow a document, never by a program. So a checkpoint may have nothing but a status; counts
// and percentages may contradict each other; times may be in the future; a task may be marked complete while criteria are not met.
// A checkpoint is a claim to verify: a task is complete only if its criteria are met, its review scores suffice and its files
// exist. Of its two clocks the newer one is used, unless it is in the future.
//
// A file is changed only where its content has to change. No file is removed: the checkpoint of a complete task is copied to its
// archive, and an unreadable file is kept under another name when it is written anew.
package sitebuilder

import (
	"cmp"
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// System is the name of the system.
const System = "sitebuilder"

// Format reads and writes a project of the site builders.
func Format() format.Format {
	return format.Format{
		Name: System, Patterns: patterns(), Read: readProject, Write: write, Verify: verify,
		Archived:   []string{"**/progress/checkpoints/*.json" + brokenMark + "*"}, // pawl's copies of unreadable checkpoints
		Unfinished: unfinished, CheckCriterion: checkCriterion, Criteria: criteriaOf, ListedBlockers: listedBlockers,
	}
}

// patterns returns the patterns of its files, in any folder.
func patterns() []string {
	return []string{
		"**/progress/checkpoints/*.json", "**/progress/STATUS.md", "**/tasks/TASK-REGISTRY.md",
		"**/messages/inbox-*.md", "**/messages/outbox-*.md", "**/messages/broadcast.md", "**/messages/human-escalations.md",
	}
}

// readProject reads a project. Finished work counts as far as the files that it claims exist; without env.Exists all do.
func readProject(files format.Files, env format.Env) (format.Project, []pawl.Finding) {
	r := readTeam(files, env)
	return r.out, r.Findings()
}

// unfinished returns the first task that has begun and has the id of a step of the plan.
func unfinished(files format.Files, env format.Env, plan *pawl.Plan) (what, file string) {
	steps := map[pawl.StepID]bool{}
	for _, step := range plan.Steps() {
		steps[step.ID] = true
	}
	for _, j := range readTeam(files, env).jobs {
		if j.point != nil && steps[j.id] && !j.finished() && j.status != notStarted {
			return "task " + j.task + " of " + cmp.Or(j.agent, "nobody"), j.point.file
		}
	}
	return "", ""
}

// clock is the time, with the thresholds for an agent's silence.
type clock struct {
	now            time.Time
	quiet, stalled time.Duration
}

// The defaults without project settings. The original has three different scales.
const (
	quietAfter   = 10 * time.Minute
	stalledAfter = 30 * time.Minute
	beatEvery    = 5 * time.Minute
)

// skew is the clock difference up to which a time does not count as in the future.
const clockSkew = 5 * time.Minute

// names are the agents' names.
var names = map[string]string{
	"content": "Harper", "technical": "Devon", "community": "Morgan", "migration": "Riley", "polish": "Quinn", "supervisor": "Alex",
}
