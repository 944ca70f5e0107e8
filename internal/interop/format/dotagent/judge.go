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

// The steps that a workflow has beside its tasks.
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

// judge goes through the phases, and says of each whether it is done. One that is said to be done, and is not, is alone in
// that: the later ones keep what they have.
func (r *workflowReader) judge() {
	open := false // a phase before is not done
	for p := requirements; p < phaseEnd; p++ {
		if open && !r.flow.has(p) && p != implementation {
			r.steps[p] = r.untouched(p)
			continue
		}
		done := r.phase(p, open)
		open = open || !done
		r.passOver(p)
	}
}

// passOver has the steps of a phase that is over be skipped which it says were, and not done.
func (r *workflowReader) passOver(p phase) {
	c := r.flow.entry(p)
	for i := range r.steps[p] {
		s := &r.steps[p][i]
		if c != nil && s.Status == pawl.Done && r.task(string(s.ID)) == nil && (c.status == isSkipped || slices.Contains(c.skips, string(s.ID))) {
			s.Status, s.Native, s.Claims = pawl.Skipped, isSkipped, nil
		}
	}
}

// untouched returns the steps of a phase that nothing was done for.
func (r *workflowReader) untouched(p phase) []format.Step {
	if p == architecture {
		return []format.Step{r.step(p, stepArchitects), r.step(p, stepRoundtable)}
	}
	return []format.Step{r.step(p, stepsOf(p)[0])}
}

// phase judges a phase, and reports whether it is done. late says that one before it is not.
func (r *workflowReader) phase(p phase, late bool) bool {
	switch p {
	case requirements:
		return r.one(p, stepRequirements, r.flow.started, "the workflow was begun")
	case architecture:
		return r.design()
	case implementation:
		return r.build(late)
	case verification:
		return r.one(p, stepVerification, newest(r.flow.started, r.built()), "the last task was done")
	}
	return r.reflect()
}

// step returns a step of a phase, which is not done yet.
func (r *workflowReader) step(p phase, id pawl.StepID) format.Step {
	s := format.Step{ID: id, Name: namesOf[id], Status: pawl.Pending, Agent: agentsOf[id], Goal: r.toDo(id)}
	if p == r.flow.current && r.flow.status == isRunning {
		s.Native = r.flow.word
	}
	return s
}

// agentsOf names who does what.
var agentsOf = map[pawl.StepID]string{
	stepRequirements: "PM", stepArchitects: "Architects", stepRoundtable: "Roundtable", stepImplementation: "Executor",
	stepVerification: "QA", stepReflection: "Reflector",
}

// namesOf says what each is called.
var namesOf = map[pawl.StepID]string{
	stepRequirements: "Requirements", stepArchitects: "Designs", stepRoundtable: "Final design", stepImplementation: "Implementation",
	stepVerification: "Verification", stepReflection: "Reflection",
}

// toDo says what an agent is to do in a step.
func (r *workflowReader) toDo(id pawl.StepID) string {
	of := " of workflow " + r.name()
	if goal := oneLine(r.goal()); goal != "" {
		of += " (" + goal + ")"
	}
	switch id {
	case stepRequirements:
		return "Work out the requirements" + of + " and write them to memory/reports/demand.json."
	case stepArchitects:
		return "Design a solution" + of + " for memory/reports/demand.json: write each design to a file of its own in memory/reports/designs/."
	case stepRoundtable:
		return "Make the final design" + of + " of those in memory/reports/designs/, as the person chose (pawl brief says what they answered), and write it to memory/reports/final_design.json."
	case stepImplementation:
		return "Carry out memory/reports/final_design.json" + of + ". Name its tasks in memory/state/execution.json, as " +
			`{"tasks":[{"id":"task-001"}]}` + ", and say what became of each in memory/tasks/{id}/output.json, with its status."
	case stepVerification:
		return "Verify the work" + of + " against memory/reports/demand.json, and write what you found to memory/reports/verification.json."
	}
	return "Look back on the work" + of + ", and write what was learned to a file in memory/reflections/."
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
	there, known := r.there(c.output)
	if !there && known {
		r.Warn(c.at("output").where(), "%s is marked done, but %s is missing: only this phase will rerun", p, c.output)
		return c, false
	}
	if f := r.file(c.output); f != nil {
		if _, why := r.holds(c.output, time.Time{}); why != "" {
			r.Warn(c.output, "%s is marked done, but its output is unusable: %s. Only this phase will rerun", p, why)
			return c, false
		}
	}
	return c, true
}

// finish makes a step done, with what it left.
func finish(s *format.Step, c *completed, native string, claims ...string) {
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

// one judges a phase that has one step and one report. since is what the report is to be newer than.
func (r *workflowReader) one(p phase, id pawl.StepID, since time.Time, past string) bool {
	s := r.step(p, id)
	name := p.report()
	c, ok := r.claimedOutput(p)
	switch {
	case ok:
		finish(&s, c, "")
	case c == nil || c.output != name:
		if report, fits := r.usable(name, since, past); fits {
			if why := says(report); why != "" {
				s.Status, s.Why = pawl.FailedForGood, name+" says "+why
				r.Warn(report.where(), "%s exists but says %s: it will rerun", name, why)
			} else {
				finish(&s, nil, "", name)
			}
		}
	}
	r.steps[p] = []format.Step{s}
	return s.Status == pawl.Done
}

// design judges the architecture: the designs, and the one that was made of them.
func (r *workflowReader) design() bool {
	architects, roundtable := r.step(architecture, stepArchitects), r.step(architecture, stepRoundtable)
	architects.Needs, roundtable.Needs = []pawl.StepID{}, []pawl.StepID{stepArchitects}
	designs := r.designs()
	c, ok := r.claimedOutput(architecture)
	final := false
	if !ok && (c == nil || c.output != architecture.report()) {
		_, final = r.usable(architecture.report(), r.flow.started, "the workflow was begun")
	}
	switch {
	case ok:
		finish(&roundtable, c, "")
	case final:
		finish(&roundtable, nil, "", architecture.report())
	}
	if len(designs) > 0 || roundtable.Status == pawl.Done {
		finish(&architects, nil, "", designs...)
	}
	if roundtable.Status != pawl.Done && len(designs) > 0 {
		r.approval(&roundtable, designs)
	}
	r.steps[architecture] = []format.Step{architects, roundtable}
	return roundtable.Status == pawl.Done
}

// designs returns the designs of this workflow.
func (r *workflowReader) designs() []string {
	var names []string
	for _, f := range r.below(reportsFolder + "designs/") {
		if _, fits := r.usable(f.Path, r.flow.started, "the workflow was begun"); fits {
			names = append(names, f.Path)
		}
	}
	return names
}

// approval asks again which design it is to be, where nobody said so: the architects are not asked for others.
func (r *workflowReader) approval(s *format.Step, designs []string) {
	if _, approved := r.flow.approved[architecture]; approved {
		s.Why = "the designs were approved, and the final one was not written"
		return
	}
	g := pawl.Gate{Step: s.ID, Type: pawl.DecisionFor, Ask: "Which design of workflow " + r.name() + " is it to be? They are in memory/reports/designs/."}
	for _, name := range designs {
		g.Options = append(g.Options, oneLine(base(name)))
	}
	if len(designs) == 1 {
		g.Type, g.Options = pawl.HumanVerify, nil
		g.Ask = "Is the design of workflow " + r.name() + " in " + oneLine(designs[0]) + " approved?"
	}
	g.Opened = r.flow.updated
	g.ID = g.Identify()
	s.Status, s.Why = pawl.AwaitsGate, "the designs wait for a person's approval"
	r.out.Gates = append(r.out.Gates, format.Gate{Gate: g, Native: "user_checkpoint"})
}

// build judges the implementation by its tasks.
func (r *workflowReader) build(late bool) bool {
	c, ok := r.claimedOutput(implementation)
	if len(r.tasks) == 0 {
		s := r.step(implementation, stepImplementation)
		if ok {
			finish(&s, c, "")
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
		"Do task "+t.id+" of workflow "+r.name()+", as memory/reports/final_design.json has it.") +
		"\nWrite what became of it to " + t.out + ", with its task_id, and as its status pre_complete, blocked or failed."
	if t.status == pawl.AwaitsGate {
		s.Status = pawl.Pending
		r.out.Blockers = append(r.out.Blockers, t.blocker())
	}
	if t.exhausted {
		g := pawl.Gate{Step: s.ID, Type: pawl.HumanVerify, Opened: newest(t.started, r.flow.updated),
			Ask: fmt.Sprintf("Task %s of workflow %s was tried %d times, which is all that dotagent allows. Is it tried again?", t.id, r.name(), t.attempts)}
		g.ID = g.Identify()
		s.Status = pawl.AwaitsGate
		r.out.Gates = append(r.out.Gates, format.Gate{Gate: g})
	}
	if f := r.outputFile(t); s.Status == pawl.Done && s.Ended.IsZero() && f != nil && !f.Changed.After(r.env.Now) {
		s.Ended = f.Changed.UTC() // nothing else tells
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

// outputFile returns the output of a task that counts; nil where there is none that could be read.
func (r *workflowReader) outputFile(t *task) *format.File {
	if t.output == nil {
		return nil
	}
	return r.file(t.output.file)
}

// built returns when the last task was done.
func (r *workflowReader) built() time.Time {
	var last time.Time
	for _, t := range r.tasks {
		last = newest(last, t.ended)
	}
	return last
}

// reflect judges the reflection: a report, or a file of this workflow among the reflections of all.
func (r *workflowReader) reflect() bool {
	s := r.step(reflection, stepReflection)
	if c, ok := r.claimedOutput(reflection); ok {
		finish(&s, c, "")
	} else if name := r.reflection(); name != "" {
		finish(&s, nil, "", name)
	}
	r.steps[reflection] = []format.Step{s}
	return s.Status == pawl.Done
}

// reflection returns the file that looks back on this workflow; "" where there is none. Those of others lie beside it, so
// it is to name this one, or to be newer than what it looks back on.
func (r *workflowReader) reflection() string {
	since := newest(r.flow.started, r.built())
	if f := r.file(verification.report()); f != nil && r.flow.has(verification) {
		since = newest(since, r.flow.entry(verification).when)
	}
	for _, f := range append(r.below(reflectionsFor), r.below(reportsFolder)...) {
		if strings.HasPrefix(path.Base(f.Path), "_") || strings.HasPrefix(f.Path, reportsFolder) && !strings.Contains(base(f.Path), "reflection") {
			continue
		}
		p, why := r.holds(f.Path, since)
		named := r.flow.id != "" && (p.text("workflow_id") == r.flow.id || strings.Contains(base(f.Path), r.flow.id))
		if why == "" && (named || !f.Changed.IsZero()) {
			return f.Path
		}
	}
	return ""
}

// name returns what the workflow is called.
func (r *workflowReader) name() string { return nameOf(r.flow.id) }

// nameOf returns the name of the workflow with an id.
func nameOf(id string) string { return cmp.Or(oneLine(id), "workflow") }

// current returns the first phase that is not done.
func (r *workflowReader) current() phase {
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
