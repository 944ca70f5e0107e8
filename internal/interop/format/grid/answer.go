package grid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
)

// approved are the words by which a person approves a checkpoint.
var approved = []string{"approved", "approve", "yes", "y", "ok", "lgtm"}

// replyFor returns what a person's text means as the answer to a gate. Text that is neither an approval nor an option is a
// rejection with that reason or, if the person had to do something, a comment.
func replyFor(g pawl.Gate, said string) pawl.GateAnswered {
	said = strings.TrimSpace(said)
	reply := pawl.GateAnswered{Gate: g.ID, Step: g.Step, Answer: pawl.Rejected, Why: said}
	word := strings.Trim(said, " .!\"'")
	why, rejected := strings.CutPrefix(said, string(pawl.Rejected)) // as pawl writes it
	switch {
	case g.Type == pawl.DecisionFor:
		reply.Answer, reply.Option, reply.Why = pawl.Chosen, said, ""
		if i := slices.IndexFunc(g.Options, func(o string) bool { return strings.EqualFold(o, word) }); i >= 0 {
			reply.Option = g.Options[i]
		}
	case slices.Contains(approved, strings.ToLower(word)):
		reply.Answer, reply.Why = pawl.Approved, ""
	case rejected:
		reply.Why = strings.TrimLeft(why, ": ")
	case g.Type == pawl.HumanAction:
		reply.Answer = pawl.Approved
	}
	return reply
}

// answers returns the user_response in CHECKPOINT.md as an answer, if the checkpoint shows an open gate.
func (s scope) answers(files format.Files, v format.Export) []pawl.GateAnswered {
	w := newClusterWriter(files, s.at, v)
	f := w.file("CHECKPOINT.md")
	if f == nil {
		return nil
	}
	r := &clusterReader{now: w.Now}
	there, _, _ := r.front(f, true)
	said, shown := there.at("user_response").Says(), there.at("checkpoint_details", "gate").Says()
	if said == "" {
		return nil
	}
	var asked format.Gate // of a checkpoint that pawl did not write: its question identifies the gate
	if shown == "" {
		for _, g := range readCluster(files, s.at, format.Env{Now: v.Now}).out.Gates {
			if g.Purpose != pawl.ForRebuilt {
				asked = g
			}
		}
	}
	for _, g := range v.State.OpenGates() {
		if w.gateMark(g) == cmp.Or(shown, string(asked.ID)) || asked.Ask != "" && g.Step == asked.Step && g.Type == asked.Type && g.Ask == asked.Ask {
			reply := replyFor(g.Gate, said)
			reply.Where = f.Path
			return []pawl.GateAnswered{reply}
		}
	}
	return nil
}

// gateMark returns how a checkpoint identifies its gate: by its id and, if the same was asked before, by how often.
func (w *clusterWriter) gateMark(g *pawl.GateState) string {
	asked := 0
	for i := range w.State.Gates {
		if w.State.Gates[i].ID == g.ID {
			asked++
		}
	}
	if asked > 1 {
		return fmt.Sprintf("%s-%d", g.ID, asked)
	}
	return string(g.ID)
}
