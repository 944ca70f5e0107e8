// Package faststart carries out the commands that others start often and wait for: an agent's hook, and the supervisor of
// an attempt. Two programs call it: pawl-hook, which links nothing else and so starts fast, and pawl, for systems without
// pawl-hook. It must not import packages for other commands: each costs every tool call of an agent.
package faststart

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"pawl/internal/hook"
	"pawl/internal/supervise"
	"pawl/internal/version"
)

// Run carries out a command line without the program's name. It reports false where the command is another one.
func Run(ctx context.Context, args []string) (code int, done bool) {
	switch {
	case len(args) > 1 && args[0] == supervise.Verb:
		return report("supervisor", supervise.Main(args[1:])), true
	case len(args) > 0 && args[0] == supervise.InitVerb:
		return report("init", supervise.Init(args[1:])), true
	case len(args) < 2 || strings.HasPrefix(args[1], "-"):
		return 0, false
	case args[0] == hook.Verb:
		ignoreSignals()
		hook.Run(ctx, args[1], os.Stdin, os.Stdout, hook.Config{Environ: os.Environ(), Version: version.Read().Short(), Parent: caller(args)})
		return 0, true // an agent is never disturbed
	case args[0] == hook.KeeperVerb:
		ignoreSignals()
		hook.Keep(ctx, args[1])
		return 0, true
	}
	return 0, false
}

// caller returns the process that called the hook that was handed over to this one; 0 for none.
func caller(args []string) int {
	if len(args) < 3 {
		return 0
	}
	pid, err := strconv.Atoi(args[2])
	if err != nil {
		return 0
	}
	return pid
}

func report(part string, err error) (code int) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "pawl: %s: %v\n", part, err)
		return 1
	}
	return 0
}

// ignoreSignals keeps signals of failed writes from killing the process. The write still returns an error.
func ignoreSignals() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGXFSZ)
}
