//go:build linux

package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// lineOf300 is what a 300-byte event comes to on disk.
const lineOf300 = 300

// bare is the yardstick of durable appends: the same bytes, written and synced, and nothing else.
type bare struct {
	*os.File
	line   []byte
	offset int64
}

func newBare(b *testing.B) *bare {
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return &bare{File: f, line: []byte(strings.Repeat("x", lineOf300-1) + "\n")}
}

func (f *bare) append(b *testing.B, n int) {
	data := []byte(strings.Repeat(string(f.line), n))
	if _, err := f.WriteAt(data, f.offset); err != nil {
		b.Error(err)
	}
	f.offset += int64(len(data))
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		b.Error(err)
	}
}

func event300(b testing.TB) pawl.Event {
	return journaltest.Text(b, strings.Repeat("m", 120))
}

func BenchmarkAppend(b *testing.B) {
	b.Run("journal", func(b *testing.B) {
		log := newRun(b)
		e := event300(b)
		for b.Loop() {
			if _, err := log.Append(b.Context(), 0, e); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(log.bytes(b)))/float64(log.Seq()), "bytes/line")
	})
	b.Run("bare", func(b *testing.B) {
		f := newBare(b)
		for b.Loop() {
			f.append(b, 1)
		}
	})
}

func BenchmarkAppendBy8(b *testing.B) {
	b.Run("journal", func(b *testing.B) {
		log := newRun(b)
		e := event300(b)
		by8(b, func() {
			if _, err := log.Append(b.Context(), 0, e); err != nil {
				b.Error(err)
			}
		})
	})
	b.Run("bare", func(b *testing.B) {
		f := newBare(b)
		calls := make(chan chan struct{}, 8)
		go func() {
			for first := range calls {
				group := []chan struct{}{first}
				for len(calls) > 0 {
					group = append(group, <-calls)
				}
				f.append(b, len(group))
				for _, done := range group {
					done <- struct{}{}
				}
			}
		}()
		defer close(calls)
		by8(b, func() {
			done := make(chan struct{}, 1)
			calls <- done
			<-done
		})
	})
}

// by8 calls do b.N times in eight goroutines.
func by8(b *testing.B, do func()) {
	b.ResetTimer()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := i; n < b.N; n += 8 {
				do()
			}
		})
	}
	all.Wait()
}

// BenchmarkOpen opens a run of 1,000 steps, 20,000 items and 100,000 events.
func BenchmarkOpen(b *testing.B) {
	log := newRun(b)
	fill(b, log)
	state, err := log.State(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	open := func(b *testing.B) {
		for b.Loop() {
			log, err := journal.Open(log.folder, runID)
			if err != nil {
				b.Fatal(err)
			}
			state, err := log.State(b.Context())
			if err != nil || state.Seq != log.Seq() {
				b.Fatal(state.Seq, err)
			}
			log.Close()
		}
	}
	b.Run("uncached", open)
	if err := log.SaveState(state); err != nil {
		b.Fatal(err)
	}
	b.Run("cached", open)
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			log, err := journal.Open(log.folder, runID)
			if err != nil {
				b.Fatal(err)
			}
			log.Close()
		}
	})
	b.Run("readfile", func(b *testing.B) {
		for b.Loop() {
			data, err := os.ReadFile(log.path())
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			runtime.KeepAlive(data)
		}
	})
}

// fill makes the run that BenchmarkOpen opens.
func fill(b *testing.B, log *run) {
	events := make([]pawl.Event, 0, 1<<17)
	say := func(p pawl.Payload) { events = append(events, journaltest.Event(b, p)) }
	key := pawl.Key{Definition: strings.Repeat("d", 64)}
	outputs := pawl.Outputs{"out/of/this/step.txt": {SHA256: strings.Repeat("a", 64)}}
	for i := range 1000 {
		step := pawl.StepID(fmt.Sprintf("step-%d", i))
		ref := pawl.AttemptRef{Step: step, Attempt: 1, Token: "0123456789abcdef"}
		if i%50 == 0 {
			say(pawl.StepListed{Step: step, Key: key, Items: make([]string, 1000)})
			for item := range 1000 {
				ref.Item, ref.Index = pawl.ItemID(fmt.Sprint(item)), item
				say(pawl.AttemptStarted{AttemptRef: ref, Key: key})
				say(pawl.Progressed{AttemptRef: ref, Text: "half of it"})
				say(pawl.ItemDone{AttemptRef: ref, Key: key, Outputs: outputs})
			}
			say(pawl.StepDone{Step: step, Key: key, Digest: strings.Repeat("a", 64)})
			continue
		}
		say(pawl.AttemptStarted{AttemptRef: ref, Key: key})
		for range 38 {
			say(pawl.Progressed{AttemptRef: ref, Text: "on and on with some more words about it, so that it is as long as it would be"})
		}
		say(pawl.StepDone{Step: step, Attempt: 1, Token: ref.Token, Key: key, Outputs: outputs})
	}
	if _, err := log.Append(b.Context(), 0, events...); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d events, %d bytes", log.Seq(), len(log.bytes(b)))
}
