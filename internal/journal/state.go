package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
)

// cacheVersion must be raised whenever State or its fold changes, to invalidate older caches.
const cacheVersion = 39

// longCache is the size of a cache from which on it is worth a goroutine of its own, in bytes.
const longCache = 64 << 10

// cached is the content of state.json: the state up to one event, and what ties it to this journal.
type cached struct {
	Version int         `json:"version"`
	Seq     pawl.Seq    `json:"seq"`
	Segment pawl.Seq    `json:"segment,omitempty"` // number of the first event in the segment's file; 0: the first segment
	Offset  int64       `json:"offset"`            // offset there after event Seq
	CRC     string      `json:"crc"`               // checksum of event Seq
	State   *pawl.State `json:"state"`
	// The last field in the file is "sum", over all bytes before it.
}

// sumLabel precedes the cache's checksum: CRC-32C as 8 hex digits, then a quote and a brace.
const sumLabel = `,"sum":"`

// addSum adds the checksum to a cache.
func addSum(data []byte) []byte {
	data = data[:len(data)-1] // without the closing brace
	return fmt.Appendf(data, "%s%08x\"}", sumLabel, crc32.Checksum(data, castagnoli()))
}

// sumMatches reports whether a cache matches its checksum.
func sumMatches(data []byte) bool {
	at := len(data) - len(sumLabel) - 8 - len(`"}`)
	return at > 0 && string(data[at:]) == fmt.Sprintf("%s%08x\"}", sumLabel, crc32.Checksum(data[:at], castagnoli()))
}

func (l *Log) cachePath() string { return filepath.Join(l.home, "state.json") }

// A Known state follows a line of a journal: its user folded that journal once, and has kept it since where nobody else writes.
type Known struct {
	State   *pawl.State
	Segment pawl.Seq // number of the first event in the segment's file
	Offset  int64    // offset there after event State.Seq
	CRC     string   // checksum of that event

	Cache string // SHA-256 of the cached state that the user has written; "" if it is unknown
}

// Known returns what the caller needs to keep about a state that it has folded.
func (l *Log) Known(state *pawl.State) (Known, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.read()
	if err == nil && state.Seq < l.first-1 {
		err = errors.New("the state is of an earlier segment")
	}
	if err != nil {
		return Known{}, err
	}
	crc, err := l.sumAt(state.Seq)
	return Known{State: state, Segment: l.first, Offset: l.endOf(state.Seq), CRC: crc}, err
}

// Proven reports whether the last call of StateAfter has folded the journal, from the caller's known state on or from the first event,
// without the cached state, which others may have written.
func (l *Log) Proven() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.proven
}

// State returns the state after all events; NewEvents continues from there. If there is a valid cached state, it
// decodes only the events after that. For a journal without events it returns ErrEmpty.
func (l *Log) State(ctx context.Context) (*pawl.State, error) { return l.StateAfter(ctx, nil) }

// StateAfter is State for a caller that keeps states: known has the last one, which it gives away, or none. If that does not fit, a short
// journal is folded from its first event; only a long one from the cached state.
func (l *Log) StateAfter(ctx context.Context, known *Known) (*pawl.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(); err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	if l.chain.seq == 0 {
		return nil, l.Empty()
	}
	state := l.stateBefore(known)
	if err := l.fold(ctx, state); err != nil {
		return nil, err
	}
	l.delivered = l.chain.seq
	return state, nil
}

// Empty returns the error for a journal without a complete first event: ErrEmpty, or damage if files exist that follow
// the first events, because then events were acknowledged and lost.
func (l *Log) Empty() error {
	if l.stale != nil {
		return fmt.Errorf("run %s: %w", l.run, l.stale)
	}
	if !hasTraces(l.home) {
		return fmt.Errorf("run %s: %w", l.run, ErrEmpty)
	}
	return &pawl.Error{
		Kind: pawl.KindDamaged, Hint: "pawl recover " + string(l.run),
		Err: fmt.Errorf("the journal of run %s is truncated within its first event, although the run did more", l.run),
	}
}

// stateBefore returns a state from which the fold continues.
func (l *Log) stateBefore(known *Known) *pawl.State {
	if known != nil && known.State != nil {
		c := cached{Version: cacheVersion, Seq: known.State.Seq, Segment: known.Segment, Offset: known.Offset, CRC: known.CRC, State: known.State}
		if l.proven = l.agrees(&c); l.proven {
			return known.State
		}
	}
	if known != nil && known.Cache != "" {
		if c := readCache(l.cachePath(), known.Cache); l.agrees(c) {
			l.proven, l.cached = true, c.Seq
			return c.State
		}
	}
	state := pawl.NewState()
	if known == nil || l.chain.seq > QuickFold {
		state = l.cachedState()
	}
	l.proven = state.Seq == 0
	return state
}

// cachedState returns the cached state. If the cache is not certainly valid, it returns the state before the open
// segment.
func (l *Log) cachedState() *pawl.State {
	var c *cached
	if l.early != nil {
		c, l.early = <-l.early, nil
	} else {
		c = readCache(l.cachePath(), "")
	}
	if !l.agrees(c) {
		return l.foldedBefore()
	}
	l.cached = c.Seq
	return c.State
}

// agrees reports whether a cache belongs to this journal and its open segment.
func (l *Log) agrees(c *cached) bool {
	if c == nil || c.State == nil || c.Version != cacheVersion || c.State.Seq != c.Seq || max(c.Segment, 1) != l.first {
		return false
	}
	crc, err := l.sumAt(c.Seq)
	return err == nil && l.endOf(c.Seq) == c.Offset && crc == c.CRC
}

// Uncached returns the number of events after the cached state, which the next call of State decodes.
func (l *Log) Uncached() pawl.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.seq - l.cached
}

// readCache reads the cache; nil if it is unreadable, or has not the SHA-256 that is given.
func readCache(path, sha string) *cached {
	data, err := disk.ReadFile(path, disk.CacheLimit)
	if err != nil || !sumMatches(data) || sha != "" && sha != hashOf(data) {
		return nil
	}
	c := cached{State: pawl.NewState()}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil
	}
	if c.State == nil || !isWhole(c.State) {
		return nil
	}
	return &c
}

// isWhole reports whether a decoded state has no entries that a fold never makes: ids of steps become names of folders, and
// no entry is null.
func isWhole(s *pawl.State) bool {
	for step, st := range s.Steps {
		if _, err := pawl.ParseStepID(string(step)); err != nil || st == nil {
			return false
		}
	}
	for _, session := range s.Sessions {
		if session == nil {
			return false
		}
	}
	for _, operation := range s.Operations {
		if operation == nil {
			return false
		}
	}
	return true
}

// readCacheEarly reads the cache while the journal is being verified, for the first call of State, if one of them is long.
func (l *Log) readCacheEarly() {
	info, err := l.file.Stat()
	if err != nil || info.Size() < 2*minPart {
		if info, err = disk.Lstat(l.cachePath()); err != nil || info.Size() < longCache {
			return
		}
	}
	early := make(chan *cached, 1)
	l.early = early
	l.background.Go(func() { early <- readCache(l.cachePath(), "") })
}

// SaveState caches the state up to state.Seq, without syncing: a lost cache is rebuilt.
func (l *Log) SaveState(state *pawl.State) error {
	_, err := l.SaveStateAs(state)
	return err
}

// SaveStateAs is SaveState that returns what Known.Cache is from then on; "" if nothing was written.
func (l *Log) SaveStateAs(state *pawl.State) (sha string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(); err != nil {
		return "", fmt.Errorf("cache state: %w", err)
	}
	if l.segmentOf(state.Seq) != nil && state.Seq != l.first-1 {
		return "", nil // the open segment's header names a later state
	}
	crc, err := l.sumAt(state.Seq)
	if err != nil {
		return "", fmt.Errorf("cache state: %w", err)
	}
	c := cached{Version: cacheVersion, Seq: state.Seq, Offset: l.endOf(state.Seq), CRC: crc, State: state}
	if l.first > 1 {
		c.Segment = l.first
	}
	data, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("cache state: %w", err)
	}
	data = addSum(data)
	if err := disk.Put(l.cachePath(), data); err != nil {
		return "", err
	}
	l.cached = state.Seq
	return hashOf(data), nil
}

// sumAt returns the checksum of an event's line in the open segment. For the event before the first one there it returns
// the header's.
func (l *Log) sumAt(seq pawl.Seq) (string, error) {
	if seq < 1 || seq < l.first-1 || seq > l.chain.seq {
		return "", fmt.Errorf("no event %d", seq)
	}
	var crc sum
	if _, err := l.file.ReadAt(crc[:], l.endOf(seq)-int64(len(crc)+len(lineEnd))); err != nil {
		return "", err
	}
	return string(crc[:]), nil
}
