package rebuild

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
)

// Evidence is all that is left of a run whose journal is damaged or gone, as plain data.
type Evidence struct {
	Run     pawl.RunID
	Project string // the project's id
	Version string // of this program
	Person  string // who is to accept what is rebuilt

	Journal   []pawl.Event // what stands before the damage, unbroken from the first event
	Damage    string       // what is wrong behind it; empty: nothing that the journal itself can tell
	CachedSeq pawl.Seq     // up to which event the cached state goes, whatever else is in it

	Plan           *pawl.Plan       // nil: none was found, or the run has none
	Planned        *pawl.RunPlanned // what the journal is to say of it; nil: it says so already
	PlanFrom       string           // where it was found
	PlanConfidence Confidence       // that it is the plan of this run

	ListFaults map[pawl.StepID]string // why a step's work list cannot be known
	Units      []Unit                 // every step of the plan, and behind a foreach step its items
	State      *StateView
	Summaries  map[pawl.StepID]SummaryView
	Decisions  []pawl.Decision
	Blockers   []pawl.Blocker // the open ones
	Snapshots  []Snapshot     // of this run, the oldest first
	Commits    []Commit       // the newest first
}

// Unit is a step, or one item of it, with what its folder and the workspace hold of it.
type Unit struct {
	Step  *pawl.Step
	Index int // of the item; -1: the step itself
	Item  pawl.ItemID
	Value string

	Records         []AttemptRecord // one for each attempt, by number
	Inputs          pawl.Outputs    // as they are now
	Outputs         pawl.Outputs    // as they are now
	Missing         []string        // declared inputs and outputs at which nothing is
	SnapshotOutputs pawl.Outputs    // outputs as the newest snapshot has them that was taken after the work
}

// AttemptRecord is what one attempt left in its folder.
type AttemptRecord struct {
	Attempt   int
	Job       *pawl.Job
	Begun     *pawl.Begun
	Exit      *pawl.Exit
	Result    *pawl.Result
	ResultErr string
	Live      bool // its supervisor is at work
}

// Snapshot is a commit record of the store: what was saved, and of which attempt.
type Snapshot struct {
	pawl.Checkpoint
	Attempt int
	Token   pawl.Token
	After   pawl.Seq // the last event before it was taken
}

// Confidence is how sure a part of a proposal is.
type Confidence string

// The confidences.
const (
	Certain Confidence = "certain" // proven by records of the work itself
	Likely  Confidence = "likely"  // somebody said so: a view, a commit, a snapshot
	Guess   Confidence = "guess"   // something speaks for it, and something against it
)

// PartStatus is what a proposal says of a part.
type PartStatus string

// What may be said of a part.
const (
	PartKept    PartStatus = "kept"     // the journal has it
	PartRebuilt PartStatus = "rebuilt"  // it is said anew
	PartDone    PartStatus = "done"     // finished
	PartSkipped PartStatus = "skipped"  // a person went on without it
	PartNotDone PartStatus = "not done" // nothing says that it was finished, or its record says that it was not
	PartRunning PartStatus = "running"  // it is at work
	PartInDoubt PartStatus = "in doubt" // it may have been finished
	PartLeftOut PartStatus = "left out" // not believed without a person's word
)

// Part is one thing that a proposal says.
type Part struct {
	What       string      `json:"what"` // run, plan, step, item, decision, blocker, checkpoints
	Step       pawl.StepID `json:"step,omitempty"`
	Item       pawl.ItemID `json:"item,omitempty"`
	Status     PartStatus  `json:"status"`
	Claim      PartStatus  `json:"claim,omitempty"` // of what is in doubt: what it would be
	Confidence Confidence  `json:"confidence"`
	Text       string      `json:"text,omitempty"` // of a decision or a blocker
	Evidence   []string    `json:"evidence"`
}

// Proposal is what can be rebuilt of a run. Nothing of it holds before a person accepts it.
type Proposal struct {
	Run    pawl.RunID   `json:"run"`
	Sound  bool         `json:"sound"` // the journal is whole, as far as anything shows: there is nothing to rebuild
	Why    []string     `json:"why"`   // what is wrong with the journal
	Kept   pawl.Seq     `json:"kept"`  // the last event that stays as it is
	Parts  []Part       `json:"parts"`
	Events []pawl.Event `json:"-"` // that are to stand behind it
	State  *pawl.State  `json:"-"` // of the run then
}

// Rebuild says what of a run can be proven, and what only looks likely. What is certain is done; what is likely is done
// only where trust says so, and else in doubt, like a guess. Nothing else is ever called done.
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

// rebuilder goes through the evidence and says, event by event, what stands behind what is left of the journal.
type rebuilder struct {
	Evidence
	trust        Confidence
	now          time.Time
	state        *pawl.State
	before       int                 // misfits of the journal itself
	known        map[pawl.Token]bool // attempts that the journal knows
	saved        map[pawl.CheckpointID]bool
	order        map[pawl.StepID][]pawl.StepID
	units        map[pawl.StepID][]Unit // the step itself, then its items
	outputDigest map[pawl.StepID]string // what each step gives to those that need it, finished or not
	unsure       map[pawl.StepID]bool   // of which that is not known
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

// index notes the attempts and checkpoints that an event of the journal names.
func (r *rebuilder) index(event pawl.Event) {
	payload, err := event.Payload()
	if err != nil {
		return // the fold has it as a misfit
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

// reasons says what is wrong with the journal: damage in it, or something elsewhere that knows of more than it says.
// A journal that was cut at the end of a line looks whole; only others can tell.
func (r *rebuilder) reasons() []string {
	var why []string
	if r.Damage != "" {
		why = append(why, r.Damage)
	}
	if r.Planned != nil && r.state.Plan.Revision > 0 {
		why = append(why, "the plan that the journal names does not lie beside it")
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
			why = append(why, fmt.Sprintf("%s knows of event %d, and the journal ends at event %d", who, seq, last))
		}
	}
	if r.Journal[last-1].By != By() { // else nothing has happened since it was rebuilt, and they count the old events
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
				why = append(why, fmt.Sprintf("attempt %d of %s left its records, and the journal does not know of it", rec.Attempt, u.name()))
			}
		}
	}
	return why
}

// By is who says what is rebuilt: a person who accepted it.
func By() pawl.Author { return pawl.Author{Kind: pawl.ByPerson, Name: "recover"} }

// emit adds an event, as of a time; the zero time means now.
func (r *rebuilder) emit(at time.Time, payload pawl.Payload) {
	event, err := pawl.NewEvent(By(), payload)
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

// believes reports whether what is this sure is to be believed.
func (r *rebuilder) believes(c Confidence) bool {
	return c == Certain || c == Likely && r.trust == Likely
}

func (r *rebuilder) run() {
	if r.state.Run != "" {
		r.part(Part{What: "run", Status: PartKept, Confidence: Certain, Evidence: []string{
			fmt.Sprintf("events 1 to %d of its journal are as they were written", r.state.Seq),
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
	r.emit(r.Run.Made(), pawl.RunCreated{
		Format: pawl.Format, Run: r.Run, Project: r.Project, Kind: kind, Name: name, Pawl: r.Version,
	})
	r.part(Part{What: "run", Status: PartRebuilt, Confidence: Certain, Evidence: []string{"its name says when it was made"}})
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

// checkpoints names again the snapshots that only the lost part named, so that they can be restored and stay.
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
		r.part(Part{What: "checkpoints", Status: PartRebuilt, Confidence: Certain, Text: fmt.Sprint(n), Evidence: []string{"their commit records are in the store"}})
	}
}

// inOrder returns the plan's steps, each behind those that it needs.
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

// notes says again what people decided, and what stands in the way. A blocker that may be open is taken to be: it only
// has a person look.
func (r *rebuilder) notes() {
	for _, d := range r.Decisions[min(len(r.state.Made), len(r.Decisions)):] {
		status := PartLeftOut
		if r.believes(Likely) {
			status = PartRebuilt
			d.Why = strings.TrimSpace(d.Why + " (rebuilt from DECISIONS.md)")
			r.emit(d.Time, pawl.DecisionMade{Decision: d})
		}
		r.part(Part{What: "decision", Step: d.Step, Status: status, Confidence: Likely, Text: d.Choice, Evidence: []string{"DECISIONS.md says so"}})
	}
	for _, b := range r.Blockers {
		if slices.ContainsFunc(r.state.Blockers, func(old pawl.Blocker) bool { return old.Text == b.Text && old.Step == b.Step }) {
			continue
		}
		r.emit(b.Opened, pawl.BlockerOpened{Blocker: pawl.Blocker{Text: b.Text, Step: b.Step, Needs: b.Needs}})
		r.part(Part{What: "blocker", Step: b.Step, Status: PartRebuilt, Confidence: Likely, Text: b.Text, Evidence: []string{"BLOCKERS.md says that it is open"}})
	}
}

// reopenRun takes back the end of a run in which something is left to do.
func (r *rebuilder) reopenRun() {
	unfinished := func(id pawl.StepID) bool { return !r.state.Steps[id].Finished() }
	if r.state.Ended() && slices.ContainsFunc(r.inOrder(), unfinished) {
		r.emit(time.Time{}, pawl.RunReopened{Why: "what stood behind its end is lost"})
	}
}

// maxParts is how many parts one run.recovered event names: a line of the journal holds no more.
const maxParts = 16

// finish puts in front of the events what was rebuilt on which evidence.
func (r *rebuilder) finish(why []string) []pawl.Event {
	said := r.events
	r.events, r.state = nil, pawl.NewState()
	for _, event := range r.Journal {
		r.state.Apply(event)
	}
	if len(r.Journal) == 0 {
		r.replay(said[:1]) // run.created comes first
		said = said[1:]
	}
	kept := pawl.Seq(len(r.Journal))
	for parts := range slices.Chunk(journalParts(r.parts), maxParts) {
		r.emit(time.Time{}, pawl.RunRecovered{Why: clipAll(why), Kept: kept, Accepted: r.Person, Parts: parts})
	}
	r.replay(said)
	return r.events
}

// replay says events again, behind what was put in front of them.
func (r *rebuilder) replay(events []pawl.Event) {
	for _, event := range events {
		event.Seq = r.state.Seq + 1
		r.state.Apply(event)
		r.events = append(r.events, event)
	}
}

// journalParts returns the parts as the journal has them. Items that are certain have their evidence in their own events.
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

// clipAll keeps texts short enough for a line of the journal.
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

// RejectedCount returns how many of the rebuilt events do not fit: none, unless there is a fault in here.
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
