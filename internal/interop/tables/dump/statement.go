package dump

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// reader reads statement by statement.
type reader struct {
	*Dump
	scanner
	lineAt, line int  // line is the number of the line at offset lineAt
	closed       bool // the last statement ended with a semicolon
}

// maxProblems limits the problems that are reported.
const maxProblems = 50

// problem records a part that is not evaluated.
func (r *reader) problem(at int, format string, args ...any) {
	r.addProblem(Problem{Line: r.lineOf(at), Why: fmt.Sprintf(format, args...)})
}

// unsure records that the final rows of a table are unknown.
func (r *reader) unsure(at int, format string, args ...any) {
	r.addProblem(Problem{Line: r.lineOf(at), Why: fmt.Sprintf(format, args...), Unsure: true})
}

// cut records that the text is truncated.
func (r *reader) cut(at int, format string, args ...any) {
	r.addProblem(Problem{Line: r.lineOf(at), Why: fmt.Sprintf(format, args...), Cut: true})
}

// addProblem adds a problem. A truncated text, and unknown rows, are reported at least once, whatever the limit.
func (r *reader) addProblem(p Problem) {
	same := func(q Problem) bool { return q.Cut == p.Cut && q.Unsure == p.Unsure }
	if len(r.Problems) < maxProblems || (p.Cut || p.Unsure) && !slices.ContainsFunc(r.Problems, same) {
		r.Problems = append(r.Problems, p)
	}
}

// lineOf returns the line of an offset, from 1. It is fast for ascending offsets.
func (r *reader) lineOf(at int) int {
	if at < r.lineAt {
		r.lineAt, r.line = 0, 0
	}
	r.line += bytes.Count(r.scanner.text[r.lineAt:at], []byte("\n"))
	r.lineAt = at
	return r.line + 1
}

// statement reads a statement, and reports whether there may be more.
func (r *reader) statement() bool {
	r.blank()
	if r.peek(0) == '\\' { // a command to psql
		from := r.at
		r.scanner.line()
		command, database, _ := strings.Cut(strings.TrimSpace(string(r.scanner.text[from:r.at])), " ")
		if command == `\connect` || command == `\c` {
			r.Dump = r.database(strings.TrimSpace(database))
		}
		return true
	}
	var tokens []token
	open := 0 // in a trigger: BEGIN and CASE without their END
	rows := 0 // where the rows of a skipped table begin; only their last word is kept
	for {
		t, ok := r.next()
		if !ok {
			break
		}
		if r.closed = t.is(";") && open == 0; r.closed {
			r.eval(tokens)
			return true
		}
		switch {
		case t.is("begin") && isTrigger(tokens), t.is("case") && open > 0:
			open++
		case t.is("end") && open > 0:
			open--
		}
		if rows > 0 {
			tokens = tokens[:rows]
		}
		if tokens = append(tokens, t); rows == 0 && t.is("values") && r.isSkipped(tokens) {
			rows = len(tokens)
		}
	}
	switch {
	case r.broken != "":
		r.cut(min(r.at, len(r.scanner.text)), "%s: the rest of the file was not read", r.broken)
	case len(tokens) > 0:
		tell := r.problem
		if isTruncated(tokens) {
			tell = r.cut
		}
		tell(tokens[0].from, "the last statement is incomplete")
		r.eval(tokens)
	}
	return false
}

// isSkipped reports whether a statement that begins with these words has rows of a table that is skipped.
func (r *reader) isSkipped(tokens []token) bool {
	p := &parser{reader: r, tokens: tokens}
	if !p.skip("insert") && !p.skip("replace") {
		return false
	}
	p.conflictPrefix()
	return !r.wants(p.name())
}

// isTruncated reports whether an unterminated statement ends in the middle of a list, or before its rows.
func isTruncated(tokens []token) bool {
	open := 0
	for _, t := range tokens {
		switch {
		case t.is("("):
			open++
		case t.is(")"):
			open--
		}
	}
	rows := tokens[0].is("insert") || tokens[0].is("replace") || tokens[0].is("copy")
	return open > 0 || tokens[len(tokens)-1].is(",") || rows && !tokens[len(tokens)-1].is(")")
}

// isTrigger reports whether a statement that begins with these words creates a trigger.
func isTrigger(tokens []token) bool {
	return len(tokens) > 2 && tokens[0].is("create") && (tokens[1].is("trigger") || tokens[2].is("trigger"))
}

// take evaluates a statement. The scanner is after it.
func (r *reader) eval(tokens []token) {
	p := &parser{reader: r, tokens: tokens}
	switch {
	case p.skip("create"):
		p.create()
	case p.skip("insert") || p.skip("replace"):
		p.insert()
	case p.skip("copy"):
		p.copy()
	case p.skip("alter"):
		p.alter()
	case p.skip("select"):
		p.counter()
	case p.skip("use"):
		r.Dump = r.database(p.peek(0).text)
	default:
		p.evalChange()
	}
}

// parser goes through the words of one statement.
type parser struct {
	*reader
	tokens []token
	i      int
}

func (p *parser) peek(n int) token {
	if p.i+n < len(p.tokens) {
		return p.tokens[p.i+n]
	}
	return token{}
}

// skip skips a word or a character, if it comes next.
func (p *parser) skip(what string) bool {
	if !p.peek(0).is(what) {
		return false
	}
	p.i++
	return true
}

// name passes a name, with its schema, and returns it as it is written.
func (p *parser) name() string {
	if k := p.peek(0).kind; k != word && k != quoted && k != text { // SQLite takes strings for names
		return ""
	}
	from := p.peek(0).from
	p.i++
	for p.peek(0).is(".") && (p.peek(1).kind == word || p.peek(1).kind == quoted) {
		p.i += 2
	}
	return string(p.scanner.text[from:p.tokens[p.i-1].to])
}

// list skips names in parentheses, and returns them in lower case; closed is the offset of the closing parenthesis.
func (p *parser) list() (names []string, closed int) {
	if !p.skip("(") {
		return nil, 0
	}
	for depth := 1; p.i < len(p.tokens); p.i++ {
		switch t := p.peek(0); {
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				p.i++
				return names, t.from
			}
		case depth == 1 && (t.kind == word || t.kind == quoted) && (p.tokens[p.i-1].is("(") || p.tokens[p.i-1].is(",")):
			names = append(names, strings.ToLower(t.text))
		}
	}
	return names, 0
}

// end returns the offset after the statement and its semicolon.
func (p *parser) end() int {
	if p.closed {
		return p.at
	}
	return p.tokens[len(p.tokens)-1].to
}

// counter reads the value of a sequence: SELECT pg_catalog.setval('public.x_id_seq', 3, true).
func (p *parser) counter() {
	if bare(p.name()) != "setval" || !p.skip("(") || p.peek(0).kind != text || p.peek(2).kind != number {
		return
	}
	at := p.peek(2)
	p.Counters = append(p.Counters, &Counter{Name: bare(p.peek(0).text), At: at.text, from: at.from, to: at.to})
}

func (p *parser) insert() {
	begin := p.tokens[0].from
	meets := p.conflictPrefix()
	written := p.name()
	if written == "" {
		return
	}
	t := p.table(written, p.lineOf(begin))
	s := &statement{end: p.end()}
	s.columns, s.named = p.list()
	if s.columns == nil {
		s.columns = t.Columns
	}
	for p.peek(0).kind == word && !p.peek(0).is("values") && !slices.ContainsFunc([]string{"select", "set", "with", "default", "table"}, p.peek(0).is) {
		p.i++ // OVERRIDING SYSTEM VALUE
	}
	switch {
	case !p.wants(written):
		return
	case !p.skip("values"):
		p.unsure(begin, "rows without VALUES are not read")
		return
	}
	s.head = string(p.scanner.text[begin:p.tokens[p.i-1].to])
	s.gap = string(p.scanner.text[p.tokens[p.i-1].to:max(p.tokens[p.i-1].to, p.peek(0).from)])
	var rows []*Row
	for p.peek(0).is("(") {
		rows = append(rows, p.tuple(t, s))
		if !p.skip(",") {
			break
		}
	}
	if t.Columns == nil {
		t.Columns = s.columns
	}
	t.last = s
	p.onConflict(&meets)
	for _, row := range rows {
		if row != nil {
			p.addRow(t, row, meets)
		}
	}
}

// tuple skips a row in parentheses, and returns it; nil if it does not match the columns.
func (p *parser) tuple(t *Table, s *statement) *Row {
	row := &Row{in: s, from: p.peek(0).from, Line: p.lineOf(p.peek(0).from)}
	p.i++
	for from, depth := p.i, 1; p.i < len(p.tokens); p.i++ {
		switch w := p.peek(0); {
		case w.is("("):
			depth++
		case w.is(")"):
			depth--
		}
		if w := p.peek(0); depth == 0 || depth == 1 && w.is(",") {
			row.Cells = append(row.Cells, p.cell(p.tokens[from:p.i], w.from))
			from = p.i + 1
		}
		if depth == 0 {
			row.to = p.peek(0).to
			p.i++
			break
		}
	}
	if row.to == 0 {
		p.cut(row.from, "a row of %s is incomplete", t.Name)
		return nil
	}
	return p.fitting(t, row)
}

// fitting returns a row with the columns of its statement; nil if their numbers differ.
func (p *parser) fitting(t *Table, row *Row) *Row {
	row.in.rows++
	if len(row.Cells) != len(row.in.columns) {
		p.unsure(row.from, "a row of %s has %d values for %d columns; it is skipped", t.Name, len(row.Cells), len(row.in.columns))
		return nil
	}
	for i := range row.Cells {
		row.Cells[i].Column = row.in.columns[i]
	}
	return row
}

// copy reads the lines that follow a COPY … FROM stdin, up to "\.".
func (p *parser) copy() {
	begin := p.tokens[0].from
	written := p.name()
	t := &Table{}
	s := &statement{copied: true}
	if written != "" {
		t = p.table(written, p.lineOf(begin))
	}
	s.columns, _ = p.list()
	if !p.skip("from") || !p.skip("stdin") {
		return
	}
	odd, passed := p.i < len(p.tokens), !p.wants(written)
	if s.columns == nil {
		s.columns = t.Columns
	}
	if t.Columns == nil {
		t.Columns = s.columns
	}
	p.scanner.line()
	s.end = p.at
	if odd && !passed {
		p.unsure(begin, "COPY with options is not read")
	} else if !odd {
		t.last = s
	}
	for p.at < len(p.scanner.text) {
		from := p.at
		p.scanner.line()
		line := bytes.TrimRight(p.scanner.text[from:p.at], "\r\n")
		if string(line) == `\.` {
			return
		}
		if !odd && !passed {
			p.copied(t, s, from, line)
		}
		s.end = p.at
	}
	s.cut = true
	p.cut(begin, "the rows of a COPY are incomplete")
}

func (p *parser) copied(t *Table, s *statement, from int, line []byte) {
	row := &Row{in: s, from: from, to: from + len(line), Line: p.lineOf(from)}
	at := from
	for part := range bytes.SplitSeq(line, []byte("\t")) {
		row.Cells = append(row.Cells, Cell{Value: uncopied(part), from: at, to: at + len(part), inCopy: true})
		at += len(part) + 1
	}
	if row = p.fitting(t, row); row != nil {
		t.Rows = append(t.Rows, row)
	}
}
