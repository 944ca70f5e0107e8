package sitebuilder

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/oneline"
)

// goal says what a job is about: all of it, or where it says that it is complete only what is not.
func (j *job) goal() string {
	var b strings.Builder
	b.WriteString("Task " + j.task)
	if title := j.title(); title != "" {
		b.WriteString(": " + title)
	}
	if j.stream != nil && !j.finished() {
		b.WriteString(j.stream.resumeText())
	}
	if left := j.missingParts(); len(left) > 0 {
		b.WriteString("\n\nIt is complete except for the following. Do only that, and leave the rest unchanged:\n")
		for _, what := range left {
			b.WriteString("- " + what + "\n")
		}
		return strings.TrimRight(b.String(), "\n")
	}
	if j.entry != nil && len(j.entry.criteria) > 0 && j.point != nil && len(j.point.criteria) > 0 { // else they are its criteria
		b.WriteString("\n\nIt is complete when:\n- " + strings.Join(j.entry.criteria, "\n- "))
	}
	return b.String()
}

// missingParts returns what is still missing in a job that claims to be complete.
func (j *job) missingParts() []string {
	if j.status != complete {
		return nil
	}
	left := slices.Clone(j.unmet)
	for _, name := range j.missing {
		left = append(left, "recreate "+name+", which is missing")
	}
	return left
}

// why returns why a job is not done.
func (j *job) why(at clock) string {
	switch c := j.point; {
	case j.status == complete && len(j.missingParts()) > 0:
		return "it is marked complete, but is not: " + strings.Join(j.missingParts(), "; ")
	case j.status == blocked:
		var all []string
		for _, f := range c.errors {
			all = append(all, strings.Trim(f.kind+": "+f.message, ": "))
		}
		return "blocked: " + cmp.Or(strings.Join(all, "; "), "no reason given")
	case j.status == inProgress:
		return c.silence(at)
	}
	return ""
}

// silence returns for how long a task had no activity, as text; empty while an agent is working on it.
func (c *checkpoint) silence(at clock) string {
	last := c.activity(at.now)
	if last.IsZero() {
		return "the last activity of its agent is not recorded"
	}
	switch age := at.now.Sub(last); {
	case age > at.stalled:
		return fmt.Sprintf("stalled: its agent has been silent since %s", stamp(last))
	case age > at.quiet:
		return fmt.Sprintf("timed out: its agent has been silent since %s", stamp(last))
	}
	return ""
}

// resumeHint returns how to resume a job, in its own words if it has any.
func (j *job) resumeHint() string {
	c := j.point
	if left := j.missingParts(); len(left) > 0 {
		return "only: " + strings.Join(left, "; ")
	}
	if j.step.Status == pawl.Done {
		return ""
	}
	text := c.instructions
	if text == "" && c.next != "" {
		text = "continue with " + c.next
	}
	if c.notes != "" {
		text = strings.TrimSpace(text + "\nNotes: " + c.notes)
	}
	return text
}

// describe adds the other values of a checkpoint to facts.
func (c *checkpoint) describe(facts map[string]string) {
	for name, text := range c.facts {
		facts[name] = text
	}
	for name, text := range map[string]string{
		"checkpoint_id": c.id, "agent_name": c.agentName, "last_processed": c.last, "next_to_process": c.next, "notes": oneline.Clip(c.notes, maxText),
		"reviews_open": strings.Join(c.unscored, ", "), "resume_instructions": oneline.Clip(c.instructions, maxText),
	} {
		if text != "" {
			facts[name] = text
		}
	}
	for name, at := range map[string]time.Time{"updated_at": c.updated, "last_beat": c.beat} {
		if !at.IsZero() {
			facts[name] = stamp(at)
		}
	}
	if c.percent >= 0 {
		facts["progress_percent"] = strconv.Itoa(c.percent)
	}
	if c.failed > 0 {
		facts["subtasks_failed"] = strconv.Itoa(c.failed)
	}
	if c.resumable != nil {
		facts["resumable"] = strconv.FormatBool(*c.resumable)
	}
	for i, f := range c.errors {
		text := strings.Trim(f.kind+": "+f.message, ": ")
		if !f.at.IsZero() {
			text += " (" + stamp(f.at) + ")"
		}
		facts["error."+strconv.Itoa(i+1)] = oneline.Clip(text, maxText)
	}
}

// sizes are the registry's estimates in hours, for comparison with the actual time.
var sizes = map[string]float64{"S": 1, "M": 2, "L": 4, "XL": 8}

// effort compares the actual time of a task with its estimate.
func (j *job) effort(facts map[string]string) {
	c := j.point
	if c.started.IsZero() || !c.completed.After(c.started) {
		return
	}
	took := hours(c.completed.Sub(c.started).Seconds())
	facts["actual_hours"] = fmt.Sprint(took)
	if j.entry == nil || sizes[j.entry.estimate] == 0 {
		return
	}
	facts["effort"] = fmt.Sprintf("%v h of about %v h (%s)", took, sizes[j.entry.estimate], j.entry.estimate)
}

// hours converts seconds to hours, rounded to four seconds.
func hours(seconds float64) float64 { return math.Round(seconds/3.6) / 1000 }

// buildProject fills in the Project from its jobs.
func (r *teamReader) buildProject() {
	steps := []format.Step{}
	percent, done := 0, 0
	for _, j := range r.jobs {
		steps = append(steps, j.step)
		percent += j.percent()
		if j.finished() {
			done++
		}
		if j.point != nil {
			r.out.Checkpoints = append(r.out.Checkpoints, r.saved(j))
			r.out.Updated = newest(r.now, r.out.Updated, j.point.activity(r.now))
			if at := j.point.started; !at.IsZero() && (r.out.Created.IsZero() || at.Before(r.out.Created)) {
				r.out.Created = at
			}
		}
	}
	r.out.Name, r.out.Mode = System, pawl.Guided
	r.out.Phases = []format.Phase{{Name: System, Steps: steps}}
	if len(steps) > 0 {
		r.out.Percent = percent / len(steps)
	}
	r.out.Status, r.out.Native = r.runStatus(done), r.board.overall
	r.addEscalations()
	r.mail()
	r.position(r.nextJob(), len(steps))
}

// finished reports whether a job needs no more work.
func (j *job) finished() bool { return j.step.Status == pawl.Done || j.step.Status == pawl.Skipped }

// percent returns the progress of a job; 100 only if completion is verified.
func (j *job) percent() int {
	switch {
	case j.finished():
		return 100
	case j.point != nil:
		return min(j.point.progress(), 99)
	case j.stream != nil:
		return min(j.stream.percent(), 99)
	}
	return 0
}

// runStatus returns the status of the run.
func (r *teamReader) runStatus(done int) pawl.RunStatus {
	if done == len(r.jobs) && done > 0 {
		return pawl.StatusCompleted
	}
	waits := false
	for _, j := range r.jobs {
		if j.step.Status == pawl.Running {
			return pawl.StatusActive
		}
		waits = waits || j.status == blocked && !j.finished()
	}
	if waits {
		return pawl.StatusWaiting
	}
	return pawl.StatusInterrupted
}

func (r *teamReader) saved(j *job) format.Checkpoint {
	c := j.point
	s := format.Checkpoint{ID: cmp.Or(c.id, string(j.id)), Kind: pawl.CheckpointItem, Step: j.id, Native: c.native, Time: cmp.Or(c.updated, c.completed, c.started),
		Valid: !c.broken && len(j.missing) == 0, Reason: j.step.Why, Where: c.file}
	switch j.status {
	case complete:
		s.Kind = pawl.CheckpointStep
	case blocked, failed:
		s.Kind = pawl.CheckpointEmergency
	}
	return s
}

// nextJob returns the job to resume, by the document's rule: the unfinished one with the last activity or, if none has
// begun, the first whose dependencies are met.
func (r *teamReader) nextJob() *job {
	var next *job
	done := map[pawl.StepID]bool{}
	for _, j := range r.jobs {
		done[j.id] = j.finished()
		if j.point == nil || done[j.id] || j.status == blocked {
			continue
		}
		if next == nil || j.point.activity(r.now).After(next.point.activity(r.now)) {
			next = j
		}
	}
	for _, blockedToo := range []bool{false, true} {
		for _, j := range r.jobs {
			if next == nil && !done[j.id] && (j.status != blocked || blockedToo) && !slices.ContainsFunc(j.step.Needs, func(id pawl.StepID) bool { return !done[id] }) {
				next = j
			}
		}
	}
	return next
}

func (r *teamReader) position(next *job, total int) {
	r.out.Position = pawl.Position{Phase: 1, PhaseTotal: 1, PhaseName: System, Step: total, StepTotal: total, Complete: total > 0}
	if next == nil {
		r.out.Resume = "there is nothing to resume: everything is complete"
		return
	}
	at := slices.Index(r.jobs, next)
	r.out.Position = pawl.Position{Phase: 1, PhaseTotal: 1, PhaseName: System, Step: at + 1, StepTotal: total, StepID: next.id, StepName: next.title(),
		Item: next.step.Done, ItemTotal: next.step.Total}
	r.out.Resume = next.mayResume(r.clock)
	r.out.Next = strings.TrimSpace(fmt.Sprintf("%s of %s. %s", next.task, cmp.Or(next.agent, "nobody yet"), oneLine(next.step.Resume)))
	r.out.Prompt = next.prompt()
}

// mayResume returns whether a job may be dispatched, and how.
func (j *job) mayResume(at clock) string {
	c := j.point
	switch {
	case c == nil && j.status == blocked:
		return "task " + j.task + " is blocked: clear what blocks it first"
	case c == nil && j.status == inProgress:
		return "task " + j.task + " was started but has no checkpoint: dispatch it with the known facts"
	case c == nil:
		return "task " + j.task + " has not been started: dispatch it"
	case j.step.Status == pawl.Running:
		return fmt.Sprintf("still running: %s was last active at %s; wait until %s", j.agent, stamp(c.activity(at.now)), stamp(c.activity(at.now).Add(at.quiet)))
	case len(j.missingParts()) > 0:
		return "task " + j.task + " is marked complete, but does not meet all criteria: dispatch only the missing work"
	case j.status == blocked:
		return "task " + j.task + " is blocked: clear what blocks it first"
	case j.forbidsResume():
		return "task " + j.task + " is marked not resumable, but is not complete: a person decides whether to dispatch it"
	}
	return "task " + j.task + " is resumable"
}

// forbidsResume reports whether an unfinished job says that it must not be resumed.
func (j *job) forbidsResume() bool {
	return j.point != nil && j.status != complete && !j.finished() && j.point.resumable != nil && !*j.point.resumable
}

// askBeforeResume adds a gate before a job that says that it must not be resumed, or that had activity a moment ago: two
// agents must not work on the same task.
func (r *teamReader) askBeforeResume(j *job) {
	what := fmt.Sprintf("Task %s of %s", j.task, cmp.Or(j.agent, "nobody"))
	switch {
	case j.step.Status == pawl.Running:
		what += fmt.Sprintf(": its agent was last active at %s. Is it safe to continue: has the agent stopped?", stamp(j.point.activity(r.now)))
	case j.forbidsResume():
		what += " is marked not resumable"
		if text := oneLine(j.point.instructions); text != "" {
			what += " (" + oneline.Clip(text, maxText) + ")"
		}
		what += ". Continue with it anyway?"
	default:
		return
	}
	g := pawl.Gate{Step: j.id, Type: pawl.HumanVerify, Ask: what, Opened: j.point.activity(r.now)}
	g.ID = g.Identify()
	r.out.Gates = append(r.out.Gates, format.Gate{Gate: g})
}

// prompt returns the prompt for the job's agent.
func (j *job) prompt() string {
	var b strings.Builder
	command := strings.TrimSpace("/dispatch-sitebuilder " + cmp.Or(j.agent, "<type>") + " " + j.task)
	if j.point == nil || len(j.missingParts()) > 0 {
		fmt.Fprintf(&b, "%s\n\n%s\n", command, j.goal())
		return b.String()
	}
	if !j.forbidsResume() {
		command += " --resume"
	}
	fmt.Fprintf(&b, "%s\n\n%s\n", command, j.goal())
	if j.step.Resume != "" {
		fmt.Fprintf(&b, "\n%s\n", j.step.Resume)
	}
	var open []string
	for _, item := range j.step.Items {
		if item.Status != pawl.ItemIsDone {
			open = append(open, item.ID)
		}
	}
	if len(open) > 0 {
		fmt.Fprintf(&b, "\nSubtasks that are not complete: %s\n", strings.Join(open, ", "))
	}
	if j.step.Total > 0 {
		fmt.Fprintf(&b, "\n%d of %d subtasks are complete.\n", j.step.Done, j.step.Total)
	}
	return b.String()
}
