package dotagent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// reportOut is a report that pawl writes for a phase whose steps wrote none.
type reportOut struct {
	ID      string     `json:"workflow_id"`
	Phase   string     `json:"phase"`
	Status  string     `json:"status"`
	Summary string     `json:"summary"`
	Goal    string     `json:"goal,omitempty"`
	Steps   []stepOut  `json:"steps"`
	Checks  []checkOut `json:"checks,omitempty"`
	Source  string     `json:"source"`
}

// stepOut is a step in the report of a phase.
type stepOut struct {
	ID      string   `json:"id"`
	Name    string   `json:"name,omitempty"`
	Status  string   `json:"status"`
	Summary string   `json:"summary,omitempty"`
	Outputs []string `json:"outputs"`
}

// checkOut is an acceptance check that passed, with the hashes of the files that it covers.
type checkOut struct {
	Step    string            `json:"step"`
	Check   string            `json:"check"`
	Command string            `json:"command"`
	Exit    int               `json:"exit"`
	Passed  string            `json:"passed_at"`
	Outputs map[string]string `json:"outputs_sha256"`
}

// makeReports writes missing reports of phases that are done, since dotagent takes a report as proof. It keeps its own
// reports up to date, and never changes others.
func (m *workflowWriter) makeReports() {
	for _, e := range m.completed() {
		p := phaseNamed(e.Phase)
		if p == implementation || slices.ContainsFunc(m.stepsIn(p), (*runStep).leftOutput) || e.Output != m.ownReport(p) && e.Output != p.report() {
			continue
		}
		if f := m.files.File(e.Output); f == nil || isOurs(f.Data) {
			m.files.Put(e.Output, m.report(p))
		}
	}
}

func isOurs(data []byte) bool {
	root, err := jsonedit.Read(data)
	return err == nil && root.Get("source").Text() == "pawl"
}

func (m *workflowWriter) report(p phase) []byte {
	r := reportOut{ID: m.id(), Phase: p.String(), Status: isComplete, Goal: oneLine(m.goal()), Steps: []stepOut{}, Source: "pawl"}
	r.Summary = "all steps of this phase are done"
	steps := m.stepsIn(p)
	if len(steps) == 0 {
		r.Summary = "the plan has no steps for this phase: the plan itself describes the requirements"
	}
	switch {
	case p == verification:
		m.verified(&r)
	case p == reflection && len(steps) == 0:
		r.Summary = "no reflection was written: the plan has no steps for this phase"
	case p == reflection:
		r.Summary = "the steps of this phase are done, but none of them wrote a report; this report has their summaries"
	case p == architecture && len(steps) == 0:
		steps = m.stepsIn(implementation)
		r.Summary = "the plan describes the implementation"
	}
	if status, skipped := m.skippedSteps(p); skipped != nil {
		r.Status, r.Summary = status, skippedSummary(status, skipped)
	}
	for _, k := range steps {
		s := stepOut{ID: string(k.ID), Name: oneLine(k.Name), Status: k.nativeStatus(), Outputs: []string{}}
		if len(m.stepsIn(p)) > 0 && k.state != nil {
			s.Summary, s.Outputs = oneLine(k.state.Summary), slices.Sorted(maps.Keys(k.state.Outputs))
		}
		if len(m.stepsIn(p)) == 0 {
			s.Status = "planned"
		}
		if s.Outputs == nil {
			s.Outputs = []string{}
		}
		r.Steps = append(r.Steps, s)
	}
	return compact(r)
}

// skippedSummary returns the summary of a phase with skipped steps.
func skippedSummary(status string, skipped []*runStep) string {
	var which []string
	for _, k := range skipped {
		why := string(k.ID) + " was skipped"
		if k.state.Why != "" {
			why += " (" + k.state.Why + ")"
		}
		which = append(which, why)
	}
	all := strings.Join(which, ", ")
	if status == isSkipped {
		return oneLine("no step of this phase was done: " + all)
	}
	return oneLine("a part of this phase was not done: " + all)
}

// verified fills in the report of the verification: the acceptance checks that passed. The status is verified only if each
// task and each step of the verification has a check.
func (m *workflowWriter) verified(r *reportOut) {
	var without []string
	steps := 0
	for _, k := range slices.Concat(m.stepsIn(implementation), m.stepsIn(verification)) {
		switch {
		case k.Gate != nil || !k.done():
		case !k.checked():
			without = append(without, string(k.ID))
		default:
			steps++
			r.Checks = append(r.Checks, k.checks()...)
		}
	}
	switch {
	case steps == 0:
		r.Summary = "nothing was verified: no step has an acceptance check that passed"
	case len(without) > 0:
		r.Summary = fmt.Sprintf("acceptance checks passed: %d, of %d steps; not checked: %s", len(r.Checks), steps, strings.Join(without, ", "))
	default:
		r.Status, r.Summary = isVerified, fmt.Sprintf("all acceptance checks passed: %d, of %d steps", len(r.Checks), steps)
	}
	r.Summary = oneLine(r.Summary)
}

// checks returns the acceptance checks of a step that passed.
func (k *runStep) checks() []checkOut {
	hashes := map[string]string{}
	for name, c := range k.state.Outputs {
		hashes[name] = c.SHA256
	}
	var all []checkOut
	for _, name := range k.checkNames() {
		all = append(all, checkOut{Step: string(k.ID), Check: name, Command: k.Accept[name], Passed: instant(k.state.Ended), Outputs: hashes})
	}
	return all
}

func (m *workflowWriter) goal() string {
	if m.Plan.Goal != "" {
		return m.Plan.Goal
	}
	return m.State.Goal
}

// ownReport returns another path for a report, if an older report of another workflow has its path.
func (m *workflowWriter) ownReport(p phase) string {
	return strings.TrimSuffix(p.report(), ".json") + "-" + string(pawl.StepIDOf(m.id())) + ".json"
}

// claimedOutput returns the output of a finished phase: the one in phase.json, its report, or an output of its steps.
func (m *workflowWriter) claimedOutput(p phase) string {
	if flow := m.flow(); m.isThisWorkflow() && flow.has(p) && flow.entry(p).output != "" {
		return flow.entry(p).output
	}
	for _, k := range m.stepsIn(p) {
		if k.state != nil {
			if _, made := k.state.Outputs[p.report()]; made {
				return p.report()
			}
		}
	}
	if p == implementation {
		if len(m.tasks()) > 0 || m.files.File(executionPath) != nil {
			return executionPath
		}
		return m.claimedOutput(architecture) // the design that it implements
	}
	if p == reflection && slices.ContainsFunc(m.stepsIn(p), (*runStep).leftOutput) {
		if name := readWorkflow(m.files.Files(), format.Env{Now: m.Now}).reflectionReport(); name != "" {
			return name
		}
	}
	if f := m.files.File(p.report()); f != nil && m.ofOthers(f) {
		return m.ownReport(p)
	}
	return p.report()
}
