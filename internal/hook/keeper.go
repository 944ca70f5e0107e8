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

// niceness is the nice value of the keeper process, so that agents come first.
const niceness = 10

// Keep takes the checkpoints that hooks requested in the project at root, until no request is left.
func Keep(ctx context.Context, root string) {
	p, err := projectAt(root)
	if err != nil || p == nil || !p.Trust.Trusted() {
		return // the hooks report the error
	}
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, niceness) // best effort
	c, err := config.Of(p)
	if err == nil {
		err = history.SaveRequested(ctx, p, c.Snapshots)
	}
	if err = errors.Join(err, removeOldCaches(p, time.Now())); err != nil {
		appendLog(p.HookLog(), fmt.Errorf("take a checkpoint: %w", err))
	}
}
