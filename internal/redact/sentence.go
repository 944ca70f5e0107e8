package redact

import (
	"encoding/base64"
	"slices"
	"strings"
)

// subjects are the words for secrets in sentences.
var subjects = []string{"password", "passphrase", "passcode", "token", "secret", "api key", "apikey", "access key", "credentials"}

// passwordSubjects are the subjects for which a word of letters counts: people choose such passwords, not such tokens.
var passwordSubjects = []string{"password", "passphrase", "passcode", "passwd"}

// sentence finds the secret in "the password for … is …". The position is that of " is".
func sentence(p position) match {
	at := p.at + len(" is")
	if at < len(p.text) && p.text[at] == ':' {
		at++
	}
	if at == len(p.text) || p.text[at] != ' ' {
		return match{}
	}
	before := strings.ToLower(p.text[max(p.done, p.at-60):p.at])
	if stop := strings.LastIndexAny(before, ".;:!?\n"); stop >= 0 {
		before = before[stop:]
	}
	if named(before, passwordSubjects) {
		if f := plainWord(p.text, at); f.to > 0 {
			return f
		}
	}
	for _, subject := range subjects {
		if strings.Contains(before, subject) {
			return secretWord(p.text, at, 8)
		}
	}
	return match{}
}

// named reports whether a text ends with one of the subjects, or with one and what it is for: "the password for the shop".
func named(before string, subjects []string) bool {
	for _, subject := range subjects {
		_, rest, ok := strings.Cut(before, subject)
		if ok && (rest == "" || strings.HasPrefix(rest, " for ") || strings.HasPrefix(rest, " of ") || strings.HasPrefix(rest, " to ")) {
			return true
		}
	}
	return false
}

// owners are the words before "password:" in a sentence. In settings and programs there is none.
var owners = []string{"my ", "our ", "the ", "new ", "old ", "root ", "admin "}

// owned finds the password in "my password: …". The position is that of the colon after the name.
func owned(p position, name string) match {
	before := strings.ToLower(p.text[max(p.done, p.at-len(name)-6):p.at])
	if strings.ContainsFunc(name, notLetter) || !named(before, passwordSubjects) || p.at+1 >= len(p.text) || p.text[p.at:p.at+2] != ": " {
		return match{}
	}
	before = before[:len(before)-len(name)]
	if !slices.ContainsFunc(owners, func(owner string) bool { return strings.HasSuffix(before, owner) }) {
		return match{}
	}
	return plainWord(p.text, p.at+1)
}

// passwordFor finds the secret in "password for …: …". The position is that of the colon.
func passwordFor(p position) match {
	before := p.text[max(p.done, p.at-60):p.at]
	if p.text[p.at] != ':' || p.at+1 == len(p.text) || p.text[p.at+1] != ' ' || !strings.Contains(before[strings.LastIndexByte(before, '\n')+1:], "assword for ") {
		return match{}
	}
	return secretWord(p.text, p.at+1, 8)
}

// afterPassword finds the secret in "with password …", and in "machine … login … password …" whatever it is.
func afterPassword(p position) match {
	if !p.wordStart() {
		return match{}
	}
	least := 8
	if strings.Contains(p.text[max(p.done, p.at-maxScan):p.at], " login ") {
		least = 6
	}
	return secretWord(p.text, p.at+len("password "), least)
}

// secretWord returns the word at an offset if it looks like a secret among the words of a sentence.
func secretWord(text string, at, least int) match {
	v := valueAt(text, at)
	end := v.end() - v.from
	if !v.quoted {
		end = len(strings.TrimRight(v.rest[:end], ".!?:"))
	}
	if v.from+end > len(text) || end < least || placeholder(text[v.from:v.from+end]) || !irregular(text[v.from:v.from+end]) {
		return match{}
	}
	return match{v.from, v.from + end, "password"}
}

// irregular reports whether a text mixes letters and digits unlike words and numbers: several digits, or digits next to
// capitals or signs.
func irregular(text string) bool {
	if !mixed(text) || strings.Contains(text, "/") || strings.Contains(text, "=") {
		return false
	}
	digits := strings.Count(strings.Map(func(r rune) rune {
		if r < 0x80 && digit(byte(r)) {
			return '0'
		}
		return '.'
	}, text), "0")
	upper := strings.ContainsFunc(text[1:], func(r rune) bool { return 'A' <= r && r <= 'Z' })
	return upper || digits > 1 && digits < len(text)-2 && entropy(text) > 2.5 || strings.ContainsAny(text, "!%*$&^")
}

// element finds the secret in an XML element: <password>…</password>. The position is that of ">".
func element(p position) match {
	start := p.at
	for start > p.done && p.at-start < 64 && tokenByte(p.text[start-1]) {
		start--
	}
	if start == p.at || start == p.done || p.text[start-1] != '<' {
		return match{}
	}
	name := p.text[start:p.at]
	kind := kindOf(name)
	size := strings.IndexByte(p.text[p.at+1:min(len(p.text), p.at+1+4*maxScan)], '<')
	if kind == "" || kind == "authorization" || size < 0 || !strings.HasPrefix(p.text[p.at+1+size:], "</"+name) {
		return match{}
	}
	v := assigned{text: p.text[p.at+1 : p.at+1+size], from: p.at + 1, quoted: true}
	if !v.secret(kind, false, false) {
		return match{}
	}
	return match{v.from, v.end(), kind}
}

// argument finds the secret in a call with a name and a value: define('AUTH_KEY', '…'). The position is that of the quote
// that ends the name.
func argument(p position) match {
	start := p.at
	for start > p.done && p.at-start < 64 && tokenByte(p.text[start-1]) {
		start--
	}
	kind := kindOf(p.text[start:p.at])
	before := strings.TrimRight(p.text[max(p.done, start-4):start], " ")
	if kind == "" || kind == "authorization" || len(before) < 2 || !quote(before[len(before)-1]) {
		return match{}
	}
	if open := strings.TrimRight(before[:len(before)-1], " "); !strings.HasSuffix(open, "(") {
		return match{}
	}
	v := valueAt(p.text, p.at+2)
	if !v.quoted || !v.secret(kind, false, false) {
		return match{}
	}
	return match{v.from, v.end(), kind}
}

// maxCookies is how much of a header is searched, in bytes.
const maxCookies = 4096

// cookies finds the values of a Cookie or Set-Cookie header, from the first long one to the last.
func cookies(p position) match {
	end := scanWhile(p.text, p.at, maxCookies, func(c byte) bool { return c != '\n' && c != '\r' && !quote(c) })
	found := match{kind: "cookie"}
	for at := p.at; at < end; {
		pair, _, _ := strings.Cut(p.text[at:end], ";")
		if i := strings.IndexByte(pair, '='); i >= 0 {
			if value := strings.TrimSpace(pair[i+1:]); len(value) >= 16 && mixed(value) && !placeholder(value) {
				if found.to == 0 {
					found.from = at + i + 1
				}
				found.to = at + i + 1 + len(value)
			}
		}
		at += len(pair) + 1
	}
	if found.to == 0 {
		return match{}
	}
	return found
}

// passFile finds the password in a line of .pgpass: host:5432:database:user:password.
func passFile(p position) match {
	line, _, _ := strings.Cut(p.text[p.at:min(len(p.text), p.at+maxScan)], "\n")
	fields := strings.SplitN(line, ":", 5) // the first one is empty
	if len(fields) < 5 || strings.ContainsAny(line[:len(line)-len(fields[4])], " /@") || placeholder(fields[4]) {
		return match{}
	}
	return match{p.at + len(line) - len(fields[4]), p.at + len(line), "password"}
}

// kubernetesSecret finds the values of a Secret: from the first one to the last.
func kubernetesSecret(p position) match {
	text := p.text[:min(len(p.text), p.at+16<<10)]
	i := strings.Index(text[p.at:], "\ndata:")
	if i < 0 || strings.Contains(text[p.at:p.at+i], "\n---") {
		return match{}
	}
	found := match{kind: "kubernetes-secret"}
	at := p.at + i + len("\ndata:")
	at += max(0, strings.IndexByte(text[at:], '\n')+1)
	for line := range strings.Lines(text[at:]) {
		trimmed := strings.TrimSpace(line)
		if trimmed != "" && line[0] != ' ' && line[0] != '\t' {
			break
		}
		if _, value, ok := strings.Cut(trimmed, ": "); ok && len(value) >= 8 && !placeholder(value) {
			if found.to == 0 {
				found.from = at + strings.Index(line, value)
			}
			found.to = at + strings.Index(line, value) + len(value)
		}
		at += len(line)
	}
	if found.to == 0 {
		return match{}
	}
	return found
}

// basicAuth reports whether a text is user:password in base64.
func basicAuth(text string) bool {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) < 4 {
		return false
	}
	for _, c := range data {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return strings.Contains(string(data), ":")
}
