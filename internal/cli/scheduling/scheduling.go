// Package scheduling installs, shows and removes units of the user's systemd: the schedules of plans, for pawl run --schedule, and the
// service of pawl serve --install.
package scheduling

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/supply"
	"pawl/internal/cli/userfile"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/schedule"
	"pawl/internal/shellwords"
)

// Flags are the flags of pawl run that are about schedules.
type Flags struct {
	Expression string // --schedule
	Install    bool
	Uninstall  bool
	Crontab    bool
}

// Given reports whether the command is about a schedule, and starts no run.
func (f Flags) Given() bool { return f.Expression != "" || f.Install || f.Uninstall || f.Crontab }

// check returns an error for flags that do not go together.
func (f Flags) check() error {
	switch {
	case f.Uninstall && (f.Expression != "" || f.Install || f.Crontab):
		return usageError("", "--uninstall takes a PLAN and no other flag")
	case !f.Uninstall && f.Expression == "":
		flag := "--install"
		if f.Crontab {
			flag = "--crontab"
		}
		return usageError(fmt.Sprintf(`pawl run --schedule "0 6 * * *" %s PLAN`, flag), "%s needs --schedule", flag)
	case f.Install && f.Crontab:
		return usageError("", "--crontab prints a line for crontab(1); --install writes units of systemd")
	}
	return nil
}

// Options are the flags that the scheduled pawl run keeps.
type Options struct {
	New      bool
	Update   bool
	Parallel int
	Mirror   string
	Given    supply.Flags
}

// Request is the schedule of a plan.
type Request struct {
	Flags
	Path    string                           // of the plan
	Project func() (*project.Project, error) // finds or creates the project
	Options Options

	project *project.Project
	plan    *pawl.Plan // as written
}

// job returns the job that a request describes.
func (r Request) job() (schedule.Job, error) {
	cron, err := schedule.ParseCron(r.Expression)
	if err != nil {
		return schedule.Job{}, &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: `pawl run --schedule "0 6 * * *" PLAN`}
	}
	program, err := os.Executable()
	if err != nil {
		return schedule.Job{}, err
	}
	params, err := r.params()
	if err != nil {
		return schedule.Job{}, err
	}
	j := schedule.Job{Project: r.project.ID, Root: r.project.Root, Plan: r.Path, Cron: cron, Program: program}
	j.Args = slices.Concat([]string{"-C", r.project.Root, "run"}, r.Options.args(), params, []string{r.Path})
	j.Env = environment()
	if err := j.Check(); err != nil {
		return j, usageError("", "%v", err)
	}
	return j, nil
}

// environment returns the variables of this process that pawl needs to find its folders, and steps their programs.
func environment() (env []string) {
	for _, name := range []string{"PATH", "PAWL_STATE", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// args returns the flags. An unfinished run is resumed, unless it is to be archived.
func (o Options) args() []string {
	args := []string{"--resume"}
	if o.New {
		args[0] = "--new"
	}
	if o.Update {
		args = append(args, "--update")
	}
	if o.Parallel > 0 {
		args = append(args, "--parallel", strconv.Itoa(o.Parallel))
	}
	if o.Mirror != "" {
		args = append(args, "--mirror", o.Mirror)
	}
	return args
}

// params returns the flags for the parameters. Secrets are refused: other users may read units and crontabs.
func (r Request) params() (args []string, err error) {
	for _, text := range r.Options.Given.Params {
		name, value, _ := strings.Cut(text, "=")
		param, known := r.plan.Params[name]
		switch {
		case !known:
			return nil, usageError("", "the plan has no parameter %s", name)
		case param.Secret || redact.Sure(value) != "":
			return nil, usageError("", "parameter %s is a secret, and a schedule does not store secrets: name a dotenv file in the plan, or pass --params FILE", name)
		}
		args = append(args, "--param", text)
	}
	if r.Options.Given.File == "" {
		return args, nil
	}
	file := r.Options.Given.File
	if r.Options.Given.Folder != "" && !filepath.IsAbs(file) {
		file = filepath.Join(r.Options.Given.Folder, file)
	}
	file, err = filepath.Abs(file)
	return append(args, "--params", file), err
}

// Do shows, installs, prints or removes a schedule.
func (r Request) Do(ctx context.Context, w io.Writer) (err error) {
	if err := r.check(); err != nil {
		return err
	}
	if r.Path, err = filepath.Abs(r.Path); err != nil {
		return err
	}
	if !r.Uninstall {
		data, err := userfile.Plan(r.Path)
		if err != nil {
			return err
		}
		if r.plan, err = planfile.Read(r.Path, data); err != nil {
			return err
		}
	}
	if r.project, err = r.Project(); err != nil {
		return err
	}
	if r.Uninstall {
		return uninstall(ctx, w, r.project, r.Path)
	}
	return r.do(ctx, w)
}

func (r Request) do(ctx context.Context, w io.Writer) error {
	j, err := r.job()
	if err != nil {
		return err
	}
	if r.Crontab {
		fmt.Fprintln(w, j.Crontab())
		return nil
	}
	if err := schedule.Available(); err != nil {
		fmt.Fprintln(w, j.Crontab())
		if !r.Install {
			return nil
		}
		return &pawl.Error{Kind: pawl.KindInternal, Err: fmt.Errorf("nothing is installed: %w; add the line above to your crontab", err), Hint: "crontab -e"}
	}
	if err := show(w, j); err != nil || !r.Install {
		return err
	}
	changed, err := j.Install()
	if err != nil {
		return err
	}
	if err := enable(ctx, w, j.Enable(), "the units are written, but the timer is not enabled"); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s.timer (%s)\n", installedOr(changed), j.Name(), j.Cron)
	fmt.Fprintln(w, "timers of a user run while that user is logged in; to run them always: loginctl enable-linger")
	return nil
}

// enable runs commands of systemctl. If one fails, it prints all, and the error says what is not done.
func enable(ctx context.Context, w io.Writer, commands [][]string, undone string) error {
	err := schedule.Systemctl(ctx, commands...)
	if err == nil {
		return nil
	}
	for _, command := range commands {
		fmt.Fprintln(w, schedule.CommandLine(command))
	}
	return &pawl.Error{Kind: pawl.KindInternal, Err: fmt.Errorf("%s: %w", undone, err), Hint: "run the commands above where your systemd user manager is running"}
}

func installedOr(changed bool) string {
	if changed {
		return "installed"
	}
	return "unchanged"
}

// show prints the units.
func show(w io.Writer, j schedule.Job) error {
	folder, err := schedule.Folder()
	if err != nil {
		return err
	}
	service, timer := j.Units()
	for _, unit := range []struct{ suffix, text string }{{".service", service}, {".timer", timer}} {
		showUnit(w, filepath.Join(folder, j.Name()+unit.suffix), unit.text)
	}
	return nil
}

func showUnit(w io.Writer, path, text string) {
	fmt.Fprintln(w, path)
	for line := range strings.Lines(text) {
		fmt.Fprint(w, "  "+line)
	}
}

// uninstall removes the schedule of the plan at path. There may be none.
func uninstall(ctx context.Context, w io.Writer, p *project.Project, path string) error {
	all, err := schedule.List(p.ID)
	if err != nil {
		return err
	}
	name := schedule.Job{Project: p.ID, Root: p.Root, Plan: path}.Name()
	at := slices.IndexFunc(all, func(i schedule.Installed) bool { return i.Name == name })
	if at < 0 {
		fmt.Fprintf(w, "no schedule of %s is installed\n", path)
		return nil
	}
	stopErr := schedule.Systemctl(ctx, all[at].Disable())
	if err := all[at].Remove(); err != nil {
		return errors.Join(err, stopErr)
	}
	fmt.Fprintf(w, "removed: %s\n", all[at].Timer())
	if err := schedule.Systemctl(ctx, []string{"daemon-reload"}); stopErr != nil || err != nil {
		fmt.Fprintf(w, "the timer may run until systemd reads its units again: %v\n", errors.Join(stopErr, err))
	}
	return nil
}

// Findings describes the installed schedules of a project, for pawl doctor.
func Findings(p *project.Project) []pawl.Finding {
	all, err := schedule.List(p.ID)
	if err != nil {
		return []pawl.Finding{{Level: pawl.Warn, What: "cannot read the installed schedules", Evidence: err.Error()}}
	}
	var findings []pawl.Finding
	for _, i := range all {
		f := pawl.Finding{Level: pawl.OK, What: fmt.Sprintf("schedule of %s: %s", layout.OneLine(i.Plan), layout.OneLine(i.Schedule)), Evidence: i.Timer()}
		again := fmt.Sprintf("pawl run --schedule %s --install %s", shellwords.Word(i.Schedule), shellwords.Word(i.Plan))
		if i.Root != p.Root {
			f.Level, f.What, f.Hint = pawl.Warn, f.What+": it runs in "+layout.OneLine(i.Root)+", the former folder of the project", again
		} else if !i.PlanExists() {
			f.Level, f.What, f.Hint = pawl.Warn, f.What+": the plan is missing", "pawl run --uninstall "+shellwords.Word(i.Plan)
		}
		findings = append(findings, f)
	}
	return findings
}

func usageError(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}
