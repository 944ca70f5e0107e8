package rebuild

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/redact"
)

// Evidence is everything that is left of a run with a damaged or missing journal, as plain data.
type Evidence struct {
	Run     pawl.RunID
	Project string // project ID
	Version string // of this program
	Person  string // the person who will accept the proposal

	Journal   []pawl.Event // events before the damage, without gaps
	Damage    string       // the damage; "" if the journal alone shows none
	CachedSeq pawl.Seq     // last event of the cached state

	Plan           *pawl.Plan       // nil if there is none, or none was found
	Planned        *pawl.RunPlanned // the event to journal; nil if the journal has it
	PlanFrom       string           // where the plan was found
	PlanConfidence Confidence       // confidence that it is the plan of this run

	ListFaults map[pawl.StepID]string // why a step's item list is unknown
	Units      []Unit                 // every step of the plan, each foreach step followed by its items
	State      *StateView
	Summaries  map[pawl.StepID]SummaryView
	Decisions  []pawl.Decision
	Blockers   []pawl.Blocker // open ones
	Snapshots  []Snapshot     // of this run, oldest first
	Commits    []Commit       // newest first
}

// Unit is a step or item with what its folder and the workspace contain.
type Unit struct {
	Step  *pawl.Step
	Index int // item index; -1 for the step itself
	Item  pawl.ItemID
	Value string

	Records         []AttemptRecord // by attempt number
	Inputs          pawl.Outputs    // current content
	Outputs         pawl.Outputs    // current content
	Missing         []string        // declared inputs and outputs that do not exist
	SnapshotOutputs pawl.Outputs    // outputs in the newest snapshot taken after the work
}

// AttemptRecord is what an attempt left in its folder.
type AttemptRecord struct {
	Attempt   int
	Job       *pawl.Job
	Begun     *pawl.Begun
	Exit      *pawl.Exit
	Result    *pawl.Result
	ResultErr string
	Live      bool // its supervisor is running
}

// Snapshot is a snapshot of the run and the attempt that it belongs to.
type Snapshot struct {
	pawl.Checkpoint
	Attempt int
	Token   pawl.Token
	After   pawl.Seq // the last event before it
}

// Confidence is how certain a part of a proposal is.
type Confidence string

// Levels of confidence.
const (
	Certain Confidence = "certain" // proven by records of the work itself
	Likely  Confidence = "likely"  // stated by a view, commit or snapshot
	Guess   Confidence = "guess"   // with contradicting evidence
)

// PartStatus is the status of a part of a proposal.
type PartStatus string

// Statuses of a part.
const (
	PartKept    PartStatus = "kept"     // the journal has it
	PartRebuilt PartStatus = "rebuilt"  // journaled again
	PartDone    PartStatus = "done"     // finished
	PartSkipped PartStatus = "skipped"  // skipped by a person
	PartNotDone PartStatus = "not done" // without evidence that it finished, or recorded as failed
	PartRunning PartStatus = "running"  // its supervisor is running
	PartInDoubt PartStatus = "in doubt" // possibly finished
	PartLeftOut PartStatus = "left out" // not accepted without a person's confirmation
)

// Part is one statement of a proposal.
type Part struct {
	What       string      `json:"what"` // run, plan, step, item, decision, blocker, checkpoints
	Step       pawl.StepID `json:"step,omitempty"`
	Item       pawl.ItemID `json:"item,omitempty"`
	Status     PartStatus  `json:"status"`
	Claim      PartStatus  `json:"claim,omitempty"` // the status to confirm, if in doubt
	Confidence Confidence  `json:"confidence"`
	Text       string      `json:"text,omitempty"` // of a decision or blocker
	Evidence   []string    `json:"evidence"`
}

// Proposal is what can be rebuilt of a run. It has no effect until a person accepts it.
type Proposal struct {
	Run    pawl.RunID   `json:"run"`
	Sound  bool         `json:"sound"` // no damage found; nothing to rebuild
	Why    []string     `json:"why"`   // what is wrong with the journal
	Kept   pawl.Seq     `json:"kept"`  // the last event that stays
	Parts  []Part       `json:"parts"`
	Events []pawl.Event `json:"-"` // events to append after Kept
	State  *pawl.State  `json:"-"` // the state after these events
}

// Rebuild makes a proposal. Certain work is done. Likely work is done if trust is Likely, otherwise in doubt, like a
// guess. Nothing else counts as done.
func Rebuild(e Evidence, trust Confidence, now time.Time) Proposal {
	r := newRebuilder(e, trust, now)
	p := Proposal{Run: e.Run, Why: r.reasons(), Kept: r.state.Seq}
	if len(p.Why) == 0 {
		p.Sound, p.State = true, r.state
		return p
	}
	r.run()
	r.plan()
	r.checkpoints()
	for _, id := range r.inOrder() {
		r.step(id)
	}
	r.notes()
	r.reopenRun()
	p.Events = r.finish(p.Why)
	p.Parts, p.State = r.parts, r.state
	return p
}

// rebuilder goes through the evidence and emits the events that follow the intact part of the journal.
type rebuilder struct {
	Evidence
	trust        Confidence
	now          time.Time
	state        *pawl.State
	before       int                 // number of events of the journal that the state rejected
	known        map[pawl.Token]bool // attempts in the journal
	saved        map[pawl.CheckpointID]bool
	order        map[pawl.StepID][]pawl.StepID
	units        map[pawl.StepID][]Unit // the step itself, then its items
	outputDigest map[pawl.StepID]string // output digest of each step, finished or not
	unsure       map[pawl.StepID]bool   // steps without a known output digest
	events       []pawl.Event
	parts        []Part
}

func newRebuilder(e Evidence, trust Confidence, now time.Time) *rebuilder {
	r := &rebuilder{
		Evidence: e, trust: trust, now: now, state: pawl.NewState(),
		known: map[pawl.Token]bool{}, saved: map[pawl.CheckpointID]bool{},
		units: map[pawl.StepID][]Unit{}, outputDigest: map[pawl.StepID]string{}, unsure: map[pawl.StepID]bool{},
	}
	for _, event := range e.Journal {
		r.state.Apply(event)
		r.index(event)
	}
	r.before = r.state.RejectedCount
	if e.Plan != nil {
		r.order = e.Plan.Order()
	}
	for _, u := range e.Units {
		r.units[u.Step.ID] = append(r.units[u.Step.ID], u)
	}
	return r
}

// index records the attempts and checkpoints of a journaled event.
func (r *rebuilder) index(event pawl.Event) {
	payload, err := event.Payload()
	if err != nil {
		return // the fold counts it as rejected
	}
	switch p := payload.(type) {
	case pawl.AttemptStarted:
		r.known[p.Token] = true
	case pawl.CheckpointSaved:
		r.saved[p.ID] = true
	case pawl.StepDone:
		if p.Save != nil {
			r.saved[p.Save.ID] = true
		}
	}
}

// reasons lists what is wrong with the journal: its own damage, and other files that know more events. A journal cut at
// the end of a line looks intact, so only other files can tell.
func (r *rebuilder) reasons() []string {
	var why []string
	if r.Damage != "" {
		why = append(why, r.Damage)
	}
	if r.Planned != nil && r.state.Plan.Revision > 0 {
		why = append(why, "the plan recorded in the journal is not next to it")
	}
	if last := r.state.Seq; last > 0 {
		why = append(why, r.laterEvents(last)...)
	}
	return why
}

func (r *rebuilder) laterEvents(last pawl.Seq) []string {
	var why []string
	more := func(who string, seq pawl.Seq) {
		if seq > last {
			why = append(why, fmt.Sprintf("%s has event %d, but the journal ends at event %d", who, seq, last))
		}
	}
	if r.Journal[last-1].By != By() { // otherwise nothing happened since a rebuild, and they count the old events
		if r.State != nil {
			more("STATE.md", r.State.Seq)
		}
		more("state.json", r.CachedSeq)
	}
	newest := pawl.Seq(0)
	for _, s := range r.Snapshots {
		if !r.saved[s.ID] {
			newest = max(newest, s.After)
		}
	}
	more("a snapshot", newest)
	for _, u := range r.Units {
		for _, rec := range u.Records {
			if rec.Job != nil && rec.Job.Run == r.Run && !r.known[rec.Job.Token] {
				why = append(why, fmt.Sprintf("attempt %d of %s left records, but the journal does not contain it", rec.Attempt, u.name()))
			}
		}
	}
	return why
}

// By is the author of rebuilt events: the person who accepted them.
func By() pawl.Author { return pawl.Author{Kind: pawl.ByPerson, Name: "recover"} }

// emit adds an event at a time; the zero time means now.
func (r *rebuilder) emit(at time.Time, payload pawl.Payload) {
	event, err := redact.OfProcess().Event(By(), payload)
	if err != nil {
		panic("payloads are plain data: " + err.Error())
	}
	if at.IsZero() {
		at = r.now
	}
	event.Time, event.Epoch = at.UTC(), r.state.Epoch
	event.Seq = r.state.Seq + 1
	r.state.Apply(event)
	r.events = append(r.events, event)
}

func (r *rebuilder) part(p Part) { r.parts = append(r.parts, p) }

// believes reports whether this confidence suffices.
func (r *rebuilder) believes(c Confidence) bool {
	return c == Certain || c == Likely && r.trust == Likely
}

func (r *rebuilder) run() {
	if r.state.Run != "" {
		r.part(Part{What: "run", Status: PartKept, Confidence: Certain, Evidence: []string{
			fmt.Sprintf("events 1 to %d of the journal are intact", r.state.Seq),
		}})
		return
	}
	name := string(r.Run)
	if r.Plan != nil {
		name = r.Plan.Name
	}
	kind := pawl.PlanRun
	if r.Plan == nil {
		kind = pawl.SessionRun
	}
	r.emit(r.Run.Created(), pawl.RunCreated{
		Format: pawl.Format, Run: r.Run, Project: r.Project, Kind: kind, Name: name, Pawl: r.Version, Shell: r.shell(),
	})
	r.part(Part{What: "run", Status: PartRebuilt, Confidence: Certain, Evidence: []string{"its ID contains its creation time"}})
}

// shell returns the run's default shell. A job without one shows that an older version created the run; the file is not trusted
// to name any other shell.
func (r *rebuilder) shell() pawl.Shell {
	for _, u := range r.Units {
		for _, rec := range u.Records {
			if rec.Job != nil && rec.Job.Run == r.Run && rec.Job.RunShell == "" {
				return ""
			}
		}
	}
	return pawl.DefaultShell
}

func (r *rebuilder) plan() {
	switch {
	case r.Plan == nil:
	case r.Planned == nil:
		r.part(Part{What: "plan", Status: PartKept, Confidence: Certain, Evidence: []string{r.PlanFrom}})
	default:
		r.emit(time.Time{}, *r.Planned)
		r.part(Part{What: "plan", Status: PartRebuilt, Confidence: r.PlanConfidence, Evidence: []string{r.PlanFrom}})
	}
}

// checkpoints journals snapshots again that only the lost part named, so that they can be restored and are not pruned.
func (r *rebuilder) checkpoints() {
	n := 0
	for _, s := range r.Snapshots {
		if r.saved[s.ID] {
			continue
		}
		n++
		r.emit(s.Time, pawl.CheckpointSaved{Checkpoint: s.Checkpoint})
	}
	if n > 0 {
		why := "its commit record is in the store"
		if n > 1 {
			why = "their commit records are in the store"
		}
		r.part(Part{What: "checkpoints", Status: PartRebuilt, Confidence: Certain, Text: counted(n, "checkpoint"), Evidence: []string{why}})
	}
}

// counted returns a number with its noun: "1 checkpoint", "2 checkpoints".
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// inOrder returns the plan's steps, each after its needs.
func (r *rebuilder) inOrder() []pawl.StepID {
	if r.Plan == nil {
		return nil
	}
	var ids []pawl.StepID
	seen := map[pawl.StepID]bool{}
	var visit func(pawl.StepID)
	visit = func(id pawl.StepID) {
		if seen[id] {
			return
		}
		seen[id] = true
		for _, need := range r.order[id] {
			visit(need)
		}
		ids = append(ids, id)
	}
	for _, s := range r.Plan.Steps() {
		visit(s.ID)
	}
	return ids
}

// notes journals decisions and open blockers again. A blocker that may be open counts as open; a person can clear it.
func (r *rebuilder) notes() {
	for _, d := range r.Decisions[min(len(r.state.Made), len(r.Decisions)):] {
		status := PartLeftOut
		if r.believes(Likely) {
			status = PartRebuilt
			d.Why = strings.TrimSpace(d.Why + " (rebuilt from DECISIONS.md)")
			r.emit(d.Time, pawl.DecisionMade{Decision: d})
		}
		r.part(Part{What: "decision", Step: d.Step, Status: status, Confidence: Likely, Text: d.Choice, Evidence: []string{"recorded in DECISIONS.md"}})
	}
	for _, b := range r.Blockers {
		if slices.ContainsFunc(r.state.Blockers, func(old pawl.Blocker) bool { return old.Text == b.Text && old.Step == b.Step }) {
			continue
		}
		r.emit(b.Opened, pawl.BlockerOpened{Blocker: pawl.Blocker{Text: b.Text, Step: b.Step, Needs: b.Needs}})
		r.part(Part{What: "blocker", Step: b.Step, Status: PartRebuilt, Confidence: Likely, Text: b.Text, Evidence: []string{"open according to BLOCKERS.md"}})
	}
}

// reopenRun reopens an ended run with unfinished steps.
func (r *rebuilder) reopenRun() {
	unfinished := func(id pawl.StepID) bool { return !r.state.Steps[id].Finished() }
	if r.state.Ended() && slices.ContainsFunc(r.inOrder(), unfinished) {
		r.emit(time.Time{}, pawl.RunReopened{Why: "events after its end are lost"})
	}
}

// maxParts is how many parts one run.recovered event lists, because a journal line is limited.
const maxParts = 16

// finish puts the run.recovered events, with the evidence, before the others.
func (r *rebuilder) finish(why []string) []pawl.Event {
	said := r.events
	r.events, r.state = nil, pawl.NewState()
	for _, event := range r.Journal {
		r.state.Apply(event)
	}
	if len(r.Journal) == 0 {
		r.replay(said[:1]) // run.created must be first
		said = said[1:]
	}
	kept := pawl.Seq(len(r.Journal))
	for parts := range slices.Chunk(journalParts(r.parts), maxParts) {
		r.emit(time.Time{}, pawl.RunRecovered{Why: clipAll(why), Kept: kept, Accepted: r.Person, Parts: parts})
	}
	r.replay(said)
	return r.events
}

// replay emits events again, with new numbers.
func (r *rebuilder) replay(events []pawl.Event) {
	for _, event := range events {
		event.Seq = r.state.Seq + 1
		r.state.Apply(event)
		r.events = append(r.events, event)
	}
}

// journalParts returns the parts for the journal. Certain items have their evidence in their own events.
func journalParts(parts []Part) []pawl.RecoveredPart {
	var brief []pawl.RecoveredPart
	for _, p := range parts {
		if p.What == "item" && p.Confidence == Certain {
			continue
		}
		brief = append(brief, pawl.RecoveredPart{
			What: p.What, Step: p.Step, Item: p.Item, Status: string(p.Status), Confidence: string(p.Confidence), Evidence: clipAll(p.Evidence),
		})
	}
	return brief
}

// clipAll shortens texts for the journal.
func clipAll(texts []string) []string {
	const most, longest = 6, 120
	short := make([]string, 0, min(len(texts), most))
	for _, t := range texts[:min(len(texts), most)] {
		short = append(short, clip(t, longest))
	}
	return short
}

func clip(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// RejectedCount returns how many rebuilt events the state rejects. More than none is a bug in this package.
func (p Proposal) RejectedCount(journal []pawl.Event) int {
	s := pawl.NewState()
	for _, event := range journal {
		s.Apply(event)
	}
	before := s.RejectedCount
	for _, event := range p.Events {
		s.Apply(event)
	}
	return s.RejectedCount - before
}
