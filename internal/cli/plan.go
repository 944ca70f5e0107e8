package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/planfile"
	"pawl/internal/runs"
	"pawl/internal/schema"
)

func (a *app) planCommand() *cobra.Command {
	c := &cobra.Command{Use: "plan", Short: "Validate a plan, or print the plan schema"}
	check := &cobra.Command{
		Use:   "check FILE",
		Short: "Validate a plan and list its errors",
		Args:  exactArgs(argument{name: "FILE"}),
		RunE: func(_ *cobra.Command, args []string) error {
			path := a.planPath(args[0])
			data, err := readPlanFile(path)
			if err != nil {
				return err
			}
			plan, err := planfile.Read(path, data)
			if faults, ok := errors.AsType[*planfile.Errors](err); ok {
				return &pawl.Error{Kind: pawl.KindUsage, Err: faults} // without the hint to run plan check
			}
			if err != nil {
				return err
			}
			for _, secret := range runs.PlanSecrets(plan) {
				fmt.Fprintf(a.Err, "pawl: warning: %s: %s; pawl run refuses it\n", args[0], secret)
			}
			if a.json {
				return a.printJSON(plan)
			}
			return a.printPlan(plan)
		},
	}
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
	c.AddCommand(a.jsonFlag(check), schema)
	return c
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
