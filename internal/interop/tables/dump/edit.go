package dump

import (
	"slices"
	"strings"

	"pawl/internal/textedit"
)

// Bytes returns the text with all changes made.
func (d *Dump) Bytes() []byte {
	if len(d.edits) == 0 {
		return d.text
	}
	return textedit.Apply(d.text, d.edits)
}

// Set changes a value in place, and reports whether it could: it cannot if the statement has several rows and does not list the
// column, or if the row may be truncated. An equal value stays as it is written.
func (d *Dump) Set(row *Row, column string, v Value) bool {
	if row.in.cut {
		return false
	}
	for i := range row.Cells {
		c := &row.Cells[i]
		if c.Column != column {
			continue
		}
		if c.from < 0 {
			return c.Value == v
		}
		if c.Value != v {
			d.replace(c.from, c.to, d.written(v, c.from, c.inCopy))
			c.Value = v
		}
		return true
	}
	if row.in.copied || row.in.named == 0 || row.in.rows != 1 {
		return false
	}
	d.edits = append(d.edits, textedit.Edit{From: row.in.named, To: row.in.named, Text: ", " + column})
	d.edits = append(d.edits, textedit.Edit{From: row.to - 1, To: row.to - 1, Text: ", " + d.quote(v, false)})
	row.Cells = append(row.Cells, Cell{Column: column, Value: v, from: -1})
	return true
}

// replace records an edit; it replaces an earlier edit of the same bytes.
func (d *Dump) replace(from, to int, by string) {
	d.edits = slices.DeleteFunc(d.edits, func(e textedit.Edit) bool { return e.From == from && e.To == to && from < to })
	d.edits = append(d.edits, textedit.Edit{From: from, To: to, Text: by})
}

// Count raises a counter.
func (d *Dump) Count(c *Counter, at string) {
	if c.At != at {
		d.replace(c.from, c.to, at)
		c.At = at
	}
}

// Append adds a row after the last one, in the style of the table's rows, and reports whether it did: it does not if nothing is
// known of the table. Columns that are not given are null, or have their default.
func (d *Dump) Append(t *Table, values []Pair) bool {
	if t == nil || t.last == nil && t.Made == "" || t.last != nil && t.last.cut || len(values) == 0 {
		return false
	}
	eol := textedit.EOL(d.text)
	if s := t.last; s != nil && s.copied {
		var fields []string
		for _, column := range s.columns {
			fields = append(fields, copied(find(values, column)))
		}
		d.insert(s.end, strings.Join(fields, "\t")+eol)
		return true
	}
	var names, fields []string
	head := "INSERT INTO " + t.written + " ("
	if s := t.last; s != nil && s.named > 0 && !slices.ContainsFunc(values, func(p Pair) bool { return !slices.Contains(s.columns, p.Column) }) {
		for _, column := range s.columns {
			fields = append(fields, d.quote(find(values, column), false))
		}
		head = s.head
	} else {
		for _, p := range values {
			names, fields = append(names, p.Column), append(fields, d.quote(p.Value, false))
		}
		head += strings.Join(names, ", ") + ") VALUES"
	}
	at := t.end
	if t.last != nil {
		at = t.last.end
	}
	space := " "
	if t.last != nil {
		space = t.last.gap
	}
	if at == 0 || d.text[at-1] != ';' {
		eol = ";" + eol
	}
	d.insert(at, eol+head+space+"("+strings.Join(fields, gap(d, t))+");")
	return true
}

// Takes reports whether an added row can have a column.
func (t *Table) Takes(column string) bool {
	copied := t.last != nil && t.last.copied
	return slices.Contains(t.Columns, column) && (!copied || slices.Contains(t.last.columns, column))
}

// Gives reports whether the statement that a row is added to lists a column. The database fills in the others.
func (t *Table) Gives(column string) bool {
	return t.last != nil && slices.Contains(t.last.columns, column)
}

// insert adds a text at an offset, after what was added there before.
func (d *Dump) insert(at int, text string) {
	d.edits = append(d.edits, textedit.Edit{From: at, To: at, Text: text})
}

// gap returns the text between two values of a row.
func gap(d *Dump, t *Table) string {
	if len(t.Rows) > 0 {
		if c := t.Rows[0].Cells; len(c) > 1 && c[1].from > c[0].to && string(d.text[c[0].to:c[1].from]) == "," {
			return ","
		}
	}
	return ", "
}

// Pair is a value with its column.
type Pair struct {
	Column string
	Value
}

func find(values []Pair, column string) Value {
	for _, p := range values {
		if p.Column == column {
			return p.Value
		}
	}
	return Value{}
}

// written returns a value in the syntax of its offset.
func (d *Dump) written(v Value, at int, inCopy bool) string {
	if inCopy {
		return copied(v)
	}
	return d.quote(v, at < len(d.text) && d.text[at]|0x20 == 'e')
}

// quote returns a value as SQL.
func (d *Dump) quote(v Value, escapes bool) string {
	switch v.Kind {
	case Null:
		return "NULL"
	case Blob:
		return "X'" + v.Text + "'"
	case Text:
		s := strings.ReplaceAll(strings.ReplaceAll(v.Text, "\x00", ""), "'", "''")
		if d.mysql {
			return "'" + strings.ReplaceAll(s, `\`, `\\`) + "'"
		}
		if escapes && strings.Contains(s, `\`) {
			return "E'" + strings.ReplaceAll(s, `\`, `\\`) + "'"
		}
		return "'" + s + "'"
	}
	return v.Text
}

// copied returns a value as a field of a COPY.
func copied(v Value) string {
	if v.Kind == Null {
		return `\N`
	}
	return copyEscapes.Replace(v.Text)
}

var copyEscapes = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\b", `\b`, "\f", `\f`, "\v", `\v`, "\x00", "")
