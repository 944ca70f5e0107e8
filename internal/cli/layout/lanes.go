package layout

import (
	"slices"
	"strings"
)

// Lanes are the columns of a graph. Each holds the id of the next node in it; "" marks a free column.
type Lanes struct{ next []string }

// Place returns the row of a node, marked o if it has no parent, and the row above it in which columns join, if any.
func (l *Lanes) Place(id, parent string) (row, join string) {
	at := slices.Index(l.next, id)
	if at >= 0 {
		for other := len(l.next) - 1; other > at; other-- {
			if l.next[other] == id {
				join += l.join(at, other) + "\n"
				l.next[other] = ""
			}
		}
	} else if at = slices.Index(l.next, ""); at < 0 {
		at, l.next = len(l.next), append(l.next, "")
	}
	mark := "*"
	if parent == "" {
		mark = "o"
	}
	l.next[at] = id
	row = l.draw(at, mark)
	l.next[at] = parent
	return row, strings.TrimSuffix(join, "\n")
}

// draw draws a row with a mark for a node in a column.
func (l *Lanes) draw(node int, mark string) string {
	var row strings.Builder
	for i, next := range l.next {
		switch {
		case i == node:
			row.WriteString(mark + " ")
		case next != "":
			row.WriteString("| ")
		default:
			row.WriteString("  ")
		}
	}
	return strings.TrimRight(row.String(), " ")
}

// join draws a column that joins another one to the left of it.
func (l *Lanes) join(to, from int) string {
	row := []byte(l.draw(-1, ""))
	for len(row) < 2*from {
		row = append(row, ' ')
	}
	row = append(row[:2*from], append([]byte(" "), row[min(len(row), 2*from+1):]...)...)
	row[2*from-1] = '/'
	for i := to + 1; i < from; i++ {
		row[2*i-1] = '_'
	}
	return strings.TrimRight(string(row), " ")
}
