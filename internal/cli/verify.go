package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/history"
	"pawl/internal/resume"
)

func (a *app) verifyCommand() *cobra.Command {
	var repair bool
	var as asOptions
	c := &cobra.Command{
		Use:   "verify [--as SYSTEM [PATH]]",
		Short: "Check journals, plans, outputs and snapshots; list every fault",
		Long: "Check journals, plans, outputs and snapshots; list every fault\n\nWithout --repair it changes nothing. With --repair it first repairs the snapshots: it rebuilds their index, moves\n" +
			"damaged data to quarantine and names the affected checkpoints. pawl recover rebuilds journals.\n" +
			"With --as, PATH is the folder with the files of SYSTEM (default: the project), or a SQL dump or database of projectstate.",
		Example: "  pawl verify\n  pawl verify --repair",
		Args:    atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			if as.system == "" && len(args) > 0 {
				return usageError("pawl verify --as SYSTEM "+args[0], "PATH needs --as SYSTEM")
			}
			if as != (asOptions{}) {
				return a.verifyAs(c.Context(), as, optional(args, 0))
			}
			findings, err := a.verify(c.Context(), repair)
			if err != nil {
				return err
			}
			return a.printFindings(findings, "damage found")
		},
	}
	c.Flags().BoolVar(&repair, "repair", false, "repair the snapshots before checking")
	c.Flags().StringVar(&as.system, "as", "", "check another system's files by its own rules; "+a.systemsHelp())
	setPlaceholder(c, "as", "SYSTEM")
	c.MarkFlagsMutuallyExclusive("repair", "as")
	c.Flags().StringVar(&as.criterion, "criterion", "", "with --step: check only the acceptance criterion `NAME` in the system's files")
	c.Flags().StringVar(&as.step, "step", "", "with --as: check only whether `STEP` meets the acceptance criteria in the system's files")
	return a.jsonFlag(c)
}

func (a *app) verify(ctx context.Context, repair bool) ([]pawl.Finding, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	var findings []pawl.Finding
	if repair {
		if findings, err = history.RepairSnapshots(ctx, p); err != nil {
			return nil, err
		}
	}
	runs, err := resume.Verify(ctx, p)
	if err != nil {
		return nil, err
	}
	snapshots, err := history.VerifySnapshots(ctx, p)
	return slices.Concat(findings, runs, snapshots), err
}

// printFindings prints findings and a summary. It returns an error if one of them is bad.
func (a *app) printFindings(findings []pawl.Finding, failure string) error {
	for i := range findings {
		findings[i].Hint = a.reachable(findings[i].Hint)
	}
	if a.json {
		if findings == nil {
			findings = []pawl.Finding{}
		}
		if err := a.printJSON(findings); err != nil {
			return err
		}
	}
	if !a.json {
		layout.PrintFindings(a.Out, findings)
	}
	if bad := layout.CountLevel(findings, pawl.Bad); bad > 0 {
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s: %s", failure, layout.Count(bad, "fault"))}
	}
	return nil
}

// asOptions select what to check in another system's files.
type asOptions struct{ system, step, criterion string }

// verifyAs checks another system's files by its own rules, or only the criteria of one step.
func (a *app) verifyAs(ctx context.Context, o asOptions, path string) error {
	switch {
	case o.step == "" && o.criterion != "":
		return usageError("", "--criterion needs --step STEP")
	case o.system == "":
		return usageError("", "--step needs --as SYSTEM")
	}
	fileFormat, err := a.formatNamed(o.system)
	if err != nil {
		return err
	}
	dir, err := a.filesOf(ctx, o.system, path)
	if err != nil {
		return err
	}
	folder, place, err := a.openPlace(ctx, fileFormat, dir)
	if err != nil {
		return err
	}
	folder = folder.At(place)
	if o.step == "" {
		return a.printFindings(folder.Verify(), "the files are faulty")
	}
	met, why, err := folder.CheckCriterion(stepClient(), pawl.StepID(o.step), o.criterion)
	what := "its criteria"
	if o.criterion != "" {
		what = fmt.Sprintf("criterion %q", o.criterion)
	}
	switch {
	case err != nil:
		return err
	case !met:
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("step %s does not meet %s: %s", o.step, what, why)}
	}
	return a.printFindings([]pawl.Finding{{Level: pawl.OK, What: fmt.Sprintf("step %s meets %s: %s", o.step, what, why)}}, "")
}
