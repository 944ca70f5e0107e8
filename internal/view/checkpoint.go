package view

import (
	"maps"
	"slices"

	"pawl"
)

// checkpointFile says, while a person is asked or work was interrupted, what it is about and how to go on.
func (v *run) checkpointFile() []byte {
	gates, broken := v.OpenGates(), v.interruptions()
	stranded := v.status == pawl.StatusInterrupted
	if v.Ended() || len(gates) == 0 && len(broken) == 0 && !stranded {
		return nil
	}
	p := v.head("Checkpoint of run " + string(v.Run))
	p.say("\n")
	p.fact("Status", string(v.status), because(v.Why))
	p.fact("Position", v.position())
	p.fact("Last activity", at(v.Updated))
	if c := v.LastSave; c != nil {
		p.fact("Saved", code(string(c.ID)), " (", inline(string(c.Kind)), ") ", at(c.Time), ofStep(c.Step), because(c.Why))
	}
	for _, g := range gates {
		v.sayGate(p, g)
	}
	v.sayInterrupted(p, broken, stranded)
	return p.Bytes()
}

func (v *run) position() string {
	if len(v.plan.Phases) == 0 {
		return ""
	}
	return where(v.Position(v.plan))
}

// sayGate says what is asked, what to look at, and the commands that answer.
func (v *run) sayGate(p *page, g *pawl.GateState) {
	p.say("\n### Gate ", code(string(g.ID)), ": ", inline(string(g.Type)), ofStep(g.Step), "\n\n")
	p.quote(g.Ask)
	p.say("\n")
	p.fact("Opened", at(g.Opened))
	p.fact("Expires", at(g.Expires))
	p.fact("To be found", inline(g.Expect))
	p.fact("To look at", shown(g.Shown))
	for _, c := range g.Checks {
		p.fact("Check "+inline(c.Name), passed(c))
	}
	p.fact("Default", inline(g.Default))
	if g.Type == pawl.DecisionFor {
		for _, option := range g.Options {
			p.fact("Choose "+inline(option), code("pawl answer "+string(g.ID)+" "+word(option)))
		}
		return
	}
	p.fact("Approve", code("pawl approve "+string(g.ID)))
	p.fact("Reject", code("pawl reject "+string(g.ID)+" -m WHY"))
}

func passed(c pawl.CheckRun) string {
	if c.Exit == 0 {
		return "passed"
	}
	return "failed with exit code " + number(c.Exit)
}

// maxShown is how many paths to look at are named.
const maxShown = 20

func shown(outputs pawl.Outputs) string {
	paths := slices.Sorted(maps.Keys(outputs))
	text := ""
	for i, path := range paths[:min(len(paths), maxShown)] {
		if i > 0 {
			text += ", "
		}
		text += code(path)
	}
	if more := len(paths) - maxShown; more > 0 {
		text += " and " + number(more) + " more"
	}
	return text
}

// maxInterrupted is how many interrupted attempts are told in full.
const maxInterrupted = 20

func (v *run) sayInterrupted(p *page, broken []*pawl.AttemptEnded, stranded bool) {
	if len(broken) == 0 && !stranded {
		return
	}
	p.say("\n## Interrupted\n\n")
	for _, end := range broken[:min(len(broken), maxInterrupted)] {
		p.say("- ", code(end.Name()), " attempt ", number(end.Attempt), " ", inline(string(end.Outcome)))
		if end.Reason != "" {
			p.say(" (", inline(string(end.Reason)), ")")
		}
		p.say(because(end.Why), "; its files are in ", code(v.folder(end.AttemptRef)), v.session(end.AttemptRef), "\n")
	}
	if more := len(broken) - maxInterrupted; more > 0 {
		p.say("- and ", number(more), " more\n")
	}
	for _, a := range v.Live() {
		p.say("- ", code(a.Name()), " attempt ", number(a.Attempt), " had not ended; its files are in ", code(v.folder(a.AttemptRef)), v.session(a.AttemptRef), "\n")
	}
	p.say("\nFinished steps and items stay finished. To go on: `pawl resume ", string(v.Run), "`\n")
}

// session says with which session of its agent an attempt can go on.
func (v *run) session(ref pawl.AttemptRef) string {
	c := v.Conversation(ref)
	if c == nil {
		return ""
	}
	return "; its session of " + inline(string(c.Agent)) + " is " + code(c.ID)
}

// folder returns where an attempt's output and records lie.
func (v *run) folder(ref pawl.AttemptRef) string {
	return ".pawl/runs/" + string(v.Run) + "/steps/" + ref.Name() + "/" + number(ref.Attempt)
}
