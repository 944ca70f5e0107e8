package journal

import (
	"context"
	"fmt"

	"pawl"
)

// AppendLater is like Append, but the events need not survive a power failure before the next Append or Sync of this Log returns. Until
// then nothing may be done that they are the reason for. The next events are added to their batch, unless somebody else appends first.
func (l *Log) AppendLater(ctx context.Context, epoch pawl.Epoch, events ...pawl.Event) (pawl.Seq, error) {
	return l.append(ctx, epoch, events, true)
}

// Sync makes durable what AppendLater has written.
func (l *Log) Sync(ctx context.Context) error {
	l.mu.Lock()
	waits := l.open > 0 && l.synced < l.open
	l.mu.Unlock()
	if !waits {
		return nil
	}
	if err := l.commit(ctx, nil); err != nil {
		return fmt.Errorf("append to %s: %w", l.path(), err)
	}
	return nil
}

// maySyncLater reports whether a group that ends the journal at next need not be synced now. The first batch of a segment is always synced,
// and the one that makes it due to be sealed.
func (l *Log) maySyncLater(s *submission, next chain) bool {
	for _, a := range s.group {
		if !a.later && a.err == nil {
			return false
		}
	}
	return len(s.group) > 0 && l.commits == nil && l.placeIn == "" && l.chain.end > l.head && !l.sealDue(l.chain.end, next.end)
}

// nextBatch returns the number of the batch to which the next line belongs: the last one, if it waits for its sync.
func (l *Log) nextBatch() pawl.Seq {
	if l.open > 0 && l.open == l.chain.end && l.synced < l.open {
		return l.chain.batch
	}
	return l.chain.seq + 1
}
