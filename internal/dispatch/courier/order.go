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
func (c *Courier) order(ctx context.Context) (o *order.Order, err error) {
	job := &c.Job
	o = &order.Order{
		Run: job.Run, AttemptRef: job.AttemptRef, Script: job.Script, Shell: job.Shell, RunShell: job.RunShell, Env: map[string]string{},
		Secrets: job.Away.Secrets, Outputs: job.Outputs, Timeout: job.Timeout, Grace: job.Grace, Stall: job.Stall, OutputCap: job.OutputCap,
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
	input, err := pack.ParseID(job.Away.Input)
	if err != nil {
		return nil, fmt.Errorf("input of the step: %w", err)
	}
	content, record, err := c.recordOf(input)
	if err != nil {
		return nil, err
	}
	o.Input = content
	if o.Packs, err = c.send(ctx, record); err != nil {
		return nil, fmt.Errorf("send the files of the step to the remote: %w", err)
	}
	c.noteSent(record, o.Packs)
	return o, nil
}

// recordOf returns a snapshot that the project has, and its commit record.
func (c *Courier) recordOf(id pack.ID) (content []byte, r snapshot.Record, err error) {
	if content, err = c.Objects.RecordContent(id); err != nil {
		return nil, r, errors.Join(errNoInput, err)
	}
	r, err = snapshot.ParseRecord(content, c.Job.Run)
	return content, r, err
}
