package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/disk"
)

// Waiting for space on a full disk: the first and the longest interval between two tries, and how often a running engine
// looks whether its supervisors are waiting.
const (
	firstSpaceWait   = time.Second
	longestSpaceWait = 30 * time.Second
	spaceCheck       = 2 * time.Second
)

// errDiskFull is why an engine that is interrupted while it waits for space stops.
var errDiskFull = &pawl.Error{Kind: pawl.KindInterrupted, Err: errors.New("interrupted: the disk that holds .pawl is full"), Hint: "pawl resume"}

// append journals a batch. While the disk is full it waits and tries again, until it is interrupted.
func (e *Engine) append(ctx context.Context, batch []pawl.Event) error {
	for wait := firstSpaceWait; ; wait = min(2*wait, longestSpaceWait) {
		full := e.diskFull()
		var err error
		if full == "" || e.soft == nil {
			if _, err = e.log.Append(ctx, e.epoch, batch...); !disk.IsFull(err) || e.soft == nil {
				return err
			}
			full = err.Error() // a quota, perhaps
		}
		e.reportFull(full, wait)
		select {
		case <-e.soft:
			return errDiskFull
		case <-time.After(wait):
		}
	}
}

// diskFull says how much space is left if the disk that holds .pawl is full; otherwise it returns "".
func (e *Engine) diskFull() string {
	space, err := disk.SpaceOf(e.cfg.Project.Home())
	if err != nil || !space.Full() {
		if err == nil && e.full {
			e.full = false
			e.cfg.Notice(fmt.Sprintf("the disk that holds .pawl has space again: %s", space))
		}
		return ""
	}
	return space.String()
}

// reportFull tells the user that pawl waits for space.
func (e *Engine) reportFull(free string, retry time.Duration) {
	e.full = true
	e.cfg.Notice(fmt.Sprintf("the disk that holds .pawl is full: %s; waiting, retrying every %s", free, retry))
}

// checkSpace reports once that the disk is full while attempts run: their supervisors wait until they can record how the
// attempts ended.
func (e *Engine) checkSpace() {
	if free := e.diskFull(); free != "" && !e.full {
		e.reportFull(free, time.Second)
	}
}
