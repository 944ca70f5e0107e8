package headlesstest

import (
	"slices"
	"strings"
	"time"

	"pawl"
)

// dialect prints the messages of an agent.
type dialect interface {
	asked() (session string, resume bool) // by its arguments
	id() string                           // of a new session
	gone(f *fake) int                     // the session to resume does not exist
	begin(f *fake)
	say(f *fake, text string)
	todo(f *fake, done, all int, text string)
	tool(f *fake, id, command string)
	result(f *fake, id, command, output string, good bool)
	refused(f *fake, id, what string)
	costs(f *fake, more pawl.Usage)
	finish(f *fake, text string) int
	fail(f *fake, text string) int
	limit(f *fake, reset time.Time) int
	full(f *fake) int
	broke(f *fake) int
}

// dialects are the agents that can be played.
var dialects = map[pawl.AgentName]func(args []string) dialect{
	pawl.ClaudeCode: func(args []string) dialect { return &claude{args: args} },
	pawl.CodexCLI:   func(args []string) dialect { return &codex{args: args} },
	pawl.GeminiCLI:  func(args []string) dialect { return &gemini{args: args} },
	pawl.OpenCode:   func(args []string) dialect { return &openCode{args: args} },
	pawl.CopilotCLI: func(args []string) dialect { return &copilot{args: args} },
}

type object = map[string]any

// flag returns the value of a flag, as --flag value or --flag=value.
func flag(args []string, name string) string {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
	}
	return ""
}
