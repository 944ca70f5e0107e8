package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/runs"
)

// askIn is what ask takes.
type askIn struct {
	Question string        `json:"question" jsonschema:"what a person is asked; it stands for itself, for they may not know what you are at"`
	Options  []string      `json:"options,omitempty" jsonschema:"what they may choose from; makes it a decision"`
	Type     pawl.GateType `json:"type,omitempty" jsonschema:"human_action (do something and say so), human_verify (look at something and say whether it is right), decision (choose; needs options). Left out: decision with options, else human_action"`
	Expect   string        `json:"expect,omitempty" jsonschema:"what they should find or do"`
	Again    bool          `json:"again,omitempty" jsonschema:"ask anew although exactly this was answered before"`
}

// askOut is how a question stands.
type askOut struct {
	Gate     pawl.GateID   `json:"gate" jsonschema:"the id of the gate that the question is"`
	Run      pawl.RunID    `json:"run"`
	State    string        `json:"state" jsonschema:"open (nobody has answered yet) or answered"`
	Type     pawl.GateType `json:"type"`
	Question string        `json:"question"`
	Answer   pawl.Answer   `json:"answer,omitempty" jsonschema:"approved, rejected (it is to be done again, see why), refused (for good), chosen (see option)"`
	Option   string        `json:"option,omitempty"`
	Why      string        `json:"why,omitempty" jsonschema:"what the person says to it"`
	Answers  []string      `json:"answers,omitempty" jsonschema:"the commands by which a person closes the gate"`
	Next     string        `json:"next" jsonschema:"what you do now"`
	Notes    notes         `json:"notes,omitempty" jsonschema:"what your person should know; the question stands all the same"`
}

// ask opens a gate, or finds the one that asks the same. Where the client can ask its person, that person is asked there
// and then, and what they answer closes exactly this gate. Else, and where they do not answer, it stays open, and nobody
// waits for it.
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
	if q.gate.Open() && reply == nil && c.mayAsk() {
		if c.asksByAnswer() {
			return answer[askOut]{questions: sdk.InputRequestMap{string(q.gate.ID): form(q)}}, nil
		}
		if reply, err = s.elicit(ctx, c, q); err != nil {
			return answer[askOut]{}, err
		}
	}
	if q.gate.Open() && reply != nil && reply.Action == "accept" {
		if err := s.settle(ctx, c, q, reply.Content); err != nil {
			return answer[askOut]{}, err
		}
	}
	return s.standing(q)
}

// action returns what is asked.
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
		return a, usage("question is empty: say what a person is asked")
	case (a.Type == pawl.DecisionFor) != (len(a.Options) > 0):
		return a, usage("a decision has options, and nothing else has")
	}
	return a, nil
}

// standing says how a question stands now, and what whoever asked does next.
func (s *Server) standing(q *question) (answer[askOut], error) {
	g := q.gate
	out := askOut{Gate: g.ID, Run: q.run, State: "open", Type: g.Type, Question: g.Ask, Notes: q.notes}
	if g.Answer != nil {
		out.State, out.Answer, out.Option, out.Why = "answered", g.Answer.Answer, g.Answer.Option, g.Answer.Why
		out.Next = "go on by that"
		return answer[askOut]{text: out.String(), data: out}, s.goOn(q.action)
	}
	out.Answers = runs.AnswerCommands(g)
	if s.step == nil {
		out.Next = "go on with what does not hang on it; ask the same again to see whether it was answered"
		return answer[askOut]{text: out.String(), data: out}, nil
	}
	out.Next = "end your work now; it goes on in a new attempt, which is told the answer"
	return answer[askOut]{text: out.String(), data: out}, s.step.MarkWaiting(q.action)
}

// goOn takes back that the attempt waits for the answer.
func (d *desk) goOn(action pawl.GateAction) error {
	if d.step == nil {
		return nil
	}
	return d.step.ClearWaiting(action)
}

// String says in words how a question stands.
func (a askOut) String() string {
	said := "gate " + string(a.Gate) + " is open: nobody has answered yet. A person answers by " + strings.Join(a.Answers, ", or ")
	if a.State != "open" {
		said = "gate " + string(a.Gate) + " is answered: " + string(a.Answer)
		if a.Option != "" {
			said += " " + a.Option
		}
		if a.Why != "" {
			said += " (" + a.Why + ")"
		}
	}
	return said + ". Now: " + a.Next + a.Notes.String()
}
