package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/runs"
)

// askIn is the input of ask.
type askIn struct {
	Question string        `json:"question" jsonschema:"question for the person; make it self-contained, they may lack context"`
	Options  []string      `json:"options,omitempty" jsonschema:"choices; makes the question a decision"`
	Type     pawl.GateType `json:"type,omitempty" jsonschema:"human_action (do something and confirm it), human_verify (check something and approve or reject it), decision (choose; needs options). Defaults to decision if there are options, else human_action"`
	Expect   string        `json:"expect,omitempty" jsonschema:"acceptance hint: what the person should find or do"`
	Again    bool          `json:"again,omitempty" jsonschema:"ask again even if exactly this question was answered before"`
}

// askOut is the output of ask: the state of the question.
type askOut struct {
	Gate     pawl.GateID   `json:"gate" jsonschema:"id of the gate for this question"`
	Run      pawl.RunID    `json:"run"`
	State    string        `json:"state" jsonschema:"open (not answered yet) or answered"`
	Type     pawl.GateType `json:"type"`
	Question string        `json:"question"`
	Answer   pawl.Answer   `json:"answer,omitempty" jsonschema:"approved, rejected (redo the work, see why), refused (final), chosen (see option)"`
	Option   string        `json:"option,omitempty"`
	Why      string        `json:"why,omitempty" jsonschema:"the person's comment"`
	Answers  []string      `json:"answers,omitempty" jsonschema:"commands with which a person answers the gate"`
	Next     string        `json:"next" jsonschema:"what to do now"`
	Notes    notes         `json:"notes,omitempty" jsonschema:"warnings to pass on to the user; the question was recorded"`
}

// ask opens a gate, or finds the existing one for the same question. If the client can ask its user, ask does so at once and
// closes exactly this gate with the answer. Otherwise, or without an answer, the gate stays open and ask returns.
func (s *Server) ask(ctx context.Context, c call, in askIn) (answer[askOut], error) {
	action, err := in.action()
	if err != nil {
		return answer[askOut]{}, err
	}
	q, err := s.question(ctx, c, action, in.Again)
	if err != nil {
		return answer[askOut]{}, err
	}
	reply := c.replyTo(q.gate.ID)
	if q.fresh {
		reply = nil
	}
	elicits := c.canElicit() && s.reachesPerson() && !s.serverOnly()
	if !elicits {
		reply = nil
	}
	if q.gate.Open() && reply == nil && elicits {
		if c.elicitsInResult() {
			return answer[askOut]{questions: sdk.InputRequestMap{string(q.gate.ID): form(q)}}, nil
		}
		if reply, err = s.elicit(ctx, c, q); err != nil {
			return answer[askOut]{}, err
		}
	}
	if q.gate.Open() && reply != nil && reply.Action == "accept" {
		if err := s.closeGate(ctx, c, q, reply.Content); err != nil {
			return answer[askOut]{}, err
		}
	}
	return s.stateOf(q)
}

// action returns the validated gate action.
func (in askIn) action() (pawl.GateAction, error) {
	a := pawl.GateAction{Type: in.Type, Ask: in.Question, Options: in.Options, Expect: in.Expect}
	if a.Type == "" {
		a.Type = pawl.HumanAction
		if len(a.Options) > 0 {
			a.Type = pawl.DecisionFor
		}
	}
	switch {
	case strings.TrimSpace(a.Ask) == "":
		return a, usage("question is empty")
	case (a.Type == pawl.DecisionFor) != (len(a.Options) > 0):
		return a, usage("type decision needs options; other types take none")
	}
	return a, nil
}

// stateOf returns the state of a question, and what the agent should do next.
func (s *Server) stateOf(q *question) (answer[askOut], error) {
	g := q.gate
	out := askOut{Gate: g.ID, Run: q.run, State: "open", Type: g.Type, Question: g.Ask, Notes: q.notes}
	if g.Answer != nil {
		out.State, out.Answer, out.Option, out.Why = "answered", g.Answer.Answer, g.Answer.Option, g.Answer.Why
		out.Next = "continue according to the answer"
		return answer[askOut]{text: out.String(), data: out}, s.goOn(q.action)
	}
	out.Answers = runs.AnswerCommands(g)
	if s.step == nil {
		out.Next = "continue with work that does not depend on the answer; repeat the same call to see whether it was answered"
		return answer[askOut]{text: out.String(), data: out}, nil
	}
	out.Next = "end your work now; a new attempt continues it and gets the answer"
	return answer[askOut]{text: out.String(), data: out}, s.step.MarkWaiting(q.action)
}

// goOn withdraws the attempt's request to wait for the answer.
func (d *toolContext) goOn(action pawl.GateAction) error {
	if d.step == nil {
		return nil
	}
	return d.step.ClearWaiting(action)
}

// String returns the state of the question as text.
func (a askOut) String() string {
	text := "gate " + string(a.Gate) + " is open, not answered yet. A person answers it with " + strings.Join(a.Answers, ", or ")
	if a.State != "open" {
		text = "gate " + string(a.Gate) + " is answered: " + string(a.Answer)
		if a.Option != "" {
			text += " " + a.Option
		}
		if a.Why != "" {
			text += " (" + a.Why + ")"
		}
	}
	return text + ". Now: " + a.Next + a.Notes.String()
}
