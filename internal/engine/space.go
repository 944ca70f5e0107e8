package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/runs"
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

// append journals a batch. An engine whose folder was moved writes nothing: it has seen its attempts vanish, and they have not.
func (e *Engine) append(ctx context.Context, batch []pawl.Event, write func(context.Context, pawl.Epoch, ...pawl.Event) (pawl.Seq, error)) error {
	if err := e.inPlace(); err != nil {
		return err
	}
	return e.waitForSpace(func() error {
		return runs.Announce(e.cfg.Project, e.run, batch, func() error {
			_, err := write(ctx, e.epoch, batch...)
			return err
		})
	})
}

// waitForSpace calls do. While the disk is full it waits and tries again, until it is interrupted.
func (e *Engine) waitForSpace(do func() error) error {
	for wait := firstSpaceWait; ; wait = min(2*wait, longestSpaceWait) {
		full := e.diskFull()
		if full == "" || e.soft == nil {
			err := do()
			if !disk.IsFull(err) || e.soft == nil {
				e.reportSpace(err)
				return err
			}
			full = "no space left, or the quota is used up"
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
		return ""
	}
	return space.String()
}

// reportSpace tells the user that the engine continues, if it was waiting for space and an append succeeded.
func (e *Engine) reportSpace(err error) {
	if err == nil && e.full && e.diskFull() == "" {
		e.full = false
		e.cfg.Notice("the disk that holds .pawl has space again; continuing")
	}
}

// reportFull tells the user that pawl waits for space.
func (e *Engine) reportFull(free string, retry time.Duration) {
	e.full = true
	e.cfg.Notice(fmt.Sprintf("the disk that holds .pawl is full: %s; waiting, retrying every %s", free, retry))
}

// checkSpace reports once that the disk is full while attempts run: their supervisors wait until they can record how the
// attempts ended.
func (e *Engine) checkSpace() {
	switch free := e.diskFull(); {
	case free == "":
		e.reportSpace(nil)
	case !e.full:
		e.reportFull(free, time.Second)
	}
}
