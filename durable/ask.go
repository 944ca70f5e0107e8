package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"pawl"
	"pawl/internal/runs"
)

// Question is what a person is asked.
type Question struct {
	Text    string
	Options []string      // to choose from; without options, a person approves or rejects
	Default string        // the answer if none comes in time; empty: ErrTimeout
	Check   string        // what to check before answering
	Limit   time.Duration // for an answer; 0: none
}

// Ask is a step that opens a gate and waits until a person closes it: `pawl gates` shows it, `pawl answer`, `pawl approve` and
// `pawl reject` close it, and so does the page of `pawl serve`. It returns the chosen option, or "approved". A rejection gives
// ErrRejected, with the reason.
func Ask(ctx context.Context, name string, q Question) (option string, err error) {
	r, id, err := enter(ctx, name, true)
	if err == nil {
		err = r.wait(id, name, &option, func() error { return r.ask(ctx, id, name, q) })
	}
	return option, err
}

// ask waits until the gate is closed, and records the answer as the step's result.
func (r *run) ask(ctx context.Context, id stepID, name string, q Question) error {
	opened, err := r.openGate(ctx, id, q)
	if err != nil {
		return err
	}
	var g pawl.GateState
	closed := func(s *pawl.State) bool {
		if now := s.Gate(opened.ID); now != nil {
			g = *now
		}
		return g.ID != "" && !g.Open()
	}
	ok, err := r.waitFor(ctx, opened.Expires, closed)
	if err == nil && !ok {
		err = cmp.Or(r.record(context.WithoutCancel(ctx), pawl.GateExpired{Gate: g.ID}), r.refreshBy(func(s *pawl.State) { closed(s) }))
	}
	if err != nil {
		return err
	}
	a, err := r.reply(g, q)
	if err != nil {
		return err
	}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return r.record(context.WithoutCancel(ctx), pawl.StepDone{Step: id, Summary: summaryOf(id, name), Result: data})
}

// openGate opens the gate of a question, unless it is there.
func (r *run) openGate(ctx context.Context, id stepID, q Question) (g pawl.Gate, err error) {
	g = pawl.Gate{Step: id, Type: pawl.HumanVerify, Ask: q.Text, Options: q.Options, Default: q.Default, Expect: q.Check}
	if len(q.Options) > 0 {
		g.Type = pawl.DecisionFor
	}
	g.ID = g.Identify()
	if q.Limit > 0 {
		g.Expires = time.Now().UTC().Add(q.Limit)
	}
	found := false
	if err := r.refreshBy(func(s *pawl.State) {
		if now := s.Gate(g.ID); now != nil {
			g, found = now.Gate, true
		}
	}); err != nil || found {
		return g, err
	}
	if err = runs.RequireOwn(r.engine.project, r.id); err == nil {
		err = runs.Mark(r.engine.project, r.id) // durably, so that answers to the gate can count
	}
	if err == nil {
		err = r.record(context.WithoutCancel(ctx), pawl.GateOpened{Gate: g})
	}
	return g, err
}

// reply returns what a closed gate says. An answer that arrived with the files does not count.
func (r *run) reply(g pawl.GateState, q Question) (a answer, err error) {
	choice := q.Default
	if g.Answer != nil {
		if err := runs.RequireOwn(r.engine.project, r.id); err != nil {
			return a, err
		}
		switch choice = string(g.Answer.Answer); g.Answer.Answer {
		case pawl.Chosen:
			choice = g.Answer.Option
		case pawl.Rejected, pawl.Refused:
			return answer{Rejected: cmp.Or(g.Answer.Why, "without a reason")}, nil
		}
	}
	if choice == "" {
		return answer{Late: true}, nil
	}
	a.Value, err = json.Marshal(choice)
	return a, err
}
