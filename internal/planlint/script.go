package planlint

import "strings"

// command is one simple command of a script.
type command struct {
	words     []string // without quotes
	after     string   // the operator before it; "" at the start
	condition bool     // its failure does not end the script: it is in if, while or until, or follows !
	status    bool     // it uses $?
	unsure    bool     // in a case, where | also separates patterns
}

// scanner splits a script into simple commands, in linear time and without recursion. It only has to be right about plain
// scripts: what it does not understand gives no warning.
type scanner struct {
	rest     string
	word     strings.Builder
	begun    bool // inside a word
	quoted   bool // a part of the word was quoted
	now      command
	commands []command
	cases    int // that we are inside of
	here     []string
	hereNext bool // the next word ends a here document
	skip     bool // the next word is the target of a redirect
	open     byte // the quote that is not closed
}

func commandsOf(script string) []command {
	commands, _ := scan(script)
	return commands
}

// scan also returns the quote that is not closed, 0 for none. It may be wrong about a quote within an expansion.
func scan(script string) (commands []command, open byte) {
	s := scanner{rest: script}
	for s.rest != "" {
		s.next()
	}
	s.end("")
	return s.commands, s.open
}

func (s *scanner) take(n int) string {
	taken := s.rest[:min(n, len(s.rest))]
	s.rest = s.rest[len(taken):]
	return taken
}

func (s *scanner) letters(n int) {
	s.word.WriteString(s.take(n))
	s.begun = true
}

// operators separate commands, the longer ones first.
var operators = []string{"&&", "||", "|&", ";;", "|", "&", ";", "\n", "(", ")", "`"}

func (s *scanner) next() {
	switch c := s.rest[0]; {
	case c == ' ' || c == '\t':
		s.take(1)
		s.endWord()
	case c == '\\':
		s.take(1)
		s.letters(1)
	case c == '#' && !s.begun:
		s.take(max(strings.IndexByte(s.rest+"\n", '\n'), 1))
	case c == '\'':
		text, after, closed := strings.Cut(s.rest[1:], "'")
		if !closed {
			s.open = c
		}
		s.word.WriteString(text)
		s.rest, s.begun, s.quoted = after, true, true
	case c == '"':
		s.doubleQuote()
	case strings.HasPrefix(s.rest, "$?"), strings.HasPrefix(s.rest, "${?}"):
		s.now.status = true
		s.letters(2)
	case strings.HasPrefix(s.rest, "$(("):
		s.until("))")
	case strings.HasPrefix(s.rest, "${"):
		s.until("}")
	case c == '>' || c == '<':
		s.redirect()
	case strings.HasPrefix(s.rest, "&>"):
		s.take(1)
		s.redirect()
	default:
		for _, operator := range operators {
			if strings.HasPrefix(s.rest, operator) {
				s.take(len(operator))
				s.end(operator)
				return
			}
		}
		s.letters(1)
	}
}

// until takes a part of a word up to its end.
func (s *scanner) until(end string) {
	text, after, _ := strings.Cut(s.rest, end)
	s.word.WriteString(text + end)
	s.rest, s.begun = after, true
}

// doubleQuote takes a string. What runs inside of it does not count.
func (s *scanner) doubleQuote() {
	s.take(1)
	s.begun, s.quoted = true, true
	for s.rest != "" && s.rest[0] != '"' {
		switch {
		case s.rest[0] == '\\':
			s.take(1)
		case strings.HasPrefix(s.rest, "$?"), strings.HasPrefix(s.rest, "${?}"):
			s.now.status = true
		}
		s.letters(1)
	}
	if s.take(1) == "" {
		s.open = '"'
	}
}

func (s *scanner) redirect() {
	if strings.Trim(s.word.String(), "0123456789") != "" {
		s.endWord()
	}
	s.word.Reset() // the number of a descriptor
	s.begun = false
	switch {
	case strings.HasPrefix(s.rest, "<<<"):
		s.take(3)
	case strings.HasPrefix(s.rest, "<<"):
		s.take(2)
		if strings.HasPrefix(s.rest, "-") {
			s.take(1)
		}
		s.hereNext = true
		return
	default:
		s.take(1)
		s.take(len(s.rest) - len(strings.TrimLeft(s.rest, ">|&")))
	}
	s.skip = true
}

// reserved are the words before a command that do not belong to it, and whether they make it a condition.
var reserved = map[string]bool{
	"if": true, "elif": true, "while": true, "until": true, "!": true,
	"then": false, "else": false, "do": false, "{": false, "time": false,
}

func (s *scanner) endWord() {
	if !s.begun {
		return
	}
	word, quoted := s.word.String(), s.quoted
	s.word.Reset()
	s.begun, s.quoted = false, false
	condition, prefix := reserved[word]
	switch {
	case s.hereNext:
		s.hereNext, s.here = false, append(s.here, word)
	case s.skip:
		s.skip = false
	case len(s.now.words) > 0 || quoted:
		s.now.words = append(s.now.words, word)
	case prefix:
		s.now.condition = condition
	default:
		if word == "case" {
			s.cases++
		}
		s.now.words = append(s.now.words, word)
	}
}

// end finishes the current command at an operator.
func (s *scanner) end(operator string) {
	s.endWord()
	s.skip, s.hereNext = false, false
	if len(s.now.words) > 0 {
		s.now.unsure = s.cases > 0
		s.commands = append(s.commands, s.now)
		if s.now.words[0] == "esac" {
			s.cases = max(s.cases-1, 0)
		}
		s.now = command{after: operator}
	} else if operator != "\n" || s.now.after == "" || s.now.after == ";" {
		s.now = command{after: operator, status: s.now.status}
	}
	if operator == "\n" {
		s.skipHere()
	}
}

// skipHere skips the here documents that begin on this line.
func (s *scanner) skipHere() {
	for _, end := range s.here {
		for s.rest != "" {
			line, after, _ := strings.Cut(s.rest, "\n")
			s.rest = after
			if strings.TrimLeft(line, "\t") == end {
				break
			}
		}
	}
	s.here = nil
}
