package resume

import (
	"fmt"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/oneline"
	"pawl/internal/redact"
)

// maxShownChange is how many bytes of a changed plan's patch its gate shows.
const maxShownChange = 8 << 10

// Gate returns the gate that asks a person to use the edited plan instead of current, the one that the run uses. Its id covers both.
func (c *PlanDiff) Gate(current string) pawl.Gate {
	var shown strings.Builder
	for _, weaker := range c.Weakened {
		fmt.Fprintf(&shown, "weaker: %s\n", weaker)
	}
	for _, work := range c.Rerun {
		fmt.Fprintf(&shown, "rerun: %s\n", work.Text())
	}
	for _, id := range c.NewAxes {
		fmt.Fprintf(&shown, "rerun: step %s: the axes of its matrix changed, so all combinations are new items\n", id)
	}
	shown.WriteString(c.Patch)
	g := pawl.Gate{
		Type: pawl.HumanVerify, Purpose: pawl.ForPlan, Plan: c.PlanHash,
		Ask:    fmt.Sprintf("Use the changed plan %s? (sha256 %.12s instead of %.12s)", filepath.Base(c.From), c.PlanHash, current),
		Expect: redact.OfProcess().Text(oneline.Clip(strings.TrimRight(shown.String(), "\n"), maxShownChange)),
	}
	g.ID = g.Identify()
	return g
}
