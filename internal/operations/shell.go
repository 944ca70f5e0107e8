package operations

import "strings"

// script is a shell command, analyzed without running it.
type script struct {
	commands   []command
	loops      []command // the words of its for loops
	background bool      // it does not wait for one of its commands
	unclear    bool      // it has loops, substitutions, variables or patterns that only a shell can evaluate
}

// command is one simple command of a script.
type command struct {
	words     []string
	redirects []redirect
	piped     bool    // it reads the output of the previous command
	here      *string // the here document on its input
	gates     bool    // followed by &&
	loopVar   string  // the variable of a for loop; words are its values
}

// redirect is a file that receives the output of a command.
type redirect struct {
	path  string
	added bool // to its end
}

// readScript splits a shell command into simple commands. It reads any input in linear time and without recursion.
func readScript(text string) script {
	l := lexer{rest: text}
	for l.next() {
	}
	l.end(false)
	s := script{unclear: l.unclear, background: l.background}
	for _, c := range l.commands {
		if c.loopVar != "" {
			s.loops = append(s.loops, c)
		} else {
			s.commands = append(s.commands, c)
		}
	}
	return s
}

// lexer scans a shell command.
type lexer struct {
	rest     string
	word     strings.Builder
	begun    bool // inside a word, which may be an empty one in quotes
	quoted   bool // a part of the word was quoted
	target   *redirect
	dropped  bool // ignore the next word, the target of an input redirect or a descriptor
	heredoc  bool // the next word is the delimiter of a here document
	waiting  *hereDoc
	now      command
	commands []command

	background, unclear bool // as in script
}

// next scans one token. It returns false at the end.
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

// redirect scans >, >>, >|, 2>, &> and <. It ignores descriptors and files below /dev.
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
		if l.heredoc || strings.HasPrefix(l.rest, "&") {
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
		if l.target.path = word; !isDevice(word) {
			l.now.redirects = append(l.now.redirects, *l.target)
		}
		l.target = nil
	case len(l.now.words) == 0 && !quoted && assigns(word):
	default:
		l.now.words = append(l.now.words, word)
	}
}

// isDevice reports whether a path is that of a device: what is written to it leaves no trace.
func isDevice(path string) bool {
	return strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/dev/shm/")
}

// assigns reports whether a word is a variable assignment.
func assigns(word string) bool {
	name, _, is := strings.Cut(word, "=")
	return is && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// hereDoc is a here document.
type hereDoc struct {
	end   string // the line that ends it
	tabs  bool   // strip leading tabs (<<-)
	plain bool   // without expansions
	of    int    // the index of its command
}

// readHere scans the here document that begins on the next line.
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

// connect scans the operator between two commands.
func (l *lexer) connect() {
	l.endWord()
	if l.waiting != nil && strings.HasPrefix(l.rest, "\n") {
		l.end(false)
		l.readHere()
		return
	}
	pipe := strings.HasPrefix(l.rest, "|") && !strings.HasPrefix(l.rest, "||")
	background := strings.HasPrefix(l.rest, "&") && !strings.HasPrefix(l.rest, "&&")
	if strings.HasPrefix(l.rest, "||") || background {
		l.unclear = true // the second may not run, or the first runs in the background
	}
	l.background = l.background || background && !l.inArithmetic()
	l.now.gates = strings.HasPrefix(l.rest, "&&")
	l.end(pipe)
	l.rest = strings.TrimLeft(l.rest, ";\n|&")
}

// inArithmetic reports whether an arithmetic expansion of the current command is open, in which & is an operator.
func (l *lexer) inArithmetic() bool {
	text := strings.Join(l.now.words, " ")
	return strings.Count(text, "$((") > strings.Count(text, "))")
}

// end finishes the current command.
func (l *lexer) end(pipe bool) {
	l.endWord()
	l.shellWords()
	if len(l.now.words) > 0 || len(l.now.redirects) > 0 {
		l.commands = append(l.commands, l.now)
	}
	l.now = command{piped: pipe}
}

// shellWords removes reserved words from the start of a command. Some of them begin a list of words, not a command.
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

// loop records the variable and the words of a for loop.
func (l *lexer) loop() {
	words := l.now.words
	l.now.words = nil
	if len(words) > 3 && words[0] == "for" && words[2] == "in" {
		l.commands = append(l.commands, command{loopVar: words[1], words: words[3:]})
	}
}

// reserved are the shell's reserved words, and headers those of them that a list of words follows.
var (
	reserved = wordSet("if then else elif fi for while until do done case esac function select ! time eval exec source . { }")
	headers  = wordSet("for case function select")
)
