package view

import (
	"strings"

	"pawl"
)

// decisionsFile lists the decisions with their reasons, oldest first.
func (v *run) decisionsFile() []byte {
	if len(v.Made) == 0 {
		return nil
	}
	p := v.newPage("Decisions of run " + string(v.Run))
	for i, d := range v.Made {
		p.add("\n## Decision ", number(i+1), ": ", formatTime(d.Time), "\n\n")
		p.fact("Question", inline(d.Question))
		p.fact("Options", inline(strings.Join(d.Options, ", ")))
		p.fact("Choice", inline(d.Choice))
		p.fact("Why", inline(d.Why))
		p.fact("By", inline(d.By))
		p.fact("Step", code(string(d.Step)))
	}
	return p.Bytes()
}

// blockersFile lists all blockers, open and resolved.
func (v *run) blockersFile() []byte {
	if len(v.Blockers) == 0 {
		return nil
	}
	p := v.newPage("Blockers of run " + string(v.Run))
	for _, b := range v.Blockers {
		p.add("\n## Blocker ", number(b.ID), ": ", blockerStatus(b), "\n\n")
		p.quote(b.Text)
		p.add("\n")
		p.fact("Step", code(string(b.Step)))
		p.fact("Needs", inline(b.Needs))
		p.fact("Opened", formatTime(b.Opened))
		p.fact("Resolved", formatTime(b.Cleared), because(b.How))
		if b.Cleared.IsZero() {
			p.fact("To resolve", code("pawl unblock "+number(b.ID)+" -m HOW"))
		}
	}
	return p.Bytes()
}

func blockerStatus(b pawl.Blocker) string {
	if b.Cleared.IsZero() {
		return "ACTIVE"
	}
	return "RESOLVED"
}
