package layout

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/runs"
)

// GateReport is an open gate with the commands that answer it.
type GateReport struct {
	ID       pawl.GateID     `json:"id"`
	Step     pawl.StepID     `json:"step,omitempty"`
	Item     pawl.ItemID     `json:"item,omitempty"`
	Type     pawl.GateType   `json:"type"`
	Purpose  pawl.Purpose    `json:"purpose,omitempty"`
	Ask      string          `json:"ask"`
	Options  []string        `json:"options,omitempty"`
	Default  string          `json:"default,omitempty"`
	Expect   string          `json:"expect,omitempty"`
	Shown    pawl.Outputs    `json:"shown,omitempty"`
	Checks   []pawl.CheckRun `json:"checks,omitempty"`
	Opened   time.Time       `json:"opened_at"`
	Expires  *time.Time      `json:"expires_at,omitempty"`
	Note     string          `json:"note,omitempty"` // what has changed since it was opened
	Commands []string        `json:"commands"`

	Scope []runs.ScopeStep `json:"approves,omitempty"` // the steps that it depends on since the gate before it
	Since pawl.StepID      `json:"since,omitempty"`    // that gate

	onRun func(command string) string // names the run in a command; nil: not needed
}

// GateReportOf returns the report of a gate of a run.
func GateReportOf(plan *pawl.Plan, s *pawl.State, g *pawl.GateState) GateReport {
	scope := runs.GateScope(plan, s, g)
	return GateReport{
		Scope: scope.Steps, Since: scope.Since,
		ID: g.ID, Step: g.Step, Item: g.Item, Type: g.Type, Purpose: g.Purpose, Ask: g.Ask, Options: g.Options, Default: g.Default,
		Expect: g.Expect, Shown: g.Shown, Checks: g.Checks, Opened: g.Opened, Expires: TimeOrNil(g.Expires), Commands: runs.AnswerCommands(g),
	}
}

// With returns the report with each command changed by a function.
func (g GateReport) With(change func(command string) string) GateReport {
	g.Commands, g.onRun = Changed(g.Commands, change), change
	return g
}

// Changed returns commands changed by a function, each once.
func Changed(commands []string, change func(command string) string) []string {
	changed := make([]string, 0, len(commands))
	for _, command := range commands {
		if command = change(command); !slices.Contains(changed, command) {
			changed = append(changed, command)
		}
	}
	return changed
}

// MissingReview is a step that needs scores.
type MissingReview struct {
	Step pawl.StepID
	From []string
}

// PrintGates prints open gates and missing reviews.
func PrintGates(w io.Writer, gates []GateReport, missing []MissingReview) {
	for i, g := range gates {
		if i > 0 {
			fmt.Fprintln(w)
		}
		PrintGate(w, g)
	}
	for _, m := range missing {
		fmt.Fprintf(w, "review  step %s needs a score from: %s\n", m.Step, strings.Join(m.From, ", "))
	}
	if len(gates)+len(missing) == 0 {
		fmt.Fprintln(w, "no open gates")
	}
}

// PrintGate prints an open gate.
func PrintGate(w io.Writer, g GateReport) {
	Print(w, Span{"gate " + string(g.ID), Yellow}, Span{"  " + string(g.Type), Plain})
	if g.Step != "" {
		fmt.Fprintf(w, "  step %s", g.Step)
	}
	fmt.Fprintf(w, "\n  %s\n", g.Ask)
	if g.Expect != "" {
		fmt.Fprintf(w, "  %s: %s\n", pawl.Gate{Purpose: g.Purpose}.ExpectLabel(), strings.ReplaceAll(g.Expect, "\n", "\n    "))
	}
	for _, path := range slices.Sorted(maps.Keys(g.Shown)) {
		c := g.Shown[path]
		if c == (pawl.Content{}) {
			fmt.Fprintf(w, "  shows: %s  missing\n", path)
			continue
		}
		size := ByteSize(c.Size)
		if c.Files > 0 {
			size = Count(c.Files, "file")
		}
		fmt.Fprintf(w, "  shows: %s  sha256 %.12s  %s\n", path, c.SHA256, size)
	}
	g.printScope(w)
	for _, c := range g.Checks {
		word := "passed"
		if c.Exit != 0 {
			word = fmt.Sprintf("failed (exit code %d)", c.Exit)
		}
		fmt.Fprintf(w, "  check: %s %s\n", c.Name, word)
	}
	if g.Expires != nil {
		then := "the step then fails"
		if g.Default != "" {
			then = "pawl then chooses " + g.Default
		}
		fmt.Fprintf(w, "  expires: %s; %s\n", UTCWithZone(*g.Expires), then)
	}
	if g.Note != "" {
		fmt.Fprintf(w, "  changed: %s\n", g.Note)
	}
	for _, command := range g.Commands {
		fmt.Fprintf(w, "  %s\n", command)
	}
}

// Limits of what a gate prints of its scope.
const (
	maxScope        = 8 // steps
	maxScopeOutputs = 5 // of a step
)

// printScope prints the steps that a gate depends on, each with its result and those of its outputs that the gate does not show, and the
// command that shows what changed since the gate before.
func (g GateReport) printScope(w io.Writer) {
	if len(g.Scope) == 1 && g.Scope[0].Result == "" && len(g.Scope[0].Outputs) == 0 {
		g.Scope = nil // what the gate shows says it all
	}
	for i, c := range g.Scope {
		if i == maxScope {
			fmt.Fprintf(w, "  approves: %s more\n", Count(len(g.Scope)-i, "step"))
			break
		}
		fmt.Fprintf(w, "  approves: %s\n", OneLine(scopeText(c)))
	}
	if g.Since != "" {
		command := "pawl diff " + string(g.Since)
		if g.onRun != nil {
			command = g.onRun(command)
		}
		fmt.Fprintf(w, "  changes since gate %s: %s\n", g.Since, command)
	}
}

func scopeText(c runs.ScopeStep) string {
	parts := []string{}
	if c.Result != "" {
		parts = append(parts, c.Result)
	}
	for i, o := range c.Outputs {
		if i == maxScopeOutputs {
			parts = append(parts, fmt.Sprintf("%d more", len(c.Outputs)-i))
			break
		}
		size := ByteSize(o.Bytes)
		if o.Files > 0 {
			size = Count(o.Files, "file") + ", " + size
		}
		parts = append(parts, o.Path+" ("+size+")")
	}
	text := string(c.Step) + " " + string(c.Status)
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, "; ")
	}
	return text
}
