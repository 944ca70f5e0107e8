package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/userfile"
	"pawl/internal/interop/convert"
	"pawl/internal/planfile"
	"pawl/internal/planlint"
	"pawl/internal/runs"
	"pawl/internal/schema"
	"pawl/internal/shellwords"
)

func (a *app) planCommand() *cobra.Command {
	c := &cobra.Command{Use: "plan", Short: "Validate a plan, convert other systems' files, or print the plan schema"}
	var included bool
	check := &cobra.Command{
		Use:   "check FILE",
		Short: "Validate a plan and list its errors",
		Args:  exactArgs(argument{name: "FILE"}),
		RunE:  func(_ *cobra.Command, args []string) error { return a.checkPlan(args[0], included) },
	}
	check.Flags().BoolVar(&included, "included", false, "FILE is not a plan, but a file that plans include")
	schema := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of plans, for editors",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := schema.Plan()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "%s\n", data)
			return err
		},
	}
	c.AddCommand(a.jsonFlag(check), a.planConvertCommand(), schema)
	return c
}

// convertOptions are the flags of plan convert.
type convertOptions struct {
	from, job, out string
	force, strict  bool
}

func (a *app) planConvertCommand() *cobra.Command {
	var o convertOptions
	c := &cobra.Command{
		Use:   "convert FILE",
		Short: "Convert a GitHub Actions workflow, a dagu DAG or a Taskfile to a plan",
		Long: "Convert a GitHub Actions workflow, a dagu DAG or a Taskfile to a plan\n\n" +
			"pawl prints the plan, and reports on standard error what is not converted, and what it omitted because a plan does not need it,\n" +
			"such as triggers and checkouts.\n" +
			"A step that is not converted completely fails until you edit it.",
		Example: "  pawl plan convert .github/workflows/ci.yml -o plan.yaml\n  pawl plan convert Taskfile.yml --job build",
		Args:    exactArgs(argument{name: "FILE"}),
		RunE:    func(_ *cobra.Command, args []string) error { return a.convertPlan(args[0], o) },
	}
	textFlag(c, &o.from, "from", "SYSTEM", "github, dagu or taskfile (default: the content decides)")
	textFlag(c, &o.job, "job", "NAME", "the job of a workflow, with the jobs that it needs, or the task of a Taskfile (default: all jobs, or the task named \"default\")")
	c.Flags().StringVarP(&o.out, "output", "o", "", "write the plan to this file")
	setPlaceholder(c, "output", "FILE")
	c.Flags().BoolVar(&o.force, "force", false, "overwrite the file that --output names")
	c.Flags().BoolVar(&o.strict, "strict", false, "fail, and write no plan, if something is reported as not converted")
	return a.jsonFlag(c)
}

func (a *app) convertPlan(file string, o convertOptions) error {
	data, err := userfile.Plan(a.planPath(file))
	if err != nil {
		return err
	}
	converted, err := convert.Convert(file, data, convert.System(o.from), o.job)
	if err != nil {
		return err
	}
	report := convert.Report{File: file, Result: converted}
	if !a.json {
		report.Print(a.Err)
	}
	switch {
	case o.strict && converted.Lost > 0:
		err = usageError("pawl plan convert "+shellwords.Word(file), "%s of %s cannot be converted", layout.Count(converted.Lost, "place"), file)
	case o.out != "":
		report.Written = o.out
		err = userfile.Write(a.planPath(o.out), converted.Plan, o.force)
	case a.json:
		report.Text = string(converted.Plan)
	default:
		_, err = a.Out.Write(converted.Plan)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	if o.out != "" {
		fmt.Fprintf(a.Err, "pawl: hint: pawl plan check %s\n", shellwords.Word(o.out))
	}
	return nil
}

// checkedPlan is what `pawl plan check --json` prints of a valid plan.
type checkedPlan struct {
	Plan     *pawl.Plan        `json:"plan"`
	Warnings []failure.Problem `json:"warnings"`
}

func (a *app) checkPlan(name string, included bool) error {
	path := a.planPath(name)
	data, err := userfile.Plan(path)
	if err != nil {
		return err
	}
	root, err := a.planRoot()
	if err != nil {
		return err
	}
	load := planfile.Load
	if included {
		load = planfile.LoadIncluded
	}
	l, err := load(path, data, runs.Includes(root, path))
	if err != nil {
		return err
	}
	missing := planlint.Missing(path, l.Plan, l.File, os.Getenv("PATH"))
	warnings := []error{planlint.Warnings(path, l.Plan, l.File)}
	if !included {
		warnings = append(warnings, planlint.Variables(path, l.Plan, l.File), planlint.Files(path, l.Plan, l.File, root), planlint.Kernels(path, l.Plan, l.File, root, os.Environ()))
	}
	secrets := runs.PlanSecrets(l.Plan)
	if a.json {
		checked := checkedPlan{Plan: l.Plan, Warnings: failure.Problems(missing)}
		for _, faults := range warnings {
			checked.Warnings = append(checked.Warnings, failure.Problems(faults)...)
		}
		for _, secret := range secrets {
			checked.Warnings = append(checked.Warnings, failure.Problem{Message: secret + "; pawl run refuses it"})
		}
		return a.printJSON(checked)
	}
	a.warn(missing)
	for _, faults := range warnings {
		a.warn(faults)
	}
	for _, secret := range secrets {
		fmt.Fprintf(a.Err, "pawl: warning: %s: %s; pawl run refuses it\n", name, secret)
	}
	if included {
		fmt.Fprintf(a.Out, "%s is valid: %s to include\n", name, layout.Count(len(l.Plan.Steps()), "step"))
		return nil
	}
	return a.printPlan(l.Plan)
}

// warn prints the faults of a plan that do not make it invalid.
func (a *app) warn(faults error) {
	if faults == nil {
		return
	}
	for line := range strings.Lines(faults.Error()) {
		fmt.Fprintf(a.Err, "pawl: warning: %s\n", strings.TrimSuffix(line, "\n"))
	}
}

// printPlan prints the phases and levels of a plan.
func (a *app) printPlan(plan *pawl.Plan) error {
	fmt.Fprintf(a.Out, "plan %s is valid: %s in %s\n", plan.Name, layout.Count(len(plan.Steps()), "step"), layout.Count(len(plan.Phases), "phase"))
	for i, phase := range plan.Phases {
		fmt.Fprintf(a.Out, "phase %d  %s\n", i+1, phase.Name)
		for j, wave := range plan.Waves(i) {
			ids := make([]string, len(wave))
			for k, id := range wave {
				ids[k] = string(id)
			}
			fmt.Fprintf(a.Out, "  level %d  %s\n", j+1, strings.Join(ids, ", "))
		}
	}
	return nil
}
