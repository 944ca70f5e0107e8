package main

// agent is one coding agent: where it comes from, how it is set up and started without a person, and the words in which
// its model asks for a deed. Each agent has a file.
type agent struct {
	name string // as pawl knows it
	from release
	// furnish writes the settings that a person would have made once: where the model is, and that the project is trusted.
	furnish func(p place, url string) error
	// command is the command line that carries out a prompt and ends. The release lies unpacked in dir.
	command func(dir, prompt string) []string
	// environ is what it needs in its environment.
	environ func(p place, url string) []string

	shell func(command string) call
	write func(path, content string) call
	edit  func(path, old, new string) call
}

// agents are all that we know.
func agents() []agent { return []agent{gemini(), codex(), opencode(), claude()} }

// start is how an agent is started in a place.
func (a agent) start(cache, prompt string) []string { return a.command(a.from.folder(cache), prompt) }
