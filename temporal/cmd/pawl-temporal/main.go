//go:build !windows

// Command pawl-temporal carries steps to workers by a Temporal server. pawl starts it for the steps on queues that the user's settings give
// to Temporal; a user starts it as a worker.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/caller"
	"pawl/internal/cli/failure"
	"pawl/internal/cli/permission"
	"pawl/internal/cli/workercmd"
	"pawl/internal/config"
	"pawl/internal/dispatch"
	"pawl/internal/executor/temporal"
	"pawl/internal/faststart"
	"pawl/internal/project"
	"pawl/internal/version"
	"pawl/temporal/internal/carrier"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if code, done := faststart.Run(context.Background(), args); done { // a supervisor of this worker
		return code
	}
	root := &cobra.Command{
		Use: temporal.Program, Short: "Carries steps of pawl to workers by a Temporal server", Version: version.Read().String(),
		SilenceErrors: true, SilenceUsage: true,
	}
	courier := &cobra.Command{Use: temporal.Verb, Hidden: true, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return carry() }}
	checker := &cobra.Command{Use: workercmd.CheckVerb, Hidden: true, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error { return check(c.Context()) }}
	root.AddCommand(courier, checker, new(performer).command())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(err) })
	root.SetArgs(args)
	if err := root.ExecuteContext(context.Background()); err != nil {
		return failure.Report(os.Stderr, err)
	}
	return 0
}

// carry carries an attempt to a worker. The supervisor's signals end the step there.
func carry() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return workercmd.Courier(ctx, func(ctx context.Context, p *project.Project) (dispatch.Carrier, error) {
		settings, err := settingsOf(p.Root)
		if err != nil {
			return nil, err
		}
		c, err := carrier.Connect(settings, "pawl "+string(p.ID))
		if err != nil {
			return nil, err
		}
		go func() { _ = carrier.Check(ctx, c, settings) }()  // connects while the files are sent; calls report what is wrong
		return carrier.New(c, settings, dispatch.Lease), nil // the end of the process closes it
	}, os.Stdout, os.Stderr)
}

// check returns what is wrong with the server.
func check(ctx context.Context) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	settings, err := settingsOf(here)
	if err != nil {
		return err
	}
	c, err := carrier.Connect(settings, temporal.Program)
	if err != nil {
		return err
	}
	defer c.Close()
	return carrier.Check(ctx, c, settings)
}

// settingsOf returns the server in the user's own settings, which are not in the project at root.
func settingsOf(root string) (config.Temporal, error) {
	user, err := config.ReadUser(root)
	if err == nil && user.Temporal.Address == "" {
		err = &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(`your own settings have no server: add "temporal: {address: HOST:PORT}" to config.yaml`)}
	}
	return user.Temporal, err
}

// forPerson returns an error if a step or an agent runs this program.
func forPerson(command string) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	return permission.Verb{Name: command, ForPerson: true}.Check(caller.Under(os.Environ(), here), here)
}

func usage(err error) error { return &pawl.Error{Kind: pawl.KindUsage, Err: err} }
