package hook

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/config"
	"pawl/internal/history"
)

// patience is the niceness of who takes checkpoints: whatever an agent does comes first.
const patience = 10

// Keep takes the checkpoints that hooks want in the project at root, until none is wanted any more.
func Keep(ctx context.Context, root string) {
	p, err := projectAt(root)
	if err != nil || p == nil {
		return // hooks tell of what is wrong
	}
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, patience) // else it goes on as it is
	c, err := config.Read(p.Config())
	if err == nil {
		err = history.SaveRequested(ctx, p, c.Snapshots)
	}
	if err = errors.Join(err, forget(p, time.Now())); err != nil {
		note(p, fmt.Errorf("take a checkpoint: %w", err))
	}
}
