// Package headless knows how coding agents are started unattended, and how their output is read.
//
// It has a table with a row for each agent: its arguments, and the messages in which it reports its activity, cost and
// errors. A Stream reads one turn of an agent line by line and returns its outcome; a TurnPolicy decides what to do next.
// Agents change their output often, so unknown messages are ignored, and no line, however malformed, does harm.
//
// It is pure: it starts nothing and takes the time as an argument.
package headless

import (
	"slices"
	"strings"

	"pawl"
)

// Agent is a coding agent that can run unattended.
type Agent struct {
	Name    pawl.AgentName
	Program string // program to start, found in PATH
	Chooses bool   // it accepts an id for a new session, so that the id can be journaled before the agent starts

	Credentials []string // variables with keys of its own provider

	head    func(t Turn) []string        // arguments before the plan's
	tail    func(t Turn) []string        // arguments after the plan's; nil: none
	modest  []string                     // default permission arguments, if the plan's have none
	permits []string                     // permission arguments that replace the defaults
	out     func(s *Stream, m message)   // reads a message on its standard output
	warns   func(s *Stream, line string) // reads a line that is not a message; nil: ignored
	gone    []string                     // its error messages for a missing session, in lower case
	ends    bool                         // its last message reports success; without it the turn failed
}

// agents is the table.
var agents = []Agent{claude, codex, gemini, openCode, copilot, command}

// Find returns the agent with a name, and whether it exists.
func Find(name pawl.AgentName) (Agent, bool) {
	i := slices.IndexFunc(agents, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return agents[i], true
}

// Turn is one run of an agent's process.
type Turn struct {
	Action  pawl.AgentAction
	Session string     // session id; empty: the agent chooses one
	Resume  bool       // the session exists already
	Before  pawl.Usage // usage of the session before the turn, as the agent counts it
	USD     float64    // cost limit; 0: none
}

// Argv returns the program and its arguments. It does not contain the prompt: every agent reads that from standard input,
// where its length is not limited and the process table does not show it.
func (a Agent) Argv(t Turn) []string {
	argv := append([]string{a.Program}, a.head(t)...)
	if !slices.ContainsFunc(t.Action.Args, a.permitting) {
		argv = append(argv, a.modest...)
	}
	argv = append(argv, t.Action.Args...)
	if a.tail != nil {
		argv = append(argv, a.tail(t)...)
	}
	return argv
}

// permitting reports whether an argument sets the agent's permissions.
func (a Agent) permitting(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return slices.Contains(a.permits, name)
}

// given returns a flag with its value, nil if the value is empty.
func given(flag, value string) []string {
	if value == "" {
		return nil
	}
	return []string{flag, value}
}

// marks are the variables that agents set for the processes they start.
var marks = []string{
	"AGENT", "AI_AGENT",
	"CLAUDECODE", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH",
	"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID",
	"CODEX_CI", "CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID",
	"GEMINI_CLI",
	"OPENCODE", "OPENCODE_PID",
	"COPILOT_AGENT_SESSION_ID", "COPILOT_CLI", "COPILOT_CLI_BINARY_VERSION", "COPILOT_CLI_RESOLVED_DIST_DIR", "COPILOT_LOADER_PID",
}

// Environ returns the environment for an agent. It removes the marks of another agent that may have started pawl, because the
// new session is not its child. It sets the folder as trusted, because whoever runs a plan in a folder trusts it: with
// --skip-trust alone, Gemini CLI runs no hooks of the project.
func Environ(environ []string) []string {
	clean := slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(marks, name)
	})
	return append(clean, "GEMINI_CLI_TRUST_WORKSPACE=true")
}
