package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/runs"
)

// mayAsk reports whether the client can put a form before its person.
func (c call) mayAsk() bool {
	can := c.ClientCapabilities()
	return can != nil && can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
}

// asksByAnswer reports whether this client is asked by what a tool answers, and calls the tool again with the reply. Older
// ones are sent a request while they wait.
func (c call) asksByAnswer() bool { return c.ProtocolVersion() >= "2026-07-28" }

// replyTo returns the reply for a gate that a call brings, nil where it brings none.
func (c call) replyTo(id pawl.GateID) *sdk.ElicitResult {
	reply, _ := c.Params.InputResponses[string(id)].(*sdk.ElicitResult)
	return reply
}

// The answers that a form offers for gates that are not decisions.
const (
	approve = "approve"
	reject  = "reject"
)

// form is what a client puts before its person.
func form(q *question) *sdk.ElicitParams {
	choices := []string{approve, reject}
	if q.gate.Type == pawl.DecisionFor {
		choices = q.gate.Options
	}
	message := q.gate.Ask
	if q.gate.Expect != "" {
		message += "\nExpected: " + q.gate.Expect
	}
	return &sdk.ElicitParams{
		Mode:    "form",
		Message: fmt.Sprintf("%s\n(gate %s of run %s)", message, q.gate.ID, q.run),
		RequestedSchema: map[string]any{
			"type": "object", "required": []string{"answer"},
			"properties": map[string]any{
				"answer": map[string]any{"type": "string", "title": "Answer", "enum": choices},
				"why":    map[string]any{"type": "string", "title": "Why", "description": "What the agent is told with it"},
			},
		},
	}
}

// elicit asks an older client's person and returns the reply, nil where there is none: then the gate stays open.
func (s *Server) elicit(ctx context.Context, c call, q *question) (*sdk.ElicitResult, error) {
	reply, err := c.Session.Elicit(ctx, form(q))
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the client did not ask its person", "client", c.by.Name, "gate", q.gate.ID, "error", s.redact.Text(err.Error()))
		return nil, nil
	}
	return reply, ctx.Err()
}

// settle closes the gate of a question with what a person answered. Where somebody else was quicker, theirs is the answer;
// where it cannot be recorded, the gate stays open.
func (s *Server) settle(ctx context.Context, c call, q *question, content map[string]any) error {
	act, err := s.answering(q.gate, content)
	if err != nil {
		return err
	}
	if s.step != nil {
		if err := s.journaled(ctx, q); errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return usage("the answer is not recorded, for no engine took the question up: a person answers by %s", strings.Join(runs.AnswerCommands(q.gate), ", or "))
		} else if err != nil {
			return err
		}
	}
	p, err := s.project()
	if err != nil {
		return err
	}
	person := pawl.Author{Kind: pawl.ByPerson, Name: s.user, Session: c.by.Session}
	r, err := s.act(ctx, p, q.run, person, act)
	if pawl.KindOf(err) == pawl.KindUsage {
		return s.closedMeanwhile(ctx, q, err)
	}
	if err != nil {
		return err
	}
	q.gate, q.notes = r.State.Gate(q.gate.ID), s.notes(r)
	return r.Log.Close()
}

// answering is the act of a person who filled in a form.
func (s *Server) answering(g *pawl.GateState, content map[string]any) (runs.Act, error) {
	given, _ := content["answer"].(string)
	why, _ := content["why"].(string)
	why = s.redact.Text(why)
	switch {
	case g.Type == pawl.DecisionFor:
		return runs.Choose(g.ID, given, why), nil
	case given == approve:
		return runs.Approve(g.ID, why), nil
	case given == reject:
		return runs.Reject(g.ID, why, false), nil
	}
	said, _ := json.Marshal(given)
	return nil, usage("%s is no answer to gate %s: it is %s or %s", said, g.ID, approve, reject)
}

// closedMeanwhile takes the answer that somebody else has given. Without one, what was wrong stands.
func (s *Server) closedMeanwhile(ctx context.Context, q *question, wrong error) error {
	_, r, err := s.open(ctx, string(q.run))
	if err != nil {
		return err
	}
	if g := r.State.Gate(q.gate.ID); g != nil && g.Answer != nil {
		q.gate, wrong = g, nil
	}
	return errors.Join(wrong, r.Log.Close())
}
