package cli

import (
	"cmp"
	"context"
	"fmt"

	"pawl"
)

// asOptions say what is checked of another system's files.
type asOptions struct{ system, step, criterion string }

// verifyAs checks another system's files by that system's own rules, or the criteria of a step in them.
func (a *app) verifyAs(ctx context.Context, o asOptions, path string) error {
	switch {
	case o.system == "":
		return usageError("", "--step: name the system with --as")
	case o.step == "" && o.criterion != "":
		return usageError("", "--criterion: name the step with --step")
	}
	codec, err := a.codec(o.system)
	if err != nil {
		return err
	}
	dir, err := a.foreignDir(path)
	if err != nil {
		return err
	}
	folder, place, err := a.foreignAt(ctx, codec, dir)
	if err != nil {
		return err
	}
	folder = folder.At(place)
	if o.step == "" {
		return a.printFindings(folder.Verify(), "faults found")
	}
	met, why, err := folder.CheckCriterion(inside(), pawl.StepID(o.step), o.criterion)
	what := cmp.Or(o.criterion, "its criteria")
	switch {
	case err != nil:
		return err
	case !met:
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("step %s does not meet %s: %s", o.step, what, why)}
	}
	return a.printFindings([]pawl.Finding{{Level: pawl.OK, What: fmt.Sprintf("step %s meets %s: %s", o.step, what, why)}}, "")
}
