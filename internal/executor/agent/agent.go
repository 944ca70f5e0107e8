// Package agent has coding agents do steps.
//
// The command that such a step becomes is our own binary again, as a runner: it starts the agent without a person, reads
// what it prints, and speaks for it as every step speaks, through PAWL_EVENTS and PAWL_RESULT. It is part of the
// supervised tree, so it outlives the engine, and nothing of it outlives the step.
//
// The id of the agent's own session is durable as soon as it is known, where the agent lets us choose it before the agent
// starts. So an attempt that was cut off is gone on with in the agent's own session, and in a new one with a brief where
// that is gone. An agent that calls itself done is believed as little as any other step: the acceptance checks decide.
package agent

import (
	"pawl"
	"pawl/internal/supervise"
)

// Verb is the hidden command of our binary under which a runner runs.
const Verb = "agent-step"

// Executor runs agents' steps.
type Executor struct{}

// Does reports whether the step is an agent's.
func (Executor) Does(step *pawl.Step) bool { return step.Agent != nil }

// Command returns the runner. What it is to do stands in the attempt's job.
func (Executor) Command(*pawl.Step) ([]string, error) {
	self, err := supervise.Self()
	return []string{self, Verb}, err
}
