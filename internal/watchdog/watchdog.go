// Package watchdog tells apart what is well, slow, stuck and dead, and says what to do about it.
//
// Assess is pure: an observation and limits are all it knows. Supervisors ask it about the step that they run, every
// quarter of a second; the engine asks it about the supervisors, with what Observe found in an attempt's folder. It
// never acts itself.
package watchdog

import (
	"fmt"
	"time"

	"pawl"
)

// Health is what the watchdog thinks of an attempt.
type Health string

// The healths, from well to dead.
const (
	OK      Health = "ok"
	Slept   Health = "slept"   // well; the machine was asleep since the last look, which counts against nothing
	Warning Health = "warning" // no heartbeat for a while
	Stalled Health = "stalled" // no heartbeat for too long, or a step that does nothing at all
	Overdue Health = "overdue" // its time limit is over
	Dead    Health = "dead"    // nobody holds its lock
)

// Action is what should be done about it.
type Action string

// The actions.
const (
	None      Action = "none"
	Report    Action = "report"    // tell people
	Interrupt Action = "interrupt" // end the step in order: SIGINT, SIGTERM, SIGKILL
	Kill      Action = "kill"      // end the supervisor itself: it does not do its work any more
)

// An Observation is what is known of an attempt at one moment. The first durations are moments on the step's own clock,
// which starts with it and stands still while the machine sleeps; 0: never.
type Observation struct {
	Now      time.Duration
	Progress time.Duration // the last event, marker, or change of the result file
	Output   time.Duration // when its output last grew
	Busy     time.Duration // when its processes were last busy, see Busy

	Held    bool          // a supervisor holds the attempt's lock
	Stopped bool          // the supervisor is stopped by a signal or a debugger
	Silence time.Duration // since the supervisor's last heartbeat, without time asleep
	Slept   time.Duration // how long the machine was asleep since the last look

	CPUSeconds  float64 // of the last heartbeat
	OutputBytes int64   // of the last heartbeat
}

// Limits are what an attempt is held to. Those of the step are off where they are 0.
type Limits struct {
	Timeout time.Duration
	Grace   time.Duration // how much longer a step may take that still makes progress at its timeout
	Stall   time.Duration // how long a step may do nothing at all
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

// graceProgress is how young the last progress must be for a step to be granted its grace.
const graceProgress = 30 * time.Second

// An Assessment is what the watchdog makes of an observation.
type Assessment struct {
	Health   Health
	Action   Action
	Reason   pawl.EndReason // of an end that the action brings about
	Evidence string         // one line for people
}

// Assess says how an attempt is and what to do. The worst that the observation shows decides.
//
// At Timeout a step is interrupted, but one that made progress in the last 30 seconds goes on for as long as it keeps
// doing so, at most for Grace. Progress is an event, a marker or a change of the result file; output alone is not.
//
// A step is stalled when for Stall it made no progress, wrote no output, and was not busy: a long silent computation is
// not stalled, a process that waits (for the network, a lock, a person) is.
func Assess(seen Observation, limits Limits) Assessment {
	limits = limits.withDefaults()
	switch {
	case !seen.Held:
		return Assessment{Dead, Report, pawl.ReasonError, "its supervisor is gone: nobody holds the lock"}
	case overdue(seen, limits):
		return Assessment{Overdue, Interrupt, pawl.ReasonTimeout, overdueEvidence(seen, limits)}
	case limits.Stall > 0 && seen.idle() >= limits.Stall:
		return Assessment{Stalled, Interrupt, pawl.ReasonStalled,
			fmt.Sprintf("no progress, no output and no processor time for %s (limit %s)", round(seen.idle()), limits.Stall)}
	case seen.Silence >= limits.Stalled:
		return Assessment{Stalled, Kill, pawl.ReasonError, seen.silenceText()}
	case seen.Silence >= limits.Warning:
		return Assessment{Warning, Report, "", seen.silenceText()}
	case seen.Slept > 0:
		return Assessment{Slept, None, "", fmt.Sprintf("the machine was asleep for %s", round(seen.Slept))}
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
	last := "no progress at all"
	if seen.Progress > 0 {
		last = fmt.Sprintf("last progress %s ago", round(seen.Now-seen.Progress))
	}
	return fmt.Sprintf("ran for %s (limit %s, grace %s), %s", round(seen.Now), limits.Timeout, limits.Grace, last)
}

// idle returns how long the step has done nothing.
func (o Observation) idle() time.Duration { return o.Now - max(o.Progress, o.Output, o.Busy) }

func (o Observation) silenceText() string {
	what := "does not beat"
	if o.Stopped {
		what = "is stopped by a signal"
	}
	return fmt.Sprintf("its supervisor holds the lock but %s: no heartbeat for %s", what, round(o.Silence))
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// The least that counts as busy.
const (
	busyShare = 100 // one hundredth of one processor
	busyLeast = 50 * time.Millisecond
)

// Busy reports whether processes that used cpu within since were busy: at least one per cent of one processor over that
// time, and at least 50 ms. Polling a few times a second is less than that, any computation more.
func Busy(cpu, since time.Duration) bool { return cpu >= max(busyLeast, since/busyShare) }
