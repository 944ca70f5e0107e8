// Command clients drives real coding agents (Gemini CLI, Codex, OpenCode, Copilot CLI, Claude Code) against a scripted
// model, without any network, and checks that pawl preserves their work.
//
// It has npm fetch the agents, each by its exact version, compares their checksums with those written here, and unpacks
// them into a cache. Then it restarts itself in a network namespace with only the loopback, and runs its stories there, each with its own home
// folder and git project:
//
//   - alone: each agent writes a file, edits it and runs a command, and is killed while it runs another one;
//   - typed: a user types pawl's command /pawl:resume in an agent that has commands in files;
//   - recipes: an agent that pawl cannot attach to (Qwen Code) works in a step of `pawl run`. All of it is killed, and the
//     next session gets the brief over MCP;
//   - pairs: both agents are attached with `pawl attach`. The first one finishes some work and is killed with SIGKILL in
//     the middle of a command. The first request of the second one's new session must contain what is in doubt, with true
//     evidence, and must not propose finished work. Then it continues;
//   - refused: pairs whose first agent asks for a permission that is not granted, and ends;
//   - delegated: pairs whose first agent is killed while a sub-agent is in the middle of a command;
//   - main, workdir, subfolder, worktree: pairs whose first agent does every kind of work before it is killed. A command
//     fails, one is refused by the agent's settings, one is left in the background, a sub-agent writes a file. The agent is
//     started in the project, there with commands that run in a folder below it, in that folder, or in a linked worktree
//     outside of the project. Each check has a name, and the table lists those that failed.
//
// Requests to the model are saved verbatim, so the checks use only outside evidence: the bytes of the requests, the files, the
// process table, the lines of the journal.
//
// The agents are never stored in the repository. After a failure it keeps the story's folder and prints its path.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() { os.Exit(run(os.Args, os.Stdout, os.Stderr)) }

func run(args []string, out, complaints io.Writer) int {
	o, err := parse(args[1:], complaints)
	if err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = o.carryOut(ctx, args, out)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errSaidInside) {
		fmt.Fprintf(complaints, "clients: %v\n", err)
	}
	return 1
}

// errSaidInside: the isolated process has failed, and has said how.
var errSaidInside = errors.New("the isolated process has failed")

// options are the command line.
type options struct {
	agents      string
	only        string
	pawl        string
	cache       string
	transcripts string
	kinds       string
	keep        bool
	open        bool
	spare       bool
	inside      bool
}

func parse(args []string, complaints io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("clients", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.StringVar(&o.agents, "agents", envOr("PAWL_REAL_AGENTS", "gemini,codex,opencode,copilot,claude,qwen"), "which agents")
	flags.StringVar(&o.only, "only", "", "only this story, as the table names it")
	flags.StringVar(&o.pawl, "pawl", "", "the pawl binary; built when not given")
	flags.StringVar(&o.cache, "cache", defaultCache(), "where the agents are unpacked")
	flags.StringVar(&o.transcripts, "transcripts", "", "write what a person would have seen into this folder, a file for each story")
	flags.StringVar(&o.kinds, "stories", strings.Join(kinds(), ","), "which kinds of stories")
	flags.BoolVar(&o.keep, "keep", false, "keep the folders of all stories")
	flags.BoolVar(&o.open, "open", false, "continue without isolation if this system allows no network namespace")
	flags.BoolVar(&o.spare, "spare", false, "where an agent cannot be fetched, say so and end well: for CI, whose registry is not ours")
	flags.BoolVar(&o.inside, "inside", false, "set by the command itself: this is the isolated process")
	return o, flags.Parse(args)
}

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// defaultCache is a folder in the user's cache folder if the environment names one, otherwise below bin/.
func defaultCache() string {
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "pawl-clients")
	}
	return filepath.Join("bin", "clients")
}

// carryOut downloads the agents, and then runs the stories without a network.
func (o options) carryOut(ctx context.Context, args []string, out io.Writer) error {
	agents, err := o.chosen()
	if err != nil {
		return err
	}
	cache, err := filepath.Abs(o.cache)
	if err != nil {
		return err
	}
	if o.inside {
		return o.stories(ctx, agents, cache, out)
	}
	for _, a := range agents {
		err := a.from.fetch(ctx, cache, out)
		if err != nil && o.spare && ctx.Err() == nil {
			fmt.Fprintf(out, "clients: SKIPPED, no story ran: %v\n", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	if o.pawl == "" && o.kinds != "alone" {
		dir, err := os.MkdirTemp("", "pawl-clients-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if o.pawl, err = build(ctx, dir); err != nil {
			return err
		}
	}
	return isolated(ctx, append(args, "-inside", "-pawl", o.pawl), o.open, out)
}

// chosen returns the selected agents.
func (o options) chosen() ([]agent, error) {
	var list []agent
	for name := range strings.SplitSeq(o.agents, ",") {
		i := slices.IndexFunc(agents(), func(a agent) bool { return a.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("no agent %q: there are gemini, codex, opencode, copilot, claude and qwen", name)
		}
		if !slices.ContainsFunc(list, func(a agent) bool { return a.name == agents()[i].name }) {
			list = append(list, agents()[i])
		}
	}
	return list, nil
}

// build builds pawl.
func build(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	pawl := filepath.Join(dir, "pawl")
	build := exec.CommandContext(ctx, "go", "build", "-o", pawl, "./cmd/pawl")
	build.Dir, build.Env = strings.TrimSpace(string(root)), append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build pawl: %w\n%s", err, said)
	}
	return pawl, nil
}
