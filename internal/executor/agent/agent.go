// Package agent runs steps with coding agents.
//
// The command of such a step is the pawl binary as a runner: it starts the agent unattended, reads its output, and reports
// for it through PAWL_EVENTS and PAWL_RESULT, as every step does. It is part of the supervised process tree, so it outlives
// the engine but not the step.
//
// The id of the agent's session is durable as soon as it is known: before the agent starts, if the agent accepts an id. So an
// interrupted attempt continues in the agent's own session, or, if that is missing, in a new one with a brief. An agent's
// claim of success is not trusted: the acceptance checks decide.
package agent

import (
	"pawl"
	"pawl/internal/agents/headless"
	"pawl/internal/supervise"
)

// Verb is the hidden command that starts a runner.
const Verb = "agent-step"

// Executor runs agent steps.
type Executor struct{}

// Does reports whether the step is an agent step.
func (Executor) Does(step *pawl.Step) bool { return step.Agent != nil }

// Credentials returns the variables with the keys of the agent's own provider.
func (Executor) Credentials(step *pawl.Step) []string {
	a, _ := headless.Find(step.Agent.Use)
	return a.Credentials
}

// Command returns the command of the runner. The runner reads its task from the attempt's job file.
func (Executor) Command(*pawl.Step) ([]string, error) {
	self, err := supervise.Self()
	return []string{self, Verb}, err
}
