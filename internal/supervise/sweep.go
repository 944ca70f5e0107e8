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

// sweepWait is how long killed processes have to end.
const sweepWait = 2 * time.Second

// Sweep kills the processes that a lost attempt left running, if they provably belong to it: those in its cgroup, those
// with its token in their environment, those in its session, and all their descendants. It returns the number of
// processes killed, and the processes left: those that could not be killed, and those that may belong to the attempt
// without proof. Without a cgroup, Sweep cannot find a process that left the session, cleared its environment and lost
// its parent. After a restart of the system there is nothing to do.
//
// The attempt's records may be forged, so they prove nothing about a process by themselves: token is the one in the journal, and
// the records of another attempt do not count. Where processes hide their environments (macOS), Sweep has to believe the
// records about the session. With an empty token that in the record of the job counts.
func Sweep(dir string, token pawl.Token) (killed int, left []int, err error) {
	status, err := Probe(dir)
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("sweep: %w", err)
	case status.State == Live:
		return 0, nil, &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("sweep: the supervisor of %s is alive", dir)}
	case status.Begun == nil || token != "" && status.Begun.Token != token || !isRecordOf(dir, status.Begun) || !process.SameBoot(status.Begun.Supervisor):
		return 0, nil, nil
	}
	if _, err := process.Find(status.Begun.Supervisor); errors.Is(err, process.ErrOtherNamespace) {
		return 0, nil, fmt.Errorf("sweep the attempt's processes: %w", err)
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

// SweepLost sweeps an attempt if it is lost.
func SweepLost(dir string, token pawl.Token) error {
	status, err := Probe(dir)
	if err == nil && status.State == Lost {
		_, _, err = Sweep(dir, token)
	}
	return err
}

// isRecordOf reports whether begun.json is of the attempt in a folder: it has the token of the job that the engine wrote
// there. Without a job, which a crash of the machine may lose, there is nothing to compare.
func isRecordOf(dir string, begun *pawl.Begun) bool {
	return isOfJob(begun, ReadJob(dir))
}

func isOfJob(begun *pawl.Begun, job *pawl.Job) bool {
	return validToken(begun.Token) && (job == nil || job.Token == begun.Token)
}

// validToken reports whether a token can be part of a name. Tokens that pawl makes are.
func validToken(token pawl.Token) bool {
	_, err := pawl.ParseStepID(string(token)) // the same characters
	return err == nil
}

// sweepTable stops and kills processes in the process table until none of the attempt is left.
func sweepTable(dir string, begun pawl.Begun) (killed int, left []int, err error) {
	beat, err := lastBeat(dir, begun.Token)
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
			ours, doubtful := victims(table, begun, beat, os.Getpid(), process.HasVariable)
			doubtful = slices.DeleteFunc(doubtful, func(s process.Stat) bool {
				if hit[s.PID] { // proven before; a dying process has no environment any more
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

// lastBeat returns when the supervisor was last known to be alive, as time since the system's start; 0 if it wrote no
// heartbeat. It returns 0 also where environments are readable: then a session needs a member with the token, which no file
// can give to a process, and the heartbeat would let whoever writes here name any session.
func lastBeat(dir string, token pawl.Token) (time.Duration, error) {
	if process.ReadsEnviron {
		return 0, nil
	}
	beat, err := readRecord[pawl.Beat](filepath.Join(dir, pawl.BeatFile))
	return aliveAt(beat, token), err
}

func aliveAt(beat *pawl.Beat, token pawl.Token) time.Duration {
	if beat == nil || beat.Token != token {
		return 0
	}
	return time.Duration(beat.Uptime * float64(time.Second))
}

// victims returns the processes in the table that belong to the attempt, and those that may. It is pure except for
// carries, which reports whether a process has a variable in its environment.
//
// The session of the attempt has the number of its supervisor, and that number may be in use by another session now.
// But no process can join a session from outside. So a session member that has the token, or that started while the
// supervisor was alive, belongs to the attempt; while it lives, its session's number is not reused, so it proves all
// other members.
//
// This process and its ancestors are never victims: a step may have started them.
func victims(table []process.Stat, begun pawl.Begun, alive time.Duration, self int,
	carries func(pid int, variable string) bool) (ours, doubtful []process.Stat) {
	named := func(s process.Stat) bool {
		return s.Start >= begun.Supervisor.Start && carries(s.PID, tokenVariable(begun.Token))
	}
	member := func(s process.Stat) bool { // a process that exits may have no environment any more, and is as good as dead
		return s.Session == begun.Supervisor.PID && s.Start >= begun.Supervisor.Start && !s.Dead && !s.Exiting
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
	return process.Signal(s.Identity(), sig)
}

func pids(stats []process.Stat) []int {
	var numbers []int
	for _, s := range stats {
		numbers = append(numbers, s.PID)
	}
	slices.Sort(numbers)
	return numbers
}
