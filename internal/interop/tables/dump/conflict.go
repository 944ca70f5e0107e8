package dump

import (
	"slices"
	"strings"
)

// conflict is the action if a new row has the key of an existing one.
type conflict struct {
	way    resolution
	target []string // the columns of the key; nil: any key
	given  string   // the name of the new row
	sets   []assignment
}

// resolution is how two conflicting rows become one.
type resolution byte

const (
	refused  resolution = iota // a database rejects it
	keeps                      // the first one stays
	replaces                   // the last one does
	updates                    // the first one is changed
	unclear                    // only a database can evaluate it
)

// assignment is column = value of DO UPDATE SET.
type assignment struct {
	column string
	value  []token
}

// orElse parses the words before a table's name: INSERT OR IGNORE INTO.
func (p *parser) conflictPrefix() conflict {
	var m conflict
	if p.tokens[0].is("replace") {
		m.way = replaces
	}
	if p.skip("into") {
		return m
	}
	p.skip("or")
	for _, word := range []string{"abort", "fail", "rollback"} {
		p.skip(word)
	}
	switch {
	case p.skip("ignore"):
		m.way = keeps
	case p.skip("replace"):
		m.way = replaces
	}
	p.skip("into")
	return m
}

// onConflict parses the clause after the rows: ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b.
func (p *parser) onConflict(m *conflict) {
	if p.i >= len(p.tokens) {
		return
	}
	m.given = "excluded"
	if p.skip("as") { // MySQL
		m.given = strings.ToLower(p.peek(0).text)
		p.i++
	}
	from := p.i
	switch {
	case !p.skip("on"):
	case p.skip("conflict"):
		m.way = unclear
		if m.target, _ = p.list(); m.target == nil && p.skip("on") {
			p.i += 2 // CONSTRAINT name
		}
		switch {
		case p.skip("do") && p.skip("nothing"):
			m.way = keeps
		case p.skip("update") && p.skip("set"):
			m.way, m.sets = updates, p.assignments()
		}
	case p.skip("duplicate") && p.skip("key") && p.skip("update"):
		m.way, m.sets = updates, p.assignments()
	}
	switch {
	case p.i >= len(p.tokens) || p.peek(0).is("returning"):
	case p.i == from:
		p.unsure(p.peek(0).from, "the clause after its rows is not supported")
	default:
		m.way = unclear
	}
}

// assignments parses a list of assignments.
func (p *parser) assignments() []assignment {
	var sets []assignment
	for from, depth := p.i, 0; ; p.i++ {
		w := p.peek(0)
		end := p.i >= len(p.tokens) || depth == 0 && (w.is("where") || w.is("returning") || w.is("on"))
		switch {
		case w.is("("):
			depth++
		case w.is(")"):
			depth--
		}
		if end || depth == 0 && w.is(",") {
			var set assignment
			if part := p.tokens[from:p.i]; len(part) > 2 && part[1].is("=") {
				set = assignment{strings.ToLower(part[0].text), part[2:]}
			}
			sets, from = append(sets, set), p.i+1
		}
		if end {
			return sets
		}
	}
}

// addRow adds a row, or resolves its conflict with existing rows of the same key.
func (p *parser) addRow(t *Table, row *Row, m conflict) {
	var old []*Row
	if m.way != refused {
		old = t.meets(row, m.target)
	}
	switch {
	case len(old) == 0:
	case m.way == keeps:
		return
	case m.way == replaces:
		for _, o := range old {
			o.replaced = true
		}
	case m.way == updates && p.update(t, old[0], row, m):
		return
	default:
		p.unsure(row.from, "it changes an existing row of %s, and pawl does not evaluate that", t.Name)
		return
	}
	t.Rows = append(t.Rows, row)
}

// update sets values of a row, from the row to insert or from the statement, and reports whether all of them could be evaluated.
// Later edits change a value where it was set last.
func (p *parser) update(t *Table, old, row *Row, m conflict) bool {
	cells := slices.Clone(old.Cells)
	for _, set := range m.sets {
		cell, ok := p.assigned(row, set, m.given)
		keyed := slices.ContainsFunc(append(slices.Clip(t.Keys), m.target), func(key []string) bool { return slices.Contains(key, set.column) })
		i := slices.IndexFunc(cells, func(c Cell) bool { return c.Column == set.column })
		switch {
		case !ok || keyed && (i < 0 || cells[i].Text != cell.Text):
			return false
		case keyed:
		case i < 0:
			cells = append(cells, cell)
		default:
			cells[i] = cell
		}
	}
	old.Cells = cells
	return true
}

// assigned returns the value that a column is set to.
func (p *parser) assigned(row *Row, set assignment, given string) (Cell, bool) {
	v := set.value
	of := ""
	switch {
	case len(v) == 3 && v[0].is(given) && v[1].is("."):
		of = strings.ToLower(v[2].text)
	case len(v) == 4 && v[0].is("values") && v[1].is("(") && v[3].is(")"): // MySQL
		of = strings.ToLower(v[2].text)
	case len(v) > 0:
		cell := p.cell(v, 0)
		cell.Column = set.column
		return cell, row.in.rows == 1 && (cell.Kind != Expression || isNow(v))
	}
	i := slices.IndexFunc(row.Cells, func(c Cell) bool { return c.Column == of })
	if i < 0 {
		return Cell{}, false
	}
	cell := row.Cells[i]
	cell.Column = set.column
	return cell, true
}

// isNow reports whether a value is the time of its evaluation.
func isNow(words []token) bool {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(strings.ToLower(w.text))
	}
	return slices.Contains([]string{"now()", "current_timestamp", "current_timestamp()", "datetime(now)", "strftime(%s,now)"}, b.String())
}

// index finds rows by the values of a key.
type index struct {
	key  []string
	rows map[string]*Row
	upto int // number of the table's rows that it has
}

// meets returns the rows that conflict with this one.
func (t *Table) meets(row *Row, target []string) []*Row {
	keys := t.Keys
	if target != nil {
		keys = [][]string{target}
	}
	var found []*Row
	for _, key := range keys {
		values, ok := row.values(key)
		if old := t.index(key)[values]; ok && old != nil && !old.replaced && !slices.Contains(found, old) {
			found = append(found, old)
		}
	}
	return found
}

func (t *Table) index(key []string) map[string]*Row {
	i := slices.IndexFunc(t.indexes, func(x *index) bool { return slices.Equal(x.key, key) })
	if i < 0 {
		i = len(t.indexes)
		t.indexes = append(t.indexes, &index{key: key, rows: map[string]*Row{}})
	}
	x := t.indexes[i]
	for ; x.upto < len(t.Rows); x.upto++ {
		if values, ok := t.Rows[x.upto].values(key); ok && !t.Rows[x.upto].replaced {
			x.rows[values] = t.Rows[x.upto]
		}
	}
	return x.rows
}

// values returns the values of a key, and whether another row can have the same.
func (r *Row) values(key []string) (string, bool) {
	var b strings.Builder
	for _, column := range key {
		v, there := r.Get(column)
		if !there || v.Kind == Null || v.Kind == Expression {
			return "", false
		}
		b.WriteString(v.Text + "\x00")
	}
	return b.String(), true
}
