package convert

import (
	"strings"
)

// quoting is how a shell reads a place in a script.
type quoting int

const (
	bare quoting = iota
	double
	single
	verbatim // the body of a here-document with a quoted delimiter
)

// scriptScanner follows the quotes of a POSIX shell script.
type scriptScanner struct {
	states []quoting // the innermost last; $( … ) opens another one
	docs   []heredoc // whose bodies follow this line
	body   *heredoc  // that the place is in
	word   bool      // the place is within a word
}

// heredoc is a here-document.
type heredoc struct {
	end     string
	tabs    bool
	literal bool
}

func (s *scriptScanner) state() quoting {
	if s.body != nil && len(s.states) <= 1 {
		if s.body.literal {
			return verbatim
		}
		return double
	}
	if len(s.states) == 0 {
		return bare
	}
	return s.states[len(s.states)-1]
}

func (s *scriptScanner) push(q quoting) { s.states = append(s.states, q) }

func (s *scriptScanner) pop() { s.states = s.states[:len(s.states)-1] }

// rewriteScript replaces the spans of a script that find recognizes. find returns the length of a span at the beginning of
// text, 0 for none. replace returns the text instead of a span, for how the shell reads its place.
func rewriteScript(script string, find func(text string) int, replace func(span string, q quoting) string) string {
	s := &scriptScanner{}
	s.push(bare)
	var out strings.Builder
	for i := 0; i < len(script); {
		if s.body != nil && (i == 0 || script[i-1] == '\n') && s.endsBody(script[i:]) {
			s.body = nil
			s.nextBody()
		}
		if n := find(script[i:]); n > 0 {
			out.WriteString(replace(script[i:i+n], s.state()))
			s.word = true
			i += n
			continue
		}
		n := s.step(script[i:])
		out.WriteString(script[i : i+n])
		i += n
	}
	return out.String()
}

// endsBody reports whether a line ends the here-document.
func (s *scriptScanner) endsBody(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	if s.body.tabs {
		line = strings.TrimLeft(line, "\t")
	}
	return strings.TrimRight(line, "\r") == s.body.end
}

func (s *scriptScanner) nextBody() {
	if s.body == nil && len(s.docs) > 0 {
		s.body, s.docs = &s.docs[0], s.docs[1:]
	}
}

// step passes a character, or several that belong together, and returns how many.
func (s *scriptScanner) step(text string) int {
	c, q := text[0], s.state()
	n := 1
	switch {
	case q == verbatim:
	case q == single:
		if c == '\'' {
			s.pop()
		}
	case c == '\\' && len(text) > 1:
		n = 2
	case strings.HasPrefix(text, "$(") && !strings.HasPrefix(text, "$(("):
		s.push(bare)
		n = 2
	case q == double:
		if c == '"' && s.inQuotes() {
			s.pop()
		}
	default:
		return s.stepBare(text)
	}
	if c == '\n' {
		s.nextBody()
	}
	s.word = c != '\n'
	return n
}

// inQuotes reports whether the innermost state is that of double quotes, not of a here-document.
func (s *scriptScanner) inQuotes() bool { return s.body == nil || len(s.states) > 1 }

// stepBare is step outside of quotes.
func (s *scriptScanner) stepBare(text string) int {
	n, word := 1, true
	switch c := text[0]; {
	case c == '#' && !s.word:
		if end := strings.IndexByte(text, '\n'); end >= 0 {
			return end
		}
		return len(text)
	case c == '\'':
		s.push(single)
	case c == '"':
		s.push(double)
	case c == ')' && len(s.states) > 1:
		s.pop()
	case strings.HasPrefix(text, "<<<"):
		n = 3
	case strings.HasPrefix(text, "<<"):
		n = s.hereDocument(text)
	case c == '\n':
		s.nextBody()
		word = false
	case strings.IndexByte(" \t;&|()", c) >= 0:
		word = false
	}
	s.word = word
	return n
}

// hereDocument notes a here-document that begins at text, and returns the length of its operator and delimiter.
func (s *scriptScanner) hereDocument(text string) int {
	n := len("<<")
	var doc heredoc
	if n < len(text) && text[n] == '-' {
		doc.tabs = true
		n++
	}
	for n < len(text) && (text[n] == ' ' || text[n] == '\t') {
		n++
	}
	from := n
	for n < len(text) && strings.IndexByte(" \t\n;&|()<>", text[n]) < 0 {
		n++
	}
	doc.end = strings.Map(func(c rune) rune {
		if c == '\'' || c == '"' || c == '\\' {
			doc.literal = true
			return -1
		}
		return c
	}, text[from:n])
	if doc.end != "" && len(s.states) == 1 {
		s.docs = append(s.docs, doc)
	}
	return n
}

// inQuoting returns the text that stands for a variable or a command substitution at a place in a script; "" if there is none.
func inQuoting(text string, q quoting) string {
	switch q {
	case single:
		return `'"` + text + `"'`
	case verbatim:
		return ""
	}
	return text
}

// doubleQuoted returns a literal text for use within double quotes of a shell.
func doubleQuoted(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(text)
}

// isVariable reports whether a name is one of an environment variable that a plan may set.
func isVariable(name string) bool {
	if name == "" || strings.HasPrefix(name, "PAWL_") {
		return false
	}
	for i, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return true
}

// paramName returns the name of a parameter for a name elsewhere.
func paramName(name string) string {
	var text strings.Builder
	for _, c := range name {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= '0' && c <= '9' && text.Len() > 0 {
			text.WriteRune(c)
		} else {
			text.WriteByte('_')
		}
	}
	return text.String()[:min(text.Len(), maxID)]
}
