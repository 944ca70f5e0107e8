package grid

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
)

// approved are the words with which a person lets a checkpoint pass.
var approved = []string{"approved", "approve", "yes", "y", "ok", "lgtm"}

// meant returns what a person's words mean as the answer to a gate. What is neither an approval nor an option is what they
// are not content with or, where they were to do something, what they say of it.
func meant(g pawl.Gate, said string) pawl.GateAnswered {
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

// answers returns what somebody wrote as user_response into CHECKPOINT.md, where that shows a gate that is open.
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
	if shown == "" { // as it was imported: what the file asks is the gate
		for _, g := range readCluster(files, s.at, nil, v.Now).out.Gates {
			if g.Purpose != pawl.ForRebuilt {
				shown = string(g.ID)
			}
		}
	}
	for _, g := range v.State.OpenGates() {
		if w.mark(g) == shown {
			reply := meant(g.Gate, said)
			reply.Where = f.Path
			return []pawl.GateAnswered{reply}
		}
	}
	return nil
}

// mark returns how a checkpoint names the gate that it shows: by its id and, where the same was asked before, by how often.
func (w *clusterWriter) mark(g *pawl.GateState) string {
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
