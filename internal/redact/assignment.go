package redact

import (
	"slices"
	"strings"
)

// assignment finds what is assigned to a name that says that it is secret: password=…, "api_key": "…". The place is at
// the sign between them.
func assignment(p place) found {
	name := nameBefore(p)
	kind := kindOf(name)
	if kind == "" {
		return found{}
	}
	at := p.at + 1
	for at < len(p.text) && at-p.at < 3 && strings.IndexByte("=>", p.text[at]) >= 0 {
		at++
	}
	tight := p.text[p.at] == '=' && (p.at == 0 || p.text[p.at-1] != ' ') && at < len(p.text) && p.text[at] != ' '
	v := valueAt(p.text, at)
	if kind == "authorization" {
		return v.credential()
	}
	if !v.secret(kind, tight, tight && name == strings.ToUpper(name)) {
		return found{}
	}
	return found{v.from, v.end(), kind}
}

// flag finds what follows a flag whose name says so: --password …
func flag(p place) found {
	if p.at > p.done && p.text[p.at-1] == '-' {
		return found{}
	}
	end := run(p.text, p.at+2, 64, tokenByte)
	kind := kindOf(p.text[p.at+2 : end])
	if kind == "" || kind == "authorization" || end == len(p.text) || p.text[end] != ' ' {
		return found{}
	}
	v := valueAt(p.text, end)
	if strings.HasPrefix(v.text, "-") || !v.secret(kind, false, false) {
		return found{}
	}
	return found{v.from, v.end(), kind}
}

// nameBefore returns the name that stands before a place, in quotes or not.
func nameBefore(p place) string {
	end := p.at
	for ; end > p.done && p.at-end < 8 && strings.IndexByte(" \t\"'`\\]", p.text[end-1]) >= 0; end-- {
	}
	start := end
	for start > p.done && end-start < 64 && dottedByte(p.text[start-1]) {
		start--
	}
	return p.text[start:end]
}

// kindOf returns the kind of secret that is assigned to a name, "" for none.
func kindOf(name string) string {
	words := wordsOf(name)
	n := len(words)
	if n == 0 {
		return ""
	}
	last, before := words[n-1], ""
	if n > 1 {
		before = words[n-2]
	}
	switch last {
	case "password", "passwd", "pgpassword", "passphrase", "passcode":
		return "password"
	case "pass", "pwd":
		if n > 1 || name == "Pwd" || name == "pwd" {
			return "password"
		}
	case "secret":
		return "secret"
	case "token":
		return "token"
	case "authorization":
		return "authorization"
	case "apikey":
		return "key"
	case "key":
		if slices.Contains([]string{"api", "access", "secret", "private", "auth", "account", "encryption", "signing", "master"}, before) {
			return "key"
		}
	case "base":
		if before == "key" && n > 2 && words[n-3] == "secret" {
			return "key"
		}
	}
	return ""
}

// wordsOf returns the words of a name in lower case: DB_PASSWORD, dbPassword, db-password2 → db, password.
func wordsOf(name string) []string {
	var words []string
	start := 0
	add := func(end int) {
		if word := strings.Trim(name[start:end], "_-.0123456789"); word != "" {
			words = append(words, strings.ToLower(word))
		}
		start = end
	}
	for i := 1; i < len(name); i++ {
		upper, lower := name[i] < 'a' && letter(name[i]), name[i-1] >= 'a' && letter(name[i-1])
		if upper && lower || strings.IndexByte("_-.", name[i]) >= 0 {
			add(i)
		}
	}
	add(len(name))
	return words
}

// assigned is a value as it stands in a text.
type assigned struct {
	text   string // of a long one without quotes, the first bytes
	from   int    // where it begins
	rest   string // the text from there on
	quoted bool
}

// end returns where the value ends.
func (v assigned) end() int {
	end := len(v.text)
	if !v.quoted {
		end = run(v.rest, end, len(v.rest), bareByte)
	}
	return v.from + end
}

// call reports whether what follows makes the value a part of an expression.
func (v assigned) call() bool {
	return !v.quoted && len(v.text) < len(v.rest) && strings.IndexByte("([{", v.rest[len(v.text)]) >= 0
}

// valueAt returns the value that stands at this place, behind spaces.
func valueAt(text string, at int) assigned {
	at = run(text, at, 8, func(c byte) bool { return c == ' ' || c == '\t' })
	open := at
	if open+1 < len(text) && strings.IndexByte("rbuf", text[open]) >= 0 && quote(text[open+1]) {
		open++ // a prefix, as Python has it
	}
	slashes := run(text, open, 4, func(c byte) bool { return c == '\\' }) - open
	if mark := open + slashes; mark < len(text) && quote(text[mark]) {
		if end := closing(text, mark, slashes); end > 0 && !opens(text, mark+1, end, end+slashes+1) {
			return assigned{text: text[mark+1 : end], from: mark + 1, quoted: true}
		}
		at = mark + 1 // never closed: cut off
	}
	return assigned{text: text[at:run(text, at, decide, bareByte)], from: at, rest: text[at:]}
}

func quote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// closing returns where a quoted value ends, before the slashes of its closing quote; 0 where it does not, on this line.
func closing(text string, open, slashes int) int {
	limit := min(len(text), open+1+4*decide)
	for i := open + 1; i < limit; i++ {
		switch {
		case text[i] == '\n':
			return 0
		case text[i] == text[open]:
			return i
		case text[i] != '\\':
		case slashes == 0:
			i++
		case i+slashes < limit && strings.Trim(text[i:i+slashes], `\`) == "" && text[i+slashes] == text[open]:
			return i
		}
	}
	return 0
}

// opens reports whether the quote that ends a value of several words rather opens the next text, or is an apostrophe: a word
// follows it at once. Then the value's own was never closed.
func opens(text string, from, end, behind int) bool {
	return behind < len(text) && wordByte(text[behind]) && strings.ContainsAny(text[from:end], " \t")
}

// bareByte is what a value without quotes is made of.
func bareByte(c byte) bool {
	return c > ' ' && c != 0x7f && strings.IndexByte("\"'`,;&|<>()[]{}\\", c) < 0
}

// secret reports whether a value that a name of this kind is given is one: no variable, no call, no type, no text for
// people. Where the sign stands tight between them, as in a shell, a word of letters is a password too; under a
// variable's name of the shell any word.
func (v assigned) secret(kind string, tight, shell bool) bool {
	strong := kind == "password" || kind == "secret"
	switch {
	case v.call() || standIn(v.text) || strings.HasPrefix(v.text, "/") || v.dotted():
		return false
	case v.quoted && strings.ContainsAny(v.text, " \t"):
		return false
	case v.quoted && strong:
		return len(v.text) >= 4
	case v.quoted:
		return len(v.text) >= 8 && (mixed(v.text) || len(v.text) >= 24 && strings.IndexFunc(v.text, notWord) < 0)
	case shell && strong:
		return len(v.text) >= 4
	case shell:
		return len(v.text) >= 8 && strings.ContainsFunc(v.text, isLetter)
	case strong && tight && len(v.text) >= 6 && strings.IndexFunc(v.text, notLetter) < 0:
		return !variable(v.text)
	case strong:
		return len(v.text) >= 6 && strings.ContainsFunc(v.text, isLetter) && strings.ContainsFunc(v.text, special)
	}
	return len(v.text) >= 12 && mixed(v.text)
}

// dotted reports whether a value without quotes is a path through names: config.password.
func (v assigned) dotted() bool {
	return !v.quoted && strings.Contains(v.text, ".") && !strings.ContainsFunc(v.text, func(r rune) bool { return r != '.' && r != '_' && notLetter(r) })
}

// credential finds what stands behind "Authorization:", behind the name of the scheme.
func (v assigned) credential() found {
	line := v.rest
	if v.quoted {
		line = v.text
	}
	from := 0
	for _, scheme := range []string{"bearer ", "basic ", "token ", "apikey "} {
		if len(line) > len(scheme) && strings.EqualFold(line[:len(scheme)], scheme) {
			from = len(scheme)
		}
	}
	end := run(line, from, decide, headerByte)
	if end-from < 8 || from == 0 && (end < 16 || !mixed(line[:end])) || standIn(line[from:end]) {
		return found{}
	}
	return found{v.from + from, v.from + run(line, end, len(line), headerByte), "authorization"}
}

// everyday are words that stand where a secret would, and are none.
var everyday = []string{
	"admin", "argon2", "argon2id", "base64", "bcrypt", "boolean", "changeme", "default", "development", "disabled", "enabled", "example",
	"false", "hidden", "int64", "md5", "nil", "none", "null", "number", "oauth2", "optional", "passphrase", "password", "pbkdf2",
	"placeholder", "postgres", "production", "redacted", "required", "root", "scrypt", "secret", "sha1", "sha256", "sha512", "string", "test",
	"testing", "token", "true", "uint64", "undefined", "unknown", "username",
}

// standIn reports whether a value only stands for a secret: a variable, a placeholder, an everyday word.
func standIn(value string) bool {
	lower := strings.ToLower(value)
	switch {
	case value == "" || strings.Trim(value, value[:1]) == "" || slices.Contains(everyday, lower):
		return true
	case strings.ContainsAny(value[:1], "<{[*") || strings.HasPrefix(value, "%s") || strings.HasPrefix(value, "%v"):
		return true
	case value[0] == '$' && len(value) > 1 && (value[1] == '{' || value[1] == '(' || strings.IndexFunc(value[1:], notWord) < 0):
		return true
	case strings.Contains(value, "[redacted:"), strings.Contains(value, "..."):
		return true
	}
	return strings.HasPrefix(lower, "your") || strings.HasPrefix(lower, "my-") || strings.HasPrefix(lower, "my_")
}

// variable reports whether a word of letters is more likely the name of a variable.
func variable(word string) bool {
	lower := strings.ToLower(word)
	return slices.ContainsFunc([]string{
		"pass", "secret", "token", "key", "user", "input", "value", "str", "arg", "param", "field", "hash", "env", "conf", "form", "self", "this", "cred", "text",
	}, func(part string) bool { return strings.Contains(lower, part) })
}

func isLetter(r rune) bool  { return r < 0x80 && letter(byte(r)) }
func notLetter(r rune) bool { return !isLetter(r) }
func notWord(r rune) bool   { return r >= 0x80 || !wordByte(byte(r)) }
func special(r rune) bool   { return notLetter(r) && r != '_' && r != '.' && r != '-' && r != ':' }
