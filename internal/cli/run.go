package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/hints"
	"pawl/internal/cli/liveview"
	"pawl/internal/engine"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/supervise"

	"pawl/internal/disk"

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
		Use:                   "run PLAN [flags]\n  pawl run [flags] -- COMMAND…",
		DisableFlagsInUseLine: true,
		Short:                 "Start a run and follow it live",
		Long: "Start a run and follow it live\n\nrun executes the steps of a plan, or one command given after --. If a run of the same plan is unfinished, run\n" +
			"starts nothing; use pawl resume, or --new to start over.",
		Example: "  pawl run plan.yaml\n  pawl run --background plan.yaml\n  pawl run -- make test",
		Args:    atLeastOne(argument{name: "PLAN file, or a command after --", hint: "pawl run --help"}),
		RunE: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() == 0 {
				return a.runPlan(c.Context(), commandPlan(args), o)
			}
			if len(args) > 1 {
				hint := "pawl run -- " + strings.Join(args, " ")
				if strings.HasSuffix(args[0], ".yaml") || strings.HasSuffix(args[0], ".yml") {
					hint = "pawl run " + args[0]
				}
				return usageError(hint, "run takes one PLAN; put a command after --")
			}
			return a.runFile(c.Context(), args[0], o)
		},
	}
	numberVar(c, &o.parallel, "parallel", "", 0, 1, "at most `N` concurrent attempts (default: as the plan says)")
	c.Flags().BoolVar(&o.background, "background", false, "start the run in the background, print its id and return")
	c.Flags().BoolVar(&o.fresh, "new", false, "archive the unfinished run of this plan and start over")
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
	path = a.planPath(path)
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

// planPath returns the path of a plan file that the user named, relative to the folder that -C names.
func (a *app) planPath(path string) string {
	if a.folder != "" && !filepath.IsAbs(path) {
		return filepath.Join(a.folder, path)
	}
	return path
}

// maxPlanFile is the maximum size of a plan file.
const maxPlanFile = disk.PlanLimit

func readPlanFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError("", "no plan file %s", path)
	}
	if err != nil {
		return nil, usageError("", "read plan: %v", err)
	}
	if info.IsDir() {
		return nil, usageError("", "%s is a folder; name a plan file", path)
	}
	if info.Size() > maxPlanFile {
		return nil, usageError("", "%s is not a plan; expected a file of at most %d MiB", path, maxPlanFile>>20)
	}
	data, err := readAtMost(path, maxPlanFile)
	if err != nil {
		return nil, usageError("", "read plan: %v", err)
	}
	return data, nil
}

// readAtMost reads a file of at most limit bytes. It may be a pipe that the user names, such as /dev/stdin.
func readAtMost(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() {
		return disk.ReadFile(path, limit)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: %w", path, disk.ErrTooLarge)
	}
	return data, err
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
	n.Plan, n.Version, n.By = plan, a.version, a.author()
	p, err := a.projectOrInit()
	if err != nil {
		return err
	}
	a.register(p)
	if n.Kind == pawl.PlanRun && !o.fresh {
		if err := a.refuseUnfinished(ctx, p, n, o.takeOver); err != nil {
			return err
		}
	}
	if resumed, err := a.resolveUnfinishedWork(ctx, p, plan, o); err != nil || resumed {
		return err
	}
	if err := a.ensureNoEngine(ctx, p, o.takeOver); err != nil {
		return err
	}
	if n.Kind == pawl.PlanRun && o.fresh {
		if n.Replaces, err = unfinishedRunOf(ctx, p, n.Source); err != nil {
			return err
		}
	}
	if o.background {
		return a.startInBackground(ctx, p, n, o.mirror)
	}
	return a.runEngine(ctx, p, engineStart{why: "run", parallel: o.parallel, mirror: o.mirror, open: func(cfg engine.Config) (*engine.Engine, error) {
		e, err := engine.OpenNew(ctx, cfg, n)
		if err == nil && n.Replaces != "" {
			fmt.Fprintf(a.Out, "archived the unfinished run %s\n", n.Replaces)
		}
		return e, err
	}})
}

// refuseUnfinished returns an error if a run of this plan is unfinished: one that an engine works on is followed, not resumed.
func (a *app) refuseUnfinished(ctx context.Context, p *project.Project, n runs.CreateOptions, takeOver bool) error {
	run, err := runs.FindUnfinished(ctx, p, n.Source)
	if pawl.KindOf(err) == pawl.KindDamaged {
		why := fmt.Errorf("cannot read an older run, which may be an unfinished run of this plan: %w", err)
		return &pawl.Error{Kind: pawl.KindDamaged, Err: why, Hint: fmt.Sprintf("pawl verify, or pawl run --new %s", n.Source)}
	}
	if err != nil || run == "" {
		return err
	}
	if holder, alive := p.EngineHolder(); alive && holder.Run == run && !takeOver && refuseIfLocked(p) != nil {
		return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("run %s of this plan is already running", run), Hint: "pawl watch " + string(run)}
	}
	return &pawl.Error{
		Kind: pawl.KindUsage, Hint: "pawl resume " + string(run),
		Err: fmt.Errorf("run %s of this plan is unfinished; resume it, or pass --new to archive it and start over", run),
	}
}

// startInBackground creates the run and starts an engine process for it.
func (a *app) startInBackground(ctx context.Context, p *project.Project, n runs.CreateOptions, mirror mirrorFlag) error {
	run, err := runs.Create(ctx, p, n)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	logPath := filepath.Join(p.RunDir(run), "engine.log")
	log, err := disk.OpenAppend(logPath)
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
	waitForEngine(ctx, p, run, c)
	if n.Replaces != "" {
		fmt.Fprintf(a.Err, "pawl: note: archived the unfinished run %s\n", n.Replaces)
	}
	fmt.Fprintf(a.Out, "%s\n", run)
	fmt.Fprintf(a.Err, "pawl: started in background (pid %d); follow with pawl watch\n", c.Process.Pid)
	return nil
}

// engineStartTime is how long an engine may take to start before the command returns without it.
const engineStartTime = 10 * time.Second

// waitForEngine waits until an engine works on the run, or its process has ended, so that the next command sees it.
func waitForEngine(ctx context.Context, p *project.Project, run pawl.RunID, engine *exec.Cmd) {
	ctx, cancel := context.WithTimeout(ctx, engineStartTime)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- engine.Wait() }()
	for {
		if holder, alive := p.EngineHolder(); alive && holder.Run == run {
			return
		}
		select {
		case <-ended: // pawl status and the run's engine.log say how
			return
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// refuseIfLocked returns an error that names the engine that holds the project. It waits for an engine that was just killed.
func refuseIfLocked(p *project.Project) error {
	for end := time.Now().Add(lockReleaseTime); ; time.Sleep(10 * time.Millisecond) {
		holder, alive := p.EngineHolder()
		if !alive {
			return nil
		}
		if time.Now().After(end) {
			return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("project is locked by pawl (%s)", holder), Hint: "pawl watch"}
		}
	}
}

// lockReleaseTime is how long the system may take to release the lock of a killed process.
const lockReleaseTime = time.Second

// engineStart says how to start an engine.
type engineStart struct {
	open     func(engine.Config) (*engine.Engine, error)
	why      string
	parallel int
	adopt    *resume.PlanDiff
	by       pawl.Author // who confirmed it
	examined *resume.Examination
	mirror   mirrorFlag // SYSTEM or SYSTEM=PATH; empty: as recorded in the run
}

// runEngine runs an engine until the run ends or stops, and shows it live.
func (a *app) runEngine(ctx context.Context, p *project.Project, s engineStart) error {
	cfg, err := a.engineConfig(p)
	if err != nil {
		return err
	}
	if s.parallel > 0 {
		cfg.Parallel = s.parallel
	}
	cfg.Mirror = a.mirrorWith(p, s.mirror)
	show := liveview.New(a.Out, a.Err, p)
	cfg.Notify, cfg.Notice = show.Notify, show.Notice
	e, err := s.open(cfg)
	if err != nil {
		return err
	}
	supervise.AdoptOrphans() // what a killed supervisor leaves behind stays below an engine
	soft, hard, release := interrupts(ctx, show.Interrupted)
	defer release()
	show.Begin(e.State(), e.Plan())
	if s.examined != nil {
		e.Examined(s.examined)
	}
	if s.adopt != nil {
		err = e.Adopt(soft, s.adopt, s.by)
	}
	if err == nil {
		err = e.Run(soft, hard, s.why)
	}
	show.End(e.State(), e.Plan(), err)
	a.printNotes(e.Notes())
	status := e.State().StatusNow(false)
	if closeErr := e.Close(); closeErr != nil {
		return errors.Join(err, closeErr)
	}
	p.Register(status, time.Now().UTC()) // notes were printed at the start
	return hints.For(ctx, p, e.State().Run, err)
}

const takeOverHelp = "kill the pawl process that holds this project, if it hangs (only if its identity is verified); running attempts continue"

// ensureNoEngine returns an error if an engine holds the project. With takeOver it kills that engine instead.
func (a *app) ensureNoEngine(ctx context.Context, p *project.Project, takeOver bool) error {
	if !takeOver {
		return refuseIfLocked(p)
	}
	killed, err := runs.TakeOver(ctx, p)
	if err == nil && killed.PID != 0 {
		fmt.Fprintf(a.Err, "pawl: killed the engine that held this project (%s)\n", killed)
	}
	return err
}
