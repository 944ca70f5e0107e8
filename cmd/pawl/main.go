//go:build !windows

// Command pawl keeps agent work from slipping back.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/dispatch/courier"
	"pawl/internal/engine"
	"pawl/internal/evaluator"
	"pawl/internal/evidence"
	"pawl/internal/executor/agent"
	kernelstep "pawl/internal/executor/kernel"
	"pawl/internal/executor/temporal"
	"pawl/internal/expression"
	"pawl/internal/faststart"
	"pawl/internal/httpaccess"
	"pawl/internal/interop"
	"pawl/internal/interop/format/dotagent"
	"pawl/internal/interop/format/grid"
	"pawl/internal/interop/format/gyoshu"
	"pawl/internal/interop/format/projectstate"
	"pawl/internal/interop/format/sitebuilder"
	"pawl/internal/interop/tables/pgtables"
	"pawl/internal/journal"
	"pawl/internal/kernel/runner"
	"pawl/internal/mcp"
	"pawl/internal/notify"
	"pawl/internal/planfile"
	"pawl/internal/postgres"
	"pawl/internal/server"
	"pawl/internal/tracing"
	"pawl/internal/version"
)

func main() { os.Exit(run(os.Args)) }

func run(args []string) int {
	injectFaults()
	databases := &postgres.Connector{Getenv: os.Getenv, Notices: notices}
	defer databases.Close()
	defer notices.Close()
	defer tables.Close()
	journal.Connect(context.Background(), journal.Connection{Open: databases.Open})
	if code, done := faststart.Run(context.Background(), args[1:]); done {
		return code
	}
	if len(args) == 2 {
		switch args[1] {
		case agent.Verb:
			return runAgent()
		case kernelstep.Verb:
			return runKernelStep()
		case courier.Verb:
			return runCourier()
		case runner.Verb:
			return runKernel()
		}
	}
	planfile.Register(expression.Language{})
	streams := cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	return cli.Report(cli.Coloured(os.Stderr, args[1:]), cli.Run(context.Background(), args[1:], streams, version.Read().Short(), parts()))
}

// parts are the adapters.
func parts() cli.Parts {
	return cli.Parts{
		Executors: []engine.Executor{courier.Executor{Getenv: os.Getenv}, agent.Executor{}, kernelstep.Executor{}}, Adviser: adviser, Agents: serve, Serve: serveProjects,
		Formats: formats(), Tracer: tracer, Send: sender().Send,
		Temporal: func(c config.Temporal) engine.Executor { return temporal.Executor{Settings: c} },
	}
}

// sender sends messages about runs to persons and programs.
func sender() notify.Sender { return notify.Sender{Agent: "pawl/" + version.Read().Short()} }

// tracer exports runs to the collector that the user has configured; nil if there is none.
func tracer(c config.Traces) engine.Tracer {
	if t := tracing.New(c, os.Getenv, version.Read().Short()); t != nil {
		return t
	}
	return nil
}

// runCourier carries an attempt to a worker. The supervisor's signals end the step there.
func runCourier() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := cli.Courier(ctx, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "pawl: courier: %v\n", err)
		return 1
	}
	return 0
}

// runAgent does an attempt at an agent's step. The supervisor's signals end it, and the agent with it.
func runAgent() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	status, err := agent.Runner{Out: os.Stdout, Err: os.Stderr, Brief: briefFor}.Run(ctx)
	switch {
	case ctx.Err() != nil:
		return 130
	case err != nil:
		fmt.Fprintf(os.Stderr, "pawl: agent: %v\n", err)
		return 1
	case status == pawl.ResultFailed:
		return 1
	}
	return 0
}

// briefFor returns the brief for an agent within the attempt that this process belongs to.
func briefFor(ctx context.Context, reader pawl.AgentName) (b brief.Brief, err error) {
	var text bytes.Buffer
	streams := cli.IO{In: strings.NewReader(""), Out: &text, Err: os.Stderr}
	err = cli.Run(ctx, []string{"-C", os.Getenv("PAWL_PROJECT"), "brief", "--json", "--for", string(reader)}, streams, version.Read().Short(), parts())
	if err != nil {
		return b, err
	}
	return brief.Parse(text.Bytes())
}

// adviser is the evaluator of a project, which decides what the rules of recovery leave open; nil if it has none.
func adviser(c config.Evaluator, root string) engine.Evaluator {
	if e := evaluator.New(c, root, os.Environ()); e != nil {
		return advising{e}
	}
	return nil
}

// advising is an evaluator as the engine knows it.
type advising struct{ *evaluator.Evaluator }

// Evaluate asks the evaluator.
func (a advising) Evaluate(ctx context.Context, e evidence.Evidence) engine.Evaluation {
	o := a.Ask(ctx, e)
	return engine.Evaluation{Word: o.Verdict, Reasons: o.Reasons, By: o.By, Doubt: o.Doubt, Cost: o.Cost}
}

// tables are those of the user's database server. They connect on the first use.
var tables = &pgtables.Database{Base: context.Background(), Getenv: os.Getenv, Notices: notices}

// notices are what other programs announce in that server. They connect on the first use.
var notices = new(postgres.Notices)

// formats returns the formats of all systems whose files pawl reads and writes.
func formats() interop.Formats {
	decision := projectstate.Format()
	decision.Server = tables
	return interop.Formats{grid.Format(), dotagent.Format(), sitebuilder.Format(), decision, gyoshu.Format()}
}

// serve serves agents over the Model Context Protocol.
func serve(ctx context.Context, how cli.Serving) error {
	s, err := mcp.New(mcp.Config{Formats: formats(), Folder: how.Folder, Version: how.Version, Environ: os.Environ(), Log: how.Err})
	if err != nil {
		return err
	}
	if !how.HTTP {
		return s.Stdio(ctx, how.In, how.Out)
	}
	return s.Listen(ctx, mcp.HTTP{Address: how.Address, TokenFile: how.TokenFile, NoToken: how.NoToken})
}

// serveProjects runs the daemon of all projects.
func serveProjects(ctx context.Context, s httpaccess.Service, out, log io.Writer) error {
	return server.Run(ctx, server.Config{Service: s, Version: version.Read().Short(), Out: out, Log: log, Pawl: pawlProcess, Post: sender().Post, Variables: savedVariables})
}

// pawlProcess runs a command of pawl in a folder as a process of its own.
func pawlProcess(ctx context.Context, folder string, args ...string) ([]byte, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, append([]string{"-C", folder}, args...)...)
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C at the server does not interrupt a rollback
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if failure := server.ParseFailure(said.Bytes()); err != nil && failure != nil {
		return out, failure
	}
	return out, err
}
