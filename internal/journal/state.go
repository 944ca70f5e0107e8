package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
)

// cacheVersion is raised whenever State or its fold changes, so that no older cache is believed.
const cacheVersion = 21

// cached is what state.json holds: the fold of the journal up to one event, and what shows that it is of this journal.
type cached struct {
	Version int         `json:"version"`
	Seq     pawl.Seq    `json:"seq"`
	Offset  int64       `json:"offset"` // where event Seq ends
	CRC     string      `json:"crc"`    // of event Seq
	State   *pawl.State `json:"state"`
	// and last "sum", over all bytes before it
}

// sumLabel goes before the cache's own checksum: CRC-32C as 8 hex digits, then a quote and a brace.
const sumLabel = `,"sum":"`

// summed adds the checksum to a cache.
func summed(data []byte) []byte {
	data = data[:len(data)-1] // the brace
	return fmt.Appendf(data, "%s%08x\"}", sumLabel, crc32.Checksum(data, castagnoli()))
}

// sumHolds reports whether a cache is as it was written.
func sumHolds(data []byte) bool {
	at := len(data) - len(sumLabel) - 8 - len(`"}`)
	return at > 0 && string(data[at:]) == fmt.Sprintf("%s%08x\"}", sumLabel, crc32.Checksum(data[:at], castagnoli()))
}

func (l *Log) cachePath() string { return filepath.Join(l.home, "state.json") }

// State returns the fold of the whole journal; News goes on from there. It decodes only what follows the cached
// state, where there is one that is beyond doubt. A journal without any event gives ErrEmpty.
func (l *Log) State(ctx context.Context) (*pawl.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(); err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	if l.chain.seq == 0 {
		return nil, l.Empty()
	}
	state := l.cachedState()
	if err := l.fold(ctx, state); err != nil {
		return nil, err
	}
	l.delivered = l.chain.seq
	return state, nil
}

// Empty says that the journal has too little to be a run's: ErrEmpty, unless what its events led to is still there. Then
// they were acknowledged, and are lost.
func (l *Log) Empty() error {
	if !outlived(l.home) {
		return fmt.Errorf("run %s: %w", l.run, ErrEmpty)
	}
	return &pawl.Error{
		Kind: pawl.KindDamaged, Hint: "pawl recover " + string(l.run),
		Err: fmt.Errorf("the journal of run %s is cut off before its first event is whole, and more was done", l.run),
	}
}

// cachedState returns the cached state, or at the least doubt an empty one.
func (l *Log) cachedState() *pawl.State {
	var c *cached
	if l.early != nil {
		c, l.early = <-l.early, nil
	} else {
		c = readCache(l.cachePath())
	}
	if c == nil || c.State == nil || c.Version != cacheVersion || c.State.Seq != c.Seq {
		return pawl.NewState()
	}
	if crc, err := l.sumAt(c.Seq); err != nil || l.ends[c.Seq-1] != c.Offset || crc != c.CRC {
		return pawl.NewState()
	}
	l.cached = c.Seq
	return c.State
}

// Uncached returns how many events follow the cached state: what the next State has to decode.
func (l *Log) Uncached() pawl.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.seq - l.cached
}

// readCache returns what the cache says, nil where it cannot be read.
func readCache(path string) *cached {
	data, err := os.ReadFile(path)
	if err != nil || !sumHolds(data) {
		return nil
	}
	c := cached{State: pawl.NewState()}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil
	}
	return &c
}

// readCacheEarly reads the cache of a long journal while that is being checked, for the first call of State.
func (l *Log) readCacheEarly() {
	if info, err := l.file.Stat(); err != nil || info.Size() < 2*minPart {
		return
	}
	early := make(chan *cached, 1)
	l.early = early
	l.helpers.Go(func() { early <- readCache(l.cachePath()) })
}

// SaveState caches the fold up to state.Seq. It is not synced: a cache that is lost is made again.
func (l *Log) SaveState(state *pawl.State) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	crc, err := l.sumAt(state.Seq)
	if err != nil {
		return fmt.Errorf("cache state: %w", err)
	}
	data, err := json.Marshal(cached{Version: cacheVersion, Seq: state.Seq, Offset: l.ends[state.Seq-1], CRC: crc, State: state})
	if err != nil {
		return fmt.Errorf("cache state: %w", err)
	}
	if err := disk.Put(l.cachePath(), summed(data)); err != nil {
		return err
	}
	l.cached = state.Seq
	return nil
}

// sumAt returns the checksum of an event's line.
func (l *Log) sumAt(seq pawl.Seq) (string, error) {
	if seq < 1 || seq > l.chain.seq {
		return "", fmt.Errorf("there is no event %d", seq)
	}
	var crc sum
	if _, err := l.file.ReadAt(crc[:], l.ends[seq-1]-int64(len(crc)+len(lineEnd))); err != nil {
		return "", err
	}
	return string(crc[:]), nil
}
