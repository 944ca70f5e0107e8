package sitebuilder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/lazyregexp"
)

// checkCriterion reports whether a task meets one of its criteria. It looks for files and counts them. For anything else the
// only evidence is the agent's statement in the checkpoint, and why says so.
func checkCriterion(files format.Files, env format.Env, id pawl.StepID, name string) (bool, string) {
	r := readTeam(files, env)
	for _, j := range r.jobs {
		switch {
		case j.id == id && name == "":
			return r.meetsAll(j)
		case j.id == id:
			return r.meets(j, name)
		}
	}
	return false, fmt.Sprintf("there is no task %s", id)
}

// criteriaOf returns the criteria of a task: those in its checkpoint and those in the registry.
func criteriaOf(files format.Files, env format.Env, id pawl.StepID) []string {
	r := readTeam(files, env)
	i := slices.IndexFunc(r.jobs, func(j *job) bool { return j.id == id })
	if i < 0 {
		return nil
	}
	j := r.jobs[i]
	all := r.criteria(j)
	if j.entry != nil {
		for _, text := range slices.Concat(j.entry.criteria, j.entry.checks) {
			all[oneLine(text)] = false
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (r *teamReader) meetsAll(j *job) (bool, string) {
	var lacking, all []string
	for _, raw := range slices.Sorted(maps.Keys(r.criteria(j))) {
		name := format.Plain(raw)
		met, why := r.meets(j, name)
		if all = append(all, name+": "+why); !met {
			lacking = append(lacking, name+": "+why)
		}
	}
	if len(lacking) > 0 {
		return false, strings.Join(lacking, "; ")
	}
	return true, strings.Join(all, "; ")
}

// meets reports whether a job meets a criterion, and why. An invalid checkpoint can be the reason that it does not.
func (r *teamReader) meets(j *job, name string) (bool, string) {
	met, why := r.proves(j, name)
	if !met && j.point != nil && j.point.broken {
		why = j.point.file + " cannot be read completely; in its readable part, " + why
	}
	return met, why
}

func (r *teamReader) proves(j *job, name string) (bool, string) {
	if file, ok := j.entry.fileOf(name); ok {
		there := r.exists(r.path(r.registry(), j.entry.line, file))
		return there, fmt.Sprintf("%s %s", file, map[bool]string{true: "exists", false: "is missing"}[there])
	}
	if total, claim, ok := fileCount(name); ok {
		n := r.countFiles(j, claim)
		return n >= total, fmt.Sprintf("files that are claimed%s: %d exist, %d are required", as(claim), n, total)
	}
	if name == reportsDone {
		return r.meetsReport(j)
	}
	point := r.pointOf(j)
	if name == allSubtasks && j.hasSubtasks() {
		total, done := r.countComplete(j)
		return done >= total, fmt.Sprintf("%d of %d are complete, according to %s and the items of its step (pawl progress --item ID)", done, total, point)
	}
	if j.point != nil {
		for raw, met := range j.point.criteria {
			if met && format.Plain(raw) == name {
				return true, fmt.Sprintf("attested: %s says that it is met; nothing else proves it", point)
			}
		}
	}
	return false, fmt.Sprintf("%s does not say that it is met: once it is, set acceptance_criteria_met to true there for %q", point, name)
}

// allSubtasks is the criterion of a task with subtasks.
const allSubtasks = "all subtasks are complete"

// hasSubtasks reports whether a task has subtasks.
func (j *job) hasSubtasks() bool {
	if j.point == nil {
		return false
	}
	total, _ := j.point.counts()
	return total > 1 || len(j.point.items) > 0
}

// countComplete returns the number of subtasks, and of those that are complete in the checkpoint or in the calling run,
// whose items are newer. A subtask with a missing output is not complete.
func (r *teamReader) countComplete(j *job) (total, done int) {
	called := map[pawl.ItemID]bool{}
	for _, item := range r.env.Items {
		called[pawl.ItemIDOf(item.ID)] = item.Status == pawl.ItemIsDone // the last entry counts
	}
	maps.DeleteFunc(called, func(_ pawl.ItemID, is bool) bool { return !is })
	total, done = j.point.counts()
	for _, item := range r.items(j) {
		id := pawl.ItemIDOf(item.ID)
		switch says := meaning(item.Native) == complete; {
		case says && item.Status != pawl.ItemIsDone:
			done--
		case !says && called[id]:
			done++
		}
		delete(called, id)
	}
	return total, min(done+len(called), total)
}

// fileOf returns the file in a criterion that requires a file to exist.
func (t *task) fileOf(criterion string) (string, bool) {
	name, ok := strings.CutSuffix(criterion, existsSuffix)
	return name, ok && t != nil && slices.Contains(t.files, name)
}

// existsSuffix ends a criterion that requires a file to exist.
const existsSuffix = " is there"

// fileClaim is what a task claims to have done to a file; empty: either.
type fileClaim string

const (
	createdFile  fileClaim = "created"
	modifiedFile fileClaim = "modified"
)

func as(claim fileClaim) string {
	if claim == "" {
		return ""
	}
	return " as " + string(claim)
}

var countedFiles = lazyregexp.New(`^([1-9]\d{0,5})_files(?:_(created|modified))?$`)

// fileCount returns the number in a criterion that counts files, and which ones: 29_files_created.
func fileCount(criterion string) (n int, claim fileClaim, ok bool) {
	m := countedFiles.FindStringSubmatch(criterion)
	if m == nil {
		return 0, "", false
	}
	n, err := strconv.Atoi(m[1])
	return n, fileClaim(m[2]), err == nil
}

// selfReported reports whether the only evidence of a criterion is the agent's statement.
func (t *task) selfReported(criterion string) bool {
	_, file := t.fileOf(criterion)
	_, _, count := fileCount(criterion)
	return !file && !count && criterion != allSubtasks && criterion != reportsDone
}

// countFiles returns how many of the files exist that a task claims to have created or modified. The output of a subtask counts
// as created, unless the task only claims to have modified it.
func (r *teamReader) countFiles(j *job, claim fileClaim) int {
	there := map[string]bool{}
	note := func(name string) { there[name] = there[name] || r.exists(name) }
	noteAll := func(names []string) {
		for _, name := range names {
			note(name)
		}
	}
	if j.point == nil {
		return 0
	}
	if claim != modifiedFile {
		noteAll(j.point.created)
		for _, s := range j.point.items {
			if s.output == "" {
				continue
			}
			if name := r.output(j.point, s); claim == "" || !slices.Contains(j.point.modified, name) {
				note(name)
			}
		}
	}
	if claim != createdFile {
		noteAll(j.point.modified)
	}
	n := 0
	for _, is := range there {
		if is {
			n++
		}
	}
	return n
}

func (r *teamReader) exists(name string) bool {
	return name != "" && r.env.Exists != nil && r.env.Exists(name)
}

// pointOf returns the path of the checkpoint in which a task's agent reports the criteria.
func (r *teamReader) pointOf(j *job) string {
	if j.current != nil {
		return j.current.file
	}
	current, _ := r.fileOf(cmp.Or(j.agent, System), j.task)
	return current
}

// attestation tells an agent where to report the criteria.
func (r *teamReader) attestation(j *job) string {
	if j.finished() {
		return ""
	}
	text := ""
	if met, there := j.step.Criteria[allSubtasks]; there && !met {
		text = fmt.Sprintf("\n\nWhen a subtask is complete, record that in %s, or with pawl progress --item ID. Until all are recorded, the task does not count as done.", r.pointOf(j))
	}
	if _, only := j.step.Criteria[reportsDone]; only {
		return fmt.Sprintf("\n\nWhen the task is complete, set its status to complete in %s. Until then it does not count as done.", r.pointOf(j))
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(j.step.Criteria)), j.entry.selfReported) {
		return text
	}
	return text + fmt.Sprintf("\n\nWhen a criterion is met, set it to true in %s, under its name in acceptance_criteria_met. Until all are set, the task does not count as done.", r.pointOf(j))
}

// criteria returns the criteria of a task, and whether they are met according to its checkpoint: those in the checkpoint, or
// else in the registry, and always the subtasks and the required files.
func (r *teamReader) criteria(j *job) map[string]bool {
	all := map[string]bool{}
	if j.point != nil {
		maps.Copy(all, j.point.criteria)
	}
	named := len(all) > 0
	if j.hasSubtasks() {
		total, done := r.countComplete(j)
		all[allSubtasks] = done >= total
	}
	if j.entry == nil {
		return j.orReportsDone(all)
	}
	if !named {
		for _, text := range slices.Concat(j.entry.criteria, j.entry.checks) {
			all[oneLine(text)] = false
		}
	}
	for _, name := range j.entry.files {
		all[name+existsSuffix] = r.exists(r.path(r.registry(), j.entry.line, name))
	}
	return j.orReportsDone(all)
}

// reportsDone is the criterion of a task without other ones.
const reportsDone = "its checkpoint says that it is complete"

func (j *job) orReportsDone(criteria map[string]bool) map[string]bool {
	if len(criteria) == 0 {
		criteria[reportsDone] = j.point != nil && j.point.taskStatus() == complete
	}
	return criteria
}

// meetsReport reports whether a task's agent has called it complete, since it was done last.
func (r *teamReader) meetsReport(j *job) (bool, string) {
	point := r.pointOf(j)
	f := r.files.Find(point)
	switch {
	case j.point == nil || f == nil || j.point.taskStatus() != complete:
		return false, point + " does not say that the task is complete: once it is, set its status to complete there"
	case !r.env.Redone.IsZero() && !f.Changed.After(r.env.Redone):
		return false, point + " was written before the task ran again"
	}
	return true, "attested: " + point + " says that the task is complete; nothing else proves it"
}
