package projectstate

import (
	"cmp"
	"fmt"

	"pawl"
	"pawl/internal/interop/format"
)

// gates adds the gates and their answers. It also adds a gate for an unfinished task without an agent: assigning it again
// could have it done twice, or not at all.
func (r *tablesReader) gates(out *format.Project, e *entry) {
	step := out.Position.StepID
	if e.task != "" && !e.finished() {
		step = pawl.StepIDOf(e.task)
	}
	if r.hasNoAgent(e) {
		said := ""
		if e.action != "" {
			said = fmt.Sprintf(", and its last action is %q", clip(e.action, 200))
		}
		r.Find(pawl.Warn, e.where(), "", "task %s has no agent: it is not assigned again until a person has reviewed it", e.task)
		out.Gates = append(out.Gates, format.Gate{Gate: pawl.Gate{
			Step: step, Type: pawl.HumanVerify, Purpose: pawl.ForStart, Opened: e.updated,
			Ask: fmt.Sprintf("project_state names task %s without an agent%s. Does it still have to be done?", e.task, said),
		}})
	}
	r.askToStart(out, e)
	for _, s := range r.sourcesOf(e) {
		for _, row := range sameProject(s, gatesTable, e.project) {
			g := format.Gate{Native: text(row, "gate_type"), Gate: pawl.Gate{Step: step, Type: pawl.HumanVerify, Opened: r.time(e, row, "created_at")}}
			if step != "" {
				g.Purpose = pawl.ForStart // if denied, nothing starts
			}
			g.Ask = questionOf(row)
			switch said := text(row, "status"); normalized(said) {
			case "approved":
				g.Step, g.Purpose, g.Answer = "", "", cmp.Or(text(row, "feedback"), "approved")
			case "denied", "rejected":
				out.Decisions = append(out.Decisions, pawl.Decision{
					Question: g.Ask, Choice: said, Why: clip(text(row, "feedback"), 500), By: text(row, "resolved_by"), Time: r.time(e, row, "resolved_at"),
				})
				continue
			}
			out.Gates = append(out.Gates, g)
		}
	}
}

// askToStart adds a gate that asks whether the project may be resumed at all: if it failed, if its status is unknown, and if
// the dump does not determine what the tables contain after loading.
func (r *tablesReader) askToStart(out *format.Project, e *entry) {
	said := fmt.Sprintf("project_state says that project %s is %q", e.project, clip(e.native, 40))
	if _, known := statusOf(e.native); !known {
		r.ask(out, e, said+", which is not one of active, paused, completed, failed.")
	}
	if out.Status == pawl.StatusFailed {
		r.ask(out, e, fmt.Sprintf("%s, and its last action is %q.", said, clip(e.action, 200)))
	}
	for _, c := range e.unknown() {
		if !isTime(c.Column) {
			r.ask(out, e, said+", but "+notKnown(c)+".")
		}
	}
	if doubtful := e.source.doubtful(); len(doubtful) > 0 {
		r.ask(out, e, fmt.Sprintf("%s, but %s: %s.", said, doubtful[0].Where, doubtful[0].What))
	}
}

// ask adds a gate that must be answered before anything starts.
func (r *tablesReader) ask(out *format.Project, e *entry, what string) {
	out.Gates = append(out.Gates, format.Gate{Gate: pawl.Gate{
		Type: pawl.HumanVerify, Purpose: pawl.ForRebuilt, Opened: e.updated, Ask: what + " Continue with it?",
		Expect: "If you approve, the run continues from there; if you reject, it stops.",
	}})
}
