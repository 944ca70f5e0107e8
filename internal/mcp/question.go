package mcp

import (
	"context"
	"errors"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// question is a gate that an agent asks for, as it stands.
type question struct {
	action pawl.GateAction
	run    pawl.RunID
	gate   *pawl.GateState
	fresh  bool // it was opened just now: nobody can have answered it
	notes  notes
}

// question opens the gate that an action is, unless it is open, or was answered and is not to be asked again. Who comes
// with the answer opens nothing: it may have been closed meanwhile.
func (s *Server) question(ctx context.Context, c call, action pawl.GateAction, again bool) (*question, error) {
	q := &question{action: action}
	id := s.gateOf(action).ID
	again = again && c.replyTo(id) == nil
	if s.step != nil {
		return q, s.askInside(ctx, q, id, again)
	}
	err := s.askOutside(ctx, c.by, q, id, again)
	if pawl.KindOf(err) == pawl.KindUsage { // somebody asked the same at the same time
		q.fresh = false
		err = s.askOutside(ctx, c.by, q, id, false)
	}
	return q, err
}

// gateOf returns the gate that an action is here.
func (d *desk) gateOf(action pawl.GateAction) pawl.Gate {
	if d.step == nil {
		return action.Gate("", "", time.Now())
	}
	return action.Gate(d.step.Attempt.Step, d.step.Attempt.Item, time.Now())
}

// asked reports whether a gate need not be opened.
func asked(g *pawl.GateState, again bool) bool {
	return g != nil && (g.Open() || g.Answer != nil && !again)
}

func (d *desk) askOutside(ctx context.Context, by pawl.Author, q *question, id pawl.GateID, again bool) error {
	r, err := d.perform(ctx, by, func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		if asked(r.State.Gate(id), again) {
			return nil, nil
		}
		q.fresh = true
		return runs.Ask(q.action)(p, r)
	})
	if err != nil {
		return err
	}
	q.run, q.gate, q.notes = r.State.Run, r.State.Gate(id), d.notes(r)
	return r.Log.Close()
}

// askInside has the step ask. The journal has the gate once its engine has read that.
func (d *desk) askInside(ctx context.Context, q *question, id pawl.GateID, again bool) error {
	_, r, err := d.open(ctx, "")
	if err != nil {
		return err
	}
	q.run, q.gate = r.State.Run, r.State.Gate(id)
	if err := r.Log.Close(); err != nil || asked(q.gate, again) {
		return err
	}
	gate, err := d.step.OpenGate(q.action)
	q.gate, q.fresh = &pawl.GateState{Gate: gate}, true
	return err
}

// patience is how long an answer waits for the engine to journal the gate that it is for.
const patience = 5 * time.Second

// journaled waits until the gate of a question stands in the journal.
func (d *desk) journaled(ctx context.Context, q *question) error {
	_, r, err := d.open(ctx, string(q.run))
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	changed := r.Log.Watch(waiting)
	for r.State.Gate(q.gate.ID) == nil && err == nil {
		select {
		case <-changed:
			err = r.Refresh()
		case <-waiting.Done():
			err = waiting.Err()
		}
	}
	return errors.Join(err, r.Log.Close())
}
