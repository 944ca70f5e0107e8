package redact

import (
	"slices"
	"strings"
)

// assignment finds a value assigned to a name that indicates a secret: password=…, "api_key": "…". The position is that
// of the sign in between.
func assignment(p position) match {
	name := nameBefore(p)
	if name == "value" {
		name = attributeBefore(p)
	}
	kind := kindOf(name)
	if kind == "" {
		return passwordFor(p)
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
	if p.text[p.at] == ':' && strings.HasSuffix(p.text[:p.at], ":"+name) {
		return match{} // in an identifier with colons: arn:…:secret:…
	}
	if f := owned(p, name); f.to > 0 {
		return f
	}
	compared := p.at+1 < len(p.text) && p.text[p.at] == '=' && p.text[p.at+1] == '=' && !v.quoted
	if compared || ownToken(name, v.text) || !v.secret(kind, tight, tight && name == strings.ToUpper(name)) {
		return match{}
	}
	return match{v.from, v.end(), kind}
}

// flag finds the value of a flag whose name indicates a secret: --password …
func flag(p position) match {
	if p.at > p.done && p.text[p.at-1] == '-' {
		return match{}
	}
	end := scanWhile(p.text, p.at+2, 64, tokenByte)
	kind := kindOf(p.text[p.at+2 : end])
	if kind == "" || kind == "authorization" || end == len(p.text) || p.text[end] != ' ' {
		return match{}
	}
	if strings.HasPrefix(p.text[end:], " <<< ") {
		end += len(" <<<")
	}
	v := valueAt(p.text, end)
	if strings.HasPrefix(v.text, "-") && !v.quoted || !v.secret(kind, false, false) && !(kind == "password" && v.plain()) {
		return match{}
	}
	return match{v.from, v.end(), kind}
}

// attributeBefore returns the name that a value belongs to in <add key="NAME" value="…">.
func attributeBefore(p position) string {
	before := p.text[max(p.done, p.at-80):p.at]
	for _, attribute := range []string{`key="`, `name="`} {
		if i := strings.LastIndex(before, attribute); i >= 0 {
			name, _, _ := strings.Cut(before[i+len(attribute):], `"`)
			return name
		}
	}
	return ""
}

// ownToken reports whether a value is the token of an attempt of pawl, which is not a secret.
func ownToken(name, value string) bool {
	return len(value) == 16 && strings.Trim(value, "0123456789abcdef") == "" && (name == "token" || name == "PAWL_TOKEN")
}

// publicTokens are words before "token" in names of tokens that are not credentials.
var publicTokens = []string{
	"authenticity", "cancel", "cancellation", "continuation", "continue", "csrf", "cursor", "fencing", "idempotency", "next", "page", "pagination",
	"request", "resume", "sync", "xsrf",
}

// nameBefore returns the name before a position, with or without quotes.
func nameBefore(p position) string {
	end := p.at
	for ; end > p.done && p.at-end < 8 && strings.IndexByte(" \t\"'`\\]", p.text[end-1]) >= 0; end-- {
	}
	start := end
	for start > p.done && end-start < 64 && dottedByte(p.text[start-1]) {
		start--
	}
	return p.text[start:end]
}

// kindOf returns the kind of secret that a name indicates, or "".
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
		if slices.Contains(publicTokens, before) {
			return ""
		}
		return "token"
	case "auth":
		if n == 1 {
			return "auth"
		}
	case "sig":
		if n == 1 {
			return "signature"
		}
	case "signature":
		if before == "amz" || before == "goog" {
			return "signature"
		}
	case "data":
		if before == "key" && n > 2 && words[n-3] == "client" {
			return "key"
		}
	case "authorization":
		return "authorization"
	case "apikey":
		return "key"
	case "key":
		if slices.Contains([]string{"api", "app", "access", "secret", "private", "auth", "account", "encryption", "signing", "master"}, before) {
			return "key"
		}
	case "base":
		if before == "key" && n > 2 && words[n-3] == "secret" {
			return "key"
		}
	}
	return ""
}

// wordsOf splits a name into lower-case words: DB_PASSWORD, dbPassword, db-password2 → db, password.
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

// assigned is a value in a text.
type assigned struct {
	text   string // for a long value without quotes, only its first bytes
	from   int    // offset of the value
	rest   string // the text from there on
	quoted bool
}

// end returns the offset after the value.
func (v assigned) end() int {
	end := len(v.text)
	if !v.quoted {
		end = scanWhile(v.rest, end, len(v.rest), bareByte)
	}
	return v.from + end
}

// isExpression reports whether the value continues as a call or index expression.
func (v assigned) isExpression() bool {
	return !v.quoted && len(v.text) < len(v.rest) && strings.IndexByte("([{", v.rest[len(v.text)]) >= 0
}

// valueAt returns the value at an offset, after spaces.
func valueAt(text string, at int) assigned {
	at = scanWhile(text, at, 8, func(c byte) bool { return c == ' ' || c == '\t' })
	open := at
	if open+1 < len(text) && strings.IndexByte("rbuf", text[open]) >= 0 && quote(text[open+1]) {
		open++ // a string prefix, as in Python
	}
	slashes := scanWhile(text, open, 4, func(c byte) bool { return c == '\\' }) - open
	if mark := open + slashes; mark < len(text) && quote(text[mark]) {
		if end := closing(text, mark, slashes); end > 0 && !opens(text, mark+1, end, end+slashes+1) {
			return assigned{text: text[mark+1 : end], from: mark + 1, quoted: true}
		}
		at = mark + 1 // not closed: truncated
	}
	return assigned{text: text[at:scanWhile(text, at, maxScan, bareByte)], from: at, rest: text[at:]}
}

func quote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// closing returns the end of a quoted value, before the slashes of its closing quote, or 0 if it does not end on this
// line.
func closing(text string, open, slashes int) int {
	limit := min(len(text), open+1+4*maxScan)
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

// opens reports whether the quote that ends a value of several words is rather an apostrophe or opens the next text,
// because a word follows immediately. The value's own quote was then never closed.
func opens(text string, from, end, behind int) bool {
	return behind < len(text) && wordByte(text[behind]) && strings.ContainsAny(text[from:end], " \t")
}

// bareByte reports whether c can be part of a value without quotes.
func bareByte(c byte) bool {
	return c > ' ' && c != 0x7f && strings.IndexByte("\"'`,;&|<>()[]{}\\", c) < 0
}

// secret reports whether a value assigned to a name of this kind is a secret rather than a variable, a call, a type or
// prose. Without spaces around the sign, as in a shell, a word of letters counts as a password; after an upper-case
// variable, any word does.
func (v assigned) secret(kind string, tight, shell bool) bool {
	strong := kind == "password" || kind == "secret"
	switch {
	case v.isExpression() || placeholder(v.text) || v.path() || v.dotted():
		return false
	case kind == "auth":
		return basicAuth(v.whole())
	case kind == "signature":
		return len(v.text) >= 40 && mixed(v.text)
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
		return !likelyVariable(v.text)
	case strong:
		return len(v.text) >= 6 && strings.ContainsFunc(v.text, isLetter) && strings.ContainsFunc(v.text, special)
	}
	return len(v.text) >= 12 && mixed(v.text)
}

// plain reports whether the value of a flag for passwords is a password of lower-case letters, and no word about the flag.
func (v assigned) plain() bool {
	return len(v.text) >= 6 && !strings.ContainsFunc(v.text, func(r rune) bool { return r < 'a' || r > 'z' }) && !proseWord(v.text) &&
		!placeholder(v.text) && !likelyVariable(v.text) && !v.isExpression()
}

// whole returns the whole value.
func (v assigned) whole() string {
	if v.quoted {
		return v.text
	}
	return v.rest[:v.end()-v.from]
}

// path reports whether a value is the place of a secret: a path, or a name in a store of secrets.
func (v assigned) path() bool {
	for _, prefix := range []string{"/", "./", "../", "~/", "arn:", "op://", "vault:", "file:", "secret://", "sm://"} {
		if strings.HasPrefix(v.text, prefix) {
			return true
		}
	}
	name, _, _ := strings.Cut(v.text, "/")
	lower := !strings.ContainsFunc(v.text, func(r rune) bool { return notLower(r) && !strings.ContainsRune("/.0123456789#@", r) })
	return name != v.text && lower && len(name) > 2 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-_") == ""
}

// dotted reports whether a value without quotes is a path of names, such as config.password.
func (v assigned) dotted() bool {
	return !v.quoted && strings.Contains(v.text, ".") && !strings.ContainsFunc(v.text, func(r rune) bool { return r != '.' && r != '_' && notLetter(r) })
}

// credential finds the credential in an Authorization header, after the name of the scheme.
func (v assigned) credential() match {
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
	end := scanWhile(line, from, maxScan, headerByte)
	if end-from < 8 || from == 0 && (end < 16 || !mixed(line[:end])) || placeholder(line[from:end]) {
		return match{}
	}
	return match{v.from + from, v.from + scanWhile(line, end, len(line), headerByte), "authorization"}
}

// commonWords are words that appear in place of secrets.
var commonWords = []string{
	"admin", "argon2", "argon2id", "base64", "bcrypt", "boolean", "changeme", "default", "development", "disabled", "enabled", "example",
	"false", "hidden", "int64", "md5", "nil", "none", "null", "number", "oauth2", "optional", "passphrase", "password", "pbkdf2",
	"placeholder", "postgres", "production", "redacted", "required", "root", "scrypt", "secret", "sha1", "sha256", "sha512", "string", "test",
	"testing", "token", "true", "uint64", "undefined", "unknown", "username",
}

// placeholder reports whether a value stands for a secret: a variable, a placeholder, a common word.
func placeholder(value string) bool {
	lower := strings.ToLower(value)
	switch {
	case value == "" || strings.Trim(value, value[:1]) == "" || slices.Contains(commonWords, lower):
		return true
	case strings.ContainsAny(value[:1], "<{[") || value[0] == '*' && !mixed(value):
		return true
	case (strings.HasPrefix(value, "%s") || strings.HasPrefix(value, "%v")) && !mixed(value[2:]):
		return true
	case value[0] == '$' && len(value) > 1 && (value[1] == '{' || value[1] == '(' || strings.IndexFunc(value[1:], notWord) < 0):
		return true
	case strings.Contains(value, "[redacted:"), strings.Contains(value, "..."):
		return true
	}
	return strings.HasPrefix(lower, "your") || strings.HasPrefix(lower, "my-") || strings.HasPrefix(lower, "my_")
}

// likelyVariable reports whether a word of letters is probably the name of a variable.
func likelyVariable(word string) bool {
	lower := strings.ToLower(word)
	return slices.ContainsFunc([]string{
		"pass", "secret", "token", "key", "user", "input", "value", "str", "arg", "param", "field", "hash", "env", "conf", "form", "self", "this", "cred", "text",
	}, func(part string) bool { return strings.Contains(lower, part) })
}

func isLetter(r rune) bool  { return r < 0x80 && letter(byte(r)) }
func notLetter(r rune) bool { return !isLetter(r) }
func notWord(r rune) bool   { return r >= 0x80 || !wordByte(byte(r)) }
func special(r rune) bool   { return notLetter(r) && r != '_' && r != '.' && r != '-' && r != ':' }
