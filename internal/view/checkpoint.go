package view

import (
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/shellwords"
)

// checkpointFile describes the open gates and interrupted work, with the commands to continue; nil if there are none.
func (v *run) checkpointFile() []byte {
	gates, broken := v.OpenGates(), v.interruptions()
	stopped := v.status == pawl.StatusInterrupted
	if v.Ended() || len(gates) == 0 && len(broken) == 0 && !stopped {
		return nil
	}
	p := v.newPage("Checkpoint of run " + string(v.Run))
	p.add("\n")
	v.addStatus(p)
	p.fact("Position", v.position())
	p.fact("Last activity", formatTime(v.Updated))
	if c := v.LastSave; c != nil {
		p.fact("Last checkpoint", code(string(c.ID)), " (", inline(string(c.Kind)), ") ", formatTime(c.Time), ofStep(c.Step), because(c.Why))
	}
	for _, g := range gates {
		v.addGate(p, g)
	}
	v.addInterrupted(p, broken, stopped)
	return p.Bytes()
}

func (v *run) position() string {
	if len(v.plan.Phases) == 0 {
		return ""
	}
	return formatPosition(v.Position(v.plan))
}

// addGate describes a gate: the question, what to review, and the commands that answer it.
func (v *run) addGate(p *page, g *pawl.GateState) {
	p.add("\n### Gate ", code(string(g.ID)), ": ", inline(string(g.Type)), ofStep(g.Step), "\n\n")
	p.quote(g.Ask)
	p.add("\n")
	p.fact("Opened", formatTime(g.Opened))
	p.fact("Expires", formatTime(g.Expires))
	label := g.ExpectLabel()
	p.fact(strings.ToUpper(label[:1])+label[1:], inline(g.Expect))
	p.fact("To review", shown(g.Shown))
	for _, c := range g.Checks {
		p.fact("Check "+inline(c.Name), passed(c))
	}
	p.fact("Default", inline(g.Default))
	if g.Type == pawl.DecisionFor {
		for _, option := range g.Options {
			p.fact("Choose "+inline(option), code("pawl answer "+string(g.ID)+" "+shellwords.Word(option)))
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

// maxShown is the maximum number of paths listed for a gate.
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

// maxInterrupted is the maximum number of interrupted attempts listed.
const maxInterrupted = 20

func (v *run) addInterrupted(p *page, broken []*pawl.AttemptEnded, stopped bool) {
	if len(broken) == 0 && !stopped {
		return
	}
	p.add("\n## Interrupted\n\n")
	for _, end := range broken[:min(len(broken), maxInterrupted)] {
		p.add("- ", code(end.Name()), " attempt ", number(end.Attempt), " ", outcome(end.Outcome))
		if end.Reason != "" {
			p.add(" (", inline(string(end.Reason)), ")")
		}
		p.add(because(end.Why), "; files: ", code(v.folder(end.AttemptRef)), v.agentSession(end.AttemptRef), "\n")
	}
	if more := len(broken) - maxInterrupted; more > 0 {
		p.add("- and ", number(more), " more\n")
	}
	for _, a := range v.Live() {
		p.add("- ", code(a.Name()), " attempt ", number(a.Attempt), ": no end recorded; files: ", code(v.folder(a.AttemptRef)), v.agentSession(a.AttemptRef), "\n")
	}
	p.add("\nFinished steps and items are not rerun. To continue: `pawl resume ", string(v.Run), "`\n")
}

// agentSession names the agent session with which an attempt can continue.
func (v *run) agentSession(ref pawl.AttemptRef) string {
	c := v.Conversation(ref)
	if c == nil {
		return ""
	}
	return "; " + inline(string(c.Agent)) + " session: " + code(c.ID)
}

// folder returns the path of an attempt's output and records.
func (v *run) folder(ref pawl.AttemptRef) string {
	return ".pawl/runs/" + string(v.Run) + "/steps/" + ref.Name() + "/" + number(ref.Attempt)
}
