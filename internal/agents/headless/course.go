package headless

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"pawl"
)

// Course is what an attempt at a step has behind it. It decides what is to be done after each turn.
type Course struct {
	Action   pawl.AgentAction
	Deadline time.Time // when the step's time is up
	Checked  bool      // all that the step's checks ask for is so; asked only after something was not permitted

	waited  bool
	revived bool
	renewed int
	spent   float64
}

// maxRenewed is how many new sessions an attempt may begin because the one before was full.
const maxRenewed = 3

// blindWait is how long a limit is waited for of which nobody says how long it lasts.
const blindWait = time.Minute

// Step is a sort of thing to do after a turn.
type Step string

// What can be done after a turn.
const (
	End    Step = "end"    // the attempt, with a result
	GoOn   Step = "go on"  // in the same session
	Renew  Step = "renew"  // begin a new session, because the old one is full: a checkpoint comes first
	Anew   Step = "anew"   // begin a new session, because the old one is not there
	Inform Step = "inform" // find out whether the step's checks pass, and ask again
)

// Move is what is to be done after a turn.
type Move struct {
	Do     Step
	Why    string      // what has happened, for people and for the agent
	Until  time.Time   // go on: not before
	Result pawl.Result // end: what the attempt says of itself, without its usage
}

// After decides what is to be done after a turn that came out like this and cost so much, at the time now. session: it is
// known which one it was.
func (c *Course) After(e Ending, used pawl.Usage, session bool, now time.Time) Move {
	c.spent += used.USD
	switch e.How {
	case Finished:
		return ends(pawl.ResultDone, e.Words)
	case Denied:
		return c.denied(e)
	case Limited:
		return c.limited(e, session, now)
	case Full:
		return c.full(e)
	case Gone:
		return Move{Do: Anew, Why: fmt.Sprintf("%s's session is not there any more (%s)", c.Action.Use, e.Why)}
	case Overspent:
		return ends(pawl.ResultBlocked, fmt.Sprintf("%s has cost $%.2f, and may cost $%.2f (max_usd)", c.Action.Use, c.spent, c.Action.MaxUSD))
	case Killed:
		return c.killed(e, session)
	}
	return ends(pawl.ResultFailed, fmt.Sprintf("%s failed: %s", c.Action.Use, e.Why))
}

func ends(status pawl.ResultStatus, summary string) Move {
	return Move{Do: End, Result: pawl.Result{Status: status, Summary: line(summary, maxSummary)}}
}

// maxSummary is how many bytes of an agent's last words become the step's summary.
const maxSummary = 300

// Left returns what the next turn may cost, 0 for anything.
func (c *Course) Left() float64 {
	if c.Action.MaxUSD == 0 {
		return 0
	}
	return max(c.Action.MaxUSD-c.spent, 0.000001)
}

// denied asks whether what was not permitted matters: if all that the step's checks ask for is so, it does not.
func (c *Course) denied(e Ending) Move {
	if !c.Checked {
		return Move{Do: Inform}
	}
	return ends(pawl.ResultDone, e.Words)
}

// Refused is the move after Inform where the checks do not pass, or there are none.
func (c *Course) Refused(e Ending) Move {
	m := ends(pawl.ResultBlocked, fmt.Sprintf("%s was not permitted: %s", c.Action.Use, strings.Join(e.Denied, "; ")))
	m.Result.Blockers = []string{m.Result.Summary + fmt.Sprintf(" (allow it in the settings of %s, or by args in the plan)", c.Action.Use)}
	return m
}

// limited waits for the end of a limit: once, and only within the step's time.
func (c *Course) limited(e Ending, session bool, now time.Time) Move {
	until := e.Reset
	if until.IsZero() {
		until = now.Add(blindWait)
	}
	why := fmt.Sprintf("%s is at its usage limit", c.Action.Use)
	if !e.Reset.IsZero() {
		why += " until " + e.Reset.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	switch why += " (" + e.Why + ")"; {
	case !c.Action.MayWait():
		return ends(pawl.ResultFailed, why)
	case c.waited:
		return ends(pawl.ResultFailed, why+"; it was waited for once")
	case !until.Before(c.Deadline):
		return ends(pawl.ResultFailed, why+"; the step's timeout is over before")
	}
	c.waited = true
	move := Move{Do: GoOn, Why: why, Until: until}
	if !session {
		move.Do = Anew
	}
	return move
}

func (c *Course) full(e Ending) Move {
	why := fmt.Sprintf("%s's context is full (%s)", c.Action.Use, e.Why)
	if c.renewed++; c.renewed > maxRenewed {
		return ends(pawl.ResultFailed, fmt.Sprintf("%s, in the %dth session of this attempt: make the step smaller", why, c.renewed))
	}
	return Move{Do: Renew, Why: why}
}

// killed goes on once with the session of an agent that somebody ended who was not us.
func (c *Course) killed(e Ending, session bool) Move {
	why := fmt.Sprintf("%s was ended: %s", c.Action.Use, cmp.Or(e.Why, "by a signal"))
	if c.revived || !session {
		return ends(pawl.ResultFailed, why)
	}
	c.revived = true
	return Move{Do: GoOn, Why: why}
}
