package redact

import "strings"

// command finds the password that a program takes as a value of its flags. The position is that of the program's name.
type command struct {
	name     string
	flags    []string
	after    string // the value is a user's name, this, and the password
	groups   string // flags of one letter without a value that may stand before the flag: -su
	joined   bool   // the value follows the flag without a space
	separate bool   // the value is the next word
}

// commands are programs with short flags for passwords. The names of long flags tell themselves.
var commands = []command{
	{name: "curl ", flags: []string{"-u", "--user", "-U", "--proxy-user"}, after: ":", groups: "#012346BGIJLNOSVafgijklnpqsv", joined: true, separate: true},
	{name: "http ", flags: []string{"-a", "--auth"}, after: ":", joined: true, separate: true},
	{name: "mysql", flags: []string{"-p"}, joined: true},
	{name: "mariadb", flags: []string{"-p"}, joined: true},
	{name: "mongo", flags: []string{"-p"}, separate: true},
	{name: "login ", flags: []string{"-p"}, separate: true},
	{name: "sshpass ", flags: []string{"-p"}, joined: true, separate: true},
	{name: "redis-cli ", flags: []string{"-a"}, separate: true},
	{name: "sqlcmd ", flags: []string{"-P"}, joined: true, separate: true},
	{name: "ldapsearch ", flags: []string{"-w"}, joined: true, separate: true},
	{name: "ldapmodify ", flags: []string{"-w"}, joined: true, separate: true},
	{name: "smbclient ", flags: []string{"-U", "--user"}, after: "%", joined: true, separate: true},
	{name: "lftp ", flags: []string{"-u", "--user"}, after: ",", joined: true, separate: true},
	{name: "7z ", flags: []string{"-p"}, joined: true},
	{name: "zip ", flags: []string{"-P"}, separate: true},
	{name: "unzip ", flags: []string{"-P"}, separate: true},
}

// maxCommand is how much of a command is searched, in bytes.
const maxCommand = 2048

func (c command) find(p position) match {
	if !p.wordStart() {
		return match{}
	}
	for _, w := range wordsAfter(p.text, p.at) {
		if f := c.password(c.value(p.text, w)); f.to > 0 {
			return f
		}
	}
	return match{}
}

// value returns the value of a flag for passwords; without one, from is -1.
func (c command) value(text string, w word) word {
	for _, flag := range c.flags {
		rest, ok := strings.CutPrefix(c.ungrouped(w.text), flag)
		at := w.from + len(w.text) - len(rest)
		inQuotes := w.from > 0 && quote(text[w.from-1])
		joined := c.joined && (len(flag) == 2 || strings.HasPrefix(rest, "="))
		switch {
		case !ok:
		case rest == "" && c.separate && (inQuotes || at == len(text) || !quote(text[at])):
			return w.next(text)
		case joined && inQuotes:
			rest = strings.TrimPrefix(rest, "=")
			return word{rest, w.from + len(w.text) - len(rest)}
		case joined && at < len(text) && text[at] > ' ':
			return wordAt(text, at+len(rest)-len(strings.TrimPrefix(rest, "=")))
		}
	}
	return word{from: -1}
}

// ungrouped returns a word without the flags before the last one: -su as -u.
func (c command) ungrouped(text string) string {
	if c.groups == "" || len(text) < 3 || text[0] != '-' || text[1] == '-' {
		return text
	}
	return "-" + strings.TrimLeft(text[1:], c.groups)
}

// password returns the password in the value of a flag.
func (c command) password(w word) match {
	if w.from < 0 {
		return match{}
	}
	if c.after != "" {
		_, password, ok := strings.Cut(w.text, c.after)
		if !ok {
			return match{}
		}
		w = word{password, w.from + len(w.text) - len(password)}
	}
	if len(w.text) < 3 || placeholder(w.text) || strings.HasPrefix(w.text, "-") || ports(w.text) {
		return match{}
	}
	if c.after == "" && !strings.ContainsFunc(w.text, notLower) && proseWord(w.text) {
		return match{}
	}
	return match{w.from, w.from + len(w.text), "password"}
}

// ports reports whether a text is a pair of ports, as docker publishes them: 8080:80.
func ports(text string) bool {
	return strings.Contains(text, ":") && strings.Trim(text, "0123456789:") == ""
}

// word is an argument in a command, without its quotes.
type word struct {
	text string
	from int
}

// wordsAfter returns the words of the command at an offset, up to its end.
func wordsAfter(text string, at int) []word {
	var all []word
	limit := min(len(text), at+maxCommand)
	for w := wordAt(text[:limit], at); w.from >= 0; w = w.next(text[:limit]) {
		all = append(all, w)
	}
	return all
}

// next returns the word after w. At the end of the command, from is -1.
func (w word) next(text string) word {
	at := w.from + len(w.text)
	if at < len(text) && quote(text[at]) {
		at++
	}
	return wordAt(text, at)
}

func wordAt(text string, at int) word {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\\' && at+1 < len(text) && text[at+1] == '\n' || text[at] == '\n' && at > 0 && text[at-1] == '\\') {
		at++
	}
	if at >= len(text) || strings.IndexByte("\n|;", text[at]) >= 0 || strings.HasPrefix(text[at:], "&&") {
		return word{from: -1}
	}
	if open := scanWhile(text, at, 4, func(c byte) bool { return c == '\\' }); open < len(text) && quote(text[open]) {
		if end := closing(text, open, open-at); end > 0 {
			return word{text[open+1 : end], open + 1}
		}
	}
	end := scanWhile(text, at, len(text), func(c byte) bool { return c > ' ' && c != ';' && c != '|' })
	end = at + len(strings.TrimRight(text[at:end], "\"'`\\,)}]"))
	return word{text[at:max(end, at+1)], at}
}

// setting finds the value in "set NAME VALUE".
func setting(p position) match {
	name := wordAt(p.text, p.at+len(" set "))
	kind := kindOf(name.text)
	if name.from < 0 || kind == "" || kind == "authorization" {
		return match{}
	}
	v := valueAt(p.text, name.from+len(name.text))
	if !v.secret(kind, false, false) {
		return match{}
	}
	return match{v.from, v.end(), kind}
}

// piped finds what is printed for a program that reads a password: echo … | docker login --password-stdin.
func piped(p position) match {
	line := p.text[p.at:min(len(p.text), p.at+maxScan)]
	line, _, _ = strings.Cut(line, "\n")
	_, reader, ok := strings.Cut(line, "|")
	if !ok || !strings.Contains(reader, "--password-stdin") && !strings.Contains(reader, "--with-token") && !strings.Contains(reader, "sudo -S") && !strings.Contains(reader, "--stdin") {
		return match{}
	}
	for w := wordAt(p.text, p.at+len("echo ")); w.from >= 0; w = w.next(p.text) {
		if len(w.text) >= 4 && !strings.HasPrefix(w.text, "-") && !placeholder(w.text) {
			return match{w.from, w.from + len(w.text), "password"}
		}
	}
	return match{}
}

// lastArgument finds the password that is the last argument: htpasswd -b FILE USER PASSWORD, net use … /user:NAME PASSWORD.
func lastArgument(minimum int) func(position) match {
	return func(p position) match {
		words := wordsAfter(p.text, p.at)
		if len(words) < minimum {
			return match{}
		}
		w := words[len(words)-1]
		if len(w.text) < 6 || strings.ContainsAny(w.text[:1], "-/") || placeholder(w.text) || !mixed(w.text) {
			return match{}
		}
		return match{w.from, w.from + len(w.text), "password"}
	}
}

// passSource finds the password in openssl's pass:….
func passSource(p position) match {
	if before := p.text[max(p.done, p.at-12):p.at]; !strings.Contains(before, "-pass") {
		return match{}
	}
	from := p.at + len("pass:")
	end := scanWhile(p.text, from, len(p.text), bareByte)
	if end-from < 4 || placeholder(p.text[from:end]) {
		return match{}
	}
	return match{from, end, "password"}
}

func notLower(r rune) bool { return (r < 'a' || r > 'z') && r != '-' && r != '_' }
