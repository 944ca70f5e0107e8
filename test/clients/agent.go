package main

import "context"

// agent is one coding agent: its release, its settings, its unattended command line, and the tool calls of its model. Each agent has a
// file.
type agent struct {
	name string // as pawl knows it
	from release
	// recipe: `pawl attach` does not know it; it is used over MCP and below `pawl run`.
	recipe bool
	// furnish writes the settings that a user makes once: the address of the model, and trust in the project.
	furnish func(p place, url string) error
	// program is its command line without arguments; dir has the unpacked release.
	program func(dir string) []string
	// arguments make it run a prompt unattended and exit.
	arguments func(prompt string) []string
	// asking makes it run a prompt without permission for commands; nil: it runs them in a sandbox instead of asking.
	asking func(prompt string) []string
	// typing makes it run pawl's command with arguments, unattended; nil: it has no commands in files.
	typing func(arguments string) []string
	// trust is what a person must do once so that the agent runs the hooks that attach has installed; nil: nothing.
	trust func(ctx context.Context, p place, program []string) error
	// forgets means that it writes its own record late, so that refusals in a killed session cannot be known.
	forgets bool
	// environ is its environment.
	environ func(p place, url string) []string

	// server is the name under which its model gets pawl's MCP server: of a tool, or of the server.
	server string

	// shell runs a command in a folder; empty: where the agent was started.
	shell func(command, dir string) call
	// background runs a command that the agent does not wait for, by the agent's own option if it has one.
	background func(command, dir string) call
	write      func(path, content string) call
	edit       func(path, old, new string) call
	// delegate makes a sub-agent run a call: the model's answers to the agent and to the sub-agent.
	delegate func(task string, work call) []turn
}

// pushing is the command that the settings of every agent forbid.
const pushing = "git push origin main"

// inFolder changes the folder of a command, for agents whose tool has no such option.
func inFolder(command, dir string) string {
	if dir == "" {
		return command
	}
	return "(cd " + dir + " && { " + command + "; })" // some shells stay in the folder otherwise
}

// detached runs a command in the background, for agents that have no such option.
func detached(command string) string {
	return "sh -c '" + command + "' >/dev/null 2>&1 &"
}

// agents are all agents, by name.
func agents() []agent { return []agent{gemini(), codex(), opencode(), copilot(), claude(), qwen()} }
