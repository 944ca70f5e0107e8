// Package workercmd has the command pawl worker, which performs the steps of other machines, and the courier, which brings them there.
package workercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/worker"
	"pawl/internal/postgres"
)

const long = "Perform steps of other machines\n\n" +
	"A worker takes tasks from a queue: the steps of plans with on: {queue: NAME}. It fetches the files of a step from a remote, runs the step\n" +
	"in a folder of its own, and stores what the step changed on the remote. The machine that runs the plan takes it from there.\n\n" +
	"With --postgres, the queue is in the database that PAWL_POSTGRES names, or \"postgres\" in your own settings.\n\n" +
	"A worker runs, as your user, whatever those who can write to the queue and to the remote want. It performs only steps of projects that\n" +
	"use one of its remotes, and with --project, of these projects. A step gets the variables of the worker's environment, but none that may\n" +
	"hold a secret, unless --variable names it and the step's plan does.\n\n" +
	"SIGTERM and Ctrl-C end a worker when the steps that it performs have ended; a second one ends it at once. When a worker is gone, its\n" +
	"steps run on for 30 seconds: a worker that is started again meanwhile takes care of them."

// Command makes the command.
type Command struct {
	Out    io.Writer
	Getenv func(string) string

	postgres bool
	parallel int
	settings worker.Settings
}

// New returns the command.
func (x *Command) New() *cobra.Command {
	c := &cobra.Command{
		Use:     "worker --postgres --queue NAME --remote URL",
		Short:   "Perform steps of other machines",
		Long:    long,
		Example: "  pawl worker --postgres --queue gpu --remote file:///mnt/share/pawl --parallel 2",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return x.run(c.Context()) },
	}
	f := c.Flags()
	f.BoolVar(&x.postgres, "postgres", false, "take tasks from the database")
	f.StringVar(&x.settings.Queue, "queue", "", "the `NAME` of the queue")
	f.StringArrayVar(&x.settings.Remotes, "remote", nil, "a remote whose steps are accepted, by its `URL`; repeatable")
	f.StringArrayVar(&x.settings.Projects, "project", nil, "accept only steps of the project with this `ID`; repeatable")
	f.StringArrayVar(&x.settings.Variables, "variable", nil, "give steps that need it the variable `NAME` of this environment; repeatable")
	f.StringVar(&x.settings.Folder, "folder", "", "the `FOLDER` of the worker (default one for the queue in pawl's state folder)")
	f.IntVar(&x.parallel, "parallel", 1, "maximum `NUMBER` of concurrent steps")
	for _, name := range []string{"postgres", "queue", "remote"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	return c
}

func (x *Command) run(ctx context.Context) (err error) {
	if x.parallel < 1 {
		return usageError("", "--parallel must be at least 1")
	}
	if x.settings.Folder != "" {
		if x.settings.Folder, err = filepath.Abs(x.settings.Folder); err != nil {
			return err
		}
	}
	x.settings.Environ = os.Environ()
	x.settings.Log = func(format string, args ...any) {
		fmt.Fprintf(x.Out, "%s  %s\n", time.Now().UTC().Format(time.RFC3339), fmt.Sprintf(format, args...))
	}
	ctx, stop := Draining(ctx, x.settings.Log)
	defer stop()
	w, release, err := worker.Open(ctx, x.settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	s, err := x.connect(ctx)
	if err != nil || s == nil {
		return err
	}
	defer s.Close()
	left, err := w.Left()
	if err != nil {
		return err
	}
	w.Log("worker %s performs steps of queue %s", w.Name, x.settings.Queue)
	return postgres.TaskWorker{
		Tasks: s.Tasks(0), Queue: x.settings.Queue, Name: w.Name, Parallel: x.parallel, Left: left, Perform: w.Perform, Log: w.Log,
		Forget: func(task dispatch.Task) {
			if err := w.Forget(task.Token); err != nil {
				w.Log("remove the folder of task %s: %v", task.ID(), err)
			}
		},
	}.Run(ctx)
}

// connect connects to the database, when it answers; nil when ctx ends before.
func (x *Command) connect(ctx context.Context) (*postgres.Store, error) {
	for {
		s, err := database(ctx, x.Getenv, "")
		if !errors.Is(err, dispatch.ErrUnreachable) {
			return s, err
		}
		x.settings.Log("%v; trying again", err)
		timer := time.NewTimer(time.Second)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, nil
		}
	}
}

func usageError(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}
