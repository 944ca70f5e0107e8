package logview

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"pawl"
	"pawl/internal/cli/layout"
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

// Follow prints the events after one as they come, until the run has ended or ctx does.
func Follow(ctx context.Context, w io.Writer, r *runs.Run, after pawl.Seq, asJSON bool) error {
	changed, names := r.Log.Watch(ctx), r.ItemNames()
	for {
		events, err := r.Log.NewEvents()
		for _, e := range events {
			r.State.Apply(e)
			if e.Seq > after {
				err = errors.Join(err, printEvent(w, e, names, asJSON))
			}
		}
		if err != nil || r.State.Ended() && r.State.Engine == nil {
			return err
		}
		select {
		case <-changed:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
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
