package logview

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Show prints the events after one, and returns the last.
func Show(w io.Writer, r *runs.Run, after pawl.Seq, asJSON bool) (last pawl.Seq, err error) {
	names := r.ItemNames()
	out, flush := layout.Buffered(w)
	last = after
	for e, err := range r.Log.Events(after) {
		if err == nil {
			last, err = e.Seq, printEvent(out, e, names, asJSON)
		}
		if err != nil {
			return last, errors.Join(err, flush())
		}
	}
	return last, flush()
}

// Follow prints the events after one as they come, until the run has ended and its engine has left, or ctx ends.
func Follow(ctx context.Context, w io.Writer, p *project.Project, r *runs.Run, after pawl.Seq, asJSON bool) error {
	changed, names := r.Log.Watch(ctx), r.ItemNames()
	for {
		events, err := r.Log.NewEvents()
		for _, e := range events {
			r.State.Apply(e)
			if e.Seq > after {
				err = errors.Join(err, printEvent(w, e, names, asJSON))
			}
		}
		if err != nil {
			return err
		}
		if r.State.Ended() && r.State.Engine == nil {
			return letLeave(ctx, p, r.State.Run)
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

// engineLeaves is how long an engine may take to leave the project after the end of its run, before Follow ends without it.
const engineLeaves = 2 * time.Second

// letLeave waits until the engine of a run that has ended no longer holds the project.
func letLeave(ctx context.Context, p *project.Project, run pawl.RunID) error {
	if holder, alive := p.EngineHolder(); !alive || holder.Run != run {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, engineLeaves)
	defer cancel()
	if err := p.WaitForEngine(waiting); waiting.Err() == nil {
		return err
	}
	return nil
}

// printEvent prints an event as one line: in words, or as JSON.
func printEvent(w io.Writer, e pawl.Event, names *runs.ItemNames, asJSON bool) error {
	if !asJSON {
		return Print(w, e, names)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(e)
}
