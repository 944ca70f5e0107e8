package headless_test

import (
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/agents/headless"
)

// turn is one that came out, and what is to be done then.
type turn struct {
	ending headless.Ending
	used   float64
	lost   bool // nobody knows its session
	want   string
}

// TestCourse: what is done after each turn of an attempt, from the first to the last.
func TestCourse(t *testing.T) {
	t.Parallel()
	no := false
	limited := headless.Ending{How: headless.Limited, Why: "slow down", Reset: now.Add(time.Hour)}
	limitedNow := headless.Ending{How: headless.Limited, Why: "slow down"}
	full := headless.Ending{How: headless.Full, Why: "too long"}
	killed := headless.Ending{How: headless.Killed, Why: "it was ended by SIGKILL"}
	finished := headless.Ending{How: headless.Finished, Words: "All\ndone."}
	denied := headless.Ending{How: headless.Denied, Denied: []string{"Bash: make"}, Words: "I could not."}
	until := "until 2026-11-21 23:30:00 UTC (slow down)"
	for name, c := range map[string]struct {
		course headless.Course
		turns  []turn
	}{
		"finished": {turns: []turn{{ending: finished, want: "end done: All done."}}},
		"failed":   {turns: []turn{{ending: headless.Ending{How: headless.Failed, Why: "ill"}, want: "end failed: claude failed: ill"}}},
		"limited once": {turns: []turn{
			{ending: limited, want: "go on at 23:30:00: claude is at its usage limit " + until},
			{ending: finished, want: "end done: All done."},
		}},
		"limited twice": {turns: []turn{
			{ending: limited, want: "go on at 23:30:00: claude is at its usage limit " + until},
			{ending: limited, want: "end failed: claude is at its usage limit " + until + "; it was waited for once"},
		}},
		"limited, who knows how long": {turns: []turn{{ending: limitedNow, want: "go on at 22:31:00: claude is at its usage limit (slow down)"}}},
		"limited without a session":   {turns: []turn{{ending: limited, lost: true, want: "anew at 23:30:00: claude is at its usage limit " + until}}},
		"limited, not to be waited for": {
			course: headless.Course{Action: pawl.AgentAction{Wait: &no}},
			turns:  []turn{{ending: limited, want: "end failed: claude is at its usage limit " + until}},
		},
		"limited for longer than the step has": {
			course: headless.Course{Deadline: now.Add(30 * time.Minute)},
			turns:  []turn{{ending: limited, want: "end failed: claude is at its usage limit " + until + "; the step's timeout is over before"}},
		},
		"full four times": {turns: []turn{
			{ending: full, want: "renew: claude's context is full (too long)"},
			{ending: full, want: "renew: claude's context is full (too long)"},
			{ending: full, want: "renew: claude's context is full (too long)"},
			{ending: full, want: "end failed: claude's context is full (too long), in the 4th session of this attempt: make the step smaller"},
		}},
		"killed twice": {turns: []turn{
			{ending: killed, want: "go on: claude was ended: it was ended by SIGKILL"},
			{ending: killed, want: "end failed: claude was ended: it was ended by SIGKILL"},
		}},
		"killed without a session": {turns: []turn{{ending: killed, lost: true, want: "end failed: claude was ended: it was ended by SIGKILL"}}},
		"gone":                     {turns: []turn{{ending: headless.Ending{How: headless.Gone, Why: "who?"}, want: "anew: claude's session is not there any more (who?)"}}},
		"overspent": {
			course: headless.Course{Action: pawl.AgentAction{MaxUSD: 1}},
			turns: []turn{
				{ending: limited, used: 0.75, want: "go on at 23:30:00: claude is at its usage limit " + until},
				{ending: headless.Ending{How: headless.Overspent}, used: 0.5, want: "end blocked: claude has cost $1.25, and may cost $1.00 (max_usd)"},
			},
		},
		"denied":                       {turns: []turn{{ending: denied, want: "inform"}}},
		"denied, which did not matter": {course: headless.Course{Checked: true}, turns: []turn{{ending: denied, want: "end done: I could not."}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.course.Action.Use = pawl.ClaudeCode
			if c.course.Deadline.IsZero() {
				c.course.Deadline = now.Add(24 * time.Hour)
			}
			for i, turn := range c.turns {
				move := c.course.After(turn.ending, pawl.Usage{USD: turn.used}, !turn.lost, now)
				if got := told(move); got != turn.want {
					t.Errorf("turn %d: %s, want %s", i+1, got, turn.want)
				}
			}
		})
	}
}

// told says a move in a line.
func told(m headless.Move) string {
	text := string(m.Do)
	if m.Do == headless.End {
		return text + " " + string(m.Result.Status) + ": " + m.Result.Summary
	}
	if !m.Until.IsZero() {
		text += " at " + m.Until.Format(time.TimeOnly)
	}
	return strings.TrimSuffix(text+": "+m.Why, ": ")
}

// TestLeft: what the next turn may cost is what the ones before have left.
func TestLeft(t *testing.T) {
	t.Parallel()
	c := headless.Course{Action: pawl.AgentAction{MaxUSD: 1}}
	c.After(headless.Ending{How: headless.Full}, pawl.Usage{USD: 0.75}, true, now)
	if c.Left() != 0.25 {
		t.Errorf("left %v", c.Left())
	}
	c.After(headless.Ending{How: headless.Full}, pawl.Usage{USD: 0.75}, true, now)
	if c.Left() <= 0 { // which would mean anything
		t.Errorf("left %v", c.Left())
	}
	if free := (&headless.Course{}); free.Left() != 0 {
		t.Errorf("left %v without a limit", free.Left())
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	c := headless.Course{Action: pawl.AgentAction{Use: pawl.CopilotCLI}}
	m := c.Refused(headless.Ending{Denied: []string{"bash: make", "write: x"}})
	if told(m) != "end blocked: copilot was not permitted: bash: make; write: x" || len(m.Result.Blockers) != 1 {
		t.Errorf("%s, blockers %q", told(m), m.Result.Blockers)
	}
}
