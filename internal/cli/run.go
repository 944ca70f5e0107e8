package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"

	"github.com/spf13/cobra"
)

type runOptions struct {
	parallel   int
	background bool
	fresh      bool
	takeOver   bool
	mirror     mirrorFlag
}

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run PLAN | run -- COMMAND…",
		Short: "Start a run and show it live",
		Example: `  pawl run plan.yaml
  pawl run -- make test`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() == 0 {
				return a.runPlan(c.Context(), commandPlan(args), o)
			}
			if len(args) > 1 {
				return usageError("pawl run -- "+strings.Join(args, " "), "pawl run takes one plan; a command stands behind --")
			}
			return a.runFile(c.Context(), args[0], o)
		},
	}
	c.Flags().IntVar(&o.parallel, "parallel", 0, "attempts at a time (default: the plan's)")
	c.Flags().BoolVar(&o.background, "background", false, "start the run, print its id and return")
	c.Flags().BoolVar(&o.fresh, "new", false, "start a new run where one of this plan is unfinished, and archive that")
	c.Flags().BoolVar(&o.takeOver, "take-over", false, takeOverHelp)
	c.Flags().Var(&o.mirror, "mirror", a.mirrorHelp())
	return c
}

// commandPlan returns a plan of one step that runs a command.
func commandPlan(args []string) runs.CreateOptions {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	data, err := json.Marshal(map[string]any{
		"name":  filepath.Base(args[0]),
		"steps": []any{map[string]any{"id": "command", "name": strings.Join(args, " "), "run": strings.Join(quoted, " "), "idempotent": false}},
	})
	if err != nil {
		panic("a map of strings is JSON, which is YAML too: " + err.Error())
	}
	return runs.CreateOptions{Kind: pawl.CommandRun, Data: data}
}

func (a *app) runFile(ctx context.Context, path string, o runOptions) error {
	if a.folder != "" && !filepath.IsAbs(path) {
		path = filepath.Join(a.folder, path)
	}
	data, err := readPlanFile(path)
	if err != nil {
		return err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return a.runPlan(ctx, runs.CreateOptions{Kind: pawl.PlanRun, Data: data, Source: absolute}, o)
}

// maxPlanFile is how large a plan may be; a larger file is no plan.
const maxPlanFile = 16 << 20

func readPlanFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usageError("", "plan: %v", err)
	}
	if info.IsDir() || info.Size() > maxPlanFile {
		return nil, usageError("", "%s is no plan: want a file of at most %d MiB", path, maxPlanFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError("", "plan: %v", err)
	}
	return data, nil
}

func (a *app) runPlan(ctx context.Context, n runs.CreateOptions, o runOptions) error {
	name := n.Source
	if name == "" {
		name = "command"
	}
	plan, err := planfile.Read(name, n.Data)
	if err != nil {
		return err
	}
	n.Plan, n.Version = plan, a.version
	p, err := a.projectOrInit()
	if err != nil {
		return err
	}
	a.register(p)
	if n.Kind == pawl.PlanRun && !o.fresh {
		if err := a.refuseUnfinished(ctx, p, n); err != nil {
			return err
		}
	}
	if resumed, err := a.otherWork(ctx, p, plan, o); err != nil || resumed {
		return err
	}
	if err := a.clearTheWay(ctx, p, o.takeOver); err != nil {
		return err
	}
	if n.Kind == pawl.PlanRun && o.fresh {
		if n.Replaces, err = insteadOf(ctx, p, n.Source); err != nil {
			return err
		}
	}
	if o.background {
		return a.inBackground(ctx, p, n, o.mirror)
	}
	return a.carryOn(ctx, p, engineStart{why: "run", parallel: o.parallel, mirror: o.mirror, open: func(cfg engine.Config) (*engine.Engine, error) {
		e, err := engine.OpenNew(ctx, cfg, n)
		if err == nil && n.Replaces != "" {
			fmt.Fprintf(a.Out, "run %s was unfinished, and is archived\n", n.Replaces)
		}
		return e, err
	}})
}

// refuseUnfinished asks whether to resume where a run of this plan is unfinished.
func (a *app) refuseUnfinished(ctx context.Context, p *project.Project, n runs.CreateOptions) error {
	run, err := runs.FindUnfinished(ctx, p, n.Source)
	if pawl.KindOf(err) == pawl.KindDamaged {
		why := fmt.Errorf("an older run cannot be read, and may be one of this plan: %w", err)
		return &pawl.Error{Kind: pawl.KindDamaged, Err: why, Hint: fmt.Sprintf("pawl verify, or pawl run --new %s", n.Source)}
	}
	if err != nil || run == "" {
		return err
	}
	return &pawl.Error{
		Kind: pawl.KindUsage, Hint: "pawl resume " + string(run),
		Err: fmt.Errorf("run %s of this plan is unfinished: resume it, or say --new to archive it and start afresh", run),
	}
}

// inBackground makes the run and starts an engine of its own for it.
func (a *app) inBackground(ctx context.Context, p *project.Project, n runs.CreateOptions, mirror mirrorFlag) error {
	run, err := runs.Create(ctx, p, n)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	logPath := filepath.Join(p.RunDir(run), "engine.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.Command(exe, "-C", p.Root, "resume", "--mirror", string(mirror), string(run))
	c.Args[0] = "pawl"
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = detached()
	if err := c.Start(); err != nil {
		return err
	}
	if n.Replaces != "" {
		fmt.Fprintf(a.Err, "pawl: note: run %s was unfinished, and is archived\n", n.Replaces)
	}
	fmt.Fprintf(a.Out, "%s\n", run)
	fmt.Fprintf(a.Err, "pawl: runs in the background (pid %d); `pawl watch` shows it\n", c.Process.Pid)
	return c.Process.Release()
}

// refuseHeld says who works in the project. One that was just killed has a moment to be gone.
func refuseHeld(p *project.Project) error {
	for end := time.Now().Add(dying); ; time.Sleep(10 * time.Millisecond) {
		holder, alive := p.EngineHolder()
		if !alive {
			return nil
		}
		if time.Now().After(end) {
			return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("this project is worked on by another pawl: %s", holder), Hint: "pawl watch, or pawl resume --take-over"}
		}
	}
}

// dying is how long the system may take to free what a killed process held.
const dying = time.Second

// engineStart is how an engine is set going.
type engineStart struct {
	open     func(engine.Config) (*engine.Engine, error)
	why      string
	parallel int
	adopt    *resume.PlanDiff
	examined *resume.Examination
	mirror   mirrorFlag // the system, perhaps with =PATH; empty: as the run has it
}

// carryOn runs an engine until the run is over or stops, showing it live.
func (a *app) carryOn(ctx context.Context, p *project.Project, s engineStart) error {
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	if s.parallel > 0 {
		cfg.Parallel = s.parallel
	}
	cfg.Mirror = a.mirrorWith(p, s.mirror)
	show := newLive(a, p)
	cfg.Notify = show.notify
	e, err := s.open(cfg)
	if err != nil {
		return err
	}
	soft, hard, release := interrupts(ctx, show.interrupted)
	defer release()
	show.begin(e.State(), e.Plan())
	if s.examined != nil {
		e.Examined(s.examined)
	}
	if s.adopt != nil {
		err = e.Adopt(soft, s.adopt)
	}
	if err == nil {
		err = e.Run(soft, hard, s.why)
	}
	show.end(e.State(), e.Plan(), err)
	a.sayNotes(e.Notes())
	status := e.State().StatusNow(false)
	if closeErr := e.Close(); closeErr != nil {
		return errors.Join(err, closeErr)
	}
	p.Register(status, time.Now().UTC()) // what there is to say of it was said at the start
	return err
}
