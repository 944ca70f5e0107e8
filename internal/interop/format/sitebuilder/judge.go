package sitebuilder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/oneline"
)

// buildSteps makes a step of each job.
func (r *teamReader) buildSteps() {
	ids := map[string]pawl.StepID{}
	for _, j := range r.jobs {
		ids[j.task] = j.id
	}
	for _, j := range r.jobs {
		j.step = format.Step{ID: j.id, Name: j.title(), Agent: j.agent, Needs: r.needs(j, ids), Facts: map[string]string{}}
		r.evalStatus(j)
		r.addDetails(j)
	}
	r.cutCircles()
}

func (j *job) title() string {
	title := ""
	if j.point != nil {
		title = j.point.title
	}
	if j.entry != nil {
		title = cmp.Or(title, j.entry.title)
	}
	return title
}

// needs returns the dependencies of a job. One that is not in the registry has none.
func (r *teamReader) needs(j *job, ids map[string]pawl.StepID) []pawl.StepID {
	needs := []pawl.StepID{}
	if j.entry == nil {
		return needs
	}
	for _, task := range j.entry.needs {
		id, ok := ids[task]
		switch {
		case !ok:
			r.Warn(report.Where(r.registry(), j.entry.line), "task %s depends on %s, which does not exist", j.task, oneline.Quote(task))
		case id != j.id && !slices.Contains(needs, id):
			needs = append(needs, id)
		}
	}
	return needs
}

// cutCircles removes circular dependencies.
func (r *teamReader) cutCircles() {
	at := make(map[pawl.StepID]*job, len(r.jobs))
	for _, j := range r.jobs {
		at[j.id] = j
	}
	const open, closed = 1, 2
	seen := map[pawl.StepID]int{}
	var visit func(j *job)
	visit = func(j *job) {
		seen[j.id] = open
		j.step.Needs = slices.DeleteFunc(j.step.Needs, func(need pawl.StepID) bool {
			if seen[need] == 0 {
				visit(at[need])
			}
			if seen[need] == open {
				r.Warn(report.Where(r.registry(), j.entry.line), "tasks %s and %s depend on each other; the dependency on %s is ignored", j.task, at[need].task, at[need].task)
			}
			return seen[need] == open
		})
		seen[j.id] = closed
	}
	for _, j := range r.jobs {
		if seen[j.id] == 0 {
			visit(j)
		}
	}
}

// evalStatus determines the status of a job, by what is verified.
func (r *teamReader) evalStatus(j *job) {
	j.step.Native, j.status = j.statusSaid()
	if j.point == nil && j.entry == nil && j.stream != nil {
		j.step.Total, j.step.Done = j.stream.tasks, j.stream.complete
	}
	if j.status == complete {
		j.unmet = j.unmetConditions()
	}
	j.missing = r.missingFiles(j)
	j.step.Status = j.stepStatus(r.clock)
}

// statusSaid returns the claimed status of a job and its meaning: from its checkpoint, else the registry, else its stream's
// row.
func (j *job) statusSaid() (native string, means taskStatus) {
	switch {
	case j.point != nil:
		return j.point.native, j.point.taskStatus()
	case j.entry != nil:
		return j.entry.native, meaning(j.entry.native)
	case j.stream != nil:
		return j.stream.native, j.stream.taskStatus()
	}
	return "", unknown
}

// taskStatus returns the meaning of a stream's counts or, without them, of its status.
func (s *streamRow) taskStatus() taskStatus {
	switch {
	case s.counted && s.tasks > 0 && s.complete >= s.tasks:
		return complete
	case s.blocked > 0:
		return blocked
	case s.counted && (s.active > 0 || s.complete > 0):
		return inProgress
	}
	return meaning(s.native)
}

// unmetConditions returns why a job is not complete although it claims to be: criteria that are not met, low review scores,
// unfinished subtasks.
func (j *job) unmetConditions() []string {
	if j.point == nil {
		return nil
	}
	var lacking []string
	for _, name := range slices.Sorted(maps.Keys(j.point.criteria)) {
		if !j.point.criteria[name] {
			lacking = append(lacking, name)
		}
	}
	if j.entry != nil {
		for _, by := range slices.Sorted(maps.Keys(j.entry.minimum)) {
			if n, reviewed := j.point.scores[by]; reviewed && n < j.entry.minimum[by] {
				lacking = append(lacking, fmt.Sprintf("review by %s: %d, below the minimum of %d", by, n, j.entry.minimum[by]))
			}
		}
	}
	if total, done := j.point.counts(); done < total {
		lacking = append(lacking, fmt.Sprintf("subtasks: %d of %d", done, total))
	}
	return lacking
}

// missingFiles returns the claimed files of a job that are missing.
func (r *teamReader) missingFiles(j *job) []string {
	if j.point == nil || r.env.Exists == nil {
		return nil
	}
	var missing []string
	for _, name := range slices.Concat(j.point.created, j.point.modified) {
		if !r.env.Exists(name) && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		r.Find(pawl.Warn, j.point.file, "they will be recreated", "%d of its claimed files are missing: %s", len(missing), strings.Join(missing[:min(len(missing), 5)], ", "))
	}
	return missing
}

// stepStatus returns a job's status in pawl's words. A job without activity within the threshold is not running.
func (j *job) stepStatus(at clock) pawl.StepStatus {
	switch j.status {
	case complete:
		if len(j.unmet) == 0 && len(j.missing) == 0 {
			return pawl.Done
		}
	case inProgress:
		if j.point != nil && j.point.isActive(at) {
			return pawl.Running
		}
	case inReview:
		return pawl.AwaitsReview
	case failed:
		return pawl.FailedForGood
	case blocked:
		if j.skipped() {
			return pawl.Skipped
		}
	}
	return pawl.Pending
}

// skipped reports whether a person skipped the task, as pawl writes it.
func (j *job) skipped() bool {
	return j.point != nil && j.point.resumable != nil && !*j.point.resumable && slices.ContainsFunc(j.point.errors, func(f fault) bool { return f.kind == typeSkipped })
}

// isActive reports whether an agent is working on it, by the document's threshold.
func (c *checkpoint) isActive(at clock) bool {
	last := c.activity(at.now)
	return !last.IsZero() && at.now.Sub(last) <= at.quiet
}

// addDetails fills in the rest of a job.
func (r *teamReader) addDetails(j *job) {
	s, c := &j.step, j.point
	s.Where = r.whereOf(j)
	s.Goal = j.goal()
	s.Criteria = r.criteria(j)
	s.Goal += r.attestation(j) + r.inbox(j)
	if j.entry != nil {
		maps.Copy(s.Facts, j.entry.facts)
		s.Minimum = j.entry.minimum
	}
	if c == nil {
		r.addNativeBlocker(j)
		return
	}
	s.Started, s.Ended = c.started, cmp.Or(c.completed, c.updated)
	if j.status != complete {
		s.Ended = time.Time{}
	}
	s.Total, s.Done = c.counts()
	s.Items = r.items(j)
	s.Reviews = c.scores
	for _, name := range slices.Concat(c.created, c.modified) {
		s.Claims = append(s.Claims, format.Claim{Path: name})
	}
	s.Why, s.Resume = j.why(r.clock), j.resumeHint()
	if s.Status != pawl.Done && j.status != notStarted {
		s.Partial = &format.Partial{Created: c.created, Modified: c.modified, Last: c.last}
	}
	if s.Status == pawl.Done {
		s.Summary = fmt.Sprintf("%s says that it is complete", j.agent)
	}
	c.describe(s.Facts)
	j.effort(s.Facts)
	r.addBlocker(j)
	r.askBeforeResume(j)
}

func (r *teamReader) whereOf(j *job) string {
	switch {
	case j.point != nil:
		return report.Where(j.point.file, j.point.line)
	case j.entry != nil:
		return report.Where(r.registry(), j.entry.line)
	}
	return report.Where(r.status(), j.stream.line)
}

// items returns a job's subtasks. One with a missing output is not done.
func (r *teamReader) items(j *job) []format.Item {
	var items []format.Item
	for _, s := range j.point.items {
		item := format.Item{ID: s.id, Status: meaning(s.native).item(), Native: s.native}
		if s.output != "" {
			if name := r.output(j.point, s); name != "" {
				item.Outputs = []string{name}
			}
		}
		if item.Status == pawl.ItemIsDone && r.env.Exists != nil && slices.ContainsFunc(item.Outputs, func(name string) bool { return !r.env.Exists(name) }) {
			r.Find(pawl.Warn, report.Where(j.point.file, s.line), "it will rerun", "subtask %s is marked complete, but its output is missing: %s", oneline.Quote(s.id), item.Outputs[0])
			item.Status = pawl.ItemPending
		}
		items = append(items, item)
	}
	return items
}

// output returns the path of a subtask's output: relative to the repository or to the folder of extracted content, depending
// on which one the checkpoint's list of files, or the disk, has.
func (r *teamReader) output(c *checkpoint, s subtask) string {
	name := r.path(c.file, s.line, s.output)
	if name == "" {
		return ""
	}
	for _, claimed := range slices.Concat(c.created, c.modified) {
		if claimed == name || strings.HasSuffix(claimed, "/"+strings.TrimPrefix(name, r.root)) {
			return claimed
		}
	}
	below := r.root + extractionDir + strings.TrimPrefix(name, r.root)
	if r.env.Exists != nil && !r.env.Exists(name) && r.env.Exists(below) {
		return below
	}
	return name
}

// addNativeBlocker adds the blocker of a job without a checkpoint, unless an escalation already has it.
func (r *teamReader) addNativeBlocker(j *job) {
	asked := slices.ContainsFunc(r.asked, func(e escalation) bool { return e.native == "pending" && slices.Contains(e.tasks, j.task) })
	if text := j.nativeBlocker(); text != "" && !asked {
		r.out.Blockers = append(r.out.Blockers, pawl.Blocker{Text: text, Step: j.id})
	}
}

// nativeBlocker returns what blocks a job without a checkpoint: the text of its stream in STATUS.md, or a fixed text if only
// the registry calls it blocked. It is empty if the job is not blocked.
func (j *job) nativeBlocker() string {
	if _, means := j.statusSaid(); means != blocked {
		return ""
	}
	if j.stream != nil {
		return cmp.Or(oneLine(strings.Trim(j.stream.native, "* ")), blockedByNothing)
	}
	return blockedByNothing
}

const (
	blockedByNothing = "it is blocked, and does not say by what"
	withoutMessage   = "an error without a message"
)

// addBlocker adds the blocker of a job.
func (r *teamReader) addBlocker(j *job) {
	if j.status != blocked || j.skipped() {
		return
	}
	var found []pawl.Blocker
	all := !slices.ContainsFunc(j.point.errors, func(f fault) bool { return f.blocking })
	for _, f := range j.point.errors {
		if f.blocking || all {
			found = append(found, pawl.Blocker{Text: cmp.Or(f.message, f.kind, withoutMessage), Step: j.id, Needs: j.point.instructions, Opened: cmp.Or(f.at, j.point.updated)})
		}
	}
	if len(found) == 0 {
		found = []pawl.Blocker{{Text: blockedByNothing, Step: j.id, Needs: j.point.instructions, Opened: j.point.updated}}
	}
	r.out.Blockers = append(r.out.Blockers, found...)
}
