package display

import (
	"html"
	"strconv"
	"strings"
)

// Limits of tables.
const (
	maxTables   = 20
	maxRows     = 500 // of a table
	maxColumns  = 200
	maxCells    = 20_000 // of all tables
	maxCellText = 2_000  // bytes
	maxSpan     = 1_000
)

// Table is a table of text.
type Table struct {
	Head    []Row `json:"head,omitempty"`
	Body    []Row `json:"body"`
	LeftOut int   `json:"rows_left_out,omitempty"`
}

// Row is a row of a table.
type Row struct {
	Cells []TableCell `json:"cells"`
}

// TableCell is a cell of a table.
type TableCell struct {
	Text    string `json:"text"`
	Header  bool   `json:"header,omitempty"`
	Columns int    `json:"columns,omitempty"` // that it spans; 0 is 1
	Rows    int    `json:"rows,omitempty"`    // that it spans; 0 is 1
}

func (t *Table) size() int {
	size := 0
	for _, rows := range [][]Row{t.Head, t.Body} {
		for _, r := range rows {
			for _, c := range r.Cells {
				size += len(c.Text) + 60
			}
		}
	}
	return size
}

// tablesIn returns the tables in HTML as text, and the text outside of them. Elements other than those of tables only leave their text;
// those that show no text, such as scripts and styles, leave nothing. A table in a table is text.
func tablesIn(markup string, clean func(string) string) ([]Table, string) {
	r := &tableReader{clean: clean}
	for markup != "" {
		markup = r.next(markup)
	}
	r.end()
	return r.tables, strings.Join(strings.Fields(r.outside.String()), " ")
}

type tableReader struct {
	clean   func(string) string
	tables  []Table
	outside strings.Builder

	depth int // of tables
	head  bool
	row   *Row // nil outside of rows
	cell  *TableCell
	text  strings.Builder // of the cell
	cells int
}

// hidden are the elements whose content is no text of the page.
var hidden = []string{"script", "style", "template", "title", "noscript", "iframe", "textarea", "xmp", "noembed", "noframes"}

// next reads text, or one tag, and returns what follows.
func (r *tableReader) next(markup string) string {
	if i := strings.IndexByte(markup, '<'); i != 0 {
		if i < 0 {
			i = len(markup)
		}
		r.write(html.UnescapeString(markup[:i]))
		return markup[i:]
	}
	if rest, comment := strings.CutPrefix(markup, "<!--"); comment {
		_, rest, _ = strings.Cut(rest, "-->")
		return rest
	}
	name, attributes, closing, rest := tagAt(markup)
	switch {
	case name == "" && closing:
		return rest // <!DOCTYPE>, <?xml?>
	case name == "":
		r.write("<")
		return markup[1:]
	}
	for _, h := range hidden {
		if name == h && !closing {
			return after(rest, "</"+name)
		}
	}
	r.tag(name, attributes, closing)
	return rest
}

// after returns what follows the tag that begins with text, in any case.
func after(markup, text string) string {
	for i := 0; i < len(markup); i++ {
		if markup[i] == '<' && len(markup)-i >= len(text) && strings.EqualFold(markup[i:i+len(text)], text) {
			_, rest, _ := strings.Cut(markup[i:], ">")
			return rest
		}
	}
	return ""
}

// tagAt reads the tag at the start of markup. Text that begins no tag has no name; a declaration has none and is closing.
func tagAt(markup string) (name, attributes string, closing bool, rest string) {
	body := markup[1:]
	if body != "" && (body[0] == '!' || body[0] == '?') {
		_, rest, _ = strings.Cut(body, ">")
		return "", "", true, rest
	}
	body, closing = strings.CutPrefix(body, "/")
	n := 0
	for n < len(body) && (body[n]|0x20 >= 'a' && body[n]|0x20 <= 'z' || n > 0 && body[n] >= '0' && body[n] <= '9') {
		n++
	}
	if n == 0 {
		return "", "", false, ""
	}
	end, quote := n, byte(0)
	for ; end < len(body); end++ {
		c := body[end]
		if quote == 0 && c == '>' {
			break
		}
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return strings.ToLower(body[:n]), body[n:end], closing, body[min(end+1, len(body)):]
}

func (r *tableReader) write(text string) {
	switch {
	case r.depth == 0:
		if r.outside.Len() < maxText {
			r.outside.WriteString(text)
		}
	case r.cell != nil && r.text.Len() <= maxCellText:
		r.text.WriteString(text[:min(len(text), 2*maxCellText)])
	}
}

// tag follows a tag. The end tags of rows and cells may be missing.
func (r *tableReader) tag(name, attributes string, closing bool) {
	switch name {
	case "table":
		r.table(closing)
		return
	case "br", "p", "div", "li", "tr", "td", "th":
		r.write(" ")
	}
	if r.depth != 1 || len(r.tables) > maxTables {
		return
	}
	switch name {
	case "thead", "tbody", "tfoot":
		r.endRow()
		r.head = name == "thead" && !closing
	case "tr":
		r.endRow()
		if !closing {
			r.row = &Row{Cells: []TableCell{}}
		}
	case "td", "th":
		r.endCell()
		if !closing {
			if r.row == nil {
				r.row = &Row{Cells: []TableCell{}}
			}
			r.cell = &TableCell{Header: name == "th", Columns: span(attributes, "colspan"), Rows: span(attributes, "rowspan")}
		}
	}
}

func (r *tableReader) table(closing bool) {
	switch {
	case !closing:
		if r.depth++; r.depth == 1 {
			r.head = false
			r.tables = append(r.tables, Table{Body: []Row{}})
		}
	case r.depth == 1:
		r.endRow()
		r.depth = 0
	case r.depth > 1:
		r.depth--
	}
}

func (r *tableReader) endCell() {
	if r.cell != nil {
		text := strings.Join(strings.Fields(r.text.String()), " ")
		if len(text) > maxCellText {
			text = clip(text, maxCellText) + "…"
		}
		if len(r.row.Cells) < maxColumns && r.cells < maxCells {
			r.cells++
			r.cell.Text = strings.ToValidUTF8(r.clean(text), "")
			r.row.Cells = append(r.row.Cells, *r.cell)
		}
	}
	r.cell = nil
	r.text.Reset()
}

func (r *tableReader) endRow() {
	if r.row == nil {
		return
	}
	r.endCell()
	t := &r.tables[len(r.tables)-1]
	switch {
	case len(t.Head)+len(t.Body) == maxRows || r.cells == maxCells:
		t.LeftOut++
	case r.head:
		t.Head = append(t.Head, *r.row)
	default:
		t.Body = append(t.Body, *r.row)
	}
	r.row = nil
}

// end ends tables without an end tag.
func (r *tableReader) end() {
	r.endRow()
	if len(r.tables) > maxTables {
		r.tables = r.tables[:maxTables]
	}
}

// span returns how many rows or columns a cell spans, 0 for one.
func span(attributes, name string) int {
	_, value, found := strings.Cut(strings.ToLower(attributes), name)
	if !found {
		return 0
	}
	value, _, _ = strings.Cut(strings.TrimLeft(value, "= \"'"), " ")
	n, err := strconv.Atoi(strings.Trim(value, "\"'/"))
	if err != nil || n <= 1 {
		return 0
	}
	return min(n, maxSpan)
}
