package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// known is the state of one call according to the ledger.
type known struct {
	*scripted.Call
	session  int
	before   map[string]scripted.Seen
	intent   sure // its intent is journaled
	outcome  sure // its outcome is journaled
	settled  bool // it is no longer in doubt
	toldTo   int  // the session whose brief listed it as in doubt
	mayBeOf  int  // the session told before, if that one may not have got its brief
	listed   sure // it did: pawl may still have considered the call's own session as running
	omitted  int  // the newest session whose brief did not list it
	begun    bool // its tool started
	unheard  bool // no hook had journaled it
	kept     bool // a verdict was journaled while no process of it lived
	effects  int  // files that a tool for files had changed
	asked    sure // a request for permission was reported to a hook
	refused  bool // the person said no
	passed   bool // after that, its session ended the turn well, in the same process
	underway sure // its session is running, so it is not in doubt yet
	well     bool // its tool succeeded

	unsettled bool     // when a brief listed it, its effects were unclear or it was running
	touched   []string // paths that pawl says it may have changed
	worked    bool     // a later call may have worked on its paths
	id        pawl.OperationID

	truth  scripted.Truth          // at the last look
	first  []pawl.OperationVerdict // the correct ones when it ended, or at its first verdict without a running process
	judged map[bool]bool           // whether it was counted: while it ran, and afterwards
}

// status says whether the call is in doubt.
func (k *known) status() sure {
	switch {
	case k.settled, k.outcome == yes, k.intent == no, k.Reads, k.underway == yes:
		return no
	case k.worked, k.underway == maybe:
		return maybe
	case k.intent == yes && k.outcome == no:
		return yes
	}
	return maybe
}

// ledgerLines reads the ledger. It ignores a line that a killed agent wrote only partly: an agent records first what it is about
// to do, and afterwards what it did.
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

// learn reads the new lines of the ledger.
func (c *drama) learn() error {
	lines, err := c.ledgerLines()
	if err != nil {
		return err
	}
	for _, l := range lines[c.lines:] {
		switch l.What {
		case scripted.Fault:
			return c.wrong("session %d: %s", l.Session, l.Text)
		case scripted.Started:
			c.welcome[l.Session] = surely(l.Well)
		case scripted.Prompting:
			c.turnOf(l.Session).prompted(l.Text)
		case scripted.Halting:
			c.halt(l.Session, maybe)
		case scripted.Halted:
			c.halt(l.Session, c.welcome[l.Session])
			c.turnOf(l.Session).ended()
			c.passed(l.Session)
		case scripted.Over:
		case scripted.Dying:
			c.tally.suffered("agent killed: " + l.Text)
		default:
			k := c.known[l.Call]
			k.learn(l)
			if l.What == scripted.Told || l.What == scripted.Telling {
				c.workedOn(k)
			}
		}
		if l.What == scripted.Started {
			c.briefed(l.Session)
		}
	}
	c.lines = len(lines)
	return nil
}

// passed records that a session ended a turn well. What it was refused in that turn has no outcome.
func (c *drama) passed(session int) {
	for _, k := range c.known {
		k.passed = k.passed || k.session == session && k.refused
	}
}

func surely(well bool) sure {
	if well {
		return yes
	}
	return maybe
}

// learn applies a line about the call.
func (k *known) learn(l scripted.Line) {
	switch l.What {
	case scripted.Announced:
		k.before, k.intent = l.Seen, maybe
	case scripted.Meant:
		k.intent = surely(l.Well)
	case scripted.AskedFor:
		k.asked = maybe
	case scripted.Asked:
		k.asked = surely(l.Well)
	case scripted.Refused:
		k.refused = true
	case scripted.Begun:
		k.begun = true
	case scripted.Ended:
		k.well = l.Well
		k.first = k.Right(k.Truth(k.before, l.Seen), false)
	case scripted.Effect:
		k.effects++
	case scripted.Telling:
		k.outcome = maybe
	case scripted.Told:
		k.outcome = surely(l.Well)
	}
}

// workedOn marks the calls that another call, whose outcome was reported, may have finished or repeated.
func (c *drama) workedOn(by *known) {
	if !by.well && by.Session.Agent() != "codex" { // it does not report failures to hooks
		return
	}
	for _, k := range c.known {
		if k != by && k.toldTo > 0 && !k.settled && (bytes.Equal(k.Input, by.Input) || k.shares(by)) {
			k.worked = true
		}
	}
}

// shares reports whether another call touched the same names as this one, according to its input and its verdict.
func (k *known) shares(by *known) bool {
	mine := scripted.Names(append(slices.Clone(k.Paths), k.touched...))
	for name := range scripted.Names(by.Paths) {
		if mine[name] {
			return true
		}
	}
	return k.Sub != nil
}

// briefed records that the brief of a session listed all calls that were in doubt when it began, except those that it was seen to omit.
func (c *drama) briefed(session int) {
	for _, k := range c.inDoubt() {
		if k.session < session && k.omitted != session {
			k.mayBeOf = 0
			if c.welcome[session] != yes {
				k.mayBeOf = k.toldTo
			}
			k.toldTo, k.listed = session, yes
			if k.underway != no {
				k.listed = maybe
			}
		}
	}
}

// halt settles the calls in the brief of a session that has ended its turn. If a later session began meanwhile, its brief may have
// listed them too; then its turn counts.
func (c *drama) halt(session int, how sure) {
	if len(c.sessions) > session {
		how = maybe
	}
	for _, k := range c.known {
		if k.toldTo != session && k.mayBeOf != session || k.settled || k.unsettled {
			continue
		}
		if how == yes && k.listed == yes && k.toldTo == session {
			k.settled = true
		} else {
			k.outcome = maybe
		}
	}
}

// report is an operation in doubt, as pawl reports it.
type report struct {
	ID       pawl.OperationID      `json:"id"`
	Session  pawl.SessionID        `json:"session"`
	Tool     string                `json:"tool"`
	Summary  string                `json:"summary"`
	Digest   string                `json:"digest"`
	Verdict  pawl.OperationVerdict `json:"verdict"`
	Evidence []string              `json:"evidence"`
	Seq      pawl.Seq              `json:"seq"`
}

// String names it.
func (r report) String() string {
	return fmt.Sprintf("%s %s %q: %s (%s)", r.ID, r.Tool, r.Summary, r.Verdict, strings.Join(r.Evidence, "; "))
}

// reported returns the operations that pawl reports as in doubt.
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

// witness is the state of all calls at one moment.
type witness struct {
	truth map[*known]scripted.Truth
	alive map[int][]int // processes by call
	left  map[int][]int // the same for calls whose outcome was reported
}

// witness collects the state of all calls that may be in doubt.
func (c *drama) witness() (*witness, error) {
	w := &witness{truth: map[*known]scripted.Truth{}, left: map[int][]int{}}
	doubts := c.inDoubt()
	w.alive = c.survivors()
	for n, pids := range w.alive {
		if k := c.known[n]; k != nil && k.outcome == yes {
			w.left[n] = pids
			delete(w.alive, n)
		}
	}
	for _, k := range doubts {
		now, err := scripted.Observe(c.project(), k.Paths)
		if err != nil {
			return nil, err
		}
		if k.refused { // others may have changed what is there
			now = k.before
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

// match finds the call of each report. Every call in doubt must have a report, and no other call may have one.
func (c *drama) match(reports []report, when string) error {
	found := map[*known]bool{}
	for _, r := range reports {
		k := c.find(r, found)
		if k == nil {
			return c.wrong("%s: invented: %s\n%s", when, r, c.knowledge(r.Session))
		}
		found[k], k.id, c.ids[r.ID] = true, r.ID, k
	}
	for _, k := range c.inDoubt() {
		switch {
		case found[k]:
			k.intent, k.outcome, k.worked = yes, no, false
		case k.status() == yes && !c.doubled(k):
			return c.wrong("%s: not reported: call %d of session %d, %s %s\n%s", when, k.N, k.session, k.Tool, k.Input, c.knowledge(k.Session))
		case k.underway == maybe: // it may be reported once its process has ended
		default:
			k.settled, k.unheard = true, k.outcome != yes
		}
	}
	return nil
}

// knowledge lists what is known of the calls of a session.
func (c *drama) knowledge(session pawl.SessionID) string {
	text := ""
	for _, n := range slices.Sorted(maps.Keys(c.known)) {
		if k := c.known[n]; k.Session == session {
			text += fmt.Sprintf("  call %d (session %d): intent %d, outcome %d, settled %v, in the brief of %d, unsettled %v, worked %v, asked %d, refused %v, under way %d, id %s\n",
				n, k.session, k.intent, k.outcome, k.settled, k.toldTo, k.unsettled, k.worked, k.asked, k.refused, k.underway, k.id)
		}
	}
	return text
}

// doubled reports whether an agent without call ids reported the outcome of an identical call whose intent was not journaled: then it is
// unknown which of the two ended.
func (c *drama) doubled(k *known) bool {
	for _, other := range c.known {
		if other != k && k.ID == "" && other.Session == k.Session && bytes.Equal(other.Input, k.Input) && other.intent != yes && other.outcome != no {
			return true
		}
	}
	return false
}

// find returns the call of a report: by the agent's id for it or, without ids, by its input. Of several identical calls it returns
// the most certain.
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
		same := k.ID == "" && k.Digest() == r.Digest
		if (named || same) && (best == nil || k.status() > best.status()) {
			best = k
		}
	}
	return best
}

// weigh checks one verdict, and counts it.
func (c *drama) weigh(r report, before, after *witness, when string) error {
	k := c.ids[r.ID]
	if k == nil {
		return c.wrong("%s: invented: %s", when, r)
	}
	lived, lives := before.alive[k.N], after.alive[k.N]
	was, is := before.truth[k], after.truth[k]
	right := append(k.verdicts(was, len(lived) > 0), k.verdicts(is, len(lives) > 0)...)
	k.truth = is
	if k.effects > 0 && is == scripted.Nothing && k.first == nil {
		return c.wrong("the torture is wrong: call %d had effects, and nothing is there", k.N)
	}
	still := len(lived) > 0 && len(lives) > 0
	line := fmt.Sprintf("%s: call %d, a %s of session %d: %s (it was: %s; right: %v; alive: %v, then %v); %s", when, k.N, k.Sort, k.session, is, was, right, lived, lives, r)
	c.compared.WriteString(line + "\n")
	if c.haunted(k) && slices.Contains([]scripted.Truth{scripted.Nothing, scripted.Traceless, scripted.AsBefore}, is) {
		right = append(right, pawl.OperationPartly, pawl.OperationUnknown)
	}
	if k.Sort == scripted.Git && k.begun && is == scripted.Nothing { // git was killed behind its lock
		right = append(right, pawl.OperationPartly)
	}
	if !k.kept && c.repeated(k) {
		right = append(right, pawl.OperationDone, pawl.OperationPartly, pawl.OperationUnknown)
	}
	if len(lived)+len(lives) > 0 && c.pausesLike(k) {
		right = append(right, pawl.OperationUnknown)
	}
	if !k.refused {
		right = append(right, k.first...)
	}
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

// haunted reports whether another call ran during this one or after it without a report to any hook, because each hook was killed. Its
// effects cannot be distinguished from those of this call.
func (c *drama) haunted(k *known) bool {
	for _, other := range c.known {
		same := other.session == k.session || c.hosts[other.session] == k.session || c.hosts[k.session] == other.session
		later := other.N > k.N && !k.kept // no verdict was journaled before the other ran
		if other != k && (same || later) && other.begun && other.unheard {
			return true
		}
	}
	return false
}

// pausesLike reports whether another call of the session runs the same sleep. If one is alive whose shell is gone, it is unknown whose it is.
func (c *drama) pausesLike(k *known) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(c.known)), func(other *known) bool {
		return other != k && other.session == k.session && other.begun && k.PausesLike(other.Call)
	})
}

// repeated reports whether the same work was called for again after this, by any client: the content of the files in between is lost.
func (c *drama) repeated(k *known) bool {
	for _, other := range c.known {
		if other.N <= k.N || !other.begun {
			continue
		}
		same := strings.HasSuffix(other.Command, k.Command) || strings.HasSuffix(k.Command, other.Command) // one changes to its folder first
		if k.Command != "" && other.Command != "" && same && slices.Equal(other.Paths, k.Paths) || other.Tool == k.Tool && bytes.Equal(other.Input, k.Input) {
			return true
		}
	}
	return false
}

// named checks that the evidence names a process of the call that was alive throughout, and no process of another call.
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
		if k.Sub != nil && c.known[n].Session.Parent() == k.Session {
			continue
		}
		for _, pid := range pids {
			if n != k.N && strings.Contains(evidence, fmt.Sprintf("still running: process %d,", pid)) {
				return c.wrong("%s: process %d belongs to call %d, and is reported for call %d: %s", when, pid, n, k.N, r)
			}
		}
	}
	return nil
}

// judged compares the verdicts and the brief at a session's start with the truth.
func (c *drama) judged(s *scripted.Session, before, after *witness) error {
	events, err := c.judgments()
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
			return c.wrong("at the start of %s a verdict names the session %s", session, e.Told)
		}
		intent := c.intents[e.Operation]
		r := report{ID: e.Operation, Session: intent.Session, Digest: intent.Digest, Verdict: e.Verdict, Evidence: e.Evidence}
		if c.ids[e.Operation] == nil { // its hook outlived its agent
			if k := c.find(r, found); k != nil {
				c.ids[e.Operation], k.id, k.intent = k, e.Operation, yes
			}
		}
		if k := c.ids[e.Operation]; k != nil {
			k.unsettled, k.touched = unsettled(e), e.Paths
		}
		if err := c.weigh(r, before, after, "at a session's start"); err != nil {
			return err
		}
		k := c.ids[e.Operation]
		found[k], k.kept = true, k.first != nil
	}
	for _, k := range c.inDoubt() {
		if k.session >= s.N || found[k] {
			continue
		}
		if k.status() == yes {
			return c.wrong("at a session's start: not judged: call %d of session %d, %s %s", k.N, k.session, k.Tool, k.Input)
		}
		k.omitted = s.N
	}
	return c.readBrief(textOf(text), s, events, before, after)
}

// unsettled reports whether a call with this verdict still has to be checked.
func unsettled(j pawl.OperationJudged) bool {
	return j.Runs || !j.Reads && (j.Verdict == pawl.OperationPartly || j.Verdict == pawl.OperationUnknown)
}

// judgments returns the verdicts that were journaled since the last call.
func (c *drama) judgments() ([]pawl.OperationJudged, error) {
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
			if n++; n <= c.read {
				continue
			}
			var begun pawl.OperationBegun
			if event.Type == begun.Event() && json.Unmarshal(event.Data, &begun) == nil {
				c.intents[cmp.Or(begun.ID, pawl.OperationIDOf(begun.Session, fmt.Sprint("event-", event.Seq)))] = begun.Operation
			}
			var judged pawl.OperationJudged
			if event.Type == (pawl.OperationJudged{}).Event() && json.Unmarshal(event.Data, &judged) == nil {
				found = append(found, judged)
			}
		}
	}
	c.read = n
	return found, nil
}
