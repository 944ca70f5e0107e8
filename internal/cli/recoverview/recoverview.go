// Package recoverview prints what pawl recover found, and what it rebuilt.
package recoverview

import (
	"fmt"
	"io"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/rebuild"
)

// Report is what `pawl recover --json` prints.
type Report struct {
	rebuild.Proposal
	New      bool   `json:"new,omitempty"`      // the run was unknown: it is created from git commits
	Accepted bool   `json:"accepted,omitempty"` // the journal was rebuilt
	Aside    string `json:"aside,omitempty"`    // path of the damaged journal
}

// Print prints the parts of a run and what to do. plan and trust are the flags of pawl recover.
func (r Report) Print(out, errOut io.Writer, plan, trust string) {
	if r.Sound {
		fmt.Fprintf(out, "run %s: nothing to recover, the journal is intact (%s)\n", r.Run, layout.Count(int(r.Kept), "event"))
		return
	}
	if r.New {
		fmt.Fprintf(out, "new run %s\n", r.Run)
	} else {
		fmt.Fprintf(out, "run %s\n", r.Run)
	}
	for _, why := range r.Why {
		fmt.Fprintf(out, "  damage   %s\n", why)
	}
	for _, p := range withoutCertainItems(r.Parts) {
		printPart(out, p)
	}
	again := "pawl recover " + string(r.Run)
	if r.New {
		again = "pawl recover"
	}
	if plan != "" {
		again += " --plan " + plan
	}
	switch {
	case r.Accepted && r.Aside != "":
		fmt.Fprintf(out, "journal rebuilt; the damaged one was renamed to %s\n", r.Aside)
		fallthrough
	case r.Accepted:
		fmt.Fprintf(errOut, "pawl: hint: pawl resume %s\n", r.Run)
	default:
		fmt.Fprintln(out, "Nothing was changed.", doubtSummary(r.Parts, trust))
		fmt.Fprintf(errOut, "pawl: hint: %s --accept\n", again)
	}
}

// doubtSummary says what happens to the parts of which it is unclear whether they are done.
func doubtSummary(parts []rebuild.Part, trust string) string {
	n := 0
	for _, p := range parts {
		if p.Status == rebuild.PartInDoubt && p.Confidence == rebuild.Likely {
			n++
		}
	}
	if n == 0 || trust == string(rebuild.Likely) {
		return "Unclear parts will rerun, or ask for your decision."
	}
	return fmt.Sprintf("Unclear parts will rerun, or ask for your decision; --trust likely accepts %d of them.", n)
}

// withoutCertainItems drops the items that are certain, because the line of their step counts them.
func withoutCertainItems(parts []rebuild.Part) []rebuild.Part {
	var short []rebuild.Part
	for _, p := range parts {
		if p.What != "item" || p.Confidence != rebuild.Certain || p.Status == rebuild.PartInDoubt {
			short = append(short, p)
		}
	}
	return short
}

func printPart(out io.Writer, p rebuild.Part) {
	name := p.What
	if p.Step != "" {
		name += " " + pawl.AttemptRef{Step: p.Step, Item: p.Item}.Name()
	}
	status := string(p.Status)
	switch {
	case p.Status == rebuild.PartInDoubt && p.Claim == rebuild.PartNotDone:
		status = "unclear: may not be done"
	case p.Status == rebuild.PartInDoubt && p.Claim != "":
		status = "unclear: may be " + string(p.Claim)
	case p.Status == rebuild.PartInDoubt:
		status = "unclear"
	}
	text := strings.Join(p.Evidence, "; ")
	if p.Text != "" {
		text = p.Text + ": " + text
	}
	fmt.Fprintf(out, "  %-7s  %-20s  %-24s  %s\n", p.Confidence, name, status, text)
}
