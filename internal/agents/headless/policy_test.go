package headless_test

import (
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/agents/headless"
)

// turn is the end of a turn and the expected decision.
type turn struct {
	ending headless.Ending
	used   float64
	lost   bool // nobody knows its session
	want   string
}

// TestCourse: what is done after each turn of an attempt, from the first to the last.
func TestTurnPolicy(t *testing.T) {
	t.Parallel()
	no := false
	limited := headless.Ending{How: headless.Limited, Why: "slow down", Reset: now.Add(time.Hour)}
	limitedNow := headless.Ending{How: headless.Limited, Why: "slow down"}
	full := headless.Ending{How: headless.Full, Why: "too long"}
	killed := headless.Ending{How: headless.Killed, Why: "SIGKILL"}
	finished := headless.Ending{How: headless.Finished, Text: "All\ndone."}
	denied := headless.Ending{How: headless.Denied, Denied: []string{"Bash: make"}, Text: "I could not."}
	until := "until 2026-11-21 23:30:00 UTC (slow down)"
	for name, c := range map[string]struct {
		course headless.TurnPolicy
		turns  []turn
	}{
		"finished": {turns: []turn{{ending: finished, want: "end done: All done."}}},
		"failed":   {turns: []turn{{ending: headless.Ending{How: headless.Failed, Why: "ill"}, want: "end failed: claude failed: ill"}}},
		"limited once": {turns: []turn{
			{ending: limited, want: "continue at 23:30:00: claude reached its usage limit " + until},
			{ending: finished, want: "end done: All done."},
		}},
		"limited twice": {turns: []turn{
			{ending: limited, want: "continue at 23:30:00: claude reached its usage limit " + until},
			{ending: limited, want: "end failed: claude reached its usage limit " + until + "; already waited once"},
		}},
		"limited, who knows how long": {turns: []turn{{ending: limitedNow, want: "continue at 22:31:00: claude reached its usage limit (slow down)"}}},
		"limited without a session":   {turns: []turn{{ending: limited, lost: true, want: "restart at 23:30:00: claude reached its usage limit " + until}}},
		"limited, not to be waited for": {
			course: headless.TurnPolicy{Action: pawl.AgentAction{Wait: &no}},
			turns:  []turn{{ending: limited, want: "end failed: claude reached its usage limit " + until}},
		},
		"limited for longer than the step has": {
			course: headless.TurnPolicy{Deadline: now.Add(30 * time.Minute)},
			turns:  []turn{{ending: limited, want: "end failed: claude reached its usage limit " + until + "; the step times out before that"}},
		},
		"full four times": {turns: []turn{
			{ending: full, want: "renew: claude's context is full (too long)"},
			{ending: full, want: "renew: claude's context is full (too long)"},
			{ending: full, want: "renew: claude's context is full (too long)"},
			{ending: full, want: "end failed: claude's context is full (too long) in session 4 of this attempt: split the step into smaller ones"},
		}},
		"killed twice": {turns: []turn{
			{ending: killed, want: "continue: claude was killed: SIGKILL"},
			{ending: killed, want: "end failed: claude was killed: SIGKILL"},
		}},
		"killed without a session": {turns: []turn{{ending: killed, lost: true, want: "end failed: claude was killed: SIGKILL"}}},
		"gone":                     {turns: []turn{{ending: headless.Ending{How: headless.Gone, Why: "who?"}, want: "restart: claude's session no longer exists (who?)"}}},
		"overspent": {
			course: headless.TurnPolicy{Action: pawl.AgentAction{MaxUSD: 1}},
			turns: []turn{
				{ending: limited, used: 0.75, want: "continue at 23:30:00: claude reached its usage limit " + until},
				{ending: headless.Ending{How: headless.Overspent}, used: 0.5, want: "end blocked: claude has cost $1.25; the limit is $1.00 (max_usd)"},
			},
		},
		"denied":                       {turns: []turn{{ending: denied, want: "check"}}},
		"denied, which did not matter": {course: headless.TurnPolicy{Checked: true}, turns: []turn{{ending: denied, want: "end done: I could not."}}},
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
	c := headless.TurnPolicy{Action: pawl.AgentAction{MaxUSD: 1}}
	c.After(headless.Ending{How: headless.Full}, pawl.Usage{USD: 0.75}, true, now)
	if c.Left() != 0.25 {
		t.Errorf("left %v", c.Left())
	}
	c.After(headless.Ending{How: headless.Full}, pawl.Usage{USD: 0.75}, true, now)
	if c.Left() <= 0 { // which would mean anything
		t.Errorf("left %v", c.Left())
	}
	if free := (&headless.TurnPolicy{}); free.Left() != 0 {
		t.Errorf("left %v without a limit", free.Left())
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	c := headless.TurnPolicy{Action: pawl.AgentAction{Use: pawl.CopilotCLI}}
	m := c.Blocked(headless.Ending{Denied: []string{"bash: make", "write: x"}})
	if told(m) != "end blocked: copilot was denied permission: bash: make; write: x" || len(m.Result.Blockers) != 1 {
		t.Errorf("%s, blockers %q", told(m), m.Result.Blockers)
	}
}
