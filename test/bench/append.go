package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
)

// lineSize is what a 300-byte event comes to on disk.
const lineSize = 300

// bare is the yardstick of all that is durable: the same number of bytes, written and synced, and nothing else.
type bare struct {
	disk.File
	line   []byte
	offset int64
}

func (b *bench) bareFile() (*bare, error) {
	f, err := os.CreateTemp(b.dir, "bare-")
	return &bare{File: disk.File{File: f}, line: bytes.Repeat([]byte("x"), lineSize)}, err
}

// append writes n lines at once.
func (f *bare) append(n int) error {
	data := bytes.Repeat(f.line, n)
	if _, err := f.WriteAt(data, f.offset); err != nil {
		return err
	}
	f.offset += int64(len(data))
	return f.Sync()
}

func (f *bare) appendOne() error { return f.append(1) }

// journalOf makes a run in a folder of its own and begins its journal.
func (b *bench) journalOf(name string) (*journal.Log, error) {
	run := pawl.NewRunID(name, time.Now(), "0000")
	log, err := journal.Create(filepath.Join(b.dir, name), run)
	if err != nil {
		return nil, err
	}
	created, err := event(pawl.RunCreated{Format: pawl.Format, Run: run, Kind: pawl.PlanRun, Name: name})
	if err == nil {
		_, err = log.Append(b, 0, created)
	}
	return log, err
}

func event(p pawl.Payload) (pawl.Event, error) {
	return pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p)
}

// event300 is an event whose line takes about lineSize bytes.
func event300() (pawl.Event, error) {
	return event(pawl.DecisionMade{Decision: pawl.Decision{Choice: strings.Repeat("m", 133)}})
}

// appends is row 1.
func (b *bench) appends() ([]line, error) {
	log, err := b.journalOf("appends")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	f, err := b.bareFile()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	e, err := event300()
	if err != nil {
		return nil, err
	}
	m, err := inTurns(b.full(1500, 50), 1, timed(func() error { _, err := log.Append(b, 0, e); return err }), timed(f.appendOne))
	return []line{m.line("durable append of a 300-byte event", "bare write + fdatasync", goal{ratio: 1.15})}, err
}

// writers is how many goroutines append at a time in row 2.
const writers = 8

// sharedAppends is row 2.
func (b *bench) sharedAppends() ([]line, error) {
	log, err := b.journalOf("shared")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	e, err := event300()
	if err != nil {
		return nil, err
	}
	f, err := b.bareFile()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	loop := newSyncLoop(f)
	defer loop.close()
	const n = 10 * writers
	m, err := inTurns(b.full(100, 5), n, timed(func() error {
		return byWriters(n, func() error { _, err := log.Append(b, 0, e); return err })
	}), timed(func() error { return byWriters(n, loop.append) }))
	work := fmt.Sprintf("%d goroutines append", writers)
	return []line{m.line(work, "the same goroutines share one bare fdatasync loop", goal{rate: 0.8})}, err
}

// byWriters calls do n times in as many goroutines as there are writers.
func byWriters(n int, do func() error) error {
	errs := make([]error, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for k := i; k < n && errs[i] == nil; k += writers {
				errs[i] = do()
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// syncLoop is the least that lets goroutines share syncs: one of them writes and syncs all that waits.
type syncLoop struct {
	calls chan chan error
	ended chan struct{}
}

func newSyncLoop(f *bare) *syncLoop {
	l := &syncLoop{calls: make(chan chan error, writers), ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		for first := range l.calls {
			group := []chan error{first}
			for len(l.calls) > 0 {
				group = append(group, <-l.calls)
			}
			err := f.append(len(group))
			for _, done := range group {
				done <- err
			}
		}
	}()
	return l
}

func (l *syncLoop) append() error {
	done := make(chan error, 1)
	l.calls <- done
	return <-done
}

func (l *syncLoop) close() {
	close(l.calls)
	<-l.ended
}
