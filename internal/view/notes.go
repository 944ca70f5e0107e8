package view

import (
	"strings"

	"pawl"
)

// decisionsFile lists what was chosen, and why, newest last.
func (v *run) decisionsFile() []byte {
	if len(v.Made) == 0 {
		return nil
	}
	p := v.head("Decisions of run " + string(v.Run))
	for i, d := range v.Made {
		p.say("\n## Decision ", number(i+1), ": ", at(d.Time), "\n\n")
		p.fact("Question", inline(d.Question))
		p.fact("Options", inline(strings.Join(d.Options, ", ")))
		p.fact("Choice", inline(d.Choice))
		p.fact("Why", inline(d.Why))
		p.fact("By", inline(d.By))
		p.fact("Step", code(string(d.Step)))
	}
	return p.Bytes()
}

// blockersFile lists why work could not go on, the open ones too.
func (v *run) blockersFile() []byte {
	if len(v.Blockers) == 0 {
		return nil
	}
	p := v.head("Blockers of run " + string(v.Run))
	for _, b := range v.Blockers {
		p.say("\n## Blocker ", number(b.ID), ": ", blockerStatus(b), "\n\n")
		p.quote(b.Text)
		p.say("\n")
		p.fact("Step", code(string(b.Step)))
		p.fact("Needs", inline(b.Needs))
		p.fact("Opened", at(b.Opened))
		p.fact("Cleared", at(b.Cleared), because(b.How))
		if b.Cleared.IsZero() {
			p.fact("Clear it", code("pawl unblock "+number(b.ID)+" -m HOW"))
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
