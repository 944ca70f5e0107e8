// Package watchdog classifies attempts as healthy, slow, stuck or dead, and says what to do.
//
// Assess is pure. Supervisors call it every 250 ms for their step. The engine calls it for supervisors, with the result
// of Observe. The package itself never acts.
package watchdog

import (
	"fmt"
	"time"

	"pawl"
)

// Health is the condition of an attempt.
type Health string

// Healths, from best to worst.
const (
	OK      Health = "ok"
	Slept   Health = "slept"   // healthy; the machine slept since the last check, which counts against no limit
	Warning Health = "warning" // no heartbeat for a while
	Stalled Health = "stalled" // no heartbeat for too long, or a step without any activity
	Overdue Health = "overdue" // past its time limit
	Dead    Health = "dead"    // its lock is free
)

// Action is what to do about an attempt.
type Action string

// Actions.
const (
	None      Action = "none"
	Report    Action = pawl.WatchdogReports // report it to people
	Interrupt Action = "interrupt"          // terminate the step: SIGINT, SIGTERM, SIGKILL
	Kill      Action = "kill"               // kill the supervisor, which is unresponsive
)

// An Observation is what is known of an attempt at one moment. Now, Progress, Output and Busy are times since the
// step's start, on a clock that stops while the machine sleeps; 0 means never.
type Observation struct {
	Now      time.Duration
	Progress time.Duration // the last event, marker or change of the result file
	Output   time.Duration // when the output last grew
	Busy     time.Duration // when the processes were last busy; see the function Busy

	Held    bool          // a supervisor holds the attempt's lock
	Stopped bool          // the supervisor is stopped by a signal or a debugger
	Silence time.Duration // since the supervisor's last heartbeat, not counting sleep
	Slept   time.Duration // how long the machine slept since the last check

	CPUSeconds  float64 // from the last heartbeat
	OutputBytes int64   // from the last heartbeat
}

// Limits of an attempt. Timeout and Stall are off if 0.
type Limits struct {
	Timeout time.Duration
	Grace   time.Duration // extra time for a step that still makes progress at its timeout
	Stall   time.Duration // maximum time without any activity of the step
	Warning time.Duration // without a heartbeat. Defaults to 10m.
	Stalled time.Duration // without a heartbeat. Defaults to 30m.
}

func (l Limits) withDefaults() Limits {
	if l.Warning == 0 {
		l.Warning = 10 * time.Minute
	}
	if l.Stalled == 0 {
		l.Stalled = 30 * time.Minute
	}
	return l
}

// graceProgress is the maximum age of the last progress for a step to get its grace period.
const graceProgress = 30 * time.Second

// An Assessment is the watchdog's conclusion.
type Assessment struct {
	Health   Health
	Action   Action
	Reason   pawl.EndReason // the end reason if the action terminates the attempt
	Evidence string         // one line for people
}

// Assess returns the condition of an attempt and what to do. The worst condition counts.
//
// At Timeout a step is interrupted. A step that made progress in the last 30 seconds continues while it makes progress,
// at most for Grace. Progress is an event, a marker or a change of the result file; output is not progress.
//
// A step is stalled if for Stall it made no progress, wrote no output and was not busy. A long silent computation is
// not stalled; a process that waits for the network, a lock or a person is.
func Assess(seen Observation, limits Limits) Assessment {
	limits = limits.withDefaults()
	switch {
	case !seen.Held:
		return Assessment{Dead, Report, pawl.ReasonError, "its supervisor is dead: its lock is free"}
	case overdue(seen, limits):
		return Assessment{Overdue, Interrupt, pawl.ReasonTimeout, overdueEvidence(seen, limits)}
	case limits.Stall > 0 && seen.idle() >= limits.Stall:
		return Assessment{Stalled, Interrupt, pawl.ReasonStalled,
			fmt.Sprintf("no progress, no output and no CPU time for %s (limit %s)", round(seen.idle()), limits.Stall)}
	case seen.Silence >= limits.Stalled:
		return Assessment{Stalled, Kill, pawl.ReasonError, seen.silenceText()}
	case seen.Silence >= limits.Warning:
		return Assessment{Warning, Report, "", seen.silenceText()}
	case seen.Slept > 0:
		return Assessment{Slept, None, "", fmt.Sprintf("the machine slept for %s", round(seen.Slept))}
	}
	return Assessment{Health: OK, Action: None}
}

func overdue(seen Observation, limits Limits) bool {
	if limits.Timeout == 0 || seen.Now < limits.Timeout {
		return false
	}
	progressing := seen.Progress > 0 && seen.Now-seen.Progress < graceProgress
	return !progressing || seen.Now >= limits.Timeout+limits.Grace
}

func overdueEvidence(seen Observation, limits Limits) string {
	text := fmt.Sprintf("timed out after %s (timeout: %s", round(seen.Now), pawl.Duration(limits.Timeout))
	switch {
	case seen.Progress == 0:
		return text + "; it reported no progress)"
	case limits.Grace > 0 && seen.Now >= limits.Timeout+limits.Grace:
		return text + fmt.Sprintf(", and %s more while it made progress)", pawl.Duration(limits.Grace))
	}
	return text + fmt.Sprintf("; its last progress was %s before)", round(seen.Now-seen.Progress))
}

// idle returns how long the step has been inactive.
func (o Observation) idle() time.Duration { return o.Now - max(o.Progress, o.Output, o.Busy) }

func (o Observation) silenceText() string {
	what := "is unresponsive"
	if o.Stopped {
		what = "is stopped by a signal"
	}
	return fmt.Sprintf("its supervisor holds the lock but %s: no heartbeat for %s", what, round(o.Silence))
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// Minimum CPU time that counts as busy.
const (
	busyShare = 100 // 1% of one CPU
	busyLeast = 50 * time.Millisecond
)

// Busy reports whether processes that used cpu within since were busy: they used at least 1% of one CPU, and at least
// 50 ms. Polling a few times a second is below that, computation above.
func Busy(cpu, since time.Duration) bool { return cpu >= max(busyLeast, since/busyShare) }
