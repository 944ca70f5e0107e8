package gyoshu

import (
	"slices"
	"strings"
	"time"

	"pawl/internal/interop/format"
)

// FrontMatter is the content of the first cell of a notebook.
type FrontMatter struct {
	Title   string
	Status  string // active, completed, archived
	Created time.Time
	Updated time.Time
	Tags    []string
	Runs    []RunEntry
	Goal    string
	Accept  []Criterion
}

// RunEntry is one run of a research.
type RunEntry struct {
	ID      string
	Started time.Time
	Ended   time.Time
	Status  string // in_progress, completed, failed
	Notes   string
}

// Criterion is a condition for the goal.
type Criterion struct {
	ID, Kind, Text string
}

// readFrontMatter parses the front matter in a cell; nil if it has none of Gyoshu's.
func readFrontMatter(source string) *FrontMatter {
	lines, ok := frontLines(source)
	if !ok {
		return nil
	}
	g := parseFields(lines).get("gyoshu")
	if g == nil {
		return nil
	}
	f := &FrontMatter{Title: g.text("reportTitle"), Status: g.text("status"), Created: g.time("created"), Updated: g.time("updated")}
	if f.Title == "" {
		f.Title = g.text("slug")
	}
	for _, tag := range g.items("tags") {
		f.Tags = append(f.Tags, tag.value)
	}
	for _, r := range g.items("runs") {
		f.Runs = append(f.Runs, RunEntry{r.text("id"), r.time("started"), r.time("ended"), r.text("status"), r.text("notes")})
	}
	goal := g.get("goal_contract")
	f.Goal = goal.text("goal_text")
	for _, c := range goal.items("acceptance_criteria") {
		f.Accept = append(f.Accept, criterionOf(c))
	}
	return f
}

func criterionOf(c *field) Criterion {
	text := c.text("description")
	if text == "" {
		text = strings.Join(strings.Fields(strings.Join([]string{c.text("metric"), c.text("op"), c.text("target"), c.text("marker"),
			c.text("artifactPattern"), c.text("minCount")}, " ")), " ")
	}
	return Criterion{ID: c.text("id"), Kind: c.text("kind"), Text: text}
}

// run returns the entry of a run, nil if there is none.
func (f *FrontMatter) run(id string) *RunEntry {
	if f == nil {
		return nil
	}
	if i := slices.IndexFunc(f.Runs, func(r RunEntry) bool { return r.ID == id }); i >= 0 {
		return &f.Runs[i]
	}
	return nil
}

// frontLines returns the lines between the fences of a cell, and whether it has fences.
func frontLines(source string) ([]string, bool) {
	lines := strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
	if len(lines) < 2 || lines[0] != "---" {
		return nil, false
	}
	end := slices.IndexFunc(lines[1:], func(l string) bool { return l == "---" || l == "..." })
	if end < 0 {
		return nil, false
	}
	return lines[1 : end+1], true
}

// field is a value of the front matter: a string, fields or a list, in the subset of YAML that Gyoshu writes.
type field struct {
	value  string
	fields map[string]*field
	list   []*field
}

func (f *field) get(key string) *field {
	if f == nil {
		return nil
	}
	return f.fields[key]
}

func (f *field) text(key string) string {
	if v := f.get(key); v != nil {
		return v.value
	}
	return ""
}

func (f *field) time(key string) time.Time {
	at, _, _ := format.ParseTime(f.text(key))
	return at
}

func (f *field) items(key string) []*field {
	if v := f.get(key); v != nil {
		return v.list
	}
	return nil
}

// parseFields parses keys and lists by their indentation. It skips other lines.
func parseFields(lines []string) *field {
	p := &fieldParser{}
	for _, l := range lines {
		if trimmed := strings.TrimSpace(l); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
			p.lines = append(p.lines, strings.TrimRight(l, " \t\r"))
		}
	}
	return p.block(0)
}

// maxDepth is the maximum indentation of a list.
const maxDepth = 100

type fieldParser struct {
	lines []string
	at    int
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// block parses the following lines with at least this indentation.
func (p *fieldParser) block(indent int) *field {
	f := &field{fields: map[string]*field{}}
	for p.at < len(p.lines) && indentOf(p.lines[p.at]) >= indent {
		line := p.lines[p.at]
		depth := indentOf(line)
		if item, ok := cutItem(line[depth:]); ok {
			f.list = append(f.list, p.item(depth, item))
			continue
		}
		p.at++
		key, value, ok := cutKey(line[depth:])
		switch {
		case !ok:
		case value != "":
			f.fields[key] = scalar(value)
		default:
			f.fields[key] = p.nested(depth)
		}
	}
	return f
}

// nested parses the value after a key without one: deeper lines, or a list of the same indentation.
func (p *fieldParser) nested(depth int) *field {
	if p.at >= len(p.lines) {
		return &field{}
	}
	next := indentOf(p.lines[p.at])
	_, isList := cutItem(p.lines[p.at][next:])
	switch {
	case next > depth:
		return p.block(next)
	case next == depth && isList:
		f := &field{}
		for p.at < len(p.lines) && indentOf(p.lines[p.at]) == depth {
			item, ok := cutItem(p.lines[p.at][depth:])
			if !ok {
				break
			}
			f.list = append(f.list, p.item(depth, item))
		}
		return f
	}
	return &field{}
}

// item parses a list element: a string, or fields of which the first follows the dash.
func (p *fieldParser) item(depth int, item string) *field {
	if _, _, ok := cutKey(item); !ok || depth > maxDepth {
		p.at++
		return scalar(item)
	}
	inner := len(p.lines[p.at]) - len(item)
	p.lines[p.at] = strings.Repeat(" ", max(inner, depth+1)) + item
	return p.block(indentOf(p.lines[p.at]))
}

func cutItem(line string) (item string, ok bool) {
	if line == "-" {
		return "", true
	}
	item, ok = strings.CutPrefix(line, "- ")
	return strings.TrimLeft(item, " "), ok
}

// cutKey splits "key: value". A quoted text is not a key.
func cutKey(line string) (key, value string, ok bool) {
	if strings.HasPrefix(line, `"`) || strings.HasPrefix(line, "'") {
		return "", "", false
	}
	key, value, ok = strings.Cut(line, ":")
	if !ok || key == "" || value != "" && value[0] != ' ' {
		return "", "", false
	}
	return strings.TrimSpace(key), strings.TrimSpace(value), true
}

// scalar parses a value on the line of its key.
func scalar(s string) *field {
	switch {
	case s == "" || s == "null" || s == "~":
		return &field{}
	case strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]"):
		f := &field{}
		for part := range strings.SplitSeq(s[1:len(s)-1], ",") {
			if part = strings.TrimSpace(part); part != "" {
				f.list = append(f.list, &field{value: unquoteYAML(part)})
			}
		}
		return f
	}
	return &field{value: unquoteYAML(s)}
}

// unquoteYAML removes quotes, the one escape that Gyoshu writes but never reads, and a comment.
func unquoteYAML(s string) string {
	if i := strings.Index(s, " #"); i >= 0 && !strings.ContainsAny(s[i:], `"'`) {
		s = strings.TrimSpace(s[:i])
	}
	if len(s) > 1 && s[0] == s[len(s)-1] {
		switch s[0] {
		case '"':
			return strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`)
		case '\'':
			return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
		}
	}
	return s
}

// quoteYAML formats a value as Gyoshu does.
func quoteYAML(s string) string {
	if s == "" || strings.ContainsAny(s, ":#\n") || strings.ContainsAny(s[:1], "0123456789.-") {
		return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
	}
	return s
}
