package recovery

import (
	"fmt"
	"strings"

	"pawl"
)

// Rule is a line of the table, for people.
type Rule struct {
	Name    string             `json:"rule"`
	When    string             `json:"when"`
	Verdict pawl.VerdictWord   `json:"verdict"`
	Choices []pawl.VerdictWord `json:"evaluator,omitempty"` // what an evaluator may choose
	Why     string             `json:"why"`
	Cases   int                `json:"cases"` // how many of all cases it decides
}

// Table lists the rules in the order in which they are asked, with how many of all cases each decides.
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

// Markdown is the table as the documentation has it.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| rule | when (the first that holds) | verdict | an evaluator may choose | cases |\n|---|---|---|---|---|\n")
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
