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
}

func GateReportOf(g *pawl.GateState) GateReport {
	return GateReport{
		ID: g.ID, Step: g.Step, Item: g.Item, Type: g.Type, Purpose: g.Purpose, Ask: g.Ask, Options: g.Options, Default: g.Default,
		Expect: g.Expect, Shown: g.Shown, Checks: g.Checks, Opened: g.Opened, Expires: TimeOrNil(g.Expires), Commands: runs.AnswerCommands(g),
	}
}

// With returns the report with each command changed by a function.
func (g GateReport) With(change func(command string) string) GateReport {
	g.Commands = Changed(g.Commands, change)
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
		size := ByteSize(c.Size)
		if c.Files > 0 {
			size = Count(c.Files, "file")
		}
		fmt.Fprintf(w, "  shows: %s  sha256 %.12s  %s\n", path, c.SHA256, size)
	}
	for _, c := range g.Checks {
		word := "passed"
		if c.Exit != 0 {
			word = fmt.Sprintf("failed (exit code %d)", c.Exit)
		}
		fmt.Fprintf(w, "  check: %s %s\n", c.Name, word)
	}
	if g.Expires != nil {
		fmt.Fprintf(w, "  expires: %s\n", UTCWithZone(*g.Expires))
	}
	if g.Note != "" {
		fmt.Fprintf(w, "  changed: %s\n", g.Note)
	}
	for _, command := range g.Commands {
		fmt.Fprintf(w, "  %s\n", command)
	}
}
