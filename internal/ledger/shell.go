package ledger

import "strings"

// script is a shell command as far as it can be read without running it.
type script struct {
	commands []command
	unclear  bool // it holds what only a shell can tell: loops, substitutions, variables, patterns
}

// command is one simple command of a script.
type command struct {
	words     []string
	redirects []redirect
	piped     bool // it reads what the one before it writes
}

// redirect is a file that a command's output goes to.
type redirect struct {
	path  string
	added bool // to its end
}

// readScript takes a shell command apart.
func readScript(text string) script {
	l := lexer{rest: text}
	for l.next() {
	}
	l.end(false)
	return script{commands: l.commands, unclear: l.unclear}
}

// lexer reads along a shell command.
type lexer struct {
	rest     string
	word     strings.Builder
	begun    bool // a word is being read, perhaps an empty one in quotes
	quoted   bool // a part of it stood in quotes
	target   *redirect
	dropped  bool // the next word is where something goes that is no file of interest
	now      command
	commands []command
	unclear  bool
}

// next reads one thing. It is false at the end.
func (l *lexer) next() bool {
	if l.rest == "" {
		return false
	}
	c := l.rest[0]
	switch {
	case c == ' ' || c == '\t':
		l.take(1)
		l.endWord()
	case c == '#' && !l.begun:
		_, after, _ := strings.Cut(l.rest, "\n")
		l.rest = "\n" + after
	case c == '\'':
		l.quote("'")
	case c == '"':
		l.doubleQuote()
	case c == '\\':
		l.escape()
	case c == '>' || c == '<':
		l.redirect()
	case c == '&' && strings.HasPrefix(l.rest, "&>"):
		l.take(1)
		l.redirect()
	case strings.IndexByte(";\n|&", c) >= 0:
		l.connect()
	case strings.IndexByte("$`(){}*?[", c) >= 0 || c == '~' && !l.begun:
		l.unclear = true
		l.letter(1)
	default:
		l.letter(1)
	}
	return true
}

func (l *lexer) take(n int) string {
	taken := l.rest[:min(n, len(l.rest))]
	l.rest = l.rest[len(taken):]
	return taken
}

func (l *lexer) letter(n int) {
	l.word.WriteString(l.take(n))
	l.begun = true
}

func (l *lexer) quote(mark string) {
	text, after, closed := strings.Cut(l.rest[1:], mark)
	l.unclear = l.unclear || !closed
	l.word.WriteString(text)
	l.rest, l.begun, l.quoted = after, true, true
}

func (l *lexer) doubleQuote() {
	l.take(1)
	l.begun, l.quoted = true, true
	for l.rest != "" && l.rest[0] != '"' {
		switch {
		case l.rest[0] == '\\' && len(l.rest) > 1 && strings.IndexByte("$`\"\\\n", l.rest[1]) >= 0:
			l.take(1)
		case l.rest[0] == '$' || l.rest[0] == '`':
			l.unclear = true
		}
		l.letter(1)
	}
	l.unclear = l.unclear || l.rest == ""
	l.take(1)
}

func (l *lexer) escape() {
	l.take(1)
	if strings.HasPrefix(l.rest, "\n") {
		l.take(1)
		return
	}
	l.letter(1)
}

// redirect reads >, >>, >|, 2>, &> and <. Descriptors and /dev/null are no files.
func (l *lexer) redirect() {
	if l.begun && strings.Trim(l.word.String(), "0123456789") == "" {
		l.word.Reset() // the number of a descriptor
		l.begun = false
	}
	l.endWord()
	if l.take(1) == "<" {
		l.unclear = l.unclear || strings.HasPrefix(l.rest, "<") || strings.HasPrefix(l.rest, "(")
		l.dropped = true
		return
	}
	r := &redirect{}
	switch {
	case strings.HasPrefix(l.rest, ">"):
		l.take(1)
		r.added = true
	case strings.HasPrefix(l.rest, "|"):
		l.take(1)
	case strings.HasPrefix(l.rest, "&"):
		l.take(1)
		l.dropped = true
		return
	}
	l.target = r
}

func (l *lexer) endWord() {
	if !l.begun {
		return
	}
	word := l.word.String()
	l.word.Reset()
	quoted := l.quoted
	l.begun, l.quoted = false, false
	switch {
	case l.dropped:
		l.dropped = false
	case l.target != nil:
		if l.target.path = word; !strings.HasPrefix(word, "/dev/") {
			l.now.redirects = append(l.now.redirects, *l.target)
		}
		l.target = nil
	case len(l.now.words) == 0 && !quoted && assigns(word):
	default:
		l.now.words = append(l.now.words, word)
	}
}

// assigns reports whether a word sets a variable.
func assigns(word string) bool {
	name, _, is := strings.Cut(word, "=")
	return is && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// connect reads what stands between two commands.
func (l *lexer) connect() {
	l.endWord()
	pipe := strings.HasPrefix(l.rest, "|") && !strings.HasPrefix(l.rest, "||")
	if strings.HasPrefix(l.rest, "||") || strings.HasPrefix(l.rest, "&") && !strings.HasPrefix(l.rest, "&&") {
		l.unclear = true // one of the two may not run, or goes on when the rest has ended
	}
	l.end(pipe)
	l.rest = strings.TrimLeft(l.rest, ";\n|&")
}

// end closes the command that is being read.
func (l *lexer) end(pipe bool) {
	l.endWord()
	l.shellWords()
	if len(l.now.words) > 0 || len(l.now.redirects) > 0 {
		l.commands = append(l.commands, l.now)
	}
	l.now = command{piped: pipe}
}

// shellWords takes off a command the words that only a shell understands. What follows some of them is no command.
func (l *lexer) shellWords() {
	for len(l.now.words) > 0 && reserved[l.now.words[0]] {
		l.unclear = true
		if headers[l.now.words[0]] {
			l.now.words = nil
			return
		}
		l.now.words = l.now.words[1:]
	}
}

// reserved are words that only a shell understands, and headers those of them that a list of words follows.
var (
	reserved = wordSet("if then else elif fi for while until do done case esac function select ! time eval exec source .")
	headers  = wordSet("for case function select")
)
