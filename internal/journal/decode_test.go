package journal

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"

	"pawl"
)

// Events decoded ahead are those decoded in turn, also unreadable ones, wherever the caller stops.
func TestDecodeAhead(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, n := range []int{0, 1, decodedTogether - 1, decodedTogether, decodedTogether + 1, 20 * decodedTogether} {
		read, stopped := 0, 0
		events := func(yield func(pawl.Event, error) bool) {
			defer func() { stopped++ }()
			for i := range n {
				read++
				if !yield(numbered(i), nil) {
					return
				}
			}
			yield(pawl.Event{}, broken)
		}
		want := slices.Collect(decodeInTurn(events))
		got := slices.Collect(decodeAhead(events))
		if !reflect.DeepEqual(got, want) || len(got) != n+1 || got[n].unread != broken {
			t.Errorf("%d events: %+v, want %+v", n, got, want)
		}
		for _, some := range []int{1, n / 2, n} {
			read, stopped = 0, 0
			if got := slices.Collect(upTo(decodeAhead(events), some)); !reflect.DeepEqual(got, want[:len(got)]) {
				t.Errorf("%d of %d events: %+v", some, n, got)
			}
			if most := some + (decodedAhead+3)*decodedTogether; stopped != 1 || read > most {
				t.Errorf("%d of %d events: %d read, want at most %d; reading ended %d times", some, n, read, most, stopped)
			}
		}
	}
}

// numbered returns an event; every fifth fits no type, or has data that cannot be decoded.
func numbered(i int) pawl.Event {
	e := pawl.Event{Seq: pawl.Seq(i + 1), Type: pawl.RunPaused{}.Event(), Data: fmt.Appendf(nil, `{"why":"%d"}`, i)}
	switch i % 10 {
	case 4:
		e.Type = "unknown"
	case 9:
		e.Data = []byte("[")
	}
	return e
}

func upTo(events iter.Seq[decodedEvent], n int) iter.Seq[decodedEvent] {
	return func(yield func(decodedEvent) bool) {
		for e := range events {
			if n--; !yield(e) || n <= 0 {
				return
			}
		}
	}
}
