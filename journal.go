package pawl

import (
	"context"
	"iter"
)

// A Journal keeps the events of runs, in order, for ever.
type Journal interface {
	// Append adds events to run as one batch and returns the last one's number. Once it returns nil they survive a
	// power cut; after an error any prefix may be there, so read before appending again. Epoch 0 is for authors other
	// than an engine: the journal's own epoch is written. ErrFenced: a newer epoch is there, and nothing was written.
	// ErrNewer: the journal holds events of a newer pawl, and nothing was written. Safe for concurrent use.
	Append(ctx context.Context, run RunID, epoch Epoch, events ...Event) (Seq, error)
	// Read yields the events after seq. A torn tail is not an event; any other damage ends the sequence with an error
	// of KindDamaged that names line and byte.
	Read(ctx context.Context, run RunID, after Seq) iter.Seq2[Event, error]
}
