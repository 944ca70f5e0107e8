package hook

import (
	"context"
	"fmt"

	"pawl/internal/engine"
	"pawl/internal/project"
)

// Keep takes the checkpoints that hooks want in the project at root, until none is wanted any more.
func Keep(ctx context.Context, root string, snapshots func(*project.Project) (engine.Snapshots, error)) {
	p, err := projectAt(root)
	if err != nil || p == nil {
		return // hooks tell of what is wrong
	}
	cfg, err := snapshots(p)
	if err == nil {
		err = engine.Keep(ctx, p, cfg)
	}
	if err != nil {
		note(p, fmt.Errorf("take a checkpoint: %w", err))
	}
}
