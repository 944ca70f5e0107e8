package layout

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/runs"
	"pawl/internal/strictyaml"
)

// maxCandidates is how many candidates an error lists.
const maxCandidates = 8

// Candidates writes "label: a, b, c, …".
func Candidates[T ~string](label string, values []T) string {
	if len(values) == 0 {
		return ""
	}
	more := ""
	if len(values) > maxCandidates {
		values, more = values[:maxCandidates], ", …"
	}
	return label + ": " + JoinIDs(values) + more
}

// NoOpenGate returns the error for a name that stands for no open gate. It says how the newest gate of that name was closed, or which
// gates are open.
func NoOpenGate(s *pawl.State, name string) error {
	for _, g := range slices.Backward(s.Gates) {
		if string(g.Step) == name || strings.HasPrefix(string(g.ID), name) {
			return runs.RequireOpenGate(s, g.ID)
		}
	}
	var steps []string
	for _, g := range s.Gates {
		steps = append(steps, string(g.Step))
	}
	near := strictyaml.Nearest(name, steps)
	if near != "" {
		near = fmt.Sprintf("; did you mean %q?", near)
	}
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("no gate %s; %s%s", name, OpenGates(s), near)}
}

// OpenGates lists the open gates of a run.
func OpenGates(s *pawl.State) string {
	var open []string
	for _, g := range s.OpenGates() {
		text := string(g.ID)
		if g.Step != "" {
			text += " (step " + string(g.Step) + ")"
		}
		open = append(open, text)
	}
	if len(open) == 0 {
		return "no gate of run " + string(s.Run) + " is open"
	}
	return Candidates("open gates", open)
}

// AfterReview says what a reviewer's score means for the step, and whether a resume continues because of it.
func AfterReview(st *pawl.StepState, by string) (text string, continues bool) {
	minimum, asked := st.Minimum[by]
	missing := st.Unreviewed()
	switch low := st.Reviews[by].Score < minimum; {
	case !asked:
		return "; the plan asks for no review of this step, so nothing depends on it", false
	case low && st.Status == pawl.Done:
		return fmt.Sprintf(", below the minimum of %d; the step was done before, so it does not rerun", minimum), false
	case low:
		return fmt.Sprintf(", below the minimum of %d: the step will rerun", minimum), true
	case len(missing) > 0:
		return fmt.Sprintf(" (minimum: %d); the step still needs a score from: %s", minimum, strings.Join(missing, ", ")), false
	}
	return fmt.Sprintf(" (minimum: %d); the step is done", minimum), true
}
