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

// historyIn is what history takes.
type historyIn struct {
	runIn
	Before pawl.Seq         `json:"before,omitempty" jsonschema:"only events before this number: the next of the answer before"`
	Limit  int              `json:"limit,omitempty" jsonschema:"at most this many events, up to 100; 30 if left out"`
	Types  []pawl.EventType `json:"types,omitempty" jsonschema:"only events of these types, such as step.done, decision.made, gate.answered"`
}

// historyOut is one page of what happened.
type historyOut struct {
	Run    pawl.RunID `json:"run"`
	Events []event    `json:"events" jsonschema:"newest first"`
	Next   pawl.Seq   `json:"next,omitempty" jsonschema:"there may be more: ask again with this as before"`
}

type event struct {
	Seq  pawl.Seq       `json:"seq"`
	Time time.Time      `json:"time"`
	By   string         `json:"by" jsonschema:"who wrote it"`
	Type pawl.EventType `json:"type"`
	Data string         `json:"data" jsonschema:"what it says, as JSON, cut where it is long"`
}

// What a page of history has room for.
const (
	usualEvents = 30
	maxEvents   = 100
	maxData     = 600      // bytes of each event
	maxPage     = 16 << 10 // bytes of all of them
	maxLooked   = 5000     // events looked at for those that fit
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

// page collects events from the newest that is asked for backwards, until there is no room or no more.
func (d *desk) page(ctx context.Context, r *runs.Run, in historyIn) (historyOut, error) {
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
		told := d.eventOf(e)
		size += len(told.Data)
		page.Events = append(page.Events, told)
	}
	return page, nil
}

func (d *desk) eventOf(e pawl.Event) event {
	by := strings.TrimSpace(string(e.By.Kind) + " " + e.By.Name)
	return event{Seq: e.Seq, Time: e.Time, By: by, Type: e.Type, Data: clip(string(d.redact.JSON(e.Data)), maxData)}
}

// String says in words what a page has.
func (h historyOut) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "run %s, newest first\n", h.Run)
	for _, e := range h.Events {
		fmt.Fprintf(&out, "%d  %s  %s  %s  %s\n", e.Seq, e.Time.UTC().Format("2006-01-02 15:04:05"), e.By, e.Type, e.Data)
	}
	if len(h.Events) == 0 {
		out.WriteString("no such event\n")
	}
	if h.Next > 0 {
		fmt.Fprintf(&out, "there may be more: ask with before %d\n", h.Next)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
