package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/test/torture/scripted"
)

// sure says whether something is so.
type sure int

const (
	no sure = iota
	maybe
	yes
)

// known is what the ledger says of one call.
type known struct {
	*scripted.Call
	session int
	before  map[string]scripted.Seen
	intent  sure // it is journaled
	outcome sure // it is
	settled bool // nothing about it is in doubt any more
	toldTo  int  // the session that was told that it is in doubt
	begun   bool // its tool
	unheard bool // it turned out that no hook had journaled it
	effects int  // files that a tool for files had changed
	id      pawl.OperationID

	truth  scripted.Truth          // as it was when it was last looked at
	first  []pawl.OperationVerdict // that were right when it had ended, or was judged first and nothing of it ran
	judged map[bool]bool           // it was counted: while it ran, and when nothing of it did
}

// status says whether the call is in doubt.
func (k *known) status() sure {
	switch {
	case k.settled, k.outcome == yes, k.intent == no:
		return no
	case k.intent == yes && k.outcome == no:
		return yes
	}
	return maybe
}

// ledgerLines reads the ledger. A line that an agent had not written whole when it was killed counts for nothing: it notes
// what it is about to do first, and what it did afterwards.
func (c *drama) ledgerLines() ([]scripted.Line, error) {
	data, err := os.ReadFile(c.outside("ledger"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var lines []scripted.Line
	for text := range bytes.Lines(data) {
		var l scripted.Line
		if json.Unmarshal(text, &l) == nil {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// learn takes in what the ledger says of a session that is over.
func (c *drama) learn(s *scripted.Session) error {
	lines, err := c.ledgerLines()
	if err != nil {
		return err
	}
	welcomed := no
	for _, l := range lines[c.lines:] {
		switch l.What {
		case scripted.Fault:
			return c.wrong("session %d: %s", l.Session, l.Text)
		case scripted.Started:
			welcomed = surely(l.Well)
		case scripted.Halting:
			c.halt(s.N, maybe)
		case scripted.Halted:
			c.halt(s.N, welcomed)
		case scripted.Dying:
			c.tally.suffered("agent killed: " + l.Text)
		default:
			c.known[l.Call].learn(l)
		}
		if l.What == scripted.Started {
			c.tell(s.N)
		}
	}
	c.lines = len(lines)
	return nil
}

func surely(well bool) sure {
	if well {
		return yes
	}
	return maybe
}

// learn takes in a line about the call.
func (k *known) learn(l scripted.Line) {
	switch l.What {
	case scripted.Announced:
		k.before, k.intent = l.Seen, maybe
	case scripted.Meant:
		k.intent = surely(l.Well)
	case scripted.Begun:
		k.begun = true
	case scripted.Ended:
		k.first = k.Right(k.Truth(k.before, l.Seen), false)
	case scripted.Effect:
		k.effects++
	case scripted.Telling:
		k.outcome = maybe
	case scripted.Told:
		k.outcome = surely(l.Well)
	}
}

// tell notes that a session was told of all that was in doubt when it began.
func (c *drama) tell(session int) {
	for _, k := range c.inDoubt() {
		if k.session < session {
			k.toldTo = session
		}
	}
}

// halt settles what a session was told, for it has ended its turn.
func (c *drama) halt(session int, how sure) {
	for _, k := range c.known {
		if k.toldTo != session || k.settled {
			continue
		}
		if how == yes {
			k.settled = true
		} else {
			k.outcome = maybe
		}
	}
}

// report is an operation in doubt, as pawl tells of it.
type report struct {
	ID       pawl.OperationID      `json:"id"`
	Session  pawl.SessionID        `json:"session"`
	Tool     string                `json:"tool"`
	Summary  string                `json:"summary"`
	Digest   string                `json:"digest"`
	Verdict  pawl.OperationVerdict `json:"verdict"`
	Evidence []string              `json:"evidence"`
}

// String names it.
func (r report) String() string {
	return fmt.Sprintf("%s %s %q: %s (%s)", r.ID, r.Tool, r.Summary, r.Verdict, strings.Join(r.Evidence, "; "))
}

// reported asks what is in doubt.
func (c *drama) reported() ([]report, error) {
	said, code := c.pawl("brief", "--json")
	var b struct {
		Operations []report `json:"operations"`
	}
	if err := json.Unmarshal([]byte(said), &b); code != 0 || err != nil {
		return nil, c.wrong("brief: exit code %d, %v: %s", code, err, said)
	}
	return b.Operations, nil
}

// witness is what was true at some moment.
type witness struct {
	truth map[*known]scripted.Truth
	alive map[int][]int // processes by the calls that they are of
}

// witness looks at all that may be in doubt.
func (c *drama) witness() (*witness, error) {
	w := &witness{truth: map[*known]scripted.Truth{}}
	doubts := c.inDoubt()
	if len(doubts) > 0 {
		w.alive = c.survivors()
	}
	for _, k := range doubts {
		now, err := scripted.Observe(c.project(), k.Paths)
		if err != nil {
			return nil, err
		}
		w.truth[k] = k.Truth(k.before, now)
	}
	return w, nil
}

// compare compares what `pawl brief` reports with the truth.
func (c *drama) compare(when string) error {
	before, err := c.witness()
	if err != nil {
		return err
	}
	reports, err := c.reported()
	if err != nil {
		return err
	}
	after, err := c.witness()
	if err != nil {
		return err
	}
	if err := c.match(reports, when); err != nil {
		return err
	}
	for _, r := range reports {
		if err := c.weigh(r, before, after, when); err != nil {
			return err
		}
	}
	return nil
}

// match finds the call of each report. Every call that is in doubt must have one, and none that is not may.
func (c *drama) match(reports []report, when string) error {
	found := map[*known]bool{}
	for _, r := range reports {
		k := c.find(r, found)
		if k == nil {
			return c.wrong("%s: invented: %s", when, r)
		}
		found[k], k.id, c.ids[r.ID] = true, r.ID, k
	}
	for _, k := range c.inDoubt() {
		switch {
		case found[k]:
			k.intent, k.outcome = yes, no
		case k.status() == yes && !c.doubled(k):
			return c.wrong("%s: not reported: call %d of session %d, %s %s", when, k.N, k.session, k.Tool, k.Input)
		default:
			k.settled, k.unheard = true, k.outcome != yes
		}
	}
	return nil
}

// doubled reports whether an agent that does not name its calls told of the outcome of another call that is the same, and
// whose intent no hook had journaled: then nobody can tell which of them that was.
func (c *drama) doubled(k *known) bool {
	for _, other := range c.known {
		if other != k && k.ID == "" && other.Session == k.Session && bytes.Equal(other.Input, k.Input) && other.intent != yes && other.outcome != no {
			return true
		}
	}
	return false
}

// find returns the call that a report is about: by the agent's name for it, or where it has none by what it was given. Of
// several that are the same, the surest.
func (c *drama) find(r report, taken map[*known]bool) *known {
	if k := c.ids[r.ID]; k != nil && k.status() != no && !taken[k] {
		return k
	}
	var best *known
	for _, k := range c.inDoubt() {
		if taken[k] || k.Session != r.Session || k.id != "" && k.id != r.ID {
			continue
		}
		named := k.ID != "" && r.ID == pawl.OperationIDOf(k.Session, k.ID)
		same := k.ID == "" && digestOf(k.Tool, k.Input) == r.Digest
		if (named || same) && (best == nil || k.status() > best.status()) {
			best = k
		}
	}
	return best
}

// digestOf is SHA-256 of a tool's name and its input, whose keys Go sorts as pawl does.
func digestOf(tool string, input []byte) string {
	var v any
	_ = json.Unmarshal(input, &v) // we wrote it
	plain, _ := json.Marshal(v)
	sum := sha256.Sum256(append([]byte(tool+"\x00"), plain...))
	return hex.EncodeToString(sum[:])
}

// weigh checks one verdict, and counts it.
func (c *drama) weigh(r report, before, after *witness, when string) error {
	k := c.ids[r.ID]
	if k == nil {
		return c.wrong("%s: invented: %s", when, r)
	}
	lived, lives := before.alive[k.N], after.alive[k.N]
	was, is := before.truth[k], after.truth[k]
	right := append(k.Right(was, len(lived) > 0), k.Right(is, len(lives) > 0)...)
	k.truth = is
	if k.effects > 0 && is == scripted.Nothing && k.first == nil {
		return c.wrong("the torture is wrong: call %d had effects, and nothing is there", k.N)
	}
	still := len(lived) > 0 && len(lives) > 0
	line := fmt.Sprintf("%s: call %d, a %s of session %d: %s (it was: %s; right: %v; alive: %v, then %v); %s", when, k.N, k.Sort, k.session, is, was, right, lived, lives, r)
	c.heard.WriteString(line + "\n")
	if c.haunted(k) && (is == scripted.Nothing || is == scripted.Traceless) {
		right = append(right, pawl.OperationPartly, pawl.OperationUnknown)
	}
	if k.first == nil && c.repeated(k) {
		right = append(right, pawl.OperationDone, pawl.OperationPartly, pawl.OperationUnknown)
	}
	right = append(right, k.first...)
	silent := r.Verdict == pawl.OperationUnknown && k.Sort.Local() && !still && !slices.Contains(right, r.Verdict)
	if !slices.Contains(right, r.Verdict) && !silent {
		return c.wrong("%s", line)
	}
	if err := c.named(r, k, before, after, when); err != nil {
		return err
	}
	if len(lived)+len(lives) == 0 && k.first == nil {
		k.first = right
	}
	if k.judged == nil {
		k.judged = map[bool]bool{}
	}
	if (still || len(lived)+len(lives) == 0) && !k.judged[still] {
		k.judged[still] = true
		c.counts.count(row{k.Sort, is}, still, r.Verdict)
		if (row{k.Sort, is}).local() && r.Verdict == pawl.OperationUnknown && !silent {
			c.counts.blind++
		}
		if silent {
			c.counts.silent = append(c.counts.silent, fmt.Sprintf("case %d: %s", c.number, line))
		}
	}
	return nil
}

// haunted reports whether beside a call, or after it, another one was carried out of which the hooks never heard: each was
// killed with its news. What that did nobody can tell from what this one did.
func (c *drama) haunted(k *known) bool {
	for _, other := range c.known {
		if other != k && other.session == k.session && other.begun && other.unheard {
			return true
		}
	}
	return false
}

// repeated reports whether a call that is the same was carried out after this one: what the files held in between is gone.
func (c *drama) repeated(k *known) bool {
	for _, other := range c.known {
		if other.N > k.N && other.begun && other.Tool == k.Tool && bytes.Equal(other.Input, k.Input) {
			return true
		}
	}
	return false
}

// named checks that the evidence names a process of the call that lived all the while, and as surely the call's none of
// another.
func (c *drama) named(r report, k *known, before, after *witness, when string) error {
	evidence := strings.Join(r.Evidence, "\n") + "\n"
	var living []int
	for _, pid := range before.alive[k.N] {
		if slices.Contains(after.alive[k.N], pid) {
			living = append(living, pid)
		}
	}
	if len(living) > 0 && !slices.ContainsFunc(living, func(pid int) bool { return strings.Contains(evidence, fmt.Sprintf("process %d,", pid)) }) {
		return c.wrong("%s: processes %v of call %d run, and none is named: %s", when, living, k.N, r)
	}
	for n, pids := range after.alive {
		for _, pid := range pids {
			if n != k.N && strings.Contains(evidence, fmt.Sprintf("still running: process %d,", pid)) {
				return c.wrong("%s: process %d is of call %d, and is said to be of call %d: %s", when, pid, n, k.N, r)
			}
		}
	}
	return nil
}

// judged compares what was journaled and told at a session's start with the truth.
func (c *drama) judged(s *scripted.Session, before, after *witness) error {
	events, err := c.judgements()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(s.Told)
	if err != nil {
		return err
	}
	session := pawl.SessionIDOf(s.Dialect, s.ID, "")
	found := map[*known]bool{}
	for _, e := range events {
		if e.Told != session {
			return c.wrong("at the start of %s a verdict was told to %s", session, e.Told)
		}
		r := report{ID: e.Operation, Verdict: e.Verdict, Evidence: e.Evidence}
		if err := c.weigh(r, before, after, "at a session's start"); err != nil {
			return err
		}
		found[c.ids[e.Operation]] = true
	}
	for _, k := range c.inDoubt() {
		if k.session < s.N && !found[k] {
			return c.wrong("at a session's start: not judged: call %d of session %d, %s %s", k.N, k.session, k.Tool, k.Input)
		}
	}
	if n := strings.Count(string(text), "no outcome recorded"); n != len(events) && !strings.Contains(string(text), "Lines were omitted") {
		return c.wrong("of %d operations in doubt the brief tells of %d: %s", len(events), n, text)
	}
	return nil
}

// judgements returns the verdicts that were journaled since they were asked for last.
func (c *drama) judgements() ([]pawl.OperationJudged, error) {
	paths, err := filepath.Glob(c.project(pawlFolder, "runs", "*", "journal.jsonl"))
	if err != nil {
		return nil, err
	}
	var found []pawl.OperationJudged
	n := 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			var event pawl.Event
			if json.Unmarshal(line, &event) != nil {
				break // torn
			}
			if n++; n <= c.told {
				continue
			}
			payload, err := event.Payload()
			if judged, ok := payload.(pawl.OperationJudged); err == nil && ok {
				found = append(found, judged)
			}
		}
	}
	c.told = n
	return found, nil
}
