package pawl

// GateOpened asks a person. The gate's id is the hash of what is asked and shown.
type GateOpened struct{ Gate }

// GateAnswered closes a gate.
type GateAnswered struct {
	Gate   GateID `json:"gate"`
	Step   StepID `json:"step,omitempty"` // the gate's step
	Answer Answer `json:"answer"`
	Option string `json:"option,omitempty"` // the decision's option
	Why    string `json:"why,omitempty"`
	Auto   bool   `json:"auto,omitempty"`  // given by the mode or the default, not by a person
	Where  string `json:"where,omitempty"` // the file of another system that a person wrote it into by hand
}

// GateExpired closes a gate that had no default in time: it failed.
type GateExpired struct {
	Gate GateID `json:"gate"`
}

// GateWithdrawn closes a gate because what it showed has changed, or its step is gone.
type GateWithdrawn struct {
	Gate GateID `json:"gate"`
	Why  string `json:"why"`
}

// BudgetSpent says which budget is used up; a gate asks whether to go on with as much again.
type BudgetSpent struct {
	Budget string `json:"budget"` // time | usd | tokens
	Used   string `json:"used"`
	Limit  string `json:"limit"`
}

func (GateOpened) Event() EventType    { return "gate.opened" }
func (GateAnswered) Event() EventType  { return "gate.answered" }
func (GateExpired) Event() EventType   { return "gate.expired" }
func (GateWithdrawn) Event() EventType { return "gate.withdrawn" }
func (BudgetSpent) Event() EventType   { return "budget.spent" }
