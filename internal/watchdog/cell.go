package watchdog

import (
	"fmt"
	"strings"
	"time"

	"pawl"
)

// A Cell watches the cell that a kernel step executes, and warns about it: at most once for each cause. It never ends a cell.
type Cell struct {
	limits pawl.KernelWatch
	name   string            // empty: the only cell of its step, or unknown
	begun  time.Time         // zero: no cell has begun
	last   [causes]time.Time // of each kind of activity; zero: none yet
	warned [causes]bool
}

// causes of warnings.
const (
	silent = iota
	noMarker
	noProgress
	long
	causes
)

var causeTexts = [causes]string{"no output", "no marker", "no progress", "still running"}

// WatchCell returns the watch of a step's cells. The one that runs began at a time, zero: none runs yet. before are the warnings about it
// that were given before.
func WatchCell(limits pawl.KernelWatch, before []string, begun time.Time) *Cell {
	c := &Cell{limits: limits, begun: begun}
	for cause, text := range causeTexts {
		for _, warning := range before {
			c.warned[cause] = c.warned[cause] || strings.Contains(warning, text+" ")
		}
	}
	return c
}

// Begin says that a cell begins.
func (c *Cell) Begin(name string, now time.Time) { *c = Cell{limits: c.limits, name: name, begun: now} }

// End says that the cell has ended.
func (c *Cell) End() { *c = Cell{limits: c.limits} }

// Output says that the cell wrote output.
func (c *Cell) Output(now time.Time) { c.last[silent] = now }

// Reported says that the cell printed a marker or reported progress.
func (c *Cell) Reported(m *pawl.Marker, now time.Time) {
	if m != nil {
		c.last[noMarker] = now
	}
	if m == nil || m.Subtype != nil && *m.Subtype == "progress" {
		c.last[noProgress] = now
	}
}

// Warnings returns the new warnings about the cell.
func (c *Cell) Warnings(now time.Time) (warnings []string) {
	limits := [causes]pawl.Duration{c.limits.Silent, c.limits.Marker, c.limits.Progress, c.limits.Long}
	for cause, limit := range limits {
		since := c.begun
		if c.last[cause].After(since) {
			since = c.last[cause]
		}
		unknown := cause == noProgress && c.last[cause].IsZero() // most cells report none
		if limit <= 0 || c.begun.IsZero() || c.warned[cause] || unknown || now.Sub(since) < time.Duration(limit) {
			continue
		}
		c.warned[cause] = true
		warnings = append(warnings, c.prefix()+causeText(cause, limit))
	}
	return warnings
}

func (c *Cell) prefix() string {
	if c.name == "" {
		return ""
	}
	return "cell " + c.name + ": "
}

func causeText(cause int, limit pawl.Duration) string {
	text := fmt.Sprintf("%s for %s", causeTexts[cause], limit)
	if cause == long {
		text = fmt.Sprintf("%s after %s; its variables are saved when it ends", causeTexts[cause], limit)
	}
	return text
}
