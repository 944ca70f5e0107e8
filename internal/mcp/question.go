package mcp

import (
	"context"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// question is a gate that an agent asked for, with its current state.
type question struct {
	action pawl.GateAction
	run    pawl.RunID
	gate   *pawl.GateState
	fresh  bool // opened by this call, so it has no answer yet
	notes  notes
}

// question opens the gate for an action, unless it is open already, or was answered and again is false. A call that brings a
// reply opens nothing, because the gate may have been closed since.
func (s *Server) question(ctx context.Context, c call, action pawl.GateAction, again bool) (*question, error) {
	q := &question{action: action}
	id := s.gateOf(action).ID
	again = again && c.replyTo(id) == nil
	if s.step != nil {
		return q, s.askInside(ctx, q, id, again)
	}
	err := s.askOutside(ctx, c.by, q, id, again)
	if pawl.KindOf(err) == pawl.KindUsage { // a concurrent call opened the same gate
		q.fresh = false
		err = s.askOutside(ctx, c.by, q, id, false)
	}
	return q, err
}

// gateOf returns the gate for an action in this context.
func (d *toolContext) gateOf(action pawl.GateAction) pawl.Gate {
	if d.step == nil {
		return action.Gate("", "", time.Now())
	}
	return action.Gate(d.step.Attempt.Step, d.step.Attempt.Item, time.Now())
}

// exists reports whether a gate need not be opened.
func exists(g *pawl.GateState, again bool) bool {
	return g != nil && (g.Open() || g.Answer != nil && !again)
}

func (d *toolContext) askOutside(ctx context.Context, by pawl.Author, q *question, id pawl.GateID, again bool) error {
	r, err := d.perform(ctx, by, func(p *project.Project, r *runs.Run) ([]pawl.Payload, error) {
		if exists(r.State.Gate(id), again) {
			return nil, nil
		}
		q.fresh = true
		return runs.Ask(q.action, true)(p, r)
	})
	if err != nil {
		return err
	}
	q.run, q.gate, q.notes = r.State.Run, r.State.Gate(id), d.notes(r)
	return r.Log.Close()
}

// askInside opens a gate through the step. The engine journals it later.
func (d *toolContext) askInside(ctx context.Context, q *question, id pawl.GateID, again bool) error {
	_, r, err := d.open(ctx, "")
	if err != nil {
		return err
	}
	q.run, q.gate = r.State.Run, r.State.Gate(id)
	if err := r.Log.Close(); err != nil || exists(q.gate, again) {
		return err
	}
	gate, err := d.step.OpenGate(q.action)
	q.gate, q.fresh = &pawl.GateState{Gate: gate}, true
	return err
}
