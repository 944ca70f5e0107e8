package planfile

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// uniqueIDs reports duplicate step ids and returns whether there are none.
func (r *reader) uniqueIDs(p *pawl.Plan) bool {
	unique := true
	seen := map[string]*pawl.Step{}
	for _, s := range p.Steps() {
		folded := strings.ToLower(string(s.ID))
		first := seen[folded]
		switch {
		case !r.Good(&s.ID):
			unique = false
		case p.HandlesEnd(pawl.StepID(folded)):
			r.Errorf(&s.ID, "step id %q is reserved for the plan's handler %q; rename the step", s.ID, folded)
			unique = false
		case first == nil:
			seen[folded] = s
		case first.ID == s.ID:
			r.Errorf(&s.ID, "duplicate step id %q (first used on %s)", s.ID, r.Where(&first.ID, &s.ID))
			unique = false
		default:
			r.Errorf(&s.ID, "step id %q differs only in case from %q (%s); rename one of them", s.ID, first.ID, r.Where(&first.ID, &s.ID))
			unique = false
		}
	}
	return unique
}

// unknownStep returns the message about a need that names no step. It never suggests own: a step does not need itself. Only the first
// few errors have a suggestion: the search is slow where there are many steps.
func (r *reader) unknownStep(own pawl.StepID, need string, ids []string) string {
	if r.Count() >= 10 {
		return strictyaml.UnknownStep(need, nil)
	}
	return strictyaml.UnknownStep(need, slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == string(own) }))
}

// checkNeeds checks that every need is another step of the same phase or of an earlier one.
func (r *reader) checkNeeds(p *pawl.Plan) {
	phaseOf := map[pawl.StepID]int{}
	stepOf := map[pawl.StepID]*pawl.Step{}
	var ids []string
	for i := len(p.Phases) - 1; i >= 0; i-- { // of steps with the same id the first counts
		for j := range p.Phases[i].Steps {
			s := &p.Phases[i].Steps[j]
			phaseOf[s.ID], stepOf[s.ID] = i, s
			ids = append(ids, string(s.ID))
		}
	}
	for i := range p.Phases {
		for j := range p.Phases[i].Steps {
			s := &p.Phases[i].Steps[j]
			for k := range s.Needs {
				need := &s.Needs[k]
				switch other := stepOf[*need]; {
				case !r.Good(need): // a default, or of the wrong type
				case other == nil && r.partial:
				case other == nil:
					r.Errorf(need, "%s needs %s", title(s), r.unknownStep(s.ID, string(*need), ids))
				case *need == s.ID:
					r.Errorf(need, "%s needs itself; remove that need", title(s))
				case phaseOf[*need] > i:
					r.Errorf(need, "%s needs step %q (%s) of a later phase; phases run in order",
						title(s), *need, r.Where(&other.ID, need))
				}
			}
		}
	}
}

// checkCycles reports dependency cycles.
func (r *reader) checkCycles(p *pawl.Plan) {
	for i := range p.Phases {
		stepOf := map[pawl.StepID]*pawl.Step{}
		for j := range p.Phases[i].Steps {
			stepOf[p.Phases[i].Steps[j].ID] = &p.Phases[i].Steps[j]
		}
		for _, ids := range cyclesIn(p, i) {
			r.cycle(ids, stepOf)
		}
	}
}

// cycle reports a dependency cycle, from its first step in the plan on. checkNeeds reports a step that needs itself.
func (r *reader) cycle(ids []pawl.StepID, stepOf map[pawl.StepID]*pawl.Step) {
	if len(ids) == 1 {
		return
	}
	first := 0
	for i, id := range ids {
		if r.Line(&stepOf[id].ID) < r.Line(&stepOf[ids[first]].ID) {
			first = i
		}
	}
	ids = slices.Concat(ids[first:], ids[:first])
	var text strings.Builder
	filled := false
	for _, id := range ids {
		s := stepOf[id]
		fmt.Fprintf(&text, "%s (%s) → ", id, r.Where(&s.ID, &stepOf[ids[0]].ID))
		filled = filled || !r.Given(&s.Needs)
	}
	hint := "remove one of these needs"
	if filled {
		hint += " (a step without \"needs\" needs the previous step; needs: [] prevents that)"
	}
	r.Errorf(&stepOf[ids[0]].ID, "dependency cycle: %s%s; %s", text.String(), ids[0], hint)
}
