package main

import "context"

// agent is one coding agent: where it comes from, how it is set up and started without a person, and the words in which
// its model asks for a deed. Each agent has a file.
type agent struct {
	name string // as pawl knows it
	from release
	// furnish writes the settings that a person would have made once: where the model is, and that the project is trusted.
	furnish func(p place, url string) error
	// program is its command line without arguments; the release lies unpacked in dir.
	program func(dir string) []string
	// arguments have it carry out a prompt, ask nobody, and end.
	arguments func(prompt string) []string
	// trust is what a person must do once so that the agent runs the hooks that attach has installed; nil: nothing.
	trust func(ctx context.Context, p place, program []string) error
	// environ is what it needs in its environment.
	environ func(p place, url string) []string

	// server is how its model is told of pawl's MCP server: by the name of a tool, or where it looks for tools, of the server.
	server string

	shell func(command string) call
	write func(path, content string) call
	edit  func(path, old, new string) call
}

// agents are all that we know.
func agents() []agent { return []agent{gemini(), codex(), opencode(), claude()} }
