package cli

import (
	"context"
	"fmt"

	"pawl/internal/project"
	"pawl/internal/runs"
)

const takeOverHelp = "kill the pawl that works in this project first, if it is proven which process that is; what it started goes on"

// clearTheWay refuses where another pawl works in the project, or kills that one.
func (a *app) clearTheWay(ctx context.Context, p *project.Project, takeOver bool) error {
	if !takeOver {
		return refuseHeld(p)
	}
	killed, err := runs.TakeOver(ctx, p)
	if err == nil && killed.PID != 0 {
		fmt.Fprintf(a.Err, "pawl: taken over: killed %s\n", killed)
	}
	return err
}
