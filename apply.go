package pawl

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// NewState returns the state of a run before its first event.
func NewState() *State {
	return &State{Status: StatusActive, Steps: map[StepID]*StepState{}}
}

// Apply folds the next event into the state. It is total: an event that does not fit is kept as a Misfit and changes
// nothing else; an event of an unknown type is remembered in Newer.
func (s *State) Apply(e Event) {
	s.Seq, s.Updated = e.Seq, e.Time
	if !e.Type.Known() {
		if !slices.Contains(s.Newer, e.Type) {
			s.Newer = append(s.Newer, e.Type)
		}
		return
	}
	payload, err := e.Payload()
	if err == nil {
		err = s.apply(e, payload)
	}
	if err != nil {
		s.Misfit++
		if len(s.Misfits) < MaxMisfits {
			s.Misfits = append(s.Misfits, Misfit{Seq: e.Seq, Why: err.Error()})
		}
		return
	}
	if sourced, ok := payload.(interface{ source() *Source }); ok {
		s.markRead(sourced.source())
	}
}

func (s *State) apply(e Event, payload Payload) error {
	switch p := payload.(type) {
	case RunCreated, RunPlanned, EngineStarted, EngineStopped, RunPaused, RunContinued, RunStopped, RunEnded, RunReopened, RunImported, RunMirrored:
		return s.applyRun(e, p)
	case AttemptStarted, AttemptEnded, ItemDone, Heartbeat, Progressed, Conversed:
		return s.applyAttempt(e, p)
	case StepListed, ItemNamed, StepDone, StepFailed, StepReopened, StepSkipped, StepChecked, StepReviewed, OutputsChanged:
		return s.applyStep(e, p)
	case GateOpened, GateAnswered, GateExpired, GateWithdrawn:
		return s.applyGate(e, p)
	case DecisionMade, BlockerOpened, BlockerCleared, MemoryLearned, CheckpointSaved, CheckpointsPruned:
		return s.applyNote(e, p)
	case RollbackStarted, UndoStarted, UndoDone, UndoFailed, UndoSkipped, RollbackEnded:
		return s.applyUndo(p)
	case SessionBegan, SessionPrompted, SessionTurned, SessionCompacted, SessionEnded:
		return s.applySession(e, p)
	case OperationBegun, OperationEnded, OperationJudged:
		return s.applyOperation(e, p)
	}
	return nil // machine.slept, run.examined, run.recovered, watchdog.acted, budget.spent: on record, without effect
}

func (s *State) applyRun(e Event, payload Payload) error {
	switch p := payload.(type) {
	case RunCreated:
		return s.created(e, p)
	case RunPlanned:
		s.Plan, s.Goal, s.Mode = p, cmp.Or(p.Goal, s.Goal), cmp.Or(p.Mode, s.Mode)
	case EngineStarted:
		return s.engineStarted(p)
	case EngineStopped:
		s.Engine = nil
	case RunEnded:
		return s.ended(p)
	case RunReopened:
		s.Status, s.Why = StatusActive, p.Why
	case RunPaused:
		return s.turn(StatusPaused, p.Why)
	case RunStopped:
		return s.turn(StatusStopped, p.Why)
	case RunContinued:
		return s.turn(StatusActive, "")
	case RunImported:
		s.Imported, s.ImportedAs = p.System, p.ID
	case RunMirrored:
		if s.Mirror = &p; p.System == "" {
			s.Mirror = nil
		}
	}
	return nil
}

func (s *State) created(e Event, p RunCreated) error {
	if s.Run != "" {
		return fmt.Errorf("run %s was created already", s.Run)
	}
	s.Format, s.Run, s.Project, s.Kind, s.Name = p.Format, p.Run, p.Project, p.Kind, p.Name
	s.Goal, s.Mode, s.Created, s.Forked = p.Goal, p.Mode, e.Time, p.Forked
	return nil
}

func (s *State) engineStarted(p EngineStarted) error {
	if p.Epoch <= s.Epoch {
		return fmt.Errorf("engine of epoch %d started in epoch %d", p.Epoch, s.Epoch)
	}
	if s.Engine != nil {
		s.Deaths++
	}
	s.Engine, s.Epoch = &p, p.Epoch
	s.Engines++
	return nil
}

// turn changes the status of a run that has not ended.
func (s *State) turn(status RunStatus, why string) error {
	if s.Ended() {
		return fmt.Errorf("run has %s already", s.Status)
	}
	s.Status, s.Why = status, why
	return nil
}

func (s *State) ended(p RunEnded) error {
	if p.Status != StatusCompleted && p.Status != StatusFailed {
		return fmt.Errorf("run cannot end %q", p.Status)
	}
	s.Status, s.Why = p.Status, p.Why
	return nil
}

// Ended reports whether the run has completed or failed.
func (s *State) Ended() bool { return s.Status == StatusCompleted || s.Status == StatusFailed }

// step returns the state of a step, making it where none is yet.
func (s *State) step(id StepID) *StepState {
	st := s.Steps[id]
	if st == nil {
		st = &StepState{Status: Pending}
		if s.Steps == nil { // decoded from a state without steps
			s.Steps = map[StepID]*StepState{}
		}
		s.Steps[id] = st
	}
	return st
}

// concluded reports whether the step's work is done, be it reviewed or not: it is not done again unless it is reopened.
func (st *StepState) concluded() bool {
	return st != nil && (st.Status == Done || st.Status == AwaitsReview)
}

// try returns the history of tries that an attempt belongs to, nil where there is none.
func (st *StepState) try(ref AttemptRef) *Try {
	switch {
	case st == nil:
		return nil
	case ref.Item == "":
		return &st.Try
	case st.Items == nil:
		return nil
	}
	return st.Items.Tries[ref.Index]
}

// Conversation returns the session of an agent that the newest attempt at a piece of work had, nil where none is known.
func (s *State) Conversation(ref AttemptRef) *Conversation {
	if t := s.Steps[ref.Step].try(ref); t != nil {
		return t.Conversation
	}
	return nil
}

// unfinished reports whether there is an item at the index that is not finished.
func (it *ItemsState) unfinished(index int) bool {
	return it != nil && index >= 0 && index < it.Total && it.Done.At(index) == 0
}

// live returns the tries whose live attempt this is, or why it is none: a result is believed only with the token of
// the newest attempt.
func (s *State) live(ref AttemptRef) (*StepState, *Try, error) {
	st := s.Steps[ref.Step]
	if st == nil {
		return nil, nil, fmt.Errorf("step %s was never started", ref.Step)
	}
	t := st.try(ref)
	if t == nil || t.Live == nil || t.Live.Token != ref.Token {
		return nil, nil, fmt.Errorf("attempt %d of %s is not the live one", ref.Attempt, ref.Name())
	}
	return st, t, nil
}

// Name returns "step" or "step/item".
func (r AttemptRef) Name() string {
	if r.Item == "" {
		return string(r.Step)
	}
	return string(r.Step) + "/" + string(r.Item)
}

func (s *State) applyAttempt(e Event, payload Payload) error {
	switch p := payload.(type) {
	case AttemptStarted:
		return s.attemptStarted(e, p)
	case AttemptEnded:
		return s.attemptEnded(p)
	case ItemDone:
		return s.itemDone(e, p)
	case Heartbeat:
		_, t, err := s.live(p.AttemptRef)
		if err != nil {
			return err
		}
		t.Live.Beat = e.Time
	case Progressed:
		return s.progressed(e, p)
	case Conversed:
		return s.conversed(p)
	}
	return nil
}

func (s *State) attemptStarted(e Event, p AttemptStarted) error {
	if err := s.Steps[p.Step].mayStart(p.AttemptRef); err != nil {
		return err
	}
	st := s.step(p.Step)
	t := st.try(p.AttemptRef)
	if t == nil {
		t = &Try{}
		if st.Items.Tries == nil {
			st.Items.Tries = map[int]*Try{}
		}
		st.Items.Tries[p.Index] = t
	}
	s.settleGates(p.Step)
	t.Attempt, t.Again = p.Attempt, false
	t.Live = &AttemptState{AttemptRef: p.AttemptRef, Key: p.Key, Started: e.Time, Seq: e.Seq}
	for _, o := range s.Operations {
		o.Overlaps = true
	}
	st.Attempts++
	st.Status = Running
	st.Reviews = nil
	if st.Started.IsZero() {
		st.Started = e.Time
	}
	return nil
}

// mayStart returns why an attempt cannot be the step's next one.
func (st *StepState) mayStart(ref AttemptRef) error {
	newest := 0
	if t := st.try(ref); t != nil {
		newest = t.Attempt
	}
	switch {
	case st.concluded():
		return fmt.Errorf("step %s is done already", ref.Step)
	case st.Finished():
		return fmt.Errorf("step %s is skipped", ref.Step)
	case ref.Item != "" && (st == nil || !st.Items.unfinished(ref.Index)):
		return fmt.Errorf("%s is finished or not listed", ref.Name())
	case ref.Attempt <= newest:
		return fmt.Errorf("attempt %d of %s follows attempt %d", ref.Attempt, ref.Name(), newest)
	}
	return nil
}

func (s *State) attemptEnded(p AttemptEnded) error {
	st, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	t.Live, t.Last = nil, &p
	switch p.Outcome {
	case Failed:
		t.Failures++
		t.Losses = 0
	case Lost, NotStarted:
		t.Losses++
	default:
		t.Losses = 0
	}
	if p.CutShort() {
		st.CutShort++
	}
	if p.Stats != nil && p.Outcome != WaitsFor {
		st.Lost = finite(st.Lost + p.Stats.Seconds)
	}
	s.spend(st, p.Stats, p.Usage)
	if p.Item == "" {
		if st.Status == Running { // not skipped meanwhile
			st.Status = Pending
		}
		if g := s.Gate(p.Gate); st.Status == Pending && p.Outcome == WaitsFor && g != nil && g.Open() {
			st.Status = AwaitsGate
		}
	} else if p.Final {
		if st.Items.Failed == nil {
			st.Items.Failed = map[int]AttemptEnded{}
		}
		st.Items.Failed[p.Index] = p
	}
	return nil
}

func (s *State) itemDone(e Event, p ItemDone) error {
	if p.Item == "" {
		return fmt.Errorf("an item of step %s is done, but which?", p.Step)
	}
	st, _, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	st.Items.Done.Set(p.Index, e.Seq)
	st.Items.Count++
	delete(st.Items.Tries, p.Index)
	delete(st.Items.Failed, p.Index)
	s.spend(st, p.Stats, p.Usage)
	return nil
}

func (s *State) progressed(e Event, p Progressed) error {
	_, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	progress := &Progress{Text: p.Text, Done: p.Done, Total: p.Total, Time: e.Time}
	t.Live.Progress = progress
	if p.Usage != (Usage{}) {
		t.Live.Usage = p.Usage
	}
	s.Steps[p.Step].Progress = progress
	return nil
}

func (s *State) conversed(p Conversed) error {
	_, t, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	c := p.Conversation
	c.Definition = t.Live.Key.Definition
	t.Conversation = &c
	return nil
}

func (s *State) spend(st *StepState, stats *AttemptStats, usage Usage) {
	if stats != nil {
		st.Seconds = finite(st.Seconds + stats.Seconds)
		s.Spent.Seconds = finite(s.Spent.Seconds + stats.Seconds)
	}
	for _, sum := range []*Usage{&st.Usage, &s.Spent.Usage} {
		*sum = sum.Add(usage)
		sum.USD = finite(sum.USD)
	}
}

// finite keeps a sum within what JSON can hold: a step may say any number.
func finite(v float64) float64 { return min(max(v, -math.MaxFloat64), math.MaxFloat64) }

// settleGates notes that a step has gone on from the answers it was given so far.
func (s *State) settleGates(id StepID) {
	for i := range s.Gates {
		if g := &s.Gates[i]; g.Step == id && !g.Open() {
			g.Settled = true
		}
	}
}

func (s *State) applyStep(e Event, payload Payload) error {
	switch p := payload.(type) {
	case StepListed:
		return s.stepListed(e, p)
	case ItemNamed:
		st := s.step(p.Step)
		if st.Named == nil {
			st.Named = map[ItemID]ItemNamed{}
		}
		st.Named[p.Item] = p
	case StepDone:
		return s.stepDone(e, p)
	case StepFailed:
		return s.stepLeft(e, p.Step, GaveUp, p.Why)
	case StepReopened:
		return s.stepReopened(p)
	case StepSkipped:
		return s.stepLeft(e, p.Step, Skipped, p.Why)
	case StepChecked:
		s.step(p.Step).Accept = p.Accept
	case StepReviewed:
		return s.stepReviewed(p)
	case OutputsChanged:
		s.step(p.Step).Changed = p.Paths
	}
	return nil
}

// stepLeft ends a step that is not done.
func (s *State) stepLeft(e Event, id StepID, status StepStatus, why string) error {
	if st := s.Steps[id]; st != nil && st.Status == Done {
		return fmt.Errorf("step %s is done already", id)
	}
	st := s.step(id)
	st.Status, st.Why, st.Ended = status, why, e.Time
	s.settleGates(id)
	return nil
}

func (s *State) stepListed(e Event, p StepListed) error {
	listed := 0
	if st := s.Steps[p.Step]; st != nil && st.Items != nil {
		listed = st.Items.Total
	}
	if st := s.Steps[p.Step]; st != nil && st.Status == Skipped {
		return fmt.Errorf("step %s is skipped", p.Step)
	}
	if p.From != listed {
		return fmt.Errorf("items from %d listed behind %d", p.From, listed)
	}
	st := s.step(p.Step)
	if st.Items == nil {
		st.Items = &ItemsState{}
		st.Key = p.Key
	}
	st.Items.Total += len(p.Items)
	st.Items.Lists = append(st.Items.Lists, e.Seq)
	st.Status = Running
	if st.Started.IsZero() {
		st.Started = e.Time
	}
	return nil
}

func (s *State) stepDone(e Event, p StepDone) error {
	if s.Steps[p.Step].concluded() {
		return fmt.Errorf("step %s is done already", p.Step)
	}
	if p.Token != "" {
		if _, _, err := s.live(AttemptRef{Step: p.Step, Attempt: p.Attempt, Token: p.Token}); err != nil {
			return err
		}
	}
	st := s.step(p.Step)
	if p.Token == "" && !p.Started.IsZero() {
		st.Started = p.Started
		st.Attempts++
	}
	s.settleGates(p.Step)
	st.Try.Live, st.Try.Last, st.Try.Failures, st.Try.Losses = nil, nil, 0, 0
	st.Status, st.Ended, st.Done = Done, e.Time, e.Seq
	st.Key, st.Outputs, st.Digest, st.Accept = p.Key, p.Outputs, p.Digest, p.Accept
	st.Summary, st.Undo, st.Adopted = p.Summary, p.Undo, p.Adopted
	st.Why, st.Rejected, st.Changed, st.Progress = "", "", nil, nil
	st.Minimum = p.Review
	if len(p.Review) > 0 {
		st.Status, st.Reviews = AwaitsReview, nil
	}
	s.spend(st, p.Stats, p.Usage)
	st.Unsaved = ""
	if p.Save != nil {
		s.save(e, *p.Save)
		st.Unsaved = p.Save.Unsaved()
	}
	return nil
}

func (s *State) stepReopened(p StepReopened) error {
	if len(s.Steps[p.Step].Live()) > 0 {
		return fmt.Errorf("step %s is running", p.Step)
	}
	st := s.step(p.Step)
	s.settleGates(p.Step)
	st.Status, st.Why, st.Rejected = Pending, p.Why, p.Why
	st.Try.Failures, st.Try.Losses, st.Ended, st.Reviews = 0, 0, time.Time{}, nil
	st.Try.Again = p.Asked
	if st.Items == nil {
		return nil
	}
	st.Floor = max(st.Floor, st.Attempts)
	switch {
	case p.Keep:
		st.Items.Failed, st.Items.Tries = nil, nil
		return nil
	case len(p.Items) == 0:
		st.Items = nil
		return nil
	}
	for _, index := range p.Items {
		if st.Items.Done.At(index) != 0 {
			st.Items.Done.Set(index, 0)
			st.Items.Count--
		}
		delete(st.Items.Failed, index)
		delete(st.Items.Tries, index)
	}
	return nil
}

func (s *State) stepReviewed(p StepReviewed) error {
	st := s.Steps[p.Step]
	if st == nil || st.Status != AwaitsReview && st.Status != Done {
		return fmt.Errorf("step %s has nothing to review", p.Step)
	}
	if st.Reviews == nil {
		st.Reviews = map[string]StepReviewed{}
	}
	st.Reviews[p.Reviewer] = p
	if st.Status == AwaitsReview && len(st.Unreviewed()) == 0 {
		st.Status = Done
	}
	return nil
}

// Unreviewed returns the reviewers whose score is missing or below their minimum, sorted.
func (st *StepState) Unreviewed() []string {
	var names []string
	for name, minimum := range st.Minimum {
		if r, ok := st.Reviews[name]; !ok || r.Score < minimum {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *State) applyGate(e Event, payload Payload) error {
	switch p := payload.(type) {
	case GateOpened:
		if s.Gate(p.ID) != nil && s.Gate(p.ID).Open() {
			return fmt.Errorf("gate %s is open already", p.ID)
		}
		p.Opened = e.Time
		s.Gates = append(s.Gates, GateState{Gate: p.Gate})
		if p.Step != "" && p.Purpose != ForBudget {
			if st := s.step(p.Step); st.Status == Pending && st.Items == nil {
				st.Status = AwaitsGate
			}
		}
	case GateAnswered:
		return s.closeGate(p.Gate, e.Time, func(g *GateState) { g.Answer = &p })
	case GateExpired:
		return s.closeGate(p.Gate, e.Time, func(g *GateState) { g.Expired = true })
	case GateWithdrawn:
		return s.closeGate(p.Gate, e.Time, func(g *GateState) { g.Withdrawn = cmp.Or(p.Why, "withdrawn") })
	}
	return nil
}

// Gate returns the newest gate with this id, nil where there is none.
func (s *State) Gate(id GateID) *GateState {
	for i := len(s.Gates) - 1; i >= 0; i-- {
		if s.Gates[i].ID == id {
			return &s.Gates[i]
		}
	}
	return nil
}

func (s *State) closeGate(id GateID, now time.Time, record func(*GateState)) error {
	g := s.Gate(id)
	if g == nil || !g.Open() {
		return fmt.Errorf("gate %s is not open", id)
	}
	record(g)
	g.Closed = now
	if st := s.Steps[g.Step]; st != nil && st.Status == AwaitsGate {
		st.Status = Pending
	}
	if g.Purpose == ForBudget && g.Answer != nil && g.Answer.Answer == Approved {
		if s.Spent.Granted == nil {
			s.Spent.Granted = map[string]int{}
		}
		s.Spent.Granted[g.Budget]++
	}
	return nil
}

func (s *State) applyNote(e Event, payload Payload) error {
	switch p := payload.(type) {
	case DecisionMade:
		p.Time = e.Time
		s.Made = append(s.Made, p.Decision)
	case BlockerOpened:
		p.ID, p.Opened = len(s.Blockers)+1, e.Time
		s.Blockers = append(s.Blockers, p.Blocker)
	case BlockerCleared:
		return s.blockerCleared(e, p)
	case MemoryLearned:
		s.Learned++
	case CheckpointSaved:
		s.save(e, p.Checkpoint)
	case CheckpointsPruned:
		s.Pruned += len(p.Checkpoints)
	}
	return nil
}

// save takes up a checkpoint. An emergency one never hides a good one.
func (s *State) save(e Event, c Checkpoint) {
	if s.Saved == nil {
		s.Saved = map[CheckpointKind]int{}
	}
	c.Seq, c.Time = e.Seq, e.Time
	s.Saved[c.Kind]++
	s.LastSave = &c
	if c.Kind != CheckpointEmergency {
		s.LastGood = &c
	}
}

func (s *State) blockerCleared(e Event, p BlockerCleared) error {
	if p.ID < 1 || p.ID > len(s.Blockers) || !s.Blockers[p.ID-1].Cleared.IsZero() {
		return fmt.Errorf("blocker %d is not open", p.ID)
	}
	s.Blockers[p.ID-1].Cleared, s.Blockers[p.ID-1].How = e.Time, p.How
	return nil
}

// markRead notes up to where a live attempt's files are journaled.
func (s *State) markRead(source *Source) {
	if source == nil {
		return
	}
	_, t, err := s.live(source.AttemptRef)
	if err != nil {
		return
	}
	if t.Live.Read == nil {
		t.Live.Read = map[string]int64{}
	}
	t.Live.Read[source.File] = max(t.Live.Read[source.File], source.Offset)
}

func (p Progressed) source() *Source      { return p.Source }
func (p Conversed) source() *Source       { return p.Source }
func (p ItemNamed) source() *Source       { return p.Source }
func (p DecisionMade) source() *Source    { return p.Source }
func (p BlockerOpened) source() *Source   { return p.Source }
func (p MemoryLearned) source() *Source   { return p.Source }
func (p CheckpointSaved) source() *Source { return p.Source }
func (p GateOpened) source() *Source      { return p.Gate.Source }
