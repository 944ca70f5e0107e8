package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/runs"
)

// historyIn is the input of history.
type historyIn struct {
	runIn
	Before pawl.Seq         `json:"before,omitempty" jsonschema:"only events before this number: pass next of the previous page"`
	Limit  int              `json:"limit,omitempty" jsonschema:"maximum number of events, up to 100; defaults to 30"`
	Types  []pawl.EventType `json:"types,omitempty" jsonschema:"only events of these types, such as step.done, decision.made, gate.answered"`
}

// historyOut is one page of events.
type historyOut struct {
	Run    pawl.RunID `json:"run"`
	Events []event    `json:"events" jsonschema:"newest first"`
	Next   pawl.Seq   `json:"next,omitempty" jsonschema:"there may be more events: pass this as before"`
}

type event struct {
	Seq  pawl.Seq       `json:"seq"`
	Time time.Time      `json:"time"`
	By   string         `json:"by" jsonschema:"author"`
	Type pawl.EventType `json:"type"`
	Data string         `json:"data" jsonschema:"the payload as JSON, truncated if long"`
}

// Limits of a page.
const (
	usualEvents = 30
	maxEvents   = 100
	maxData     = 600      // bytes of each event
	maxPage     = 16 << 10 // bytes of all of them
	maxLooked   = 5000     // events searched for matching types
)

func (s *Server) history(ctx context.Context, _ call, in historyIn) (answer[historyOut], error) {
	_, r, err := s.open(ctx, in.Run)
	if err != nil {
		return answer[historyOut]{}, err
	}
	page, err := s.page(ctx, r, in)
	if err != nil {
		r.Log.Close()
		return answer[historyOut]{}, err
	}
	return answer[historyOut]{text: page.String(), data: page}, r.Log.Close()
}

// page collects events backwards from in.Before until a limit is reached or none is left.
func (d *toolContext) page(ctx context.Context, r *runs.Run, in historyIn) (historyOut, error) {
	page := historyOut{Run: r.State.Run, Events: []event{}}
	limit := usualEvents
	if in.Limit > 0 {
		limit = min(in.Limit, maxEvents)
	}
	first := r.State.Seq
	if in.Before > 0 {
		first = min(first, in.Before-1)
	}
	size := 0
	for seq := first; seq > 0; seq-- {
		if len(page.Events) == limit || size > maxPage || first-seq == maxLooked {
			page.Next = seq + 1
			break
		}
		e, err := r.Log.Event(seq)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return page, err
		}
		if len(in.Types) > 0 && !slices.Contains(in.Types, e.Type) {
			continue
		}
		found := d.eventOf(e)
		size += len(found.Data)
		page.Events = append(page.Events, found)
	}
	return page, nil
}

func (d *toolContext) eventOf(e pawl.Event) event {
	by := strings.TrimSpace(string(e.By.Kind) + " " + e.By.Name)
	return event{Seq: e.Seq, Time: e.Time, By: by, Type: e.Type, Data: clip(string(d.redact.JSON(e.Data)), maxData)}
}

// String returns the page as text.
func (h historyOut) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "run %s, newest first\n", h.Run)
	for _, e := range h.Events {
		fmt.Fprintf(&out, "%d  %s  %s  %s  %s\n", e.Seq, e.Time.UTC().Format("2006-01-02 15:04:05Z"), e.By, e.Type, e.Data)
	}
	if len(h.Events) == 0 {
		out.WriteString("no events found\n")
	}
	if h.Next > 0 {
		fmt.Fprintf(&out, "there may be more events: call again with before = %d\n", h.Next)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
