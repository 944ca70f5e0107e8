// Package layout formats what commands print: counts, sizes, times, tables and gates.
package layout

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func TimeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func NonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// Count returns a number with its noun in singular or plural: "1 file", "2 processes", "3,005 paths".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	switch {
	case strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "sh"):
		noun += "es"
	case strings.HasSuffix(noun, "ry"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// grouped writes a number with a comma before each group of three digits.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// ByteSize writes a number of bytes: "12 B", "1.5 KiB".
func ByteSize(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for ; value >= 1024 && unit < len(units)-1; unit++ {
		value /= 1024
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// Seconds writes a duration: "0.3s", "42s", "3m10s"; empty for 0.
func Seconds(s float64) string {
	if s == 0 {
		return ""
	}
	d := time.Duration(s * float64(time.Second))
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// UTC writes a time in UTC, without the zone; empty for the zero time.
func UTC(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}

// UTCWithZone writes a time in UTC, with the zone.
func UTCWithZone(t time.Time) string { return UTC(t) + " UTC" }

// OneLine returns the beginning of a text, on one line.
func OneLine(text string) string {
	const limit = 120
	if len(text) <= limit && isPlain(text) {
		return text
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= limit && utf8.ValidString(text) {
		return text
	}
	runes := []rune(text)
	if len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return string(runes)
}

// isPlain reports whether a text is of printable ASCII, and has a space only between two other characters.
func isPlain(text string) bool {
	before := byte(' ')
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return text == "" || before != ' '
}

func Parenthesized(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// JoinIDs lists ids: "a, b, c".
func JoinIDs[T ~string](ids []T) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// Table prints rows in columns as wide as their content. The last column is not padded.
func Table(w io.Writer, head []string, rows [][]string) error {
	return PaintedTable(w, head, rows, func(int, int) Colour { return Plain })
}

// PaintedTable is like Table. colourOf returns the color of a cell.
func PaintedTable(w io.Writer, head []string, rows [][]string, colourOf func(row, column int) Colour) error {
	widths := make([]int, len(head))
	all := append([][]string{head}, rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], Width(Visible(cell)))
		}
	}
	var line Line // one for all rows
	gap := strings.Repeat(" ", slices.Max(append(widths, 0))+2)
	for r, row := range all {
		last := len(row) - 1
		for last >= 0 && row[last] == "" {
			last--
		}
		line = line[:0]
		for i, cell := range row[:last+1] {
			colour := Bold
			if r > 0 {
				colour = colourOf(r-1, i)
			}
			line = append(line, Span{cell, colour})
			if i < last {
				line = append(line, Span{gap[:widths[i]-Width(Visible(cell))+2], Plain})
			}
		}
		if err := Print(w, append(line, Span{Text: "\n"})...); err != nil {
			return err
		}
	}
	return nil
}

func WithoutNUL(data []byte) []byte {
	text := data[:0]
	for _, b := range data {
		if b != 0 {
			text = append(text, b)
		}
	}
	return text
}

// WithoutSnapshot adds to the note of a step why it has no snapshot.
func WithoutSnapshot(note, why string) string {
	why, _, _ = strings.Cut(why, "\n")
	return strings.TrimPrefix(note+"; no snapshot: "+why, "; ")
}

// Leftovers says how many processes an attempt left running and pawl terminated, and names the first ones; "" for none.
func Leftovers(killed int, names []string) string {
	if killed == 0 {
		return ""
	}
	text := Count(killed, "leftover process") + " terminated"
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
		if killed > len(names) {
			text += ", …"
		}
	}
	return text
}
