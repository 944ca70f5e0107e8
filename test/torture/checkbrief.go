package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"pawl"
	"pawl/test/torture/scripted"
)

// brief is the text that an agent gets at its start. Checks search it for words that only one call has, and for process numbers, so that
// sentences may change.
type brief string

// section returns the lines below the heading that contains these words.
func (b brief) section(words string) []string {
	var lines []string
	inside := false
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "## ") {
			inside = strings.Contains(line, words)
			continue
		}
		if inside {
			lines = append(lines, line)
		}
	}
	return lines
}

// about returns the lines that contain a mark.
func (b brief) about(mark string) []string {
	return slices.DeleteFunc(slices.Collect(strings.Lines(string(b))), func(line string) bool { return has(line, mark) == no })
}

// has reports whether a text contains a mark that is not the prefix of another one. Where the text was clipped behind the mark, that is
// unknown: maybe.
func has(text, mark string) sure {
	best := no
	for rest := text; mark != ""; {
		_, after, found := strings.Cut(rest, mark)
		switch {
		case !found:
			return best
		case strings.HasPrefix(after, "…"):
			best = maybe
		case after == "" || after[0] < '0' || after[0] > '9':
			return yes
		}
		rest = after
	}
	return best
}

// next returns the lines that say what to do next.
func (b brief) next() []string { return b.section("do next") }

// clipped reports whether the brief says that it omitted lines.
func (b brief) clipped() bool { return strings.Contains(string(b), "Lines were omitted") }

// names reports whether the brief names a process.
func (b brief) names(pid int) bool {
	return regexp.MustCompile(fmt.Sprintf(`\bprocess %d\b`, pid)).MatchString(string(b))
}

// turns is the known state of the turns of a conversation.
type turns struct {
	mark  string // of the last prompt
	sure  bool   // it ended well, or another session finished it
	takes []*turns
}

// partMark matches the words that are unique to a prompt.
var partMark = regexp.MustCompile(`part-[0-9]+-[ab]`)

// turnOf returns the turns of a session's conversation.
func (c *drama) turnOf(session int) *turns {
	s := c.sessions[session-1]
	id := pawl.SessionIDOf(s.Dialect, s.ID, "")
	if c.turns[id] == nil {
		c.turns[id] = &turns{}
	}
	return c.turns[id]
}

// prompted records that the agent is about to report a prompt.
func (t *turns) prompted(text string) { t.mark, t.sure = partMark.FindString(text), false }

// ended records that the turn ended well, and with it the turns that the brief told the session to continue.
func (t *turns) ended() {
	t.sure = true
	for _, other := range t.takes {
		other.sure = true
	}
	t.takes = nil
}

// readBrief compares the brief of an agent with the known facts.
func (c *drama) readBrief(b brief, s *scripted.Session, events []pawl.OperationJudged, before, after *witness) error {
	for _, e := range events {
		k := c.ids[e.Operation]
		if mark := k.Mark; mark != "" && !b.clipped() && !slices.ContainsFunc(b.about(mark), isDoubt) {
			return c.wrong("call %d is in doubt, and the brief does not say so: %s", k.N, b)
		}
	}
	told := len(slices.DeleteFunc(slices.Collect(strings.Lines(string(b))), func(line string) bool { return !strings.Contains(line, "no outcome recorded") }))
	if told != len(events) && told > 0 && !b.clipped() {
		return c.wrong("of %d operations in doubt the brief lists %d: %s", len(events), told, b)
	}
	if err := c.proposed(b, s); err != nil {
		return err
	}
	c.reportedFailures(b)
	return c.leftovers(b, s, before, after)
}

// isDoubt reports whether a line says that a call has no known outcome.
func isDoubt(line string) bool {
	return strings.Contains(line, "in doubt") || strings.Contains(line, "no outcome") || strings.Contains(line, "refused")
}

// proposed checks that the brief proposes nothing that is finished or refused, and records which turns it proposes to continue.
func (c *drama) proposed(b brief, s *scripted.Session) error {
	next := strings.Join(b.next(), "")
	me := c.turnOf(s.N)
	me.takes = nil
	for _, t := range c.turns {
		told := has(next, t.mark)
		if told == no {
			continue
		}
		if told == yes && (t.sure || c.live > 0 && t == c.turnOf(c.live)) {
			return c.wrong("finished work, or work of a running session, is proposed again: %s, in %s", t.mark, b)
		}
		me.takes = append(me.takes, t)
	}
	for _, k := range c.known {
		if k.Mark == "" || k.session >= s.N {
			continue
		}
		if k.outcome == yes && has(next, k.Mark) == yes {
			return c.wrong("finished call %d is proposed again: %s", k.N, b)
		}
		if !k.refused || k.truth == scripted.AsBefore || k.asked != yes && !k.passed { // no hook can know of the other refusals
			continue
		}
		if c.haunted(k) { // what another call changed may count as its effect
			continue
		}
		c.counts.refused++
		for _, line := range b.about(k.Mark) {
			if has(line, k.Mark) == yes && (!strings.Contains(line, "refus") || slices.Contains(b.next(), line)) {
				return c.wrong("call %d was refused (the question was reported to a hook: %v), and is proposed again: %s", k.N, k.asked == yes, line)
			}
		}
	}
	return nil
}

// reportedFailures counts the failed calls of the previous session that the brief lists, while its work is unfinished.
func (c *drama) reportedFailures(b brief) {
	last := len(c.sessions) - 1 // this one is the last
	if c.live > 0 || last < 1 || c.turnOf(last).sure || c.turnOf(last) == c.turnOf(last+1) {
		return
	}
	for _, k := range c.known {
		if k.session == last && k.outcome == yes && k.begun && !k.well && k.Mark != "" && k.Session.Parent() == "" {
			c.counts.failures++
			if len(b.about(k.Mark)) > 0 {
				c.counts.failuresListed++
			}
		}
	}
}

// leftovers checks that the brief and `pawl processes` name the processes that finished calls left running.
func (c *drama) leftovers(b brief, s *scripted.Session, before, after *witness) error {
	var listed string
	var later map[int][]int // the processes that lived when they were listed
	for n, pids := range before.left {
		living := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !slices.Contains(after.left[n], pid) })
		if len(living) == 0 || c.known[n].session >= s.N || c.known[n].intent != yes { // its intent was not reported to a hook
			continue
		}
		if listed == "" {
			said, code := c.pawl("processes", "--json")
			if listed, later = said, c.survivors(); code != 0 {
				return c.wrong("processes: exit code %d: %s", code, said)
			}
		}
		c.counts.left++
		if !slices.ContainsFunc(living, b.names) {
			c.counts.unnamed = append(c.counts.unnamed, fmt.Sprintf("case %d: the brief of session %d does not name a process %s", c.number, s.N, c.leftBy(n, living)))
		}
		if slices.Equal(living, later[n]) && !slices.ContainsFunc(living, func(pid int) bool { return lists(listed, pid) }) {
			c.counts.unnamed = append(c.counts.unnamed, fmt.Sprintf("case %d: pawl processes does not list a process %s: %s", c.number, c.leftBy(n, living), listed))
		}
	}
	return nil
}

// leftBy describes the processes of a call.
func (c *drama) leftBy(n int, pids []int) string {
	k := c.known[n]
	text := fmt.Sprintf("%v of call %d of session %d, %s %s in %s, hooks killed after %s and %s:", pids, n, k.session, k.Tool, k.Input, k.Dir, k.CutIntent, k.CutReport)
	for _, pid := range pids {
		dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		text += fmt.Sprintf(" [%q in %s, after %s]", readProc(pid, "cmdline"), dir, strings.Join(strings.Fields(readProc(pid, "stat") + strings.Repeat(" gone", 6))[:6], " "))
	}
	return text
}

// lists reports whether the output of `pawl processes --json` has a process.
func lists(listed string, pid int) bool {
	var any json.RawMessage
	return json.Unmarshal([]byte(listed), &any) == nil && regexp.MustCompile(fmt.Sprintf(`"pid": ?%d\b`, pid)).MatchString(listed)
}

// verdicts returns the correct verdicts on a call, also if it asked for permission. No hook reports the answer: a call that is not permitted
// can only be told from one that ran where files show its effects.
func (k *known) verdicts(t scripted.Truth, alive bool) []pawl.OperationVerdict {
	right := k.Right(t, alive)
	const refused pawl.OperationVerdict = "refused"
	nothing := !alive && (t == scripted.Nothing || t == scripted.Traceless || t == scripted.AsBefore)
	switch {
	case !nothing || k.asked == no, k.begun && t == scripted.Traceless:
		return right
	case k.refused && k.asked == yes && t != scripted.AsBefore:
		right = slices.DeleteFunc(right, func(v pawl.OperationVerdict) bool { return v != pawl.OperationUnknown })
	}
	return append(right, refused)
}

// textOf returns the text that an agent takes from a hook's answer: its context, in the field that the agent expects.
func textOf(answer []byte) brief {
	var given struct {
		Context string `json:"additionalContext"`
		Output  struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if json.Unmarshal(answer, &given) != nil {
		return brief(answer)
	}
	return brief(given.Context + given.Output.Context)
}
