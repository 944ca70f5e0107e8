package headless

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"pawl"
)

// TurnPolicy decides what to do after each turn of an attempt. It records what the attempt has used so far.
type TurnPolicy struct {
	Action   pawl.AgentAction
	Deadline time.Time // end of the step's timeout
	Checked  bool      // the step's checks pass; determined only after a denied permission

	waited  bool
	revived bool
	renewed int
	spent   float64
}

// maxRenewed is the maximum number of new sessions in an attempt because of a full context.
const maxRenewed = 3

// defaultWait is how long to wait for a usage limit of unknown duration.
const defaultWait = time.Minute

// Step is an action after a turn.
type Step string

// The actions after a turn.
const (
	End      Step = "end"      // end the attempt with a result
	Continue Step = "continue" // continue in the same session
	Renew    Step = "renew"    // save a checkpoint and start a new session, because the context is full
	Restart  Step = "restart"  // start a new session, because the old one is missing
	Check    Step = "check"    // run the step's checks and decide again
)

// Move is the decision after a turn.
type Move struct {
	Do     Step
	Why    string      // reason, for people and for the agent
	Until  time.Time   // Continue: wait until then
	Result pawl.Result // End: the attempt's result without its usage
}

// After decides what to do after a turn with this ending and usage at the time now. session reports whether the session's id
// is known.
func (c *TurnPolicy) After(e Ending, used pawl.Usage, session bool, now time.Time) Move {
	c.spent += used.USD
	switch e.How {
	case Finished:
		return ends(pawl.ResultDone, e.Text)
	case Denied:
		return c.denied(e)
	case Limited:
		return c.limited(e, session, now)
	case Full:
		return c.full(e)
	case Gone:
		return Move{Do: Restart, Why: fmt.Sprintf("%s's session no longer exists (%s)", c.Action.Use, e.Why)}
	case Overspent:
		return ends(pawl.ResultBlocked, fmt.Sprintf("%s has cost $%.2f; the limit is $%.2f (max_usd)", c.Action.Use, c.spent, c.Action.MaxUSD))
	case Killed:
		return c.killed(e, session)
	}
	return ends(pawl.ResultFailed, fmt.Sprintf("%s failed: %s", c.Action.Use, e.Why))
}

func ends(status pawl.ResultStatus, summary string) Move {
	return Move{Do: End, Result: pawl.Result{Status: status, Summary: line(summary, maxSummary)}}
}

// maxSummary is the maximum size of a step's summary in bytes.
const maxSummary = 300

// Left returns the budget for the next turn, 0 for no limit.
func (c *TurnPolicy) Left() float64 {
	if c.Action.MaxUSD == 0 {
		return 0
	}
	return max(c.Action.MaxUSD-c.spent, 0.000001)
}

// denied decides after a denied permission: it does not matter if the step's checks pass.
func (c *TurnPolicy) denied(e Ending) Move {
	if !c.Checked {
		return Move{Do: Check}
	}
	return ends(pawl.ResultDone, e.Text)
}

// Blocked is the decision after Check if the checks fail or there are none.
func (c *TurnPolicy) Blocked(e Ending) Move {
	m := ends(pawl.ResultBlocked, fmt.Sprintf("%s was denied permission: %s", c.Action.Use, strings.Join(e.Denied, "; ")))
	m.Result.Blockers = []string{m.Result.Summary + fmt.Sprintf(" (allow it in the settings of %s, or with args in the plan)", c.Action.Use)}
	return m
}

// limited waits for the end of a usage limit: once, and only within the step's timeout.
func (c *TurnPolicy) limited(e Ending, session bool, now time.Time) Move {
	until := e.Reset
	if until.IsZero() {
		until = now.Add(defaultWait)
	}
	why := fmt.Sprintf("%s reached its usage limit", c.Action.Use)
	if !e.Reset.IsZero() {
		why += " until " + e.Reset.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	switch why += " (" + e.Why + ")"; {
	case !c.Action.MayWait():
		return ends(pawl.ResultFailed, why)
	case c.waited:
		return ends(pawl.ResultFailed, why+"; already waited once")
	case !until.Before(c.Deadline):
		return ends(pawl.ResultFailed, why+"; the step times out before that")
	}
	c.waited = true
	move := Move{Do: Continue, Why: why, Until: until}
	if !session {
		move.Do = Restart
	}
	return move
}

func (c *TurnPolicy) full(e Ending) Move {
	why := fmt.Sprintf("%s's context is full (%s)", c.Action.Use, e.Why)
	if c.renewed++; c.renewed > maxRenewed {
		return ends(pawl.ResultFailed, fmt.Sprintf("%s in session %d of this attempt: split the step into smaller ones", why, c.renewed))
	}
	return Move{Do: Renew, Why: why}
}

// killed continues the session once if the agent was killed by something other than pawl.
func (c *TurnPolicy) killed(e Ending, session bool) Move {
	why := fmt.Sprintf("%s was killed: %s", c.Action.Use, cmp.Or(e.Why, "by a signal"))
	if c.revived || !session {
		return ends(pawl.ResultFailed, why)
	}
	c.revived = true
	return Move{Do: Continue, Why: why}
}
