package operations

import "strings"

// script is a shell command as far as it can be read without running it.
type script struct {
	commands []command
	loops    []command // what its loops go through
	unclear  bool      // it holds what only a shell can tell: loops, substitutions, variables, patterns
}

// command is one simple command of a script.
type command struct {
	words     []string
	redirects []redirect
	piped     bool    // it reads what the one before it writes
	here      *string // it reads this here document
	gates     bool    // what follows runs only if this went well
	loopVar   string  // it is no command, but what a loop goes through: the variable's name, and the words
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
	s := script{unclear: l.unclear}
	for _, c := range l.commands {
		if c.loopVar != "" {
			s.loops = append(s.loops, c)
		} else {
			s.commands = append(s.commands, c)
		}
	}
	return s
}

// lexer reads along a shell command.
type lexer struct {
	rest     string
	word     strings.Builder
	begun    bool // a word is being read, perhaps an empty one in quotes
	quoted   bool // a part of it stood in quotes
	target   *redirect
	dropped  bool // the next word is where something goes that is no file of interest
	heredoc  bool // the next word is where a here document ends
	waiting  *hereDoc
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
	case c == '(' && !l.begun, c == ')' && !strings.Contains(l.word.String(), "("): // a subshell
		l.unclear = true
		l.take(1)
		l.endWord()
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
		l.heredoc = strings.HasPrefix(l.rest, "<") && !strings.HasPrefix(l.rest, "<<") && l.waiting == nil
		l.unclear = l.unclear || strings.HasPrefix(l.rest, "<") && !l.heredoc || strings.HasPrefix(l.rest, "(")
		l.dropped = !l.heredoc
		if l.heredoc {
			l.take(1)
		}
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
	case l.heredoc:
		l.heredoc = false
		l.waiting = &hereDoc{end: strings.TrimPrefix(word, "-"), tabs: strings.HasPrefix(word, "-"), plain: quoted, of: len(l.commands)}
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

// hereDoc is a text that a command reads, and that stands on the lines below it.
type hereDoc struct {
	end   string // the line that ends it
	tabs  bool   // at its lines' beginnings are left out
	plain bool   // a shell changes nothing in it
	of    int    // the number of the command
}

// readHere reads the here document that begins on the next line.
func (l *lexer) readHere() {
	h := l.waiting
	l.waiting = nil
	l.take(1)
	var text strings.Builder
	for ended := false; !ended; {
		if l.rest == "" {
			l.unclear = true
			return
		}
		line, after, _ := strings.Cut(l.rest, "\n")
		if h.tabs {
			line = strings.TrimLeft(line, "\t")
		}
		l.rest = after
		if ended = line == h.end; !ended {
			text.WriteString(line + "\n")
		}
	}
	content := text.String()
	l.unclear = l.unclear || !h.plain && strings.ContainsAny(content, "$`\\")
	if h.of < len(l.commands) {
		l.commands[h.of].here = &content
	}
}

// connect reads what stands between two commands.
func (l *lexer) connect() {
	l.endWord()
	if l.waiting != nil && strings.HasPrefix(l.rest, "\n") {
		l.end(false)
		l.readHere()
		return
	}
	pipe := strings.HasPrefix(l.rest, "|") && !strings.HasPrefix(l.rest, "||")
	if strings.HasPrefix(l.rest, "||") || strings.HasPrefix(l.rest, "&") && !strings.HasPrefix(l.rest, "&&") {
		l.unclear = true // one of the two may not run, or goes on when the rest has ended
	}
	l.now.gates = strings.HasPrefix(l.rest, "&&")
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
			l.loop()
			return
		}
		l.now.words = l.now.words[1:]
	}
}

// loop keeps of the head of a loop what it goes through.
func (l *lexer) loop() {
	words := l.now.words
	l.now.words = nil
	if len(words) > 3 && words[0] == "for" && words[2] == "in" {
		l.commands = append(l.commands, command{loopVar: words[1], words: words[3:]})
	}
}

// reserved are words that only a shell understands, and headers those of them that a list of words follows.
var (
	reserved = wordSet("if then else elif fi for while until do done case esac function select ! time eval exec source . { }")
	headers  = wordSet("for case function select")
)
