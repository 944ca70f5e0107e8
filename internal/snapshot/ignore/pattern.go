package ignore

import (
	"slices"
	"strings"
)

// A list holds the patterns of one file.
type list struct {
	file     string
	base     int       // length of the path of the file's folder
	patterns []pattern // last line first
}

// parseList parses a pattern file as git does: it skips a byte order mark, strips a carriage return at the end of a line,
// and cuts a line at a NUL.
func parseList(file string, base int, data []byte) *list {
	l := &list{file: file, base: base}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		number++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if strings.HasPrefix(line, "#") {
			continue
		}
		line, _, _ = strings.Cut(line, "\x00")
		if p, ok := parsePattern(trimSpaces(line)); ok {
			p.line = number
			l.patterns = append(l.patterns, p)
		}
	}
	slices.Reverse(l.patterns)
	return l
}

// deciding returns the last pattern that matches e, or nil.
func (l *list) deciding(e *entry) *pattern {
	for i := range l.patterns {
		if p := &l.patterns[i]; p.matches(e, l.base) {
			return p
		}
	}
	return nil
}

// prepend puts l before others, unless it is empty.
func prepend(l *list, others []*list) []*list {
	if len(l.patterns) == 0 {
		return others
	}
	return append([]*list{l}, others...)
}

// trimSpaces removes trailing spaces, except an escaped one.
func trimSpaces(line string) string {
	end := len(strings.TrimRight(line, " "))
	escapes := end - len(strings.TrimRight(line[:end], `\`))
	if escapes%2 == 1 && end < len(line) {
		end++
	}
	return line[:end]
}

// A pattern is one line of a pattern file.
type pattern struct {
	source  string
	line    int
	negated bool
	dirOnly bool
	kind    kind
	text    string // without ! and without leading and trailing slash
	plain   int    // length of the literal prefix of text
	tail    string // literal suffix of every matching name
}

// kind is what a pattern is compared with, and how.
type kind int

const (
	wholeName kind = iota // the whole name, literally
	nameEnd               // the end of the name, literally: a star, then text
	nameGlob              // the name, with wildcards
	wholePath             // the path relative to the file's folder, with or without wildcards
)

// parsePattern parses a line. It returns false for a line without pattern.
func parsePattern(line string) (pattern, bool) {
	p := pattern{source: line}
	text, negated := strings.CutPrefix(line, "!")
	text, dirOnly := strings.CutSuffix(text, "/")
	path := strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	if rest, ok := strings.CutPrefix(text, "**/"); ok && !strings.Contains(rest, "/") {
		text, path = rest, false
	}
	if text == "" {
		return pattern{}, false
	}
	p.negated, p.dirOnly, p.text, p.plain, p.tail = negated, dirOnly, text, plain(text), tail(text)
	switch {
	case path:
		p.kind = wholePath
	case p.plain == len(text):
		p.kind, p.tail = wholeName, text
	case p.plain == 0 && text[0] == '*' && plain(text[1:]) == len(text)-1:
		p.kind, p.tail = nameEnd, text[1:]
	default:
		p.kind = nameGlob
	}
	return p, true
}

// plain returns the length of the text before its first wildcard.
func plain(text string) int {
	if i := strings.IndexAny(text, `*?[\`); i >= 0 {
		return i
	}
	return len(text)
}

// tail returns the text after the last slash, wildcard, bracket or escaped byte.
func tail(text string) string {
	i := strings.LastIndexAny(text, `/*?[]\`)
	if i >= 0 && text[i] == '\\' {
		i++
	}
	return text[min(i+1, len(text)):]
}

// An entry is a name to be matched.
type entry struct {
	rules *Rules
	name  string
	isDir bool
}

// matches matches p against e; base is the length of the path of the pattern file's folder.
func (p *pattern) matches(e *entry, base int) bool {
	if p.dirOnly && !e.isDir {
		return false
	}
	if len(e.name) < len(p.tail) || !e.rules.same(e.name[len(e.name)-len(p.tail):], p.tail) {
		return false
	}
	switch p.kind {
	case wholeName:
		return len(e.name) == len(p.text)
	case nameEnd:
		return true
	case nameGlob:
		return p.matchesFrom(0, "", e)
	default:
		return p.matchesPath(e, base)
	}
}

// matchesPath compares the folder first, which rules out most entries.
func (p *pattern) matchesPath(e *entry, base int) bool {
	folder := e.rules.folder[base:]
	n := min(len(folder), p.plain)
	return e.rules.same(folder[:n], p.text[:n]) && p.matchesFrom(n, folder[n:], e)
}

// matchesFrom matches p.text[from:] against folder and e.name. Like git, it compares and cuts the literal prefix first.
// In a**/b the remaining pattern then starts with the stars, which match folders.
func (p *pattern) matchesFrom(from int, folder string, e *entry) bool {
	plain, name, r := p.text[from:p.plain], e.name, e.rules
	if len(name) < len(plain) || !r.same(name[:len(plain)], plain) {
		return false
	}
	if p.plain == len(p.text) {
		return folder == "" && len(name) == len(plain)
	}
	return wild(p.text[p.plain:], folder+name[len(plain):], r.fold)
}
