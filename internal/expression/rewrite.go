package expression

import (
	"strings"
	"unicode"
)

// guard stands for a character that expr's grammar has another meaning for. It is a letter there, and no plan has it. Because
// one character replaces one, the positions in errors stay right.
const guard = 'ꟷ'

// functionForms are operators of expr that plans may also write as functions, as in GitHub Actions: contains(list, 'x').
var functionForms = map[string]rune{"contains": 'ｃ', "startsWith": 'ｓ', "endsWith": 'ｅ'}

// rewrite makes an expression acceptable to expr: steps.build-site is a name with a hyphen, not a subtraction; contains(a, b) is
// a call, not an operator.
func rewrite(text string) string {
	s := scanner{in: []rune(text)}
	s.out = []rune(text)
	for s.at < len(s.in) {
		s.token()
	}
	return string(s.out)
}

// restore undoes rewrite in a message.
func restore(message string) string {
	message = strings.ReplaceAll(message, string(guard), "-")
	for word, first := range functionForms {
		message = strings.ReplaceAll(message, string(first)+word[1:], word)
	}
	return message
}

type scanner struct {
	in, out []rune
	at      int
	operand bool   // the previous token ends an operand
	before  string // the previous tokens: "steps" after the name, "steps." after its dot
}

func (s *scanner) token() {
	r := s.in[s.at]
	switch {
	case unicode.IsSpace(r):
		s.at++
	case r == '\'' || r == '"' || r == '`':
		s.quoted(r)
		s.operand, s.before = true, ""
	case isName(r):
		s.word()
	case r == '.' && s.before == "steps":
		s.at++
		s.operand, s.before = false, "steps."
	default:
		s.at++
		s.operand, s.before = r == ')' || r == ']' || r == '}', ""
		if r == '.' {
			s.before = "."
		}
	}
}

func (s *scanner) quoted(quote rune) {
	for s.at++; s.at < len(s.in); s.at++ {
		switch {
		case s.in[s.at] == '\\' && quote != '`':
			s.at++
		case s.in[s.at] == quote:
			s.at++
			return
		}
	}
	s.at = min(s.at, len(s.in))
}

func isName(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '$' }

func (s *scanner) word() {
	from := s.at
	hyphens := s.before == "steps."
	for s.at < len(s.in) && (isName(s.in[s.at]) || hyphens && s.hyphen()) {
		if s.in[s.at] == '-' {
			s.out[s.at] = guard
		}
		s.at++
	}
	word := string(s.in[from:s.at])
	member := s.before == "steps." || s.before == "."
	s.before = ""
	switch {
	case member:
		s.operand = true
	case word == "not":
		// "a not contains b" is an operator, "not contains(a, b)" a call: what stands before decides
	case word == "and" || word == "or" || word == "in" || word == "matches":
		s.operand = false
	case functionForms[word] != 0:
		if !s.operand && s.next() == '(' {
			s.out[from] = functionForms[word]
		}
		s.operand = false
	default:
		s.operand = true
		if word == "steps" {
			s.before = word
		}
	}
}

// hyphen reports whether the next character is a hyphen inside of a step's id.
func (s *scanner) hyphen() bool {
	return s.in[s.at] == '-' && s.at+1 < len(s.in) && isName(s.in[s.at+1])
}

// next returns the next character that is not space, 0 for none.
func (s *scanner) next() rune {
	for _, r := range s.in[s.at:] {
		if !unicode.IsSpace(r) {
			return r
		}
	}
	return 0
}
