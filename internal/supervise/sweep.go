package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/supervise/process"
)

// sweepWait is how long killed processes have to be gone.
const sweepWait = 2 * time.Second

// Sweep kills what a lost supervisor's child has left running, as far as it is provably of that attempt: the processes
// of its cgroup; those with its token in their environment; those of its session; and all descendants of these. It
// returns how many it killed, and which it left: processes that could not be killed, or that may be of the attempt but
// cannot be proven to be. Without a cgroup a process stays unseen that left the session, cleared its environment, and
// whose parent is gone. After a restart of the system there is nothing to do.
func Sweep(dir string) (killed int, left []int, err error) {
	status, err := Probe(dir)
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("sweep: %w", err)
	case status.State == Live:
		return 0, nil, &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("sweep: the supervisor of %s is alive", dir)}
	case status.Begun == nil || !process.SameBoot(status.Begun.Supervisor):
		return 0, nil, nil
	}
	if _, err := process.Find(status.Begun.Supervisor); errors.Is(err, process.ErrElsewhere) {
		return 0, nil, fmt.Errorf("sweep: %w: its processes cannot be seen from here", err)
	}
	killed, err = sweepCgroup(status.Begun)
	if err != nil {
		return killed, nil, fmt.Errorf("sweep: %w", err)
	}
	more, left, err := sweepTable(dir, *status.Begun)
	if err != nil {
		return killed, left, fmt.Errorf("sweep: %w", err)
	}
	return killed + more, left, nil
}

// sweepTable stops and kills what the process table shows, until nothing is left that is ours.
func sweepTable(dir string, begun pawl.Begun) (killed int, left []int, err error) {
	beat, err := lastBeat(dir)
	if err != nil {
		return 0, nil, err
	}
	hit := map[int]bool{}
	for end := time.Now().Add(sweepWait); ; {
		for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			table, err := process.Table()
			if err != nil {
				return len(hit), nil, err
			}
			ours, doubtful := victims(table, begun, beat, os.Getpid(), process.Carries)
			doubtful = slices.DeleteFunc(doubtful, func(s process.Stat) bool {
				if hit[s.PID] { // proven before; it has no environment any more while it dies
					ours = append(ours, s)
				}
				return hit[s.PID]
			})
			if len(ours) == 0 || time.Now().After(end) {
				for _, s := range ours {
					delete(hit, s.PID)
				}
				return len(hit), pids(slices.Concat(ours, doubtful)), nil
			}
			for _, s := range ours {
				if signalStat(s, sig) == nil {
					hit[s.PID] = true
				}
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// lastBeat returns when the supervisor was last known to be alive, as time since the system's start: at least when it
// started itself.
func lastBeat(dir string) (time.Duration, error) {
	beat, err := readRecord[pawl.Beat](filepath.Join(dir, pawl.BeatFile))
	if err != nil || beat == nil {
		return 0, err
	}
	return time.Duration(beat.Uptime * float64(time.Second)), nil
}

// victims returns the processes of the table that are of the attempt, and those that may be. It is pure but for carries,
// which says whether a process has a variable in its environment.
//
// The attempt's session has its supervisor's number, which another session may have got since. But nobody can join a
// session from outside: a process in it that was started while the supervisor lived, or that carries the token, is of
// the attempt, and as long as it lives the number is not given away again. So one such member proves the others.
// Ourselves and those whom we descend from are never victims: a step may have started us.
func victims(table []process.Stat, begun pawl.Begun, alive time.Duration, self int,
	carries func(pid int, variable string) bool) (ours, doubtful []process.Stat) {
	named := func(s process.Stat) bool {
		return s.Start >= begun.Supervisor.Start && carries(s.PID, tokenVariable(begun.Token))
	}
	member := func(s process.Stat) bool {
		return s.Session == begun.Supervisor.PID && s.Start >= begun.Supervisor.Start && !s.Dead
	}
	proven := slices.ContainsFunc(table, func(s process.Stat) bool {
		return member(s) && (process.StartedAt(s.Start) <= alive || named(s))
	})
	seeds := process.Closure(table, func(s process.Stat) bool { return proven && member(s) || named(s) })
	spared := process.Ancestors(table, self)
	for _, s := range seeds {
		if spared[s.PID] {
			doubtful = append(doubtful, s)
		} else {
			ours = append(ours, s)
		}
	}
	if !proven {
		for _, s := range table {
			if member(s) && !slices.Contains(seeds, s) {
				doubtful = append(doubtful, s)
			}
		}
	}
	return ours, doubtful
}

func signalStat(s process.Stat, sig syscall.Signal) error {
	return process.Signal(pawl.Process{PID: s.PID, Start: s.Start}, sig)
}

func pids(stats []process.Stat) []int {
	var numbers []int
	for _, s := range stats {
		numbers = append(numbers, s.PID)
	}
	slices.Sort(numbers)
	return numbers
}
