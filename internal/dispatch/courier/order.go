package courier

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/dispatch/order"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
)

// here are the variables that have a meaning on one machine only. A worker sets its own.
var here = []string{"PAWL_ATTEMPT_DIR", "PAWL_EVENTS", "PAWL_RESULT", "PAWL_PROJECT"}

// order sends the input of the attempt, and returns the order.
func (c *Courier) order(ctx context.Context) (*order.Order, error) {
	job := &c.Job
	input, err := pack.ParseID(job.Away.Input)
	if err != nil {
		return nil, fmt.Errorf("input of the step: %w", err)
	}
	o := &order.Order{
		Run: job.Run, AttemptRef: job.AttemptRef, Script: job.Script, Shell: job.Shell, RunShell: job.RunShell, Env: map[string]string{},
		Secrets: job.Away.Secrets, Outputs: job.Outputs, Timeout: job.Timeout, Grace: job.Grace, Stall: job.Stall, OutputCap: job.OutputCap, Input: input,
	}
	if o.Dir, err = filepath.Rel(job.Root, job.Dir); err != nil {
		return nil, err
	}
	for _, v := range job.Env {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case slices.Contains(here, name), name == "PATH" && job.CheckPath != "": // PATH is the plan's only if checks have no other one
			continue
		case name == "PAWL_OUT":
			if value, err = filepath.Rel(job.Root, value); err != nil {
				return nil, err
			}
		}
		o.Env[name] = value
	}
	record, err := c.recordOf(input)
	if err != nil {
		return nil, err
	}
	packer, err := order.NewPacker(ctx, c.remote.Store, c.remote.Cache)
	if err == nil {
		err = packer.Snapshot(ctx, c.Objects, record)
	}
	if err == nil {
		o.Packs, err = packer.Packs(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("send the files of the step to the remote: %w", err)
	}
	return o, nil
}

// recordOf returns a snapshot that the project has.
func (c *Courier) recordOf(id pack.ID) (r snapshot.Record, err error) {
	content, err := c.Objects.RecordContent(id)
	if err != nil {
		return r, errors.Join(errors.New("the snapshot with the files of the step"), err)
	}
	return snapshot.ParseRecord(content, c.Job.Run)
}
