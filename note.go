package pawl

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Decision is a person's choice, with the reason.
type Decision struct {
	Question string    `json:"question,omitempty"`
	Options  []string  `json:"options,omitempty"`
	Choice   string    `json:"choice"`
	Why      string    `json:"why,omitempty"`
	By       string    `json:"by,omitempty"`
	Step     StepID    `json:"step,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}

// DecisionMade records a person's choice, with the reason.
type DecisionMade struct {
	Decision
	Source *Source `json:"source,omitempty"`
}

func (DecisionMade) Event() EventType { return "decision.made" }

func (p DecisionMade) fold(s *State, e Event) error {
	p.Time = e.Time
	s.Made = append(s.Made, p.Decision)
	return nil
}

func (p DecisionMade) source() *Source { return p.Source }

// Blocker is a reason why work cannot continue.
type Blocker struct {
	ID      int       `json:"id,omitempty"` // assigned by the fold, starting at 1
	Text    string    `json:"text"`
	Step    StepID    `json:"step,omitempty"`
	Needs   string    `json:"needs,omitempty"` // what would clear it
	Opened  time.Time `json:"opened,omitzero"`
	Cleared time.Time `json:"cleared,omitzero"`
	How     string    `json:"how,omitempty"`
	OfRun   bool      `json:"of_run,omitempty"` // it blocks this run, and no fork of it
}

// OpenBlockers returns the open blockers, oldest first.
func (s *State) OpenBlockers() []Blocker {
	var open []Blocker
	for _, b := range s.Blockers {
		if b.Cleared.IsZero() {
			open = append(open, b)
		}
	}
	return open
}

// BlockerOpened records why work cannot continue.
type BlockerOpened struct {
	Blocker
	Source *Source `json:"source,omitempty"`
}

func (BlockerOpened) Event() EventType { return "blocker.opened" }

func (p BlockerOpened) fold(s *State, e Event) error {
	p.ID, p.Opened = len(s.Blockers)+1, e.Time
	s.Blockers = append(s.Blockers, p.Blocker)
	return nil
}

func (p BlockerOpened) source() *Source { return p.Source }

// BlockerCleared records that a blocker is resolved.
type BlockerCleared struct {
	ID  int    `json:"id"`
	How string `json:"how,omitempty"`
}

func (BlockerCleared) Event() EventType { return "blocker.cleared" }

func (p BlockerCleared) fold(s *State, e Event) error {
	if p.ID < 1 || p.ID > len(s.Blockers) || !s.Blockers[p.ID-1].Cleared.IsZero() {
		return fmt.Errorf("blocker %d is not open", p.ID)
	}
	s.Blockers[p.ID-1].Cleared, s.Blockers[p.ID-1].How = e.Time, p.How
	return nil
}

// Memory is one thing that was learned.
type Memory struct {
	Kind MemoryKind `json:"kind"`
	Text string     `json:"text"`
}

// MemoryKind is the section of MEMORY.md that a memory belongs to.
type MemoryKind string

// Kinds of memory.
const (
	Pattern      MemoryKind = "pattern"
	Gotcha       MemoryKind = "gotcha"
	Preference   MemoryKind = "preference"
	DecisionMem  MemoryKind = "decision"
	RejectedIdea MemoryKind = "rejected"
	Fragile      MemoryKind = "fragile"
)

// Validate rejects unknown kinds and empty texts.
func (m Memory) Validate() error {
	switch m.Kind {
	case Pattern, Gotcha, Preference, DecisionMem, RejectedIdea, Fragile:
	default:
		return fmt.Errorf("unknown kind of memory %q: use pattern, gotcha, preference, decision, rejected or fragile", m.Kind)
	}
	if strings.TrimSpace(m.Text) == "" {
		return errors.New("there is nothing to learn: the text is empty")
	}
	return nil
}

// MemoryLearned records a memory, which is also a bullet in MEMORY.md.
type MemoryLearned struct {
	Memory
	Source    *Source `json:"source,omitempty"`
	Unwritten string  `json:"unwritten,omitempty"` // why it is not in MEMORY.md
}

func (MemoryLearned) Event() EventType { return "memory.learned" }

func (MemoryLearned) fold(s *State, _ Event) error {
	s.Learned++
	return nil
}

func (p MemoryLearned) source() *Source { return p.Source }
