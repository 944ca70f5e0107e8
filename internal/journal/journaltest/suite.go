// Package journaltest tests any implementation of pawl.Journal.
package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
)

// Run is the run that the suite writes to.
const Run pawl.RunID = "suite-20260101-000000-abcd"

// Suite tests an implementation. fresh creates a store with an empty journal for Run, and returns a function that opens
// the store as a separate writer each time.
func Suite(t *testing.T, fresh func(t *testing.T) (open func() pawl.Journal)) {
	for name, test := range map[string]func(*testing.T, func() pawl.Journal){
		"numbers":     numbers,
		"stamps":      stamps,
		"reads after": readsAfter,
		"concurrent":  concurrent,
		"fences":      fences,
		"refuses":     refuses,
		"unknown run": unknownRun,
		"cancelled":   cancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// TB is the part of *testing.T, *testing.B and *rapid.T that the event constructors need.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Created returns the first event of a journal.
func Created(t TB, run pawl.RunID) pawl.Event {
	return Event(t, pawl.RunCreated{Format: pawl.Format, Run: run, Kind: pawl.PlanRun, Name: "test"})
}

// Event returns an event with this payload.
func Event(t TB, payload pawl.Payload) pawl.Event {
	t.Helper()
	e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine, Name: `"},"type":"`}, payload)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Text returns an event with a text that identifies it; see TextOf.
func Text(t TB, text string) pawl.Event {
	return Event(t, pawl.MemoryLearned{Memory: pawl.Memory{Text: text}})
}

// TextOf returns the text of an event made by Text.
func TextOf(t TB, e pawl.Event) string {
	t.Helper()
	payload, err := e.Payload()
	if err != nil {
		t.Fatal(err)
	}
	learned, _ := payload.(pawl.MemoryLearned)
	return learned.Text
}

func starts(t TB, epoch pawl.Epoch) pawl.Event {
	return Event(t, pawl.EngineStarted{Epoch: epoch, PID: 1, Why: "run"})
}

func add(t *testing.T, j pawl.Journal, epoch pawl.Epoch, events ...pawl.Event) pawl.Seq {
	t.Helper()
	seq, err := j.Append(t.Context(), Run, epoch, events...)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func read(t *testing.T, j pawl.Journal, after pawl.Seq) []pawl.Event {
	t.Helper()
	var events []pawl.Event
	for e, err := range j.Read(t.Context(), Run, after) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func numbers(t *testing.T, open func() pawl.Journal) {
	j := open()
	if seq := add(t, j, 0, Created(t, Run), Text(t, "two")); seq != 2 {
		t.Errorf("first batch ends at %d, want 2", seq)
	}
	if seq := add(t, j, 0, Text(t, "three")); seq != 3 {
		t.Errorf("second batch ends at %d, want 3", seq)
	}
	var got []string
	for _, e := range read(t, open(), 0) {
		got = append(got, fmt.Sprint(e.Seq, " ", e.Batch, " ", TextOf(t, e)))
	}
	if want := []string{"1 1 ", "2 1 two", "3 3 three"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

func stamps(t *testing.T, open func() pawl.Journal) {
	j := open()
	begin := time.Now()
	given := time.Date(2026, 2, 3, 4, 5, 6, 789, time.FixedZone("", 3600))
	timed := Text(t, "<&\u2028\x01\"")
	timed.Time = given
	raw := Text(t, "")
	raw.Data = []byte(`{"kind":"<&\u003e","text":"} \"},\"type\":\""}`)
	add(t, j, 0, Created(t, Run), timed, raw)
	events := read(t, j, 0)
	if at := events[0].Time; at.Before(begin.Add(-time.Millisecond)) || at.After(time.Now()) || at.Location() != time.UTC {
		t.Errorf("stamped %v, want the time now in UTC", at)
	}
	e := events[1]
	if !e.Time.Equal(given) || e.By != timed.By || e.Type != timed.Type || TextOf(t, e) != TextOf(t, timed) {
		t.Errorf("read %+v, wrote %+v", e, timed)
	}
	if got := events[2].Data; string(got) != string(raw.Data) {
		t.Errorf("read data %s, wrote %s", got, raw.Data)
	}
}

func readsAfter(t *testing.T, open func() pawl.Journal) {
	j := open()
	if got := read(t, j, 0); len(got) != 0 {
		t.Errorf("%d events in an empty journal", len(got))
	}
	add(t, j, 0, Created(t, Run), Text(t, "2"), Text(t, "3"))
	for after, want := range map[pawl.Seq]int{-1: 3, 0: 3, 1: 2, 2: 1, 3: 0, 9: 0} {
		got := read(t, j, after)
		if len(got) != want || want > 0 && got[0].Seq != max(after, 0)+1 {
			t.Errorf("after %d: %d events, want %d", after, len(got), want)
		}
	}
	for range j.Read(t.Context(), Run, 0) {
		break // leaving early is fine
	}
}

func concurrent(t *testing.T, open func() pawl.Journal) {
	const writers, batches = 8, 20
	journals := []pawl.Journal{open(), open()}
	add(t, journals[0], 0, Created(t, Run))
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for b := range batches {
				name := fmt.Sprintf("%d %d", w, b)
				seq, err := journals[w%2].Append(t.Context(), Run, 0, Text(t, name+" a"), Text(t, name+" b"))
				if err != nil {
					t.Error(err)
					return
				}
				for e, err := range journals[1-w%2].Read(t.Context(), Run, seq-2) {
					if err != nil || TextOf(t, e) != name+" a" {
						t.Errorf("event %d, read by the other journal: %v %v, want %s a", seq-1, e, err, name)
					}
					break
				}
			}
		})
	}
	all.Wait()
	next := map[string]int{}
	events := read(t, open(), 1)
	for i := 0; i+1 < len(events); i += 2 {
		var w string
		var b int
		text, _ := strings.CutSuffix(TextOf(t, events[i]), " a")
		if _, err := fmt.Sscan(text, &w, &b); err != nil || TextOf(t, events[i+1]) != text+" b" {
			t.Fatalf("%q is followed by %q", TextOf(t, events[i]), TextOf(t, events[i+1]))
		}
		if b != next[w] {
			t.Fatalf("batch %d of writer %s, want %d", b, w, next[w])
		}
		next[w]++
	}
	if len(events) != 2*writers*batches {
		t.Errorf("%d events, want %d", len(events), 2*writers*batches)
	}
}

func fences(t *testing.T, open func() pawl.Journal) {
	old, newer, person := open(), open(), open()
	add(t, old, 0, Created(t, Run))
	add(t, old, 1, starts(t, 1), Text(t, "of 1"))
	if _, err := old.Append(t.Context(), Run, 2, Text(t, "nobody began 2")); err == nil || errors.Is(err, pawl.ErrFenced) {
		t.Errorf("append in an epoch that nobody began: %v", err)
	}
	if _, err := newer.Append(t.Context(), Run, 1, starts(t, 1)); !errors.Is(err, pawl.ErrFenced) {
		t.Errorf("beginning epoch 1 twice: %v, want ErrFenced", err)
	}
	add(t, newer, 2, starts(t, 2))
	last := add(t, person, 0, Text(t, "of no epoch"))
	if _, err := old.Append(t.Context(), Run, 1, Text(t, "late")); !errors.Is(err, pawl.ErrFenced) || pawl.KindOf(err) != pawl.KindHeld {
		t.Errorf("append in the old epoch: %v, want ErrFenced", err)
	}
	add(t, newer, 2, Text(t, "of 2"))
	var epochs []pawl.Epoch
	for _, e := range read(t, old, 0) {
		epochs = append(epochs, e.Epoch)
	}
	if want := []pawl.Epoch{0, 1, 1, 2, 2, 2}; !slices.Equal(epochs, want) || last != 5 {
		t.Errorf("epochs %v, want %v", epochs, want)
	}
}

func refuses(t *testing.T, open func() pawl.Journal) {
	j := open()
	if _, err := j.Append(t.Context(), Run, 0, Text(t, "too early")); err == nil {
		t.Error("a journal may begin with any event")
	}
	if _, err := j.Append(t.Context(), Run, 0, Created(t, "other-20260101-000000-abcd")); err == nil {
		t.Error("a journal may begin as that of another run")
	}
	add(t, j, 0, Created(t, Run))
	for name, bad := range map[string]pawl.Event{
		"unknown type": {Type: "no.such", Data: []byte("{}")},
		"no type":      {Data: []byte("{}")},
		"no JSON":      {Type: "memory.learned", Data: []byte("{")},
		"no data":      {Type: "memory.learned"},
		"too big":      Text(t, strings.Repeat("x", 64<<10)),
		"year 10000":   {Type: "memory.learned", Data: []byte("{}"), Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		if _, err := j.Append(t.Context(), Run, 0, Text(t, "good"), bad); err == nil {
			t.Errorf("%s: appended", name)
		}
	}
	add(t, j, 0, Text(t, strings.Repeat("x", 65000)))
	if got := read(t, open(), 0); len(got) != 2 {
		t.Errorf("%d events, want 2: what is refused must leave nothing", len(got))
	}
}

func unknownRun(t *testing.T, open func() pawl.Journal) {
	j := open()
	for _, run := range []pawl.RunID{"none-20260101-000000-abcd", "", "../x"} {
		if _, err := j.Append(t.Context(), run, 0, Created(t, run)); !errors.Is(err, pawl.ErrNoRun) {
			t.Errorf("append to %q: %v, want ErrNoRun", run, err)
		}
		for _, err := range j.Read(t.Context(), run, 0) {
			if !errors.Is(err, pawl.ErrNoRun) {
				t.Errorf("read %q: %v, want ErrNoRun", run, err)
			}
		}
	}
}

func cancelled(t *testing.T, open func() pawl.Journal) {
	j := open()
	add(t, j, 0, Created(t, Run))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Append(ctx, Run, 0, Text(t, "x")); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v, want canceled", err)
	}
	for _, err := range j.Read(ctx, Run, 0) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("read: %v, want canceled", err)
		}
	}
	if got := read(t, j, 0); len(got) != 1 {
		t.Errorf("%d events, want 1", len(got))
	}
}
