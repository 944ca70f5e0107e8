package dump

import (
	"slices"
	"strings"
)

// create reads the columns of a CREATE TABLE, or those of a CREATE UNIQUE INDEX.
func (p *parser) create() {
	unique := false
	for p.skip("temp") || p.skip("temporary") || p.skip("unlogged") || p.skip("global") || p.skip("local") {
	}
	if p.skip("unique") {
		unique = true
	}
	switch {
	case p.skip("table"):
		p.createTable()
	case p.skip("index") && unique:
		p.uniqueIndex()
	}
}

func (p *parser) createTable() {
	p.exists()
	written := p.name()
	if written == "" || !p.peek(0).is("(") {
		return
	}
	t := p.table(written, p.lineOf(p.tokens[0].from))
	if t.Made != "" {
		return
	}
	t.written, t.end, t.Columns = written, p.end(), nil
	t.Made = strings.TrimRight(string(p.scanner.text[p.tokens[0].from:p.end()]), "; \r\n\t")
	p.i++
	for _, part := range p.parts() {
		p.column(t, part)
	}
}

func (p *parser) exists() {
	if p.skip("if") {
		p.skip("not")
		p.skip("exists")
	}
}

// parts returns the parts between commas, up to the closing bracket.
func (p *parser) parts() [][]token {
	var parts [][]token
	from := p.i
	for depth := 1; p.i < len(p.tokens) && depth > 0; p.i++ {
		t := p.peek(0)
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		if depth == 0 || depth == 1 && t.is(",") {
			parts = append(parts, p.tokens[from:p.i])
			from = p.i + 1
		}
	}
	return parts
}

// notColumns are the first words of parts that do not define columns.
var notColumns = []string{"constraint", "primary", "unique", "foreign", "check", "exclude", "like"}

// column reads a column or a key.
func (p *parser) column(t *Table, part []token) {
	if len(part) == 0 {
		return
	}
	if part[0].kind == word && slices.Contains(notColumns, strings.ToLower(part[0].text)) {
		t.key(part)
		return
	}
	if part[0].kind != word && part[0].kind != quoted || isIndex(part) {
		return
	}
	name := strings.ToLower(part[0].text)
	t.Columns = append(slices.Clip(t.Columns), name)
	for i, w := range part {
		if w.is("unique") || w.is("primary") && i+1 < len(part) && part[i+1].is("key") {
			t.Keys = append(t.Keys, []string{name})
		}
	}
}

// isIndex reports whether a part defines an index in MySQL: KEY `k` (`a`). Elsewhere key is a column's name.
func isIndex(part []token) bool {
	named := len(part) > 1 && (part[1].kind == quoted || part[1].is("("))
	return named && slices.ContainsFunc([]string{"key", "index", "fulltext", "spatial"}, part[0].is)
}

// key reads columns that are unique together: … PRIMARY KEY (a, b), … UNIQUE (a).
func (t *Table) key(part []token) {
	for i, w := range part {
		if w.is("unique") || w.is("primary") {
			q := &parser{tokens: part, i: i + 1}
			for q.i < len(part) && !q.peek(0).is("(") {
				q.i++
			}
			if names, _ := q.list(); len(names) > 0 {
				t.Keys = append(t.Keys, names)
			}
			return
		}
	}
}

// alter reads added keys, ALTER TABLE ONLY t ADD CONSTRAINT c PRIMARY KEY (id), and added columns.
func (p *parser) alter() {
	if !p.skip("table") {
		return
	}
	p.exists()
	p.skip("only")
	written := p.name()
	switch {
	case written == "":
	case p.skip("add"):
		p.skip("column")
		p.exists()
		p.column(p.table(written, p.lineOf(p.tokens[0].from)), p.tokens[p.i:])
	case p.skip("rename"):
		p.markLost(written)
		if p.skip("to") {
			p.markLost(p.name())
		}
	case p.skip("drop"):
		if !slices.ContainsFunc([]string{"constraint", "primary", "foreign", "index", "key"}, p.peek(0).is) {
			p.markLost(written)
		}
	}
}

// uniqueIndex reads CREATE UNIQUE INDEX i ON t USING btree (a), unless it is partial.
func (p *parser) uniqueIndex() {
	p.exists()
	for p.i < len(p.tokens) && !p.peek(0).is("on") {
		p.i++
	}
	p.skip("on")
	p.skip("only")
	written := p.name()
	if written == "" {
		return
	}
	if p.skip("using") {
		p.i++
	}
	names, _ := p.list()
	partial := slices.ContainsFunc(p.tokens[min(p.i, len(p.tokens)):], func(t token) bool { return t.is("where") })
	if t := p.table(written, p.lineOf(p.tokens[0].from)); len(names) > 0 && !partial {
		t.Keys = append(t.Keys, names)
	}
}
