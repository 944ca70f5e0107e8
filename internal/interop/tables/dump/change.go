package dump

import "strings"

// change examines a statement that may change rows. It is not executed.
func (p *parser) evalChange() {
	switch {
	case p.skip("update"):
		if p.skip("or") {
			p.i++
		}
		p.skip("only")
		p.markLost(p.name())
	case p.skip("delete"):
		p.skip("from")
		p.skip("only")
		p.markLost(p.name())
	case p.skip("truncate"), p.skip("drop"):
		if p.tokens[0].is("drop") && !p.peek(0).is("table") {
			return
		}
		p.skip("table")
		p.exists()
		p.skip("only")
		for p.markLost(p.name()); p.skip(","); p.markLost(p.name()) {
		}
	case p.skip("with"), p.skip("merge"), p.skip("load"):
		for _, t := range p.tokens {
			if (t.kind == word || t.kind == quoted) && p.named[strings.ToLower(t.text)] != nil {
				p.markLost(t.text)
				return
			}
		}
	case p.skip("rollback"):
		for _, t := range p.Tables {
			p.markLost(t.Name)
		}
	}
}

// lost records that a statement changes the rows of a table. A table without rows so far still has none after it.
func (p *parser) markLost(written string) {
	t := p.Table(bare(written))
	switch {
	case t == nil || !p.wants(t.Name):
	case len(t.Rows) == 0 && t.last == nil:
		t.end = p.end()
	default:
		p.unsure(p.tokens[0].from, "%s changes rows, and pawl does not execute it", strings.ToUpper(p.tokens[0].text))
	}
}
