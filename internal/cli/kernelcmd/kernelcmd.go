// Package kernelcmd is the command pawl kernel: kernels that live on between commands.
package kernelcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/planlint"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/runs"
)

// Commands are the commands of pawl kernel.
type Commands struct {
	In       io.Reader
	Out, Err io.Writer
	Find     func() (*project.Project, error) // finds the project
	Init     func() (*project.Project, error) // finds it, or makes the current folder one

	json    bool
	session string
}

// usage is an error of the command line.
func usage(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

const long = "Start and use kernels: processes that keep variables between commands, such as Jupyter kernels\n\n" +
	"A kernel lives until it is stopped. It executes one cell at a time. After each cell, pawl saves the variables of a Python kernel; if the\n" +
	"kernel dies, \"pawl kernel restart\" loads them into a new one. The kernel steps of a plan have kernels of their own: --session RUN/NAME\n" +
	"selects one."

// Root returns the command with its subcommands.
func (x *Commands) Root() *cobra.Command {
	c := &cobra.Command{Use: "kernel", Short: "Start and use kernels that keep variables between commands", Long: long,
		Example: "  pawl kernel start --driver python\n  pawl kernel execute 'x = 6 * 7'\n  pawl kernel execute 'print(x)'\n  pawl kernel stop"}
	c.AddCommand(x.list(), x.start(), x.execute(), x.interrupt(), x.restart(), x.reset(), x.variables(), x.checkpoint(), x.stop())
	for _, sub := range c.Commands() {
		sub.Flags().BoolVar(&x.json, "json", false, "output JSON")
	}
	return c
}

// onSession makes a command take the name of its kernel as an argument, too.
func (x *Commands) onSession(c *cobra.Command) *cobra.Command {
	do := c.RunE
	c.Use += " [SESSION]"
	c.Args = cobra.MaximumNArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			if c.Flags().Changed("session") {
				return usage("", "name the kernel either as SESSION or with --session")
			}
			x.session = args[0]
		}
		return do(c, nil)
	}
	return x.sessionFlag(c)
}

// sessionFlag adds the flag that chooses the kernel.
func (x *Commands) sessionFlag(c *cobra.Command) *cobra.Command {
	c.Flags().VarP(&text{&x.session, "NAME"}, "session", "s", "name of the kernel, or RUN/NAME for a kernel of a run (default: main)")
	return c
}

// text is a flag whose value is a text.
type text struct {
	value *string
	kind  string
}

func (t *text) String() string         { return *t.value }
func (t *text) Set(value string) error { *t.value = value; return nil }
func (t *text) Type() string           { return t.kind }

// limit is a flag whose value is a limit of time.
type limit struct{ value *pawl.Duration }

func (l limit) String() string {
	if *l.value == 0 {
		return ""
	}
	return l.value.String()
}

func (l limit) Set(value string) error {
	d, err := time.ParseDuration(value)
	if err == nil && d <= 0 {
		err = errors.New("a limit must be positive")
	}
	*l.value = pawl.Duration(d)
	return err
}

func (limit) Type() string { return "DURATION" }

const startTimeout = "how long the kernel may take to start (default: 1m)"

func (x *Commands) start() *cobra.Command {
	var action pawl.KernelAction
	driver := ""
	c := &cobra.Command{Use: "start", Short: "Start a kernel",
		RunE: func(c *cobra.Command, _ []string) error {
			action.Driver = pawl.KernelDriver(driver)
			return x.startKernel(c.Context(), action)
		}}
	c.Flags().Var(&text{&action.Name, "NAME"}, "kernel", "kernelspec, such as python3 or ir (default: python3)")
	c.Flags().Var(&text{&driver, "DRIVER"}, "driver", "python (no Jupyter needed), jupyter or remote (default: jupyter if it is installed, else python)")
	c.Flags().Var(&text{&action.Python, "PATH"}, "python", "Python interpreter (default: that of .venv, $VIRTUAL_ENV or the kernelspec, else python3)")
	c.Flags().Var(limit{&action.StartTimeout}, "start-timeout", startTimeout)
	c.Flags().Var(&text{&action.Server, "URL"}, "server", "address of a Jupyter server, for driver remote; its token is in $JUPYTER_TOKEN")
	return x.onSession(c)
}

// folder returns the folder of the chosen session.
func (x *Commands) folder(ctx context.Context) (p *project.Project, name, dir string, err error) {
	if p, err = x.Find(); err != nil {
		return nil, "", "", err
	}
	if err := p.Trusted(); err != nil {
		return nil, "", "", err
	}
	name = x.session
	if name == "" {
		name = runs.DefaultSession
	}
	run, session, ofRun := strings.Cut(name, "/")
	if !ofRun {
		session = name
	}
	if _, err := pawl.ParseStepID(session); err != nil {
		return nil, "", "", usage("", "invalid session %q: use 1 to 64 letters, digits, '.', '_' or '-'", session)
	}
	if !ofRun {
		return p, name, filepath.Join(p.Trust.Folder, "kernels", session), nil
	}
	id, err := runs.FindRun(ctx, p, run)
	if err != nil {
		return nil, "", "", err
	}
	if err := runs.RequireOwn(p, id); err != nil {
		return nil, "", "", err
	}
	return p, name, p.KernelDir(id, session), nil
}

// missing reports a kernel or an interpreter that is not on this machine, before anything starts.
func missing(action pawl.KernelAction, root string) error {
	err := planlint.MissingKernel(action, root, os.Environ())
	switch {
	case err == nil:
		return nil
	case action.Python != "":
		return usage("set another interpreter with --python, or leave it out", "%v", err)
	}
	return usage("set another kernel with --kernel", "%v", err)
}

func (x *Commands) startKernel(ctx context.Context, action pawl.KernelAction) error {
	x.Find = x.Init
	p, name, dir, err := x.folder(ctx)
	if err != nil {
		return err
	}
	if strings.Contains(name, "/") {
		return usage("pawl resume", "a kernel of a run is started by its steps")
	}
	if err := checkDriver(action.Driver, action.Server); err != nil {
		return err
	}
	if alive, err := runner.Alive(dir); err != nil {
		return err
	} else if alive {
		return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("kernel %s is running", name), Hint: "pawl kernel restart, or pawl kernel stop"}
	}
	if err := missing(action, p.Root); err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	job := pawl.Job{
		AttemptRef: pawl.AttemptRef{Step: "kernel", Attempt: 1, Token: runs.NewToken()}, Root: p.Root, Dir: here,
		Env: []string{runner.FolderVar + "=" + dir}, Kernel: &pawl.KernelJob{Action: action, Session: name, Folder: dir},
	}
	if err := runner.Start(ctx, job); err != nil {
		return err
	}
	status, err := ready(ctx, dir)
	if errors.Is(err, runner.ErrNotStarted) {
		err = &pawl.Error{Kind: pawl.KindRunFailed, Err: errors.New(clean(err.Error()))}
	}
	if err != nil {
		return errors.Join(err, runner.Stop(ctx, dir, "it did not start"))
	}
	return x.print(status, func() {
		fmt.Fprintf(x.Out, "kernel %s is ready: %s\n", name, describe(status.Info))
	})
}

// checkDriver checks --driver and --server.
func checkDriver(driver pawl.KernelDriver, server string) error {
	switch driver {
	case "", pawl.PythonDriver, pawl.JupyterDriver:
		if server != "" {
			return usage("", "--server needs --driver remote")
		}
	case pawl.RemoteDriver:
		if server == "" {
			return usage("", "--driver remote needs --server URL, the address of the Jupyter server")
		}
	default:
		return usage("", "unknown driver %q; use python, jupyter or remote", driver)
	}
	return nil
}

// describe describes a kernel in one line.
func describe(i kernel.Info) string {
	text := i.Language + " " + i.Version
	if i.Implementation != "" {
		text += " (" + i.Implementation + ")"
	}
	text += ", driver " + string(i.Driver)
	if i.Interpreter.Path != "" {
		text += ", " + i.Interpreter.Path + " (" + i.Interpreter.Why + ")"
	}
	return text
}

// ready waits until the kernel of a session is ready.
func ready(ctx context.Context, dir string) (*runner.Status, error) {
	c, err := runner.Dial(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, err := c.Do(ctx, runner.Request{Op: runner.OpReady}, nil); err != nil {
		return nil, err
	}
	done, err := c.Do(ctx, runner.Request{Op: runner.OpStatus}, nil)
	if err != nil {
		return nil, err
	}
	return done.Status, nil
}

// dial connects to a session.
func (x *Commands) dial(ctx context.Context, dir string) (*runner.Client, error) {
	c, err := runner.Dial(ctx, dir)
	if errors.Is(err, runner.ErrGone) || errors.Is(err, runner.ErrNotStarted) {
		text := fmt.Sprintf("kernel %s is not running", filepath.Base(dir))
		if line := runner.LastError(dir); line != "" {
			text += "; the last one ended with: " + clean(line)
		}
		return nil, &pawl.Error{Kind: pawl.KindNothing, Err: errors.New(text), Hint: "pawl kernel start, or pawl kernel list"}
	}
	return c, err
}

// do sends a request to the chosen session.
func (x *Commands) do(ctx context.Context, req runner.Request) (*runner.Done, error) {
	_, _, dir, err := x.folder(ctx)
	if err != nil {
		return nil, err
	}
	c, err := x.dial(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Do(ctx, req, nil)
}

// print prints a value as JSON, or calls human.
func (x *Commands) print(value any, human func()) error {
	if !x.json {
		human()
		return nil
	}
	e := json.NewEncoder(x.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

func (x *Commands) execute() *cobra.Command {
	var limit, wait time.Duration
	c := &cobra.Command{Use: "execute CODE", Short: "Execute code in a kernel and show its output",
		Long: "Execute code in a kernel and show its output\n\nCODE is - for standard input. Ctrl-C and --timeout interrupt the code; the kernel keeps its variables. The exit code is 130 after\nCtrl-C, and 4 if the code reaches its limit or raises an error.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return x.executeCode(c.Context(), args[0], limit, wait) }}
	c.Flags().DurationVar(&limit, "timeout", 0, "interrupt the code after `DURATION` (default: none)")
	c.Flags().DurationVar(&wait, "wait", 30*time.Second, "how long to wait for other code of the kernel, as `DURATION` (default: 30s)")
	c.Flags().Lookup("wait").DefValue = "0s" // it is in the text
	return x.sessionFlag(c)
}

func (x *Commands) interrupt() *cobra.Command {
	c := &cobra.Command{Use: "interrupt", Short: "Interrupt the code that a kernel executes; kill the kernel if the code continues",
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := x.do(c.Context(), runner.Request{Op: runner.OpInterrupt})
			if err != nil {
				return err
			}
			return x.print(done.Stopped, func() { fmt.Fprintln(x.Out, stoppedText(done.Stopped)) })
		}}
	return x.onSession(c)
}

func stoppedText(s *runner.Stopped) string {
	switch {
	case s.By == "" && s.Alive:
		return "nothing to interrupt: the kernel is idle"
	case s.By == "":
		return "nothing to interrupt: the kernel is dead"
	case s.Alive:
		return fmt.Sprintf("interrupted with %s after %s; the kernel keeps its variables", s.By, s.After)
	}
	return fmt.Sprintf("the kernel was killed with %s after %s; pawl kernel restart loads its saved variables", s.By, s.After)
}

func (x *Commands) restart() *cobra.Command {
	c := &cobra.Command{Use: "restart", Short: "Start a new kernel with the variables of the newest checkpoint",
		RunE: func(c *cobra.Command, _ []string) error { return x.renew(c.Context(), false) }}
	return x.onSession(c)
}

func (x *Commands) reset() *cobra.Command {
	c := &cobra.Command{Use: "reset", Short: "Start a new kernel without variables",
		RunE: func(c *cobra.Command, _ []string) error { return x.renew(c.Context(), true) }}
	return x.onSession(c)
}

// renew starts a new kernel in a session.
func (x *Commands) renew(ctx context.Context, empty bool) error {
	done, err := x.do(ctx, runner.Request{Op: runner.OpRestart, Empty: empty})
	if err != nil {
		return err
	}
	return x.print(done.Prepared, func() {
		text := "new kernel without variables"
		if done.Prepared.Checkpoint != "" {
			text = "new kernel with the variables of checkpoint " + done.Prepared.Checkpoint
		}
		fmt.Fprintln(x.Out, text)
		for _, note := range done.Prepared.Notes {
			fmt.Fprintf(x.Err, "pawl: note: %s\n", note)
		}
	})
}

func (x *Commands) variables() *cobra.Command {
	c := &cobra.Command{Use: "variables", Short: "List the variables of a kernel, without imported modules",
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := x.do(c.Context(), runner.Request{Op: runner.OpVariables})
			if err != nil {
				return err
			}
			list := slices.DeleteFunc(append([]runner.Variable{}, done.Variables...), func(v runner.Variable) bool { return v.Type == "module" })
			return x.print(list, func() {
				for _, v := range list {
					line := fmt.Sprintf("%s  %s %s  %s", v.Name, v.Type, v.Shape, layout.ByteSize(v.Bytes))
					if !v.Saved {
						line += "  not saved: " + v.Why
					}
					fmt.Fprintln(x.Out, layout.OneLine(line))
				}
			})
		}}
	return x.onSession(c)
}

func (x *Commands) checkpoint() *cobra.Command {
	c := &cobra.Command{Use: "checkpoint", Short: "Save the variables of an idle kernel now",
		Long: "Save the variables of an idle kernel now, as after a cell, and name those that cannot be saved",
		RunE: func(c *cobra.Command, _ []string) error { return x.saveVariables(c.Context()) }}
	return x.onSession(c)
}

// saveVariables saves a checkpoint of the variables of the chosen session. It does not wait for a cell that runs.
func (x *Commands) saveVariables(ctx context.Context) error {
	_, name, dir, err := x.folder(ctx)
	if err != nil {
		return err
	}
	c, err := x.dial(ctx, dir)
	if err != nil {
		return err
	}
	defer c.Close()
	done, err := c.Do(ctx, runner.Request{Op: runner.OpStatus}, nil)
	if err != nil {
		return err
	}
	if b := done.Status.Running; b != nil {
		return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("kernel %s is busy: it executes %s since %s; pawl saves the variables when the cell ends", name, clean(b.Title()), layout.UTCWithZone(b.Time))}
	}
	if done, err = c.Do(ctx, runner.Request{Op: runner.OpSave}, nil); err != nil {
		return err
	}
	saved := struct {
		Session    string `json:"session"`
		Checkpoint string `json:"checkpoint"`
		Note       string `json:"note,omitempty"`
	}{name, done.Saved, clean(done.Note)}
	return x.print(saved, func() {
		fmt.Fprintf(x.Out, "saved checkpoint %s of kernel %s\n", saved.Checkpoint, name)
		if saved.Note != "" {
			fmt.Fprintf(x.Err, "pawl: note: %s\n", saved.Note)
		}
	})
}

func (x *Commands) stop() *cobra.Command {
	c := &cobra.Command{Use: "stop", Short: "Stop a kernel; its checkpoints stay",
		RunE: func(c *cobra.Command, _ []string) error {
			_, name, dir, err := x.folder(c.Context())
			if err != nil {
				return err
			}
			alive, err := runner.Alive(dir)
			if err == nil && !alive {
				err = &pawl.Error{Kind: pawl.KindNothing, Err: fmt.Errorf("kernel %s is not running", name), Hint: "pawl kernel list"}
			}
			if err == nil {
				err = runner.Stop(c.Context(), dir, "a user stopped it")
			}
			if err != nil {
				return err
			}
			return x.print(map[string]string{"stopped": name}, func() { fmt.Fprintf(x.Out, "stopped kernel %s\n", name) })
		}}
	return x.onSession(c)
}

// clean removes secrets from a text.
func clean(text string) string { return redact.OfProcess().Text(text) }
