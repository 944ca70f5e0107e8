package layout

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"pawl"
)

// Colour is a color or weight of text on a terminal, as the parameter of an SGR sequence (ECMA-48). "" is plain text.
type Colour string

// The colors of pawl's own texts.
const (
	Plain  Colour = ""
	Bold   Colour = "1"
	Faint  Colour = "2"
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Cyan   Colour = "36"
)

// ColourMode says when pawl's own texts have colors: auto, always or never.
type ColourMode string

// The modes.
const (
	ColourAuto   ColourMode = "auto" // on a terminal, unless NO_COLOR is set or TERM is dumb
	ColourAlways ColourMode = "always"
	ColourNever  ColourMode = "never"
)

// Set sets the mode.
func (m *ColourMode) Set(text string) error {
	switch mode := ColourMode(text); mode {
	case ColourAuto, ColourAlways, ColourNever:
		*m = mode
		return nil
	}
	return fmt.Errorf("unknown mode %q; expected auto, always or never", text)
}

// String returns the mode.
func (m *ColourMode) String() string { return string(*m) }

// Type is what help prints as the name of the value.
func (m *ColourMode) Type() string { return "WHEN" }

// ColourModeOf returns the mode that the flag --color sets on a command line; auto if there is none, or an unknown one.
func ColourModeOf(args []string) ColourMode {
	mode := ColourAuto
	for i, arg := range args {
		if arg == "--" {
			break
		}
		value, found := strings.CutPrefix(arg, "--color=")
		if !found && arg == "--color" && i+1 < len(args) {
			value, found = args[i+1], true
		}
		if found {
			_ = mode.Set(value) // the command line's own check reports it
		}
	}
	return mode
}

// Coloured returns a Filter for w, with colors of pawl's own if the mode says so.
func Coloured(w io.Writer, mode ColourMode) *Filter {
	f := &Filter{Out: w}
	f.Paint = mode == ColourAlways || mode == ColourAuto && os.Getenv("NO_COLOR") == "" && IsTerminal(f)
	return f
}

// Span is a piece of text with a color.
type Span struct {
	Text   string
	Colour Colour
}

// Line is a line of text whose pieces have colors.
type Line []Span

// Render returns the line as a terminal shows it, without control characters except its own colors. It takes at most width columns; 0:
// no limit.
func (l Line) Render(colours bool, width int) string {
	var b strings.Builder
	left := width
	for _, s := range l {
		text := Visible(s.Text)
		if width > 0 {
			text = Fit(text, left)
			if text == "" || left <= 0 {
				break
			}
			left -= Width(text)
		}
		if colours && s.Colour != Plain && strings.TrimSpace(text) != "" {
			text = "\x1b[" + string(s.Colour) + "m" + text + "\x1b[0m"
		}
		b.WriteString(text)
	}
	return b.String()
}

// PrintLine writes a line and a newline to w: with its colors if w is a Filter that allows them.
func PrintLine(w io.Writer, spans ...Span) error {
	return Print(w, append(slices.Clone(spans), Span{Text: "\n"})...)
}

// Print writes pieces of text to w: with their colors if w is a Filter that allows them.
func Print(w io.Writer, spans ...Span) error {
	if f, ok := w.(*Filter); ok && f.Paint {
		_, err := io.WriteString(f.Out, Line(spans).Render(true, 0))
		return err
	}
	size := 0
	for _, s := range spans {
		size += len(s.Text)
	}
	text := make([]byte, 0, size)
	for _, s := range spans {
		text = append(text, s.Text...)
	}
	_, err := w.Write(text)
	return err
}

// Buffered returns a buffered writer for w, which colors what w colors, and the function that flushes it.
func Buffered(w io.Writer) (buffered io.Writer, flush func() error) {
	f, ok := w.(*Filter)
	if !ok {
		buffer := bufio.NewWriter(w)
		return buffer, buffer.Flush
	}
	buffer := bufio.NewWriter(f.Out)
	return &Filter{Out: buffer, Paint: f.Paint}, buffer.Flush
}

// StepColour returns the color of a step's status.
func StepColour(status string) Colour {
	switch pawl.StepStatus(status) {
	case pawl.Done:
		return Green
	case pawl.FailedForGood:
		return Red
	case pawl.Running:
		return Cyan
	case pawl.AwaitsGate, pawl.AwaitsReview, "unknown", "ended", pawl.FailedAllowed:
		return Yellow
	case pawl.Skipped, pawl.Pending:
		return Faint
	}
	return Plain
}

// RunColour returns the color of a run's status.
func RunColour(status pawl.RunStatus) Colour {
	switch status {
	case pawl.StatusCompleted:
		return Green
	case pawl.StatusFailed:
		return Red
	case pawl.StatusActive:
		return Cyan
	case pawl.StatusWaiting, pawl.StatusPaused, pawl.StatusStopped, pawl.StatusInterrupted:
		return Yellow
	}
	return Plain
}
