package stepenv

import (
	"slices"
	"strings"

	"pawl"
)

// ParamsLine returns the parameters of a run in one line: day=1, token=(secret).
func ParamsLine(plan *pawl.Plan, given pawl.GivenValues) string {
	var all []string
	for name, v := range plan.ShownParams(given) {
		if v.Secret {
			v.Value = "(secret)"
		}
		all = append(all, name+"="+v.Value)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
