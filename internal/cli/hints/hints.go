// Package hints names the run in the commands that pawl suggests. A command without a run is about the current run, so a
// command about another run names it.
package hints

import (
	"context"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/cli/permission"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// The commands that use the current run unless they get a RUN: as their only argument, or with --run.
var (
	runAsArgument = []string{"brief", "gates", "log", "pause", "resume", "stats", "status", "stop", "watch", "why"}
	runAsFlag     = []string{"answer", "approve", "block", "done", "explain", "output", "reject", "retry", "review", "skip", "unblock"}
)

// WithRun returns a command with the run that it is about, unless it names one or needs none.
func WithRun(command string, run pawl.RunID) string {
	words := strings.Fields(command)
	if len(words) < 2 || strings.ContainsAny(command, ",;") || slices.Contains(words, string(run)) {
		return command
	}
	switch named := len(words) > 2 && !strings.HasPrefix(words[2], "-"); {
	case slices.Contains(runAsArgument, words[1]) && !named:
		return command + " " + string(run)
	case slices.Contains(runAsFlag, words[1]):
		return command + " --run " + string(run)
	}
	return command
}

// Namer returns a function that names a run in the commands that would use another run without its name. If a user must trust the
// project or adopt the run first, it returns that command for each one that is refused before.
func Namer(ctx context.Context, p *project.Project, run pawl.RunID) func(command string) string {
	if !p.Trust.Trusted() {
		return func(string) string { return "pawl trust" }
	}
	return ownNamer(runs.RequireOwn(p, run), namer(ctx, p, run))
}

// NamerOf is Namer for a run that was loaded.
func NamerOf(ctx context.Context, p *project.Project, r *runs.Run) func(command string) string {
	if !r.Current || !p.Trust.Trusted() {
		return Namer(ctx, p, r.State.Run)
	}
	return ownNamer(r.RequireOwn(p), func(command string) string { return command })
}

// ownNamer returns named, or for a foreign run, for which runs.RequireOwn returned an error, a function that returns how to adopt it in place
// of what is refused before.
func ownNamer(foreign error, named func(command string) string) func(command string) string {
	if foreign == nil {
		return named
	}
	return func(command string) string {
		if words := strings.Fields(command); len(words) > 1 && words[0] == "pawl" && !permission.Reader(words[1]) {
			return pawl.HintOf(foreign)
		}
		return named(command)
	}
}

func namer(ctx context.Context, p *project.Project, run pawl.RunID) func(command string) string {
	current, err := runs.FindRun(context.WithoutCancel(ctx), p, "")
	if err == nil && current == run {
		return func(command string) string { return command }
	}
	return func(command string) string { return WithRun(command, run) }
}

// For returns an error with a hint that names the run, if the hint would use another run without its name.
func For(ctx context.Context, p *project.Project, run pawl.RunID, err error) error {
	hint := pawl.HintOf(err)
	if hint == "" || hint == WithRun(hint, run) || !p.Trust.Trusted() {
		return err
	}
	if named := Namer(ctx, p, run)(hint); named != hint {
		return &pawl.Error{Kind: pawl.KindOf(err), Err: err, Hint: named}
	}
	return err
}
