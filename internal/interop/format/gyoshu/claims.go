package gyoshu

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
)

// addClaims marks the stages that only the notebook's saved outputs call finished: those that ended with success, and those
// that began before one of them and have no end. Nothing proves them, so a person decides. Of a run with checkpoints, Gyoshu
// reruns such stages.
func (r *research) addClaims(run string, stages []*stageState) {
	if len(r.orphans(run)) > 0 {
		return
	}
	for _, rec := range r.records {
		if rec.Run == run {
			return
		}
	}
	later := false
	for i := len(stages) - 1; i >= 0; i-- {
		s := stages[i]
		switch {
		case s.marker == "success":
			s.claim, later = "the notebook says that it ended with success", true
		case s.marker == "" && s.begins > 0 && later:
			s.claim = "the notebook does not say how it ended; a later stage ended with success"
		}
	}
}

// askClaims adds the gate that asks about the stages of addClaims.
func (r *research) askClaims(out *format.Project, stages []*stageState) {
	var list []string
	for _, s := range stages {
		if s.claim != "" {
			list = append(list, "- "+s.id+": "+s.claim)
		}
	}
	if len(list) == 0 {
		return
	}
	cells := r.notebook.Cells
	out.Next = "the work after the last cell"
	if i := slices.IndexFunc(out.Phases[0].Steps, func(s format.Step) bool { return s.Status != pawl.Done }); i >= 0 {
		out.Next = out.Phases[0].Steps[i].Name
	}
	out.Gates = append(out.Gates, format.Gate{Native: "claimed", Gate: pawl.Gate{Type: pawl.HumanVerify, Purpose: pawl.ForRebuilt, Opened: out.Updated,
		Ask: fmt.Sprintf("Are these stages of %s finished? No checkpoint proves it.\n%s\n- work continues after the last cell of %s, %q",
			r.title, strings.Join(list, "\n"), notebookPath(r.title), cells[len(cells)-1].ID),
		Expect: "If you approve, none of them reruns, unless you ask for it (pawl retry STAGE). If you reject, the run stops."}})
}
