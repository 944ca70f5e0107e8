package cli

import (
	"context"
	"fmt"

	"pawl/internal/project"
	"pawl/internal/runs"
)

const takeOverHelp = "first kill the engine that holds this project (only if its identity is verified); running attempts continue"

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
