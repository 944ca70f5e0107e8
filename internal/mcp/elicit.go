package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	who "pawl/internal/caller"
	"pawl/internal/runs"
)

// canElicit reports whether the client can show a form to its user.
func (c call) canElicit() bool {
	can := c.ClientCapabilities()
	return can != nil && can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
}

// reachesPerson reports whether the client's reply is a person's. The program of a step answers its questions itself, and so
// could a program that an agent starts between itself and this server.
func (d *toolContext) reachesPerson() bool {
	c := who.Under(d.environ, "")
	return d.step == nil && c.Kind != who.Step && (c.Kind != who.Agent || c.Direct)
}

// serverOnly reports whether only clients of `pawl serve` may answer gates: then a form would ask in vain.
func (s *Server) serverOnly() bool {
	p, err := s.project()
	if err != nil {
		return false // the tool reports it
	}
	only, err := runs.ServerOnly(p)
	return only || err != nil
}

// elicitsInResult reports whether the client takes the questions in a tool's result and calls the tool again with the reply.
// Older clients get a request during the call.
func (c call) elicitsInResult() bool { return c.ProtocolVersion() >= "2026-07-28" }

// replyTo returns the reply for a gate in this call, nil if there is none.
func (c call) replyTo(id pawl.GateID) *sdk.ElicitResult {
	reply, _ := c.Params.InputResponses[string(id)].(*sdk.ElicitResult)
	return reply
}

// The choices for gates that are not decisions.
const (
	approve = "approve"
	reject  = "reject"
)

// form is the form that a client shows to its user.
func form(q *question) *sdk.ElicitParams {
	choices := []string{approve, reject}
	if q.gate.Type == pawl.DecisionFor {
		choices = q.gate.Options
	}
	message := q.gate.Ask
	if q.gate.Expect != "" {
		message += "\nAcceptance hint: " + q.gate.Expect
	}
	return &sdk.ElicitParams{
		Mode:    "form",
		Message: fmt.Sprintf("%s\n(gate %s of run %s)", message, q.gate.ID, q.run),
		RequestedSchema: map[string]any{
			"type": "object", "required": []string{"answer"},
			"properties": map[string]any{
				"answer": map[string]any{"type": "string", "title": "Answer", "enum": choices},
				"why":    map[string]any{"type": "string", "title": "Why", "description": "Comment for the agent"},
			},
		},
	}
}

// elicit asks the user of an older client and returns the reply, nil if there is none: then the gate stays open.
func (s *Server) elicit(ctx context.Context, c call, q *question) (*sdk.ElicitResult, error) {
	reply, err := c.Session.Elicit(ctx, form(q))
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the client did not ask its user", "client", c.by.Name, "gate", q.gate.ID, "error", s.redact.Text(err.Error()))
		return nil, nil
	}
	return reply, ctx.Err()
}

// closeGate closes the gate of a question with a person's answer. If another person has answered it first, their answer
// counts; if the answer cannot be recorded, the gate stays open.
func (s *Server) closeGate(ctx context.Context, c call, q *question, content map[string]any) error {
	act, err := s.answerAct(q.gate, content, "mcp client "+c.by.Name)
	if err != nil {
		return err
	}
	p, err := s.project()
	if err != nil {
		return err
	}
	person := pawl.Author{Kind: pawl.ByPerson, Name: s.user, Session: c.by.Session}
	r, err := s.act(ctx, p, q.run, person, act)
	if pawl.KindOf(err) == pawl.KindUsage {
		return s.concurrentAnswer(ctx, q, err)
	}
	if err != nil {
		return err
	}
	q.gate, q.notes = r.State.Gate(q.gate.ID), s.notes(r)
	return r.Log.Close()
}

// answerAct returns the act for a completed form.
func (s *Server) answerAct(g *pawl.GateState, content map[string]any, via string) (runs.Act, error) {
	given, _ := content["answer"].(string)
	why, _ := content["why"].(string)
	reply := pawl.GateAnswered{Gate: g.ID, Why: s.redact.Text(why), Via: via}
	switch {
	case g.Type == pawl.DecisionFor:
		reply.Answer, reply.Option = pawl.Chosen, given
	case given == approve:
		reply.Answer = pawl.Approved
	case given == reject:
		reply.Answer = pawl.Rejected
	}
	if reply.Answer != "" {
		return runs.Reply(reply), nil
	}
	said, _ := json.Marshal(given)
	return nil, usage("invalid answer %s to gate %s: expected %s or %s", said, g.ID, approve, reject)
}

// concurrentAnswer takes the answer that another person has given. Without one, it returns wrong.
func (s *Server) concurrentAnswer(ctx context.Context, q *question, wrong error) error {
	_, r, err := s.open(ctx, string(q.run))
	if err != nil {
		return err
	}
	if g := r.State.Gate(q.gate.ID); g != nil && g.Answer != nil {
		q.gate, wrong = g, nil
	}
	return errors.Join(wrong, r.Log.Close())
}
