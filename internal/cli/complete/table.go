package complete

import (
	"context"
	"slices"

	"pawl"
	"pawl/internal/attach"
)

// words returns the completions of an argument. args are the arguments before it.
type words func(ctx context.Context, s Source, args []string) []string

// The kinds of arguments.
var (
	runWords        words = func(ctx context.Context, s Source, _ []string) []string { return s.Runs(ctx) }
	stepWords       words = func(ctx context.Context, s Source, _ []string) []string { return s.Steps(ctx) }
	gateWords       words = func(ctx context.Context, s Source, _ []string) []string { return s.Gates(ctx) }
	checkpointWords words = func(ctx context.Context, s Source, _ []string) []string { return s.Checkpoints(ctx) }
	blockerWords    words = func(ctx context.Context, s Source, _ []string) []string { return s.Blockers(ctx) }
	callWords       words = func(ctx context.Context, s Source, _ []string) []string { return s.Calls(ctx) }
	remoteWords     words = func(_ context.Context, s Source, _ []string) []string { return s.Remotes() }
	systemWords     words = func(_ context.Context, s Source, _ []string) []string { return s.Systems }
	optionWords     words = func(ctx context.Context, s Source, args []string) []string { return s.Options(ctx, args[0]) }
	itemWords       words = func(ctx context.Context, s Source, args []string) []string {
		if len(args) == 0 {
			return nil
		}
		return s.Items(ctx, args[0])
	}
)

// fixed completes an argument with given values.
func fixed[T ~string](values ...T) words {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return func(context.Context, Source, []string) []string { return list }
}

// arguments are the kinds of the arguments of each command.
var arguments = map[string][]words{
	"adopt": {runWords}, "brief": {runWords}, "checkpoints": {runWords}, "gates": {runWords}, "log": {runWords}, "pause": {runWords},
	"processes": {runWords}, "recover": {runWords}, "resume": {runWords}, "stats": {runWords}, "status": {runWords}, "stop": {runWords},
	"watch": {runWords}, "why": {runWords}, "archive": {runWords}, "push": {runWords},
	"done": {stepWords}, "explain": {stepWords}, "output": {stepWords}, "retry": {stepWords}, "review": {stepWords}, "skip": {stepWords},
	"approve": {gateWords}, "reject": {gateWords}, "answer": {gateWords, optionWords},
	"diff": {checkpointWords, checkpointWords}, "fork": {checkpointWords}, "prune": {checkpointWords}, "restore": {checkpointWords},
	"show": {checkpointWords}, "unblock": {blockerWords}, "settle": {callWords}, "export": {systemWords}, "import": {systemWords},
	"attach": {fixed(attach.Names()...)}, "detach": {fixed(attach.Names()...)},
}

// repeated are the commands that take any number of the last kind of their arguments.
var repeated = []string{"archive", "prune"}

// takesFiles are the commands with paths as arguments.
var takesFiles = []string{"check", "diff", "export", "import", "restore", "run", "show", "trust"}

// flags are the kinds of the values of flags.
var flags = map[string]words{
	"run": runWords, "remote": remoteWords, "item": itemWords, "mirror": systemWords, "to": checkpointWords, "as": systemWords, "for": fixed(pawl.AgentNames...),
	"kind": fixed(pawl.Pattern, pawl.Gotcha, pawl.Preference, pawl.DecisionMem, pawl.RejectedIdea, pawl.Fragile),
}

// folderFlags are the commands whose --to is a folder or a file.
var folderFlags = []string{"attach", "fork", "restore"}

// Flags returns the flags that Flag completes, of a command.
func Flags(command string) []string {
	var names []string
	for name := range flags {
		if name != "to" || !slices.Contains(folderFlags, command) {
			names = append(names, name)
		}
	}
	return names
}

// Flag returns the completions of a flag's value.
func (s Source) Flag(ctx context.Context, name string, args []string) []string {
	return flags[name](ctx, s, args)
}

// Argument returns the completions of the argument of a command that follows args. files reports whether it may be a file instead.
func (s Source) Argument(ctx context.Context, command string, args []string) (list []string, files bool) {
	kinds, at := arguments[command], len(args)
	if slices.Contains(repeated, command) {
		at = min(at, len(kinds)-1)
	}
	if at < len(kinds) {
		return kinds[at](ctx, s, args), false
	}
	return nil, slices.Contains(takesFiles, command)
}
