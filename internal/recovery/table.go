package recovery

import (
	"fmt"
	"strings"

	"pawl"
)

// Rule is a row of the decision table for display.
type Rule struct {
	Name    string             `json:"rule"`
	When    string             `json:"when"`
	Verdict pawl.VerdictWord   `json:"verdict"`
	Choices []pawl.VerdictWord `json:"evaluator,omitempty"` // verdicts that an evaluator may choose
	Why     string             `json:"why"`
	Cases   int                `json:"cases"` // number of cases that the rule decides
}

// Table returns the rules in evaluation order, with the number of cases that each one decides.
func Table() []Rule {
	decides := map[string]int{}
	for c := range Cases() {
		decides[Judge(c).Rule]++
	}
	table := make([]Rule, len(rules))
	for i, r := range rules {
		table[i] = Rule{Name: r.name, When: r.condition, Verdict: r.verdict, Choices: r.choices, Why: r.why, Cases: decides[r.name]}
	}
	return table
}

// Markdown returns the table for docs/recovery.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| rule | condition (first match) | verdict | an evaluator may choose | cases |\n|---|---|---|---|---|\n")
	all := 0
	for _, r := range Table() {
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %d |\n", r.Name, r.When, r.Verdict, words(r.Choices), r.Cases)
		all += r.Cases
	}
	fmt.Fprintf(&b, "| | all | | | %d |\n", all)
	return b.String()
}

func words(list []pawl.VerdictWord) string {
	if len(list) == 0 {
		return "–"
	}
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = "`" + string(w) + "`"
	}
	return strings.Join(quoted, ", ")
}
