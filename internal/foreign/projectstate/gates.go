package projectstate

import (
	"cmp"
	"fmt"

	"pawl"
	"pawl/internal/foreign"
)

// gates takes in what people are asked, and what they said. A task that has no agent, and is not finished by any word, is
// asked for: who hands it out again may have it done twice, or by nobody.
func (r *reader) gates(out *foreign.Reading, e *entry) {
	step := pawl.StepID("")
	if e.task != "" && !e.finished() {
		step = pawl.StepIDOf(e.task)
	}
	if r.nobody(e) {
		said := ""
		if e.action != "" {
			said = fmt.Sprintf(", and its last action is %q", clip(e.action, 200))
		}
		r.find(pawl.Warn, e.where(), "", "task %s has no agent: it is not handed out again before a person has looked", e.task)
		out.Gates = append(out.Gates, foreign.Gate{Gate: pawl.Gate{
			Step: step, Type: pawl.HumanVerify, Opened: e.updated,
			Ask: fmt.Sprintf("project_state names task %s without an agent%s. Is it still to be done?", e.task, said),
		}})
	}
	r.askStatus(out, e)
	for _, s := range r.sources {
		for _, row := range sameProject(s, gatesTable, e.project) {
			g := foreign.Gate{Native: text(row, "gate_type"), Gate: pawl.Gate{Step: step, Type: pawl.HumanVerify, Opened: r.time(e, row, "created_at")}}
			g.Ask = cmp.Or(clip(text(row, "reason"), 1000), "a gate of type "+g.Native)
			switch said := text(row, "status"); word(said) {
			case "approved":
				g.Step, g.Answer = "", cmp.Or(text(row, "feedback"), "approved")
			case "denied", "rejected":
				out.Made = append(out.Made, pawl.Decision{
					Question: g.Ask, Choice: said, Why: clip(text(row, "feedback"), 500), By: text(row, "resolved_by"), Time: r.time(e, row, "resolved_at"),
				})
				continue
			}
			out.Gates = append(out.Gates, g)
		}
	}
}

// askStatus puts a status that nobody knows before a person: nothing begins before they have looked.
func (r *reader) askStatus(out *foreign.Reading, e *entry) {
	if _, known := statusOf(e.native); known {
		return
	}
	out.Gates = append(out.Gates, foreign.Gate{Gate: pawl.Gate{
		Step: out.Position.StepID, Type: pawl.HumanVerify, Opened: e.updated,
		Ask: fmt.Sprintf("project_state says that project %s is %q, which is none of active, paused, completed, failed. May it be gone on with?", e.project, clip(e.native, 40)),
	}})
}
