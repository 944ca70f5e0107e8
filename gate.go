package pawl

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Gate is a point where the run waits for a person.
type Gate struct {
	ID      GateID     `json:"id"`
	Step    StepID     `json:"step,omitempty"` // the step that asks; empty: the run itself, or a person
	Item    ItemID     `json:"item,omitempty"`
	Type    GateType   `json:"type"`
	Purpose Purpose    `json:"purpose,omitempty"` // why the engine opened it; empty: a step, an attempt or a person did
	Budget  string     `json:"budget,omitempty"`  // time | usd | tokens, for ForBudget
	Plan    string     `json:"plan,omitempty"`    // SHA-256 of the plan that would be used, for ForPlan; Ask names it too
	Ask     string     `json:"ask"`
	Options []string   `json:"options,omitempty"`
	Default string     `json:"default,omitempty"`
	Expect  string     `json:"expect,omitempty"`
	Shown   Outputs    `json:"shown,omitempty"`  // the content to review, by hash
	Checks  []CheckRun `json:"checks,omitempty"` // results of the gate's acceptance checks
	Opened  time.Time  `json:"opened,omitzero"`
	Expires time.Time  `json:"expires,omitzero"`
	Source  *Source    `json:"source,omitempty"`
}

// Halts reports whether nothing may start before the gate is approved.
func (g Gate) Halts() bool { return g.Purpose == ForBudget || g.Purpose == ForRebuilt }

// ExpectLabel says what Expect is: why pawl asks, the options, how the plan changed, the goal of the step, or what to check.
func (g Gate) ExpectLabel() string {
	switch g.Purpose {
	case ForRepeat:
		return "reason"
	case ForUndo:
		return "options"
	case ForPlan:
		return "change"
	case ForStart:
		return "goal"
	}
	return "check for"
}

// Identify returns the gate's id: the hash over its step, question, options and what is shown.
func (g Gate) Identify() GateID {
	if len(g.Options) == 0 {
		g.Options = nil // as the journal returns it
	}
	if len(g.Shown) == 0 {
		g.Shown = nil
	}
	asked, err := json.Marshal([]any{g.Step, g.Item, g.Type, g.Purpose, g.Budget, g.Ask, g.Options, g.Default, g.Expect, g.Shown})
	if err != nil {
		panic("a gate holds only strings: " + err.Error())
	}
	sum := sha256.Sum256(asked)
	return GateID(hex.EncodeToString(sum[:4]))
}

// GateType is the kind of answer that a gate needs.
type GateType string

// The types of gates.
const (
	HumanVerify GateType = "human_verify" // review and approve
	DecisionFor GateType = "decision"     // choose one of the options
	HumanAction GateType = "human_action" // do something, then confirm
)

// Purpose is why the engine opened a gate.
type Purpose string

// The engine's own purposes.
const (
	ForBudget   Purpose = "budget"   // extend the budget by the same amount?
	ForStart    Purpose = "start"    // hands_on: start this step?
	ForRepeat   Purpose = "repeat"   // a step that is not idempotent crashed: run it again?
	ForImported Purpose = "imported" // the gate comes from another system; a rejected one opens again after the rerun
	ForRebuilt  Purpose = "rebuilt"  // the imported work was rebuilt, failed or is uncertain: continue from it?
	ForPlan     Purpose = "plan"     // the plan was changed, and no terminal was there to ask: use it?
	ForUndo     Purpose = "undo"     // an undo command failed or its outcome is unknown: retry, skip or stop?
)

// Answer is how a gate was closed.
type Answer string

// The answers.
const (
	Approved Answer = "approved" // human_verify, human_action
	Rejected Answer = "rejected" // the steps that the gate needs run again
	Refused  Answer = "refused"  // rejected for good: the run fails
	Chosen   Answer = "chosen"   // decision: see the option
)

// GateState is a gate and its outcome.
type GateState struct {
	Gate
	Answer    *GateAnswered `json:"answer,omitempty"`
	Expired   bool          `json:"expired,omitempty"`
	Withdrawn string        `json:"withdrawn,omitempty"` // why
	Settled   bool          `json:"settled,omitempty"`   // its step has continued since
	Closed    time.Time     `json:"closed,omitzero"`
}

// Open reports whether the gate waits for an answer.
func (g *GateState) Open() bool { return g.Answer == nil && !g.Expired && g.Withdrawn == "" }

// Gate returns the newest gate with this id, nil where there is none.
func (s *State) Gate(id GateID) *GateState {
	for i := len(s.Gates) - 1; i >= 0; i-- {
		if s.Gates[i].ID == id {
			return &s.Gates[i]
		}
	}
	return nil
}

// AnsweredGate returns the newest gate of an unfinished step that was answered since the step last continued; nil for none.
func (s *State) AnsweredGate(step StepID) *GateState {
	if s.Ended() || s.Steps[step].Finished() || s.asks(step) {
		return nil
	}
	for _, g := range slices.Backward(s.Gates) {
		if g.Step == step && g.Answer != nil && !g.Answer.Auto && !g.Settled {
			return &g
		}
	}
	return nil
}

// AnsweredLast returns the newest gate if it was answered and the run has not continued since; nil for none.
func (s *State) AnsweredLast() *GateState {
	for _, g := range slices.Backward(s.Gates) {
		switch {
		case g.Answer == nil || g.Answer.Auto:
		case g.Step != "":
			return s.AnsweredGate(g.Step)
		case g.Closed.Equal(s.Updated):
			return &g
		}
	}
	return nil
}

// AnswerText says how a gate was answered, such as "gate 3f2a91c0 approved".
func (g *GateState) AnswerText() string {
	switch g.Answer.Answer {
	case Chosen:
		return fmt.Sprintf("gate %s answered: %s", g.ID, g.Answer.Option)
	case Refused:
		return fmt.Sprintf("gate %s rejected for good", g.ID)
	}
	return fmt.Sprintf("gate %s %s", g.ID, g.Answer.Answer)
}

// OpenGates returns the gates that wait for an answer, oldest first.
func (s *State) OpenGates() []*GateState {
	var open []*GateState
	for i := range s.Gates {
		if s.Gates[i].Open() {
			open = append(open, &s.Gates[i])
		}
	}
	return open
}

// asks reports whether the step waits at an open gate.
func (s *State) asks(step StepID) bool {
	return slices.ContainsFunc(s.Gates, func(g GateState) bool { return g.Step == step && g.Open() && g.Purpose != ForBudget })
}

// settleGates records that a step has used the answers it got so far.
func (s *State) settleGates(id StepID) {
	for i := range s.Gates {
		if g := &s.Gates[i]; g.Step == id && !g.Open() {
			g.Settled = true
		}
	}
}

// settleItemGates records that an item has used the answers that it and its step got so far.
func (s *State) settleItemGates(id StepID, item ItemID) {
	for i := range s.Gates {
		if g := &s.Gates[i]; g.Step == id && (g.Item == item || g.Item == "") && !g.Open() {
			g.Settled = true
		}
	}
}

// GateOpened opens a gate. The gate's id is the hash of its question and the shown content.
type GateOpened struct{ Gate }

func (GateOpened) Event() EventType { return "gate.opened" }

func (p GateOpened) fold(s *State, e Event) error {
	if s.Gate(p.ID) != nil && s.Gate(p.ID).Open() {
		return fmt.Errorf("gate %s is already open", p.ID)
	}
	p.Opened = e.Time
	s.Gates = append(s.Gates, GateState{Gate: p.Gate})
	if p.Step != "" && p.Purpose != ForBudget {
		if st := s.step(p.Step); st.Status == Pending && st.Items == nil {
			st.Status = AwaitsGate
		}
	}
	return nil
}

func (p GateOpened) source() *Source { return p.Gate.Source }

// GateAnswered closes a gate.
type GateAnswered struct {
	Gate   GateID `json:"gate"`
	Step   StepID `json:"step,omitempty"` // the gate's step
	Answer Answer `json:"answer"`
	Option string `json:"option,omitempty"` // the decision's option
	Why    string `json:"why,omitempty"`
	Auto   bool   `json:"auto,omitempty"`  // given by the mode or the default, not by a person
	Where  string `json:"where,omitempty"` // the file of another system that a person wrote it into by hand
	Plan   string `json:"plan,omitempty"`  // SHA-256 of the plan that the run used
	Via    string `json:"via,omitempty"`   // the program through which the person answered, such as an MCP client; empty: the command line
}

func (GateAnswered) Event() EventType { return "gate.answered" }

func (p GateAnswered) fold(s *State, e Event) error {
	return s.closeGate(p.Gate, e.Time, func(g *GateState) { g.Answer = &p })
}

// GateExpired closes a gate that had no default in time: it failed.
type GateExpired struct {
	Gate GateID `json:"gate"`
}

func (GateExpired) Event() EventType { return "gate.expired" }

func (p GateExpired) fold(s *State, e Event) error {
	return s.closeGate(p.Gate, e.Time, func(g *GateState) { g.Expired = true })
}

// GateWithdrawn closes a gate because what it showed has changed, or its step is gone.
type GateWithdrawn struct {
	Gate GateID `json:"gate"`
	Why  string `json:"why"`
}

func (GateWithdrawn) Event() EventType { return "gate.withdrawn" }

func (p GateWithdrawn) fold(s *State, e Event) error {
	return s.closeGate(p.Gate, e.Time, func(g *GateState) { g.Withdrawn = cmp.Or(p.Why, "withdrawn") })
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

// BudgetSpent says which budget is used up; a gate asks whether to grant the same amount again.
type BudgetSpent struct {
	Budget string `json:"budget"` // time | usd | tokens
	Used   string `json:"used"`
	Limit  string `json:"limit"`
}

func (BudgetSpent) Event() EventType { return "budget.spent" }

// fold changes nothing: the gate that asks for more is an event of its own.
func (BudgetSpent) fold(*State, Event) error { return nil }
