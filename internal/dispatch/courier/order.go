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
	var record snapshot.Record
	if o.Input, record, err = c.input(); err != nil {
		return nil, err
	}
	if o.Packs, err = c.send(ctx, record); err != nil {
		return nil, fmt.Errorf("send the files of the step to the remote: %w", err)
	}
	c.noteSent(record, o.Packs)
	return o, nil
}

// input returns the commit record of the snapshot that the attempt starts with.
func (c *Courier) input() (content []byte, r snapshot.Record, err error) {
	id, err := pack.ParseID(c.Job.Away.Input)
	if err == nil {
		content, err = c.Objects.RecordContent(id)
	}
	if err != nil {
		return nil, r, errors.Join(errors.New("the snapshot with the files of the step"), err)
	}
	r, err = snapshot.ParseRecord(content, c.Job.Run)
	return content, r, err
}
