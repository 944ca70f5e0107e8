//go:build linux

package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"pawl/test/machines/machine"
)

// striker kills.
type striker struct {
	*operator
	dice      *rand.Rand
	done      chan struct{} // closed when the run has ended
	repairs   sync.WaitGroup
	returning atomic.Bool // a machine that the engine left is to come back

	mu    sync.Mutex // guards what follows
	count map[string]int
}

// ahead is how many steps may end less than the kills that were done call for.
const ahead = 15

// strikes kills until there were enough kills, or the run has ended. Kills are spread over the run.
func (s *striker) strikes() error {
	defer s.repairs.Wait()
	for n := 0; n < s.kills; {
		longest := 2 * time.Second
		if s.ends()*s.kills > n*s.steps {
			longest /= 5
		}
		for {
			select {
			case <-s.done:
				return nil
			case <-time.After(time.Duration(s.dice.IntN(int(longest)))):
			}
			if n*s.steps <= (s.ends()+ahead)*s.kills {
				break
			}
		}
		if s.partitions > 0 && s.dice.IntN(s.kills) < s.partitions {
			if err := s.partition(); err != nil {
				return err
			}
		}
		if s.moves > 0 && s.dice.IntN(s.kills) < s.moves {
			if err := s.leave(); err != nil {
				return err
			}
		}
		kind, err := s.strike()
		if err != nil {
			return err
		}
		if kind != "" {
			n++
			s.counted("kill " + kind)
		}
	}
	return nil
}

func (s *striker) counted(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[what]++
}

// ends returns how many executions have come to their end.
func (s *striker) ends() int {
	data, _ := os.ReadFile(filepath.Join(s.dir, "ledger", "lines")) // at first there is none
	return bytes.Count(data, []byte("\nend "))
}

// strike kills something. It returns "" if it was not there.
func (s *striker) strike() (kind string, err error) {
	home, _ := s.place()
	engine, worker := s.engines[home:home+1], s.workers[s.dice.IntN(workers):][:1]
	database, storage := []*machine.Machine{s.database}, []*machine.Machine{s.storage}
	pawl := func(verbs ...string) func([]string) bool {
		return func(args []string) bool { return len(args) > 1 && slices.Contains(verbs, args[1]) }
	}
	named := func(name string) func([]string) bool {
		return func(args []string) bool { return strings.HasPrefix(args[0], name) }
	}
	kinds := []struct {
		weight int
		kind   string
		on     []*machine.Machine
		victim func(args []string) bool // nil: the whole machine
	}{
		{20, "a worker", worker, pawl("worker")},
		{8, "a step's supervisor on a worker", s.workers, pawl("supervise")},
		{10, "the engine", engine, pawl("run", "resume")},
		{6, "a courier", engine, pawl("courier")},
		{6, "a supervisor on the engine's machine", engine, pawl("supervise")},
		{8, "the database server", database, named(s.postgres)},
		{4, "a session of the database", database, named("postgres: postgres")},
		{12, "the object store", storage, named(programs + "/versitygw")},
		{12, "a worker's machine", worker, nil},
		{6, "the engine's machine", engine, nil},
		{3, "the database's machine", database, nil},
		{3, "the object store's machine", storage, nil},
		{1, "all machines", s.machines(), nil},
	}
	weight := 0
	for _, k := range kinds {
		weight += k.weight
	}
	at, hit := s.dice.IntN(weight), false
	for _, k := range kinds {
		if at -= k.weight; at >= 0 {
			continue
		}
		if k.victim != nil {
			hit = s.killProcess(k.victim, k.on...)
		} else {
			hit, err = s.killMachines(k.on...)
		}
		if !hit {
			k.kind = ""
		}
		return k.kind, err
	}
	return "", nil
}

// killProcess kills one of the processes of machines that match, if there is one.
func (s *striker) killProcess(victim func([]string) bool, on ...*machine.Machine) (hit bool) {
	var victims []int
	for _, m := range on {
		processes := m.Processes()
		for _, pid := range slices.Sorted(maps.Keys(processes)) {
			if victim(processes[pid]) {
				victims = append(victims, pid)
			}
		}
	}
	return len(victims) > 0 && syscall.Kill(victims[s.dice.IntN(len(victims))], syscall.SIGKILL) == nil
}

// killMachines kills those of the machines that run, and boots them again after a while. One in eight workers is away until its leases
// have ended.
func (s *striker) killMachines(all ...*machine.Machine) (hit bool, err error) {
	for _, m := range all {
		if !m.Up() {
			continue
		}
		if err := m.Kill(); err != nil {
			return true, err
		}
		hit = true
		outage := time.Duration(s.dice.IntN(int(longestOutage)))
		if len(all) == 1 && slices.Contains(s.workers, m) && s.dice.IntN(8) == 0 {
			outage += 75 * time.Second
		}
		s.repairs.Go(func() {
			select {
			case <-time.After(outage):
			case <-s.done:
			}
			if err := m.Boot(); err != nil {
				fmt.Fprintln(s.out, err)
			}
		})
	}
	return hit, nil
}

// report prints how often what was killed.
func (s *striker) report() {
	for _, what := range slices.Sorted(maps.Keys(s.count)) {
		fmt.Fprintf(s.out, "%5d  %s\n", s.count[what], what)
	}
	fmt.Fprintf(s.out, "%5d  resumed by the operator, %d times on another machine; %d times only the first one had the files\n", s.resumed, s.moved, s.stranded)
}
