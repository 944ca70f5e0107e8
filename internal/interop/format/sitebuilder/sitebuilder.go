// Package sitebuilder reads and writes what a team of site-building agents keeps of its work: a checkpoint in JSON for
// each task of an agent, STATUS.md over all of them, messages between them, and the registry of tasks.
//
// All of it is written by agents, after a document and never by a program. So a checkpoint may say nothing but its
// status; counts and percentages differ; times lie in the future; complete is said where criteria are not met. What a
// checkpoint says is a claim: files are looked for, a task is complete only when its criteria are met, its reviews good
// enough and its files there, and of its two clocks the newer one counts, unless it is ahead of time.
//
// A file is changed only where what it says has changed. Nothing is removed: what is complete is copied to its archive,
// and what cannot be read is kept beside what replaces it.
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
		Archived:   []string{"**/progress/checkpoints/*.json" + brokenMark + "*"}, // checkpoints that could not be read, which pawl has kept
		Unfinished: unfinished, CheckCriterion: checkCriterion,
	}
}

// patterns returns those of its files, wherever their folder lies.
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

// unfinished returns the first task that somebody has begun, and that a step of the plan has the id of.
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

// clock is the time, with the scale by which an agent's silence is judged.
type clock struct {
	now            time.Time
	quiet, stalled time.Duration
}

// The scale where a project's settings say nothing. The original has three that differ.
const (
	quietAfter   = 10 * time.Minute
	stalledAfter = 30 * time.Minute
	beatEvery    = 5 * time.Minute
)

// skew is how far clocks may differ before a time counts as one of the future.
const skew = 5 * time.Minute

// names are what the agents are called.
var names = map[string]string{
	"content": "Harper", "technical": "Devon", "community": "Morgan", "migration": "Riley", "polish": "Quinn", "supervisor": "Alex",
}
