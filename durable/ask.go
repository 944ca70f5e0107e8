package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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
	if err != nil {
		return "", err
	}
	if option, err = r.asked(ctx, id, name, q); err != nil {
		return "", fmt.Errorf("durable step %q: %w", name, err)
	}
	return option, nil
}

func (r *run) asked(ctx context.Context, id stepID, name string, q Question) (option string, err error) {
	defer func() { r.exit(id, err) }()
	before, c := r.before(id)
	if c.past != nil {
		return "", c.past
	}
	if before.Status != pawl.Done {
		if err := r.ask(ctx, id, name, q); err != nil {
			return "", err
		}
		before, _ = r.before(id)
	}
	a, err := answerOf(r.log, id, &before)
	if err == nil {
		err = json.Unmarshal(a.Value, &option)
	}
	return option, err
}

// ask waits until the gate is closed, and records the answer as the step's result.
func (r *run) ask(ctx context.Context, id stepID, name string, q Question) error {
	g, err := r.openGate(ctx, id, q)
	if err != nil {
		return err
	}
	closed := func(s *pawl.State) bool {
		now := s.Gate(g.ID)
		if now != nil {
			g = *now
		}
		return now != nil && !now.Open()
	}
	ok, err := r.waitFor(ctx, g.Expires, closed)
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
	if err == nil {
		err = r.record(context.WithoutCancel(ctx), pawl.StepDone{Step: id, Summary: summaryOf(id, name), Result: data})
	}
	return cmp.Or(err, r.refresh())
}

// openGate opens the gate of a question, unless it is there.
func (r *run) openGate(ctx context.Context, id stepID, q Question) (pawl.GateState, error) {
	g := pawl.Gate{Step: id, Type: pawl.HumanVerify, Ask: q.Text, Options: q.Options, Default: q.Default, Expect: q.Check}
	if len(q.Options) > 0 {
		g.Type = pawl.DecisionFor
	}
	g.ID = g.Identify()
	if q.Limit > 0 {
		g.Expires = time.Now().UTC().Add(q.Limit)
	}
	known := pawl.GateState{Gate: g}
	found := false
	err := r.refreshBy(func(s *pawl.State) {
		if now := s.Gate(g.ID); now != nil {
			known, found = *now, true
		}
	})
	if err != nil || found {
		return known, err
	}
	if err = runs.RequireOwn(r.engine.project, r.id); err == nil {
		err = runs.Mark(r.engine.project, r.id) // durably, so that answers to the gate can count
	}
	if err == nil {
		err = r.record(context.WithoutCancel(ctx), pawl.GateOpened{Gate: g})
	}
	return known, err
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
			return answer{Rejected: &g.Answer.Why}, nil
		}
	}
	if choice == "" {
		return answer{Late: true}, nil
	}
	a.Value, err = json.Marshal(choice)
	return a, err
}
