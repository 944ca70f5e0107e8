package convert

import (
	"strconv"
)

// numberOf returns a positive number, 0 for anything else.
func numberOf(n *node) int {
	if !n.Scalar() {
		return 0
	}
	number, err := strconv.Atoi(n.Text)
	if err != nil || number < 1 {
		return 0
	}
	return number
}

// settle puts into a step what it says in another form.
func (d *draft) settle(s *step) {
	if s.when != "" {
		s.lost = append(s.lost, "if: "+s.when)
	}
	if s.mayFail {
		s.lost = append(s.lost, "continue_on_error: true")
	}
	if s.matrix != nil {
		s.lost = append(s.lost, "a matrix")
	}
}

// addHandler adds a script for the end of a run, and reports whether plans have such scripts.
func (d *draft) addHandler(event, script string) bool {
	return false
}
