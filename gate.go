package pawl

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Gate is a stop for a person.
type Gate struct {
	ID      GateID     `json:"id"`
	Step    StepID     `json:"step,omitempty"` // the step that asks; empty: the run itself, or a person
	Item    ItemID     `json:"item,omitempty"`
	Type    GateType   `json:"type"`
	Purpose Purpose    `json:"purpose,omitempty"` // why it is asked, where no gate step or attempt asks
	Budget  string     `json:"budget,omitempty"`  // time | usd | tokens, for ForBudget
	Ask     string     `json:"ask"`
	Options []string   `json:"options,omitempty"`
	Default string     `json:"default,omitempty"`
	Expect  string     `json:"expect,omitempty"`
	Shown   Outputs    `json:"shown,omitempty"`  // what the person is to look at, by hash
	Checks  []CheckRun `json:"checks,omitempty"` // acceptance checks of the gate, as they came out
	Opened  time.Time  `json:"opened,omitzero"`
	Expires time.Time  `json:"expires,omitzero"`
	Source  *Source    `json:"source,omitempty"`
}

// Halts reports whether nothing may be started before a gate is approved.
func (g Gate) Halts() bool { return g.Purpose == ForBudget || g.Purpose == ForRebuilt }

// GateType is what a person is asked for.
type GateType string

// The types of gates.
const (
	HumanVerify GateType = "human_verify" // look at it and say whether it is right
	DecisionFor GateType = "decision"     // choose one of the options
	HumanAction GateType = "human_action" // do something, then say so
)

// Purpose says why the engine itself asks.
type Purpose string

// The engine's own purposes.
const (
	ForBudget   Purpose = "budget"   // go on with as much again?
	ForStart    Purpose = "start"    // hands_on: start this step?
	ForRepeat   Purpose = "repeat"   // a step that is not idempotent was lost: run it again?
	ForImported Purpose = "imported" // another system asked it of its work: what is rejected is asked again once it is done again
	ForRebuilt  Purpose = "rebuilt"  // what is imported was rebuilt, failed, or is in doubt as a whole: go on from there?
	ForUndo     Purpose = "undo"     // finished work could not be undone, or nobody knows: retry, skip or stop?
)

// Answer is how a gate was closed.
type Answer string

// The answers.
const (
	Approved Answer = "approved" // human_verify, human_action
	Rejected Answer = "rejected" // the steps that the gate needs are done again
	Refused  Answer = "refused"  // rejected for good: the run fails
	Chosen   Answer = "chosen"   // decision: see the option
)

// Identify returns the gate's id: the hash over its step, question, options and what is shown.
func (g Gate) Identify() GateID {
	if len(g.Options) == 0 {
		g.Options = nil // as it comes back from the journal
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
