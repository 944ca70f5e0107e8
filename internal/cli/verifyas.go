package cli

import (
	"cmp"
	"context"
	"fmt"

	"pawl"
)

// asOptions select what to check in another system's files.
type asOptions struct{ system, step, criterion string }

// verifyAs checks another system's files by its own rules, or only the criteria of one step.
func (a *app) verifyAs(ctx context.Context, o asOptions, path string) error {
	switch {
	case o.system == "":
		return usageError("", "--step needs --as SYSTEM")
	case o.step == "" && o.criterion != "":
		return usageError("", "--criterion needs --step STEP")
	}
	fileFormat, err := a.formatNamed(o.system)
	if err != nil {
		return err
	}
	dir, err := a.existingPath(path)
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
	what := cmp.Or(o.criterion, "its criteria")
	switch {
	case err != nil:
		return err
	case !met:
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("step %s does not meet %s: %s", o.step, what, why)}
	}
	return a.printFindings([]pawl.Finding{{Level: pawl.OK, What: fmt.Sprintf("step %s meets %s: %s", o.step, what, why)}}, "")
}
