//go:build linux

package courier_test

import (
	"context"

	"pawl/internal/dispatch"
)

// Queue is the carrier that a dying one stands before.
type Queue = dispatch.Carrier

func (d *dying) dead(err error) error {
	if d.ctx.Err() != nil {
		return d.ctx.Err()
	}
	return err
}

func (d *dying) Submit(ctx context.Context, task dispatch.Task) error {
	if err := d.dead(nil); err != nil {
		return err
	}
	return d.dead(d.Queue.Submit(ctx, task))
}

func (d *dying) Status(ctx context.Context, id string) (dispatch.Status, error) {
	if err := d.dead(nil); err != nil {
		return dispatch.Status{}, err
	}
	now, err := d.Queue.Status(ctx, id)
	return now, d.dead(err)
}

func (d *dying) Await(ctx context.Context, id string, seen dispatch.Status) (dispatch.Status, error) {
	if err := d.dead(nil); err != nil {
		return dispatch.Status{}, err
	}
	now, err := d.Queue.Await(ctx, id, seen)
	return now, d.dead(err)
}
