//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"pawl/test/machines/machine"
)

// partition cuts the network somewhere, and heals it after a while.
func (s *striker) partition() error {
	home, _ := s.place()
	engine, worker := s.engines[home], s.workers[s.dice.IntN(workers)]
	outage := time.Second + time.Duration(s.dice.IntN(int(7*time.Second)))
	switch s.dice.IntN(8) {
	case 0, 1:
		outage += 15 * time.Second
	case 2: // longer than any lease
		outage += 65 * time.Second
	}
	cuts := []struct {
		kind       string
		one, other *machine.Machine // other: nil for all
	}{
		{"a worker from all", worker, nil}, {"a worker from all", worker, nil}, {"a worker from the database", worker, s.database},
		{"a worker from the object store", worker, s.storage}, {"the engine from all", engine, nil}, {"the engine from the database", engine, s.database},
		{"the engine from the object store", engine, s.storage}, {"the database from all", s.database, nil}, {"the object store from all", s.storage, nil},
	}
	cut := cuts[s.dice.IntN(len(cuts))]
	if cut.one != worker { // the run stands still
		outage = min(outage, 20*time.Second)
	}
	do, undo := func() error { return cut.one.Unplug(s.dice.IntN(2) == 0) }, cut.one.Plug
	if cut.other != nil {
		do, undo = func() error { return cut.one.Block(cut.other) }, func() error { return cut.one.Unblock(cut.other) }
	}
	if do() != nil { // it is down, or cut off already
		return nil
	}
	s.counted("cut " + cut.kind)
	s.repairs.Go(func() {
		s.wait(outage)
		_ = undo() // after a reboot there is nothing to heal
	})
	return nil
}

// wait waits, but not after the end of the run.
func (s *striker) wait(limit time.Duration) {
	select {
	case <-time.After(limit):
	case <-s.done:
	}
}

// returnAfter is how long a machine that the engine left stays away after that.
const returnAfter = 10 * time.Second

// leave kills the engine's machine, or cuts it off, and has the operator continue the run on the other one. The machine comes back when
// an engine works on the other one, or the operator cannot do without it.
func (s *striker) leave() error {
	home, wanted := s.place()
	if home != wanted || s.returning.Load() {
		return nil
	}
	m, other := s.engines[home], s.engines[1-home]
	before := engines(other)
	kill, silent := s.dice.IntN(2) == 0, s.dice.IntN(2) == 0
	if kill {
		if err := m.Kill(); err != nil {
			return err
		}
		s.counted("leave a dead machine of the engine")
	} else {
		if m.Unplug(silent) != nil {
			return nil
		}
		s.counted("leave a machine of the engine that is cut off")
	}
	s.returning.Store(true)
	s.move(1 - home)
	s.repairs.Go(func() {
		defer s.returning.Store(false)
		err := await(5*time.Minute, func() bool {
			_, wanted := s.place()
			return wanted == home || engines(other) > before || s.over()
		}, func() string { return "an engine begins on " + other.Name })
		if err != nil {
			fmt.Fprintln(s.out, err)
		}
		if _, wanted := s.place(); wanted != home {
			s.wait(time.Duration(s.dice.IntN(int(returnAfter))))
		}
		if kill {
			err = m.Boot()
		} else {
			err = m.Plug()
		}
		if err != nil {
			fmt.Fprintln(s.out, err)
		}
	})
	return nil
}

func (s *striker) over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// engines returns the number of engines that have begun on a machine. A copy of the journal also has those of other machines.
func engines(m *machine.Machine) (n int) {
	data, _ := os.ReadFile(journalOf(m)) // it may not know the run
	for line := range bytes.Lines(data) {
		if bytes.Contains(line, []byte(`"type":"engine.started"`)) && bytes.Contains(line, []byte(`"host":"`+m.Name+`"`)) {
			n++
		}
	}
	return n
}
