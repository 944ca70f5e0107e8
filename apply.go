package pawl

import (
	"cmp"
	"fmt"
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
		s.Misfits = append(s.Misfits, Misfit{Seq: e.Seq, Why: err.Error()})
		s.Misfits = s.Misfits[max(0, len(s.Misfits)-MaxMisfits):]
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
		s.Imported, s.ImportedAs, s.ImportPath, s.ImportPlace, s.ImportNext, s.ImportSeq = p.System, p.ID, p.Path, p.Place, p.Next, e.Seq
		s.ImportActive = p.Active
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
	if st := s.Steps[g.Step]; st != nil && st.Status == AwaitsGate && !s.asks(g.Step) {
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

// asks reports whether a gate is open that a step waits at.
func (s *State) asks(step StepID) bool {
	return slices.ContainsFunc(s.Gates, func(g GateState) bool { return g.Step == step && g.Open() && g.Purpose != ForBudget })
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
