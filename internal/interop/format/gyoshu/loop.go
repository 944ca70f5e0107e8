package gyoshu

import (
	"cmp"
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// Loop is the state of Gyoshu's loop: auto/loop-state.json.
type Loop struct {
	Active      bool         `json:"active"`
	Iteration   int64        `json:"iteration"`
	Most        int64        `json:"maxIterations"`
	Title       string       `json:"reportTitle"`
	Run         string       `json:"runId"`
	Session     string       `json:"researchSessionID"`
	Budgets     Budgets      `json:"budgets"`
	Attempt     int64        `json:"attemptNumber"`
	MostTries   int64        `json:"maxAttempts"`
	Decision    LoopDecision `json:"lastDecision"` // null if there is none
	Next        string       `json:"nextObjective"`
	Trust       *float64     `json:"trustScore,omitempty"`
	GoalReached string       `json:"goalGateStatus,omitempty"` // MET, NOT_MET, BLOCKED
}

// Budgets are the loop's limits and their usage.
type Budgets struct {
	MostCycles  int64  `json:"maxCycles"`
	Cycle       int64  `json:"currentCycle"`
	MostCalls   int64  `json:"maxToolCalls"`
	Calls       int64  `json:"totalToolCalls"`
	MostMinutes int64  `json:"maxTimeMinutes"`
	Started     string `json:"startedAt"`
}

// LoopDecision is the loop's decision at the end of a cycle.
type LoopDecision string

// The decisions.
const (
	Continue  LoopDecision = "CONTINUE"
	Pivot     LoopDecision = "PIVOT"
	Rework    LoopDecision = "REWORK"
	Complete  LoopDecision = "COMPLETE"
	Blocked   LoopDecision = "BLOCKED"
	Exhausted LoopDecision = "BUDGET_EXHAUSTED"
)

// MarshalJSON encodes no decision as null.
func (d LoopDecision) MarshalJSON() ([]byte, error) {
	if d == "" {
		return []byte("null"), nil
	}
	return []byte(`"` + string(d) + `"`), nil
}

// Gyoshu's default limits.
const (
	defaultIterations = 25
	defaultCycles     = 25
	defaultCalls      = 300
	defaultMinutes    = 180
	defaultTries      = 3
)

// ReadLoop parses the state of a loop, with default limits.
func ReadLoop(data []byte) (*Loop, error) {
	root, err := jsonedit.Read(data)
	if err != nil {
		return nil, err
	}
	if !root.Is(jsonedit.Object) {
		return nil, &shapeError{line: root.Line(), what: "the state of a loop is an object"}
	}
	number := func(standard int64, path ...string) int64 {
		n, _ := root.Get(path...).Int()
		return cmp.Or(n, standard)
	}
	text := func(path ...string) string { return root.Get(path...).Text() }
	l := &Loop{
		Active:    root.Get("active").True(),
		Iteration: number(0, "iteration"),
		Most:      number(defaultIterations, "maxIterations"),
		Title:     text("reportTitle"),
		Run:       text("runId"),
		Session:   text("researchSessionID"),
		Budgets: Budgets{
			MostCycles:  number(defaultCycles, "budgets", "maxCycles"),
			Cycle:       number(0, "budgets", "currentCycle"),
			MostCalls:   number(defaultCalls, "budgets", "maxToolCalls"),
			Calls:       number(0, "budgets", "totalToolCalls"),
			MostMinutes: number(defaultMinutes, "budgets", "maxTimeMinutes"),
			Started:     text("budgets", "startedAt"),
		},
		Attempt:     number(0, "attemptNumber"),
		MostTries:   number(defaultTries, "maxAttempts"),
		Decision:    LoopDecision(text("lastDecision")),
		Next:        text("nextObjective"),
		GoalReached: text("goalGateStatus"),
	}
	if trust, ok := root.Get("trustScore").Float(); ok {
		l.Trust = &trust
	}
	return l, nil
}

// Exceeded returns the budgets that have reached their limit.
func (l *Loop) Exceeded(now time.Time) []string {
	var used []string
	for _, b := range []struct {
		name      string
		used, cap int64
	}{
		{"maxIterations", l.Iteration, l.Most},
		{"maxCycles", l.Budgets.Cycle, l.Budgets.MostCycles},
		{"maxToolCalls", l.Budgets.Calls, l.Budgets.MostCalls},
		{"maxTimeMinutes", l.Budgets.minutes(now), l.Budgets.MostMinutes},
	} {
		if b.used >= b.cap {
			used = append(used, b.name)
		}
	}
	return used
}

func (b Budgets) minutes(now time.Time) int64 {
	started, _, _ := format.ParseTime(b.Started)
	if started.IsZero() {
		return 0
	}
	return int64(now.Sub(started) / time.Minute)
}

// loopField is a value of the loop's state that pawl updates.
type loopField struct {
	path  []string
	value any
}

// withLoop returns the file of a loop's state with the values of l. Limits, counts of tool calls, unknown keys and the
// session of the same run stay as they are. An unreadable file is unchanged.
func withLoop(old []byte, l Loop) []byte {
	before, err := ReadLoop(old)
	if err != nil {
		return old
	}
	if before.Run == l.Run && before.Session != "" {
		l.Session = before.Session
	}
	text := old
	for _, f := range []loopField{
		{[]string{"active"}, l.Active},
		{[]string{"iteration"}, l.Iteration},
		{[]string{"reportTitle"}, l.Title},
		{[]string{"runId"}, l.Run},
		{[]string{"researchSessionID"}, l.Session},
		{[]string{"budgets", "currentCycle"}, l.Budgets.Cycle},
		{[]string{"budgets", "startedAt"}, l.Budgets.Started},
		{[]string{"attemptNumber"}, l.Attempt},
		{[]string{"lastDecision"}, l.Decision},
		{[]string{"nextObjective"}, l.Next},
	} {
		next, err := jsonedit.Set(text, f.value, f.path...)
		if err != nil { // budgets is not an object, and stays as it is
			continue
		}
		text = next
	}
	return text
}
