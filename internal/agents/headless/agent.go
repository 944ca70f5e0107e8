// Package headless knows how coding agents are started where nobody watches, and how what they print is read.
//
// It has one table with a row for each agent: its arguments, and the words in which it says what it does, what it costs
// and what went wrong. A Stream reads one turn of an agent line by line and says in the end how it came out; a Course says
// what is to be done then. Agents change their words often, so everything here takes what it does not know for silence,
// and no line, however broken, does harm.
//
// It is pure: it starts nothing, and is told the time.
package headless

import (
	"slices"
	"strings"

	"pawl"
)

// Agent is one that works where nobody watches.
type Agent struct {
	Name    pawl.AgentName
	Program string // that is started, found by PATH
	Chooses bool   // it takes the id of a new session from us, so that this is known before there is anything to lose

	head    func(t Turn) []string        // its arguments before the plan's
	tail    func(t Turn) []string        // and behind them; nil: none
	modest  []string                     // what it may do by itself, where the plan's arguments do not say
	permits []string                     // the arguments that do say
	out     func(s *Stream, m message)   // reads a message on its standard output
	warns   func(s *Stream, line string) // reads another line of its outputs; nil: none matters
	gone    []string                     // its words for a session that is not there, in lower case
	ends    bool                         // a last message says that all is well; without it nothing is
}

// agents is the table.
var agents = []Agent{claude, codex, gemini, openCode, copilot, command}

// Find returns the agent of a name, and whether there is one.
func Find(name pawl.AgentName) (Agent, bool) {
	i := slices.IndexFunc(agents, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return agents[i], true
}

// Turn is one start of an agent, which then works by itself until it ends.
type Turn struct {
	Action  pawl.AgentAction
	Session string     // of its own; empty: it chooses one itself
	Resume  bool       // the session is there already
	Before  pawl.Usage // what the session had cost before, as the agent counts
	USD     float64    // what it may cost; 0: anything
}

// Argv returns program and arguments. The prompt is not among them: every agent reads it from standard input, where it
// may be as long as it likes and does not show in the process table.
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

// permitting reports whether an argument says what the agent may do.
func (a Agent) permitting(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return slices.Contains(a.permits, name)
}

// given returns a flag with its value, nothing where it has none.
func given(flag, value string) []string {
	if value == "" {
		return nil
	}
	return []string{flag, value}
}

// marks are the variables by which agents tell what they start that it is theirs.
var marks = []string{
	"AGENT", "AI_AGENT",
	"CLAUDECODE", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH",
	"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID",
	"CODEX_CI", "CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID",
	"GEMINI_CLI",
	"OPENCODE", "OPENCODE_PID",
	"COPILOT_AGENT_SESSION_ID", "COPILOT_CLI", "COPILOT_CLI_BINARY_VERSION", "COPILOT_CLI_RESOLVED_DIST_DIR", "COPILOT_LOADER_PID",
}

// Environ returns an environment for an agent: without the marks of another one, which may have started pawl. A session
// that a plan begins is nobody's child. Who has a plan run in a folder trusts it: Gemini CLI runs no hooks of a project
// that it was only told not to ask about (--skip-trust).
func Environ(environ []string) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(marks, name)
	})
	return append(kept, "GEMINI_CLI_TRUST_WORKSPACE=true")
}
