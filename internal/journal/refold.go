package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
)

// A Mismatch is a stored state that does not follow from the events before it.
type Mismatch struct {
	Where  string   // the file
	Seq    pawl.Seq // the state is said to be the one after this event
	Fields []string // the fields that differ, such as "gates" or "steps.build"
}

func (m Mismatch) Error() string {
	return fmt.Sprintf("the state after event %d does not follow from the journal; these fields differ: %s", m.Seq, strings.Join(m.Fields, ", "))
}

// storedState is a state that was stored after an event.
type storedState struct {
	where string
	data  []byte // the state as JSON
}

// Refold folds the whole journal again, from the first event on, after it has verified the checksums of all segments. It
// uses neither the cache nor the states that headers name, and returns those that differ from the fold. NewEvents
// continues after the returned state.
func (l *Log) Refold(ctx context.Context) (*pawl.State, []Mismatch, error) {
	return l.refoldFrom(ctx, decodeAhead)
}

// refoldFrom is Refold of events that decode decodes.
func (l *Log) refoldFrom(ctx context.Context, decode func(iter.Seq2[pawl.Event, error]) iter.Seq[decodedEvent]) (*pawl.State, []Mismatch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(); err != nil {
		return nil, nil, fmt.Errorf("read journal: %w", err)
	}
	if l.chain.seq == 0 {
		return nil, nil, l.Empty()
	}
	l.dropEarlyCache()
	state, wrong, err := l.refold(ctx.Err, decode(l.eventsAfter(0)))
	if err == nil {
		l.delivered = l.chain.seq
	}
	return state, wrong, err
}

// QuickFold is the number of events that Refold folds in a few milliseconds. Longer journals are folded while others already use
// the state that State returned; see CheckStates.
const QuickFold = 5000

// CheckStates compares the stored states with a fold of the whole journal, while others may use the Log. A state that does not
// follow from the journal is an error of KindDamaged that wraps a Mismatch.
func (l *Log) CheckStates(ctx context.Context) error {
	other, err := Open(filepath.Dir(l.home), l.run)
	if err != nil {
		return err
	}
	defer other.Close()                                  // it has no unwritten data
	_, wrong, err := other.refoldFrom(ctx, decodeInTurn) // who waits needs the other processors
	if err != nil || len(wrong) == 0 {
		return err
	}
	return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s: %w", wrong[0].Where, wrong[0])}
}

// CheckAndDiscardStates is CheckStates that moves a wrong state aside, so that the next call of State does not use it.
func (l *Log) CheckAndDiscardStates(ctx context.Context) error {
	err := l.CheckStates(ctx)
	wrong, found := errors.AsType[Mismatch](err)
	if !found {
		return err
	}
	aside := l.cachePath() + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000Z")
	if renameErr := disk.Rename(wrong.Where, aside); renameErr != nil && !errors.Is(renameErr, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("move the wrong state aside: %w", renameErr))
	}
	return err
}

// refold folds all known events and compares the stored states on the way. It ends when canceled returns an error.
func (l *Log) refold(canceled func() error, events iter.Seq[decodedEvent]) (*pawl.State, []Mismatch, error) {
	stored := l.storedStates()
	state := pawl.NewState()
	var wrong []Mismatch
	for event := range events {
		if err := cmp.Or(event.unread, canceled()); err != nil {
			return nil, nil, fmt.Errorf("fold journal: %w", err)
		}
		state.ApplyDecoded(event.Event, event.payload, event.err)
		for _, s := range stored[event.Seq] {
			fields, err := differences(state, s.data)
			if err != nil {
				return nil, nil, fmt.Errorf("compare %s: %w", s.where, err)
			}
			if len(fields) > 0 {
				wrong = append(wrong, Mismatch{Where: s.where, Seq: event.Seq, Fields: fields})
			}
		}
	}
	return state, wrong, nil
}

// storedStates returns the cache, if State would use it, and the states that headers name, by event.
func (l *Log) storedStates() map[pawl.Seq][]storedState {
	stored := map[pawl.Seq][]storedState{}
	if data, err := disk.ReadFile(l.cachePath(), disk.CacheLimit); err == nil && sumMatches(data) {
		var c struct {
			cached
			State json.RawMessage `json:"state"`
		}
		if json.Unmarshal(data, &c) == nil {
			c.cached.State = &pawl.State{Seq: c.Seq}
			if l.agrees(&c.cached) {
				stored[c.Seq] = append(stored[c.Seq], storedState{l.cachePath(), c.State})
			}
		}
	}
	froms := []*origin{l.origin}
	for _, s := range l.sealed {
		if from, err := s.read(l.run); err == nil {
			froms = append(froms, from)
		}
	}
	for _, from := range froms {
		if from == nil || from.Fold == nil || from.Fold.Version != cacheVersion {
			continue
		}
		if data, err := l.Blob(from.Fold.State); err == nil { // a missing one is reported with the blobs
			where := filepath.Join(l.home, blobFolder, from.Fold.State)
			stored[from.First-1] = append(stored[from.First-1], storedState{where, data})
		}
	}
	return stored
}

// differences returns the names of the fields in which a stored state differs from the folded one.
func differences(state *pawl.State, data []byte) ([]string, error) {
	folded, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(folded, data) {
		return nil, nil
	}
	other := pawl.NewState()
	if err := json.Unmarshal(data, other); err != nil {
		return []string{"all: " + err.Error()}, nil
	}
	if data, err = json.Marshal(other); err != nil || bytes.Equal(folded, data) {
		return nil, err
	}
	return differingFields("", folded, data), nil
}

// maxFields is how many differing fields a Mismatch names.
const maxFields = 10

// differingFields compares two JSON objects, and one level deeper the maps of steps, sessions and operations.
func differingFields(prefix string, a, b []byte) []string {
	var left, right map[string]json.RawMessage
	if json.Unmarshal(a, &left) != nil || json.Unmarshal(b, &right) != nil {
		return []string{strings.TrimSuffix(prefix, ".")}
	}
	all := maps.Clone(right)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, left)
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case bytes.Equal(left[name], right[name]):
		case prefix == "" && slices.Contains([]string{"steps", "sessions", "operations"}, name) && left[name] != nil && right[name] != nil:
			fields = append(fields, differingFields(name+".", left[name], right[name])...)
		default:
			fields = append(fields, prefix+name)
		}
	}
	if len(fields) > maxFields {
		fields = append(fields[:maxFields], fmt.Sprintf("and %d more", len(fields)-maxFields))
	}
	return fields
}

// folds compares the cache and the states that headers name with a fold of the whole journal.
func (c *checker) folds() {
	if c.chain.seq == 0 || slices.ContainsFunc(c.findings, func(f pawl.Finding) bool { return f.Level == pawl.Bad }) {
		return
	}
	l, err := Open(filepath.Dir(c.home), c.run())
	if err != nil {
		c.report(pawl.Bad, c.path, "%v", err)
		return
	}
	defer l.Close() // it has no unwritten data
	_, wrong, err := l.refold(func() error { return nil }, decodeAhead(l.eventsAfter(0)))
	if err != nil {
		c.report(pawl.Bad, c.path, "%v", err)
	}
	for _, m := range wrong {
		c.report(pawl.Bad, m.Where, "%v", m)
	}
}

// dropEarlyCache waits for a cache that is being read for the first call of State, and forgets it.
func (l *Log) dropEarlyCache() {
	if l.early != nil {
		<-l.early
		l.early = nil
	}
}

// Gated reports whether the journal has events of gates, blockers, budgets, reviews or rollbacks, according to the event
// types alone.
func (l *Log) Gated() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.marks.Gated
}

// PlanHash returns the SHA-256 of the run's current plan, according to its last run.planned event alone; "" if there is none.
func (l *Log) PlanHash() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.marks.Plan
}
