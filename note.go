package pawl

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Decision is what a person chose, and why.
type Decision struct {
	Question string    `json:"question,omitempty"`
	Options  []string  `json:"options,omitempty"`
	Choice   string    `json:"choice"`
	Why      string    `json:"why,omitempty"`
	By       string    `json:"by,omitempty"`
	Step     StepID    `json:"step,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}

// DecisionMade is what a person chose, and why.
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

// Blocker is a reason why work cannot go on.
type Blocker struct {
	ID      int       `json:"id,omitempty"` // given by the fold, from 1
	Text    string    `json:"text"`
	Step    StepID    `json:"step,omitempty"`
	Needs   string    `json:"needs,omitempty"` // what would clear it
	Opened  time.Time `json:"opened,omitzero"`
	Cleared time.Time `json:"cleared,omitzero"`
	How     string    `json:"how,omitempty"`
}

// OpenBlockers returns the blockers that are not cleared, oldest first.
func (s *State) OpenBlockers() []Blocker {
	var open []Blocker
	for _, b := range s.Blockers {
		if b.Cleared.IsZero() {
			open = append(open, b)
		}
	}
	return open
}

// BlockerOpened says why work cannot go on.
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

// BlockerCleared resolves a blocker.
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

// Memory is one thing learned.
type Memory struct {
	Kind MemoryKind `json:"kind"`
	Text string     `json:"text"`
}

// MemoryKind is the heading under which something learned stands in MEMORY.md.
type MemoryKind string

// The kinds of memory.
const (
	Pattern      MemoryKind = "pattern"
	Gotcha       MemoryKind = "gotcha"
	Preference   MemoryKind = "preference"
	DecisionMem  MemoryKind = "decision"
	RejectedIdea MemoryKind = "rejected"
	Fragile      MemoryKind = "fragile"
)

// Validate says what is wrong with a memory: an unknown kind, an empty text.
func (m Memory) Validate() error {
	switch m.Kind {
	case Pattern, Gotcha, Preference, DecisionMem, RejectedIdea, Fragile:
	default:
		return fmt.Errorf("%q is no kind of memory: use pattern, gotcha, preference, decision, rejected or fragile", m.Kind)
	}
	if strings.TrimSpace(m.Text) == "" {
		return errors.New("there is nothing to learn: the text is empty")
	}
	return nil
}

// MemoryLearned says what was learned; the same bullet stands in MEMORY.md.
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
