package journal

import (
	"iter"
	"sync"

	"pawl"
)

// decodedEvent is an event and what its Payload returned.
type decodedEvent struct {
	pawl.Event
	payload pawl.Payload
	err     error
	unread  error // why there is no event
}

func (d *decodedEvent) decode() {
	if d.unread == nil {
		d.payload, d.err = d.Payload()
	}
}

// decodeInTurn decodes each event when it is asked for.
func decodeInTurn(events iter.Seq2[pawl.Event, error]) iter.Seq[decodedEvent] {
	return func(yield func(decodedEvent) bool) {
		for event, err := range events {
			d := decodedEvent{Event: event, unread: err}
			if d.decode(); !yield(d) {
				return
			}
		}
	}
}

// Of decodeAhead: how many events are decoded together, and how many times that many before they are asked for.
const (
	decodedTogether = 64
	decodedAhead    = 4
)

// decodeAhead is decodeInTurn that reads and decodes the next events meanwhile, on other processors.
func decodeAhead(events iter.Seq2[pawl.Event, error]) iter.Seq[decodedEvent] {
	return func(yield func(decodedEvent) bool) {
		var workers sync.WaitGroup
		batches, quit := make(chan chan []decodedEvent, decodedAhead), make(chan struct{})
		defer workers.Wait()
		defer close(quit)
		workers.Go(func() {
			defer close(batches)
			for batch := range inBatches(events) {
				decoded := make(chan []decodedEvent, 1)
				workers.Go(func() {
					for i := range batch {
						batch[i].decode()
					}
					decoded <- batch
				})
				select {
				case batches <- decoded:
				case <-quit:
					return
				}
			}
		})
		for decoded := range batches {
			for _, d := range <-decoded {
				if !yield(d) {
					return
				}
			}
		}
	}
}

func inBatches(events iter.Seq2[pawl.Event, error]) iter.Seq[[]decodedEvent] {
	return func(yield func([]decodedEvent) bool) {
		batch := make([]decodedEvent, 0, decodedTogether)
		for event, err := range events {
			if batch = append(batch, decodedEvent{Event: event, unread: err}); len(batch) < decodedTogether {
				continue
			}
			if !yield(batch) {
				return
			}
			batch = make([]decodedEvent, 0, decodedTogether)
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}
