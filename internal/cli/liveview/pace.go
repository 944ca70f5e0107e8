package liveview

import (
	"fmt"
	"time"

	"pawl"
)

// pace is how fast the items of a foreach step finish, as this view has seen it.
type pace struct {
	begun time.Time // when the step started or, at the earliest, when the view did
	base  int       // finished items then
	last  time.Time // when an item finished last; zero: none did
}

// finished notes that an item has finished.
func (p *pace) finished(at time.Time) {
	if p != nil {
		p.last = at
	}
}

// text says how fast items finish and how long the rest takes, such as ", 4.1/s, ETA 40s". It is empty if no item has finished, and has
// no ETA if the rest takes longer than extrapolated.
func (p *pace) text(items *pawl.ItemsState, now time.Time) string {
	finished := items.Count - p.base
	if p.last.IsZero() || finished <= 0 || items.Left() <= 0 {
		return ""
	}
	text := ""
	if took := p.last.Sub(p.begun); took > 0 {
		text = ", " + rate(float64(finished)/took.Seconds())
	}
	if left := TimeLeft(finished, items.Left(), p.last.Sub(p.begun)) - now.Sub(p.last); left >= time.Second {
		text += ", ETA " + Elapsed(left)
	}
	return text
}

// rate writes a number per second in the unit that makes it greater than one.
func rate(perSecond float64) string {
	switch {
	case perSecond >= 1:
		return fmt.Sprintf("%.1f/s", perSecond)
	case perSecond*60 >= 1:
		return fmt.Sprintf("%.1f/min", perSecond*60)
	}
	return fmt.Sprintf("%.1f/h", perSecond*3600)
}

// TimeLeft extrapolates from the items that were finished in a time. It returns 0 if none were.
func TimeLeft(finished, left int, elapsed time.Duration) time.Duration {
	if finished <= 0 {
		return 0
	}
	return (elapsed * time.Duration(left) / time.Duration(finished)).Round(time.Second)
}

// Elapsed writes a duration as it is shown while it grows: "12s", "3m10s", "2h05m", "3d4h".
func Elapsed(d time.Duration) string {
	d = max(0, d)
	switch hours := int(d.Hours()); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case hours < 48:
		return fmt.Sprintf("%dh%02dm", hours, int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%dh", hours/24, hours%24)
	}
}
