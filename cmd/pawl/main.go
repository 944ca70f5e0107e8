//go:build !windows

// Command pawl keeps agent work from slipping back.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"pawl/internal/cli"
	"pawl/internal/engine"
	"pawl/internal/executor/shell"
	"pawl/internal/supervise"
)

func main() { os.Exit(run(os.Args)) }

func run(args []string) int {
	if len(args) == 3 && args[1] == supervise.Verb {
		if err := supervise.Main(args[2]); err != nil {
			fmt.Fprintf(os.Stderr, "pawl: supervisor: %v\n", err)
			return 1
		}
		return 0
	}
	if len(args) > 1 && args[1] == supervise.InitVerb {
		if err := supervise.Init(args[2:]); err != nil {
			fmt.Fprintf(os.Stderr, "pawl: init: %v\n", err)
			return 1
		}
		return 0
	}
	streams := cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	err := cli.Run(context.Background(), args[1:], streams, version(), []engine.Executor{shell.Executor{}})
	return cli.Report(os.Stderr, err)
}

// version is what the build says of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return info.Main.Version + " " + s.Value
		}
	}
	return info.Main.Version
}
