package headless

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// How says how a turn of an agent came out.
type How string

// How turns come out.
const (
	Finished  How = "finished"  // it says that it has done what it was asked; whether that is so, the step's checks say
	Denied    How = "denied"    // it says so too, but was not permitted something that it wanted to do
	Limited   How = "limited"   // its account may use no more for a while
	Full      How = "full"      // its context is full, and it could not help itself
	Overspent How = "overspent" // it has cost what it may cost
	Gone      How = "gone"      // the session that it was to go on with is not there
	Killed    How = "killed"    // a signal ended it, and not by our wish
	Failed    How = "failed"    // anything else
)

// Ending is how a turn came out.
type Ending struct {
	How    How
	Why    string    // in its own words; empty where it has none
	Reset  time.Time // limited: until when, zero where it does not say
	Denied []string  // what it was not permitted
	Words  string    // the last that it said to people
}

// Exit is how an agent's process ended.
type Exit struct {
	Code   int
	Signal string // that ended it; empty: none
}

// trouble is something that went wrong.
type trouble struct {
	how   How
	why   string
	reset time.Time
}

// fails takes in an error in the agent's words, with the status of its model's answer, 0 where there is none. A later one
// that says less does not hide an earlier one.
func (s *Stream) fails(why string, status int) {
	how := kindOf(why, status)
	if why == "" || how == Failed && s.trouble.how != "" && s.trouble.how != Failed {
		return
	}
	s.ended = false
	s.trouble.how, s.trouble.why = how, why
}

// End says how the turn came out whose process has ended, at the time now.
func (s *Stream) End(x Exit, now time.Time) Ending {
	e := Ending{Denied: s.denied, Words: strings.TrimSpace(s.words)}
	well := x == Exit{} && (s.ended || !s.agent.ends && s.trouble.how == "")
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

// failed says why a turn did not end well: by what the stream told, else by the end of the error output, else by how the
// process ended.
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
		e.Why = "it was ended by " + x.Signal
	case e.Why == "":
		e.Why = s.lastWords(x)
	}
	e.Why = line(e.Why, maxWhy)
}

// lastWords says how a process ended that did not say why.
func (s *Stream) lastWords(x Exit) string {
	how := "it ended without a word on how"
	if x.Code != 0 {
		how = fmt.Sprintf("exit code %d", x.Code)
	}
	if len(s.lines) > 0 {
		how += ": " + s.lines[len(s.lines)-1]
	}
	return how
}

// maxWhy is how many bytes of an agent's words for what went wrong are told.
const maxWhy = 500

// byErrors finds out by the words of its errors what went wrong with the agent.
func (s *Stream) byErrors(e *Ending) How {
	told := append(slices.Clone(s.lines), s.trouble.why)
	for _, text := range told {
		if s.turn.Resume && containsAny(strings.ToLower(text), s.agent.gone) {
			e.Why = text
			return Gone
		}
	}
	if s.trouble.how == Failed {
		return Failed // it knows better than its log
	}
	for _, text := range told {
		if how := kindOf(text, 0); how != Failed {
			e.Why = text
			return how
		}
	}
	return Failed
}

// reset returns until when a limit lasts: as the agent told by itself, or in its words for it.
func (s *Stream) reset(why string, now time.Time) time.Time {
	if sensible(s.trouble.reset, now) {
		return s.trouble.reset
	}
	return resetIn(why, now)
}

// Words by which agents and their models tell that a context is full, and that an account is at its limit, in lower case.
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

// kindOf says what an error in an agent's words is, with the status of its model's answer.
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

// withoutColours returns what a terminal would show.
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
