package watchdog

import (
	"strings"
	"testing"
	"time"

	"pawl"
)

func TestAssess(t *testing.T) {
	t.Parallel()
	const s, m = time.Second, time.Minute
	limits := Limits{Timeout: 10 * m, Grace: 2 * m, Stall: 3 * m}
	for name, c := range map[string]struct {
		seen     Observation
		limits   Limits
		health   Health
		action   Action
		reason   pawl.EndReason
		evidence string
	}{
		"well":                        {Observation{Held: true, Now: m}, limits, OK, None, "", ""},
		"no limits":                   {Observation{Held: true, Now: 1000 * time.Hour}, Limits{}, OK, None, "", ""},
		"no supervisor":               {Observation{}, limits, Dead, Report, pawl.ReasonError, "its lock is free"},
		"no supervisor, overdue":      {Observation{Now: 20 * m}, limits, Dead, Report, pawl.ReasonError, "its lock is free"},
		"just before the limit":       {Observation{Held: true, Now: 10*m - 1, Output: 9 * m}, limits, OK, None, "", ""},
		"at the limit":                {Observation{Held: true, Now: 10 * m, Output: 10 * m}, limits, Overdue, Interrupt, pawl.ReasonTimeout, "timed out after 10m0s (timeout: 10m; it reported no progress)"},
		"output is no progress":       {Observation{Held: true, Now: 10 * m, Output: 10 * m, Busy: 10 * m}, limits, Overdue, Interrupt, pawl.ReasonTimeout, "(timeout: 10m; it"},
		"progress just now":           {Observation{Held: true, Now: 10 * m, Progress: 10*m - 29*s}, limits, OK, None, "", ""},
		"progress 30s ago":            {Observation{Held: true, Now: 10 * m, Progress: 10*m - 30*s}, limits, Overdue, Interrupt, pawl.ReasonTimeout, "its last progress was 30s before"},
		"in its grace":                {Observation{Held: true, Now: 12*m - 1, Progress: 12*m - 2}, limits, OK, None, "", ""},
		"grace is over":               {Observation{Held: true, Now: 12 * m, Progress: 12*m - 1}, limits, Overdue, Interrupt, pawl.ReasonTimeout, "timed out after 12m0s (timeout: 10m, and 2m more while it made progress)"},
		"progress ends in its grace":  {Observation{Held: true, Now: 11 * m, Progress: 10 * m}, limits, Overdue, Interrupt, pawl.ReasonTimeout, ""},
		"a short limit, no progress":  {Observation{Held: true, Now: s}, Limits{Timeout: s, Grace: m}, Overdue, Interrupt, pawl.ReasonTimeout, ""},
		"nothing since the start":     {Observation{Held: true, Now: 3 * m}, limits, Stalled, Interrupt, pawl.ReasonStalled, "for 3m0s"},
		"almost stalled":              {Observation{Held: true, Now: 3*m - 1}, limits, OK, None, "", ""},
		"silent but busy":             {Observation{Held: true, Now: 9 * m, Busy: 8 * m}, limits, OK, None, "", ""},
		"idle but talking":            {Observation{Held: true, Now: 9 * m, Output: 8 * m}, limits, OK, None, "", ""},
		"idle with progress":          {Observation{Held: true, Now: 9 * m, Progress: 8 * m}, limits, OK, None, "", ""},
		"nothing for long":            {Observation{Held: true, Now: 9 * m, Progress: 4 * m, Output: 5 * m, Busy: 6 * m}, limits, Stalled, Interrupt, pawl.ReasonStalled, "limit 3m0s"},
		"overdue and stalled":         {Observation{Held: true, Now: 20 * m}, limits, Overdue, Interrupt, pawl.ReasonTimeout, ""},
		"no heartbeat for 10 minutes": {Observation{Held: true, Silence: 10 * m}, Limits{}, Warning, Report, "", "no heartbeat for 10m0s"},
		"almost a warning":            {Observation{Held: true, Silence: 10*m - 1}, Limits{}, OK, None, "", ""},
		"no heartbeat for 30 minutes": {Observation{Held: true, Silence: 30 * m}, Limits{}, Stalled, Kill, pawl.ReasonError, "unresponsive"},
		"a stopped supervisor":        {Observation{Held: true, Silence: 30 * m, Stopped: true}, Limits{}, Stalled, Kill, pawl.ReasonError, "stopped by a signal"},
		"stopped only now":            {Observation{Held: true, Silence: m, Stopped: true}, Limits{}, OK, None, "", ""},
		"limits of one's own":         {Observation{Held: true, Silence: m}, Limits{Warning: s, Stalled: 2 * m}, Warning, Report, "", ""},
		"slept":                       {Observation{Held: true, Slept: time.Hour}, limits, Slept, None, "", "slept for 1h0m0s"},
		"slept, then no heartbeat":    {Observation{Held: true, Slept: time.Hour, Silence: 11 * m}, limits, Warning, Report, "", ""},
	} {
		got := Assess(c.seen, c.limits)
		if got.Health != c.health || got.Action != c.action || got.Reason != c.reason || !strings.Contains(got.Evidence, c.evidence) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cpu, since time.Duration
		want       bool
	}{
		{0, 0, false},
		{50 * time.Millisecond, time.Second, true},
		{49 * time.Millisecond, time.Second, false},       // noise
		{time.Second, 10 * time.Minute, false},            // polling
		{6 * time.Second, 10 * time.Minute, true},         // one per cent
		{10 * time.Minute, 10 * time.Minute, true},        // computing
		{100 * time.Millisecond, 20 * time.Second, false}, // a timer that ticks
	} {
		if got := Busy(c.cpu, c.since); got != c.want {
			t.Errorf("Busy(%s, %s) = %v", c.cpu, c.since, got)
		}
	}
}

// A heartbeat ages on the clock that stands still in sleep; the wall clock may have jumped meanwhile.
func TestSilence(t *testing.T) {
	t.Parallel()
	wall := time.Unix(1e9, 0)
	beat := pawl.Beat{Time: wall, Uptime: 1000}
	for name, c := range map[string]struct {
		beat   pawl.Beat
		uptime time.Duration
		now    time.Time
		want   time.Duration
	}{
		"a minute":                  {beat, 1060 * time.Second, wall.Add(time.Minute), time.Minute},
		"a night asleep":            {beat, 1060 * time.Second, wall.Add(8 * time.Hour), time.Minute},
		"clock set back":            {beat, 1060 * time.Second, wall.Add(-time.Hour), time.Minute},
		"no uptime":                 {pawl.Beat{Time: wall}, 1060 * time.Second, wall.Add(time.Hour), time.Hour},
		"no uptime, clock set back": {pawl.Beat{Time: wall}, 1060 * time.Second, wall.Add(-time.Hour), 0},
	} {
		if got := silence(c.beat, c.uptime, c.now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestObserveNothing(t *testing.T) {
	t.Parallel()
	seen, err := Observe(t.TempDir(), time.Now())
	if err != nil || seen.Held || Assess(seen, Limits{}).Health != Dead {
		t.Errorf("%+v, %v", seen, err)
	}
}
