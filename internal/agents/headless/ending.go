package headless

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// How is the outcome of a turn.
type How string

// The outcomes of a turn.
const (
	Finished  How = "finished"  // the agent reports success; the step's checks decide
	Denied    How = "denied"    // the same, but it was denied a permission
	Limited   How = "limited"   // its account reached a usage limit
	Full      How = "full"      // its context is full and could not be compacted
	Overspent How = "overspent" // it reached its cost limit
	Gone      How = "gone"      // the session to resume does not exist
	Killed    How = "killed"    // killed by a signal that pawl did not send
	Failed    How = "failed"    // anything else
)

// Ending is the outcome of a turn with its details.
type Ending struct {
	How    How
	Why    string    // the agent's message; may be empty
	Reset  time.Time // Limited: when the limit ends, zero if unknown
	Denied []string  // denied permissions
	Text   string    // its last message to the user
}

// Exit is how an agent's process ended.
type Exit struct {
	Code   int
	Signal string // that killed it; empty: none
}

// trouble is an error of a turn.
type trouble struct {
	how   How
	why   string
	reset time.Time
}

// setError records an error message of the agent, with the HTTP status of the model's answer, 0 if there is none. A later
// general error does not replace an earlier specific one.
func (s *Stream) setError(why string, status int) {
	how := kindOf(why, status)
	if why == "" || how == Failed && s.trouble.how != "" && s.trouble.how != Failed {
		return
	}
	s.ended = false
	s.trouble.how, s.trouble.why = how, why
}

// End returns the outcome of the turn after its process has exited.
func (s *Stream) End(x Exit, now time.Time) Ending {
	e := Ending{Denied: s.denied, Text: strings.TrimSpace(s.text)}
	well := x == Exit{} && (s.ended || !s.agent.ends && s.trouble.how == "") || x == Exit{Code: 1} && s.ended && s.resumed
	switch {
	case s.trouble.how == Overspent:
		e.How, e.Why = Overspent, s.trouble.why
	case well && len(s.denied) > 0:
		e.How = Denied
	case well:
		e.How = Finished
	default:
		s.failed(&e, x, now)
	}
	return e
}

// failed sets the outcome of an unsuccessful turn: from the stream, else from the error output, else from the exit status.
func (s *Stream) failed(e *Ending, x Exit, now time.Time) {
	e.How, e.Why = s.trouble.how, s.trouble.why
	if e.How == "" || e.How == Failed {
		e.How = s.byErrors(e)
	}
	switch {
	case e.How == Limited:
		e.Reset = s.reset(e.Why, now)
	case e.How == Failed && x.Signal != "":
		e.How = Killed
		e.Why = x.Signal
	case e.How == Failed && e.Why == "" && x.killedBelow() != "":
		e.How = Killed
		e.Why = x.killedBelow()
	case e.Why == "":
		e.Why = s.exitText(x)
	}
	e.Why = line(e.Why, maxWhy)
}

// killedBelow returns the signal that killed the agent below a shell that started it, by the shell's exit code; "" for none.
func (x Exit) killedBelow() string {
	switch x.Code {
	case 128 + 9:
		return "SIGKILL"
	case 128 + 15:
		return "SIGTERM"
	}
	return ""
}

// exitText describes the exit of a process that reported no error.
func (s *Stream) exitText(x Exit) string {
	how := "it exited without reporting a result"
	if x.Code != 0 {
		how = fmt.Sprintf("exit code %d", x.Code)
	}
	if len(s.lines) > 0 {
		how += ": " + s.lines[len(s.lines)-1]
	}
	return how
}

// maxWhy is the maximum size of an error message in bytes.
const maxWhy = 500

// byErrors classifies the failure by the agent's error output.
func (s *Stream) byErrors(e *Ending) How {
	texts := append(slices.Clone(s.lines), s.trouble.why)
	for _, text := range texts {
		if s.turn.Resume && containsAny(strings.ToLower(text), s.agent.gone) {
			e.Why = text
			return Gone
		}
	}
	if s.trouble.how == Failed {
		return Failed // the reported error is more precise than the log
	}
	for _, text := range texts {
		if how := kindOf(text, 0); how != Failed {
			e.Why = loggedError(text) // trouble may be reset by output that was written before the log line and read after it
			return how
		}
	}
	return Failed
}

// reset returns the end of a usage limit, from a field of a message or from the error text.
func (s *Stream) reset(why string, now time.Time) time.Time {
	if sensible(s.trouble.reset, now) {
		return s.trouble.reset
	}
	return resetIn(why, now)
}

// Phrases in error messages for a full context and for a usage limit, in lower case.
var (
	fullWords = []string{
		"prompt is too long", "prompt as too long", "context window", "context length", "context_length", "context limit", "maximum context",
		"exceeds the maximum number of tokens", "ran out of room", "contextoverflow", "input is too long",
	}
	limitWords = []string{
		"usage limit", "usage_limit", "rate limit", "rate_limit", "ratelimit", "hit your limit", "limit reached", "quota", "too many requests",
		"resource_exhausted", "resource has been exhausted", "overloaded",
	}
)

// kindOf classifies an error message, with the HTTP status of the model's answer.
func kindOf(why string, status int) How {
	text := strings.ToLower(why)
	switch {
	case containsAny(text, fullWords):
		return Full
	case status == 429, status == 529, containsAny(text, limitWords):
		return Limited
	}
	return Failed
}

func containsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// withoutColours removes terminal escape sequences.
func withoutColours(text string) string {
	var out strings.Builder
	for {
		before, after, coloured := strings.Cut(text, "\x1b[")
		out.WriteString(before)
		if !coloured {
			return out.String()
		}
		end := strings.IndexFunc(after, func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			return out.String()
		}
		text = after[end+1:]
	}
}
