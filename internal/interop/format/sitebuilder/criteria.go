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

// checkCriterion looks whether a task meets a criterion of its own. Files are looked for and counted. Of anything else there is the
// word of its agent and no other, in the task's checkpoint: that is what is said then, and not more.
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

// meets says whether a job meets a criterion, and by what that is known. A checkpoint that is broken may be why it does not.
func (r *teamReader) meets(j *job, name string) (bool, string) {
	met, why := r.proves(j, name)
	if !met && j.point != nil && j.point.broken {
		why = j.point.file + " cannot be read whole; as far as it goes, " + why
	}
	return met, why
}

func (r *teamReader) proves(j *job, name string) (bool, string) {
	if file, ok := j.entry.fileOf(name); ok {
		there := r.exists(r.path(r.registry(), j.entry.line, file))
		return there, fmt.Sprintf("%s is %s", file, map[bool]string{true: "there", false: "not there"}[there])
	}
	if total, ok := counted(name); ok {
		n := r.countFiles(j)
		return n >= total, fmt.Sprintf("of the files that are claimed %d are there, of %d that are wanted", n, total)
	}
	point := r.pointOf(j)
	if name == allSubtasks && j.hasSubtasks() {
		total, done := r.calledComplete(j)
		return done >= total, fmt.Sprintf("%d of %d are: that is, as %s or the items of its step say (pawl progress --item ID)", done, total, point)
	}
	if j.point != nil {
		for raw, met := range j.point.criteria {
			if met && format.Plain(raw) == name {
				return true, fmt.Sprintf("attested: %s says so; nothing else proves it", point)
			}
		}
	}
	return false, fmt.Sprintf("%s does not say so: once it is so, have acceptance_criteria_met be true there for %q", point, name)
}

// allSubtasks is the criterion of a task that has subtasks.
const allSubtasks = "all subtasks are complete"

// hasSubtasks reports whether a task consists of more than itself.
func (j *job) hasSubtasks() bool {
	if j.point == nil {
		return false
	}
	total, _ := j.point.counts()
	return total > 1 || len(j.point.items) > 0
}

// calledComplete returns how many subtasks there are, and how many its checkpoint calls complete, or the run does that asks:
// its own items say so before the checkpoint does. One whose output is not there is not complete.
func (r *teamReader) calledComplete(j *job) (total, done int) {
	called := map[pawl.ItemID]bool{}
	for _, item := range r.env.Items {
		called[pawl.ItemIDOf(item.ID)] = item.Status == pawl.ItemIsDone // the last word counts
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

// fileOf returns the file whose being there is a criterion.
func (t *task) fileOf(criterion string) (string, bool) {
	name, ok := strings.CutSuffix(criterion, isThere)
	return name, ok && t != nil && slices.Contains(t.files, name)
}

// isThere ends the name of a criterion that is a file's being there.
const isThere = " is there"

var countedFiles = lazyregexp.New(`^([1-9]\d{0,5})_files(?:_created|_modified)?$`)

// counted returns how many files a criterion is about that is a count of files: 29_files_created.
func counted(criterion string) (int, bool) {
	m := countedFiles.FindStringSubmatch(criterion)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// attested reports whether a criterion is one that nothing but its agent's word speaks for.
func (t *task) attested(criterion string) bool {
	_, file := t.fileOf(criterion)
	_, count := counted(criterion)
	return !file && !count && criterion != allSubtasks
}

// countFiles returns how many of the files that a task claims are there.
func (r *teamReader) countFiles(j *job) int {
	there := map[string]bool{}
	note := func(name string) { there[name] = there[name] || r.exists(name) }
	if j.point != nil {
		for _, name := range slices.Concat(j.point.created, j.point.modified) {
			note(name)
		}
		for _, s := range j.point.items {
			if s.output != "" {
				note(r.output(j.point, s))
			}
		}
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

// pointOf returns the path of the checkpoint in which a task's agent says what is met.
func (r *teamReader) pointOf(j *job) string {
	if j.current != nil {
		return j.current.file
	}
	current, _ := r.fileOf(cmp.Or(j.agent, System), j.task)
	return current
}

// attestation tells an agent where to say what is met.
func (r *teamReader) attestation(j *job) string {
	if j.finished() {
		return ""
	}
	text := ""
	if met, there := j.step.Criteria[allSubtasks]; there && !met {
		text = fmt.Sprintf("\n\nOf each subtask, once it is complete, say so in %s, or with pawl progress --item ID: the task is not taken for done before.", r.pointOf(j))
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(j.step.Criteria)), j.entry.attested) {
		return text
	}
	return text + fmt.Sprintf("\n\nWhat is met of its criteria, say in %s, in acceptance_criteria_met, by their names: the task is not taken for done before.", r.pointOf(j))
}

// criteria returns what a task is to meet, and whether its checkpoint says that it does: what that names itself, or else
// what the registry has; and its subtasks, and the files that are to be there, in any case.
func (r *teamReader) criteria(j *job) map[string]bool {
	all := map[string]bool{}
	if j.point != nil {
		maps.Copy(all, j.point.criteria)
	}
	named := len(all) > 0
	if j.hasSubtasks() {
		total, done := r.calledComplete(j)
		all[allSubtasks] = done >= total
	}
	if j.entry == nil {
		return all
	}
	if !named {
		for _, text := range slices.Concat(j.entry.criteria, j.entry.checks) {
			all[oneLine(text)] = false
		}
	}
	for _, name := range j.entry.files {
		all[name+isThere] = r.exists(r.path(r.registry(), j.entry.line, name))
	}
	return all
}
