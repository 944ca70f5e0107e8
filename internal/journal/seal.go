package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// sealDue reports whether a batch that grew the open segment from one size to another makes it due to be sealed. After a
// failure it is due again when it has grown by another sixteenth.
func (l *Log) sealDue(before, after int64) bool {
	if after < l.limit {
		return false
	}
	step := max(1, l.limit/16)
	return before < l.limit || (before-l.limit)/step != (after-l.limit)/step
}

// seal seals the open segment: it gets a name of its own, and a new journal.jsonl begins, whose header names the state up
// to there. After a crash between any two calls the journal is complete: until the last rename the old file is the open
// segment, and its second name is ignored.
func (l *Log) seal(ctx context.Context) error {
	first := l.first
	state := l.foldedBefore()
	if err := l.fold(ctx, state); err != nil { // most of the work, before others must wait
		return err
	}
	unlock, err := l.lock(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.prepareWrite(); err != nil || l.first != first || l.chain.end < l.limit {
		return err // another process was faster
	}
	if l.commits != nil { // the commit log does not restore sealed segments
		if err := l.syncOwn(); err != nil {
			return err
		}
	}
	if l.synced != l.chain.end {
		buf, err := l.lastBatch()
		if err != nil {
			return err
		}
		if err := l.writeDurably(buf, l.chain.end); err != nil {
			return err
		}
		l.synced = l.chain.end
	}
	if err := l.fold(ctx, state); err != nil {
		return err
	}
	if err := l.rollOver(state); err != nil {
		return err
	}
	_, err = l.advance()
	return err
}

// sealNow is seal for callers that do not hold l.mu.
func (l *Log) sealNow(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seal(ctx)
}

// rollOver writes the next segment with only a header, and gives both files their names.
func (l *Log) rollOver(state *pawl.State) error {
	line, err := l.nextHeader(state)
	if err != nil {
		return err
	}
	next := filepath.Join(l.home, ".journal.next")
	if err := disk.Replace(next, line); err != nil {
		return err
	}
	if err := l.linkSealed(); err != nil {
		return err
	}
	return disk.Rename(next, l.path())
}

// nextHeader stores the state and returns the first line of the segment after the open one.
func (l *Log) nextHeader(state *pawl.State) ([]byte, error) {
	data, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("store the state: %w", err)
	}
	name, err := l.putBlobFile(data)
	if err != nil {
		return nil, err
	}
	event, err := encode(headerEvent(header{Format: segmentFormat, Run: l.run, Segment: &origin{
		First: l.chain.seq + 1, Previous: l.first, Length: l.chain.end, LastCRC: string(l.chain.sum[:]),
		Fold: &fold{Version: cacheVersion, State: name}, marks: l.marks,
	}}))
	if err != nil {
		return nil, err
	}
	start := chain{sum: noSum}
	return start.add(nil, 1, l.chain.epoch, time.Now(), event), nil
}

func headerEvent(h header) pawl.Event {
	data, err := json.Marshal(h)
	if err != nil {
		panic("a header is plain data: " + err.Error())
	}
	return pawl.Event{By: pawl.Author{Kind: pawl.ByEngine, Name: "journal"}, Type: pawl.RunCreated{}.Event(), Data: data}
}

// linkSealed gives the open segment the name of a sealed one. Files with names of the same or later events are left from
// a rebuilt journal; they are moved aside.
func (l *Log) linkSealed() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	entries, err := disk.ReadDir(l.home)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		n, path := firstOf(entry.Name()), filepath.Join(l.home, entry.Name())
		if n < l.first {
			continue
		}
		if other, err := disk.Lstat(path); err == nil && n == l.first && os.SameFile(info, other) {
			return disk.SyncFolder(l.home) // linked by a process that died then
		}
		if err := disk.Rename(path, damagedName(l.home, n)); err != nil {
			return err
		}
	}
	return disk.Link(l.path(), filepath.Join(l.home, sealedName(l.first)))
}

// foldedBefore returns the state before the open segment, as its header names it. If that is not certainly valid, it
// returns an empty state, from which the whole journal is folded.
func (l *Log) foldedBefore() *pawl.State {
	if l.origin == nil || l.origin.Fold == nil || l.origin.Fold.Version != cacheVersion {
		return pawl.NewState()
	}
	data, err := l.Blob(l.origin.Fold.State)
	if err != nil {
		return pawl.NewState()
	}
	state := pawl.NewState()
	if err := json.Unmarshal(data, state); err != nil || state.Seq != l.first-1 {
		return pawl.NewState()
	}
	return state
}
