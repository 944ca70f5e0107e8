//go:build !windows

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"pawl/internal/cli/workercmd"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/worker"
	"pawl/temporal/internal/carrier"
	"pawl/temporal/internal/taker"
)

const long = "Perform steps of other machines, from a queue of a Temporal server\n\n" +
	"The server is the one of \"temporal\" in your own settings. It needs standalone activities: Temporal 1.31 or newer.\n\n" +
	"A worker runs, as your user, whatever those who can start activities on the queue and write to the remote want. It performs only steps\n" +
	"of projects that use one of its remotes, and with --project, of these projects. A step gets the variables of the worker's environment,\n" +
	"but none that may hold a secret, unless --variable names it and the step's plan does.\n\n" +
	"SIGTERM and Ctrl-C end a worker when the steps that it performs have ended; a second one ends it at once. When a worker is gone, its\n" +
	"steps run on for 30 seconds: a worker that is started again meanwhile takes care of them."

// performer is the command that performs steps.
type performer struct {
	parallel int
	settings worker.Settings
}

func (x *performer) command() *cobra.Command {
	c := &cobra.Command{
		Use: "worker --queue NAME --remote URL", Short: "Perform steps of other machines", Long: long, Args: cobra.NoArgs,
		Example: "  pawl-temporal worker --queue gpu --remote file:///mnt/share/pawl --parallel 2",
		RunE:    func(c *cobra.Command, _ []string) error { return x.run(c.Context()) },
	}
	f := c.Flags()
	f.StringVar(&x.settings.Queue, "queue", "", "the `NAME` of the queue")
	f.StringArrayVar(&x.settings.Remotes, "remote", nil, "a remote whose steps are accepted, by its `URL`; repeatable")
	f.StringArrayVar(&x.settings.Projects, "project", nil, "accept only steps of the project with this `ID`; repeatable")
	f.StringArrayVar(&x.settings.Variables, "variable", nil, "give steps that need it the variable `NAME` of this environment; repeatable")
	f.StringVar(&x.settings.Folder, "folder", "", "the `FOLDER` of the worker (default one for the queue in pawl's state folder)")
	f.IntVar(&x.parallel, "parallel", 1, "maximum `NUMBER` of concurrent steps")
	return c
}

func (x *performer) run(ctx context.Context) (err error) {
	if err := forPerson("worker"); err != nil {
		return err
	}
	if x.settings.Queue == "" || len(x.settings.Remotes) == 0 || x.parallel < 1 {
		return usage(errors.New("a worker needs --queue, --remote, and --parallel of at least 1"))
	}
	if x.settings.Folder != "" {
		if x.settings.Folder, err = filepath.Abs(x.settings.Folder); err != nil {
			return err
		}
	}
	x.settings.Environ = os.Environ()
	x.settings.Log = func(format string, args ...any) {
		fmt.Fprintf(os.Stdout, "%s  %s\n", time.Now().UTC().Format(time.RFC3339), fmt.Sprintf(format, args...))
	}
	ctx, stop := workercmd.Draining(ctx, x.settings.Log)
	defer stop()
	server, err := settingsOf("")
	if err != nil {
		return err
	}
	w, release, err := worker.Open(ctx, x.settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	left, err := w.Left()
	if err != nil {
		return err
	}
	c, err := carrier.Connect(server, w.Name)
	if err != nil {
		return err
	}
	defer c.Close()
	t := taker.Taker{
		Client: c, Settings: server, Queue: x.settings.Queue, Parallel: x.parallel, Left: left, Perform: w.Perform, Log: w.Log,
		Forget: func(task dispatch.Task) error { return w.Forget(task.Token) },
	}
	return t.Run(ctx)
}
