package dotagent

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// The steps that are not tasks.
const (
	stepRequirements   pawl.StepID = "requirements"
	stepArchitects     pawl.StepID = "architects"
	stepRoundtable     pawl.StepID = "roundtable"
	stepDemandIsGood   pawl.StepID = "approve-requirements"
	stepDesignIsGood   pawl.StepID = "approve-design"
	stepImplementation pawl.StepID = "implementation"
	stepVerification   pawl.StepID = "verification"
	stepReflection     pawl.StepID = "reflection"
)

var stepIDs = []pawl.StepID{stepRequirements, stepArchitects, stepRoundtable, stepImplementation, stepVerification, stepReflection, stepDemandIsGood, stepDesignIsGood}

// readPhases evaluates the phases one by one. A phase that is listed as completed without evidence does not affect later
// ones.
func (r *workflowReader) readPhases() {
	open := false // an earlier phase is not done
	for p := requirements; p < phaseEnd; p++ {
		if open && !r.flow.has(p) && p != implementation {
			r.steps[p] = r.pendingSteps(p)
			continue
		}
		done := r.evalPhase(p, open)
		open = open || !done
		r.markSkipped(p)
	}
}

// markSkipped marks the steps as skipped that phase.json says were skipped.
func (r *workflowReader) markSkipped(p phase) {
	c := r.flow.entry(p)
	for i := range r.steps[p] {
		s := &r.steps[p][i]
		if c != nil && s.Status == pawl.Done && r.task(string(s.ID)) == nil && (c.status == isSkipped || slices.Contains(c.skips, string(s.ID))) {
			s.Status, s.Native, s.Claims = pawl.Skipped, isSkipped, nil
		}
	}
}

// pendingSteps returns the steps of a phase that has not begun.
func (r *workflowReader) pendingSteps(p phase) []format.Step {
	if p == architecture {
		return []format.Step{r.step(p, stepArchitects), r.step(p, stepRoundtable)}
	}
	return []format.Step{r.step(p, stepsOf(p)[0])}
}

// evalPhase fills in the steps of a phase, and reports whether it is done. late says that an earlier phase is not.
func (r *workflowReader) evalPhase(p phase, late bool) bool {
	switch p {
	case requirements:
		return r.evalReport(p, stepRequirements, r.flow.started, "the workflow started")
	case architecture:
		return r.evalArchitecture()
	case implementation:
		return r.evalImplementation(late)
	case verification:
		return r.evalReport(p, stepVerification, newest(r.flow.started, r.implementationEnded()), "the last task was done")
	}
	return r.evalReflection()
}

// step returns a pending step of a phase.
func (r *workflowReader) step(p phase, id pawl.StepID) format.Step {
	s := format.Step{ID: id, Name: namesOf[id], Status: pawl.Pending, Agent: agentsOf[id], Goal: r.stepGoal(id)}
	if p == r.flow.current && r.flow.status == isRunning {
		s.Native = r.flow.word
	}
	return s
}

// agentsOf names the agent of each step.
var agentsOf = map[pawl.StepID]string{
	stepRequirements: "PM", stepArchitects: "Architects", stepRoundtable: "Roundtable", stepImplementation: "Executor",
	stepVerification: "QA", stepReflection: "Reflector",
}

// namesOf holds the title of each step.
var namesOf = map[pawl.StepID]string{
	stepRequirements: "Requirements", stepArchitects: "Designs", stepRoundtable: "Final design", stepImplementation: "Implementation",
	stepVerification: "Verification", stepReflection: "Reflection",
}

// stepGoal returns the instruction for a step.
func (r *workflowReader) stepGoal(id pawl.StepID) string {
	of := " of workflow " + r.workflowName()
	if goal := oneLine(r.goal()); goal != "" {
		of += " (" + goal + ")"
	}
	switch id {
	case stepRequirements:
		return "Work out the requirements" + of + " and write them to memory/reports/demand.json."
	case stepArchitects:
		return "Design a solution" + of + " for memory/reports/demand.json: write each design to a file of its own in memory/reports/designs/."
	case stepRoundtable:
		return "Make the final design" + of + " from those in memory/reports/designs/, as the person chose (pawl brief says what they answered), and write it to memory/reports/final_design.json."
	case stepImplementation:
		return "Implement memory/reports/final_design.json" + of + ". List its tasks in memory/state/execution.json, as " +
			`{"tasks":[{"id":"task-001"}]}` + ", and write the result of each task, with its status, to memory/tasks/{id}/output.json."
	case stepVerification:
		return "Verify the work" + of + " against memory/reports/demand.json, and write what you found to memory/reports/verification.json."
	}
	return "Reflect on the work" + of + ", and write what was learned to a file in memory/reflections/."
}

// claimedOutput returns the entry of a phase that phase.json lists as completed; ok is false if its output is missing.
func (r *workflowReader) claimedOutput(p phase) (c *completed, ok bool) {
	c = r.flow.entry(p)
	if c == nil {
		return nil, false
	}
	if c.output == "" {
		return c, !c.odd
	}
	there, known := r.exists(c.output)
	if !there && known {
		r.Warn(c.at("output").where(), "%s is marked done, but %s is missing: only this phase will rerun", p, c.output)
		return c, false
	}
	if f := r.file(c.output); f != nil {
		if _, why := r.readReport(c.output, time.Time{}); why != "" {
			r.Warn(c.output, "%s is marked done, but its output is unusable: %s. Only this phase will rerun", p, why)
			return c, false
		}
	}
	return c, true
}

// finishStep marks a step as done, with its outputs.
func finishStep(s *format.Step, c *completed, native string, claims ...string) {
	s.Status, s.Native = pawl.Done, cmp.Or(native, isComplete)
	if c != nil {
		s.Ended, s.Where = c.when, c.where()
		if c.output != "" && !slices.Contains(claims, c.output) {
			claims = append(claims, c.output)
		}
	}
	for _, name := range claims {
		s.Claims = append(s.Claims, format.Claim{Path: name})
	}
}

// evalReport evaluates a phase with one step and one report. The report must be newer than since.
func (r *workflowReader) evalReport(p phase, id pawl.StepID, since time.Time, past string) bool {
	s := r.step(p, id)
	name := p.report()
	c, ok := r.claimedOutput(p)
	switch {
	case ok:
		finishStep(&s, c, "")
	case c == nil || c.output != name:
		if report, fits := r.usableReport(name, since, past); fits {
			if why := failureWord(report); why != "" {
				s.Status, s.Why = pawl.FailedForGood, name+" says "+why
				r.Warn(report.where(), "%s exists but says %s: it will rerun", name, why)
			} else {
				finishStep(&s, nil, "", name)
			}
		}
	}
	r.steps[p] = []format.Step{s}
	return s.Status == pawl.Done
}

// evalArchitecture evaluates the designs, and the final design that was made from them.
func (r *workflowReader) evalArchitecture() bool {
	architects, roundtable := r.step(architecture, stepArchitects), r.step(architecture, stepRoundtable)
	architects.Needs, roundtable.Needs = []pawl.StepID{}, []pawl.StepID{stepArchitects}
	designs := r.designs()
	c, ok := r.claimedOutput(architecture)
	final := false
	if !ok && (c == nil || c.output != architecture.report()) {
		_, final = r.usableReport(architecture.report(), r.flow.started, "the workflow started")
	}
	switch {
	case ok:
		finishStep(&roundtable, c, "")
	case final:
		finishStep(&roundtable, nil, "", architecture.report())
	}
	if len(designs) > 0 || roundtable.Status == pawl.Done {
		finishStep(&architects, nil, "", designs...)
	}
	if roundtable.Status != pawl.Done && len(designs) > 0 {
		r.askDesign(&roundtable, designs)
	}
	r.steps[architecture] = []format.Step{architects, roundtable}
	return roundtable.Status == pawl.Done
}

// designs returns the designs of this workflow.
func (r *workflowReader) designs() []string {
	var names []string
	for _, f := range r.filesIn(reportsFolder + "designs/") {
		if _, fits := r.usableReport(f.Path, r.flow.started, "the workflow started"); fits {
			names = append(names, f.Path)
		}
	}
	return names
}

// askDesign adds a gate that asks for the choice of a design, if phase.json has none. The architects do not design again.
func (r *workflowReader) askDesign(s *format.Step, designs []string) {
	if _, approved := r.flow.approved[architecture]; approved {
		s.Why = "the designs were approved, but the final design is missing"
		return
	}
	g := pawl.Gate{Step: s.ID, Type: pawl.DecisionFor, Ask: "Which design should workflow " + r.workflowName() + " use? The designs are in memory/reports/designs/."}
	for _, name := range designs {
		g.Options = append(g.Options, oneLine(baseName(name)))
	}
	if len(designs) == 1 {
		g.Type, g.Options = pawl.HumanVerify, nil
		g.Ask = "Is the design of workflow " + r.workflowName() + " in " + oneLine(designs[0]) + " approved?"
	}
	g.Opened = r.flow.updated
	g.ID = g.Identify()
	s.Status, s.Why = pawl.AwaitsGate, "the designs wait for a person's approval"
	r.out.Gates = append(r.out.Gates, format.Gate{Gate: g, Native: "user_checkpoint"})
}

// evalImplementation evaluates the implementation by its tasks.
func (r *workflowReader) evalImplementation(late bool) bool {
	c, ok := r.claimedOutput(implementation)
	if len(r.tasks) == 0 {
		s := r.step(implementation, stepImplementation)
		if ok {
			finishStep(&s, c, "")
		}
		r.steps[implementation] = []format.Step{s}
		return s.Status == pawl.Done
	}
	done := true
	for _, t := range r.tasks {
		s := r.taskStep(t)
		done = done && (s.Status == pawl.Done || s.Status == pawl.Skipped)
		r.steps[implementation] = append(r.steps[implementation], s)
	}
	if ok && !done {
		r.Warn(c.where(), "IMPLEMENTATION is marked done, but some of its tasks are not")
	}
	return done && !late
}

func (r *workflowReader) taskStep(t *task) format.Step {
	s := format.Step{
		ID: t.step, Name: oneLine(cmp.Or(t.first("name", "title"), t.name, t.id)), Status: t.status, Native: t.native, Agent: "Executor",
		Needs: r.needs(t), Started: t.started, Ended: t.ended, Attempts: t.attempts, Why: t.reason, Where: t.where(), Facts: map[string]string{},
	}
	s.Goal = cmp.Or(t.first("goal", "description", "objective", "summary"), t.name,
		"Do task "+t.id+" of workflow "+r.workflowName()+", as memory/reports/final_design.json describes it.") +
		"\nWrite the result to " + t.out + ", with its task_id and the status pre_complete, blocked or failed."
	if t.status == pawl.AwaitsGate {
		s.Status = pawl.Pending
		r.out.Blockers = append(r.out.Blockers, t.blocker())
	}
	if t.exhausted {
		g := pawl.Gate{Step: s.ID, Type: pawl.HumanVerify, Opened: newest(t.started, r.flow.updated),
			Ask: fmt.Sprintf("Task %s of workflow %s was tried %d times, the most that dotagent allows. Try it again?", t.id, r.workflowName(), t.attempts)}
		g.ID = g.Identify()
		s.Status = pawl.AwaitsGate
		r.out.Gates = append(r.out.Gates, format.Gate{Gate: g})
	}
	if f := r.outputFile(t); s.Status == pawl.Done && s.Ended.IsZero() && f != nil && !f.Changed.After(r.env.Now) {
		s.Ended = f.Changed.UTC() // no file has the time
	}
	if t.output != nil {
		s.Claims, s.Summary = t.output.claims, oneLine(t.output.summary)
	}
	for _, key := range []string{"retry_strategy", "recommendation"} {
		if text := oneLine(t.text(key)); text != "" {
			s.Facts[key] = text
		}
	}
	if added := t.texts("context_added"); len(added) > 0 {
		s.Facts["context_added"] = oneLine(strings.Join(added, "; "))
	}
	if t.text("retry_strategy") != "" && s.Status != pawl.Done {
		s.Resume = "retry with " + oneLine(t.text("retry_strategy"))
	}
	return s
}

// outputFile returns the output file of a task, nil if no valid one was read.
func (r *workflowReader) outputFile(t *task) *format.File {
	if t.output == nil {
		return nil
	}
	return r.file(t.output.file)
}

// implementationEnded returns the end of the last task.
func (r *workflowReader) implementationEnded() time.Time {
	var last time.Time
	for _, t := range r.tasks {
		last = newest(last, t.ended)
	}
	return last
}

// evalReflection evaluates the reflection: a report, or a file of this workflow in memory/reflections/.
func (r *workflowReader) evalReflection() bool {
	s := r.step(reflection, stepReflection)
	if c, ok := r.claimedOutput(reflection); ok {
		finishStep(&s, c, "")
	} else if name := r.reflectionReport(); name != "" {
		finishStep(&s, nil, "", name)
	}
	r.steps[reflection] = []format.Step{s}
	return s.Status == pawl.Done
}

// reflectionReport returns the path of this workflow's reflection, "" if there is none. The folder holds those of other
// workflows too, so the file must name this workflow or be newer than its work.
func (r *workflowReader) reflectionReport() string {
	since := newest(r.flow.started, r.implementationEnded())
	if f := r.file(verification.report()); f != nil && r.flow.has(verification) {
		since = newest(since, r.flow.entry(verification).when)
	}
	for _, f := range append(r.filesIn(reflectionsFor), r.filesIn(reportsFolder)...) {
		if strings.HasPrefix(path.Base(f.Path), "_") || strings.HasPrefix(f.Path, reportsFolder) && !strings.Contains(baseName(f.Path), "reflection") {
			continue
		}
		p, why := r.readReport(f.Path, since)
		named := r.flow.id != "" && (p.text("workflow_id") == r.flow.id || strings.Contains(baseName(f.Path), r.flow.id))
		if why == "" && (named || !f.Changed.IsZero()) {
			return f.Path
		}
	}
	return ""
}

// workflowName returns the name of the workflow.
func (r *workflowReader) workflowName() string { return nameOf(r.flow.id) }

// nameOf returns the name of the workflow with an id.
func nameOf(id string) string { return cmp.Or(oneLine(id), "workflow") }

// currentPhase returns the first phase that is not done.
func (r *workflowReader) currentPhase() phase {
	for p := requirements; p < phaseEnd; p++ {
		if !r.done(p) {
			return p
		}
	}
	return phaseEnd
}

func (r *workflowReader) done(p phase) bool {
	return !slices.ContainsFunc(r.steps[p], func(s format.Step) bool { return s.Status != pawl.Done && s.Status != pawl.Skipped })
}

func of(n, total int, what string) string { return fmt.Sprintf("%d of %d %s", n, total, what) }
