package redact

import (
	"cmp"
	"slices"
	"strings"
)

// values returns the rules for the values of secret variables, the longest first: one may be part of another.
func values(environ []string) []rule {
	type variable struct{ name, value string }
	var secrets []variable
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if secretVariable(name) && telling(value) {
			secrets = append(secrets, variable{name, value})
		}
	}
	slices.SortFunc(secrets, func(a, b variable) int {
		return cmp.Or(len(b.value)-len(a.value), strings.Compare(a.name, b.name))
	})
	rules := make([]rule, len(secrets))
	for i, s := range secrets {
		rules[i] = rule{first: s.value, find: value(s.name, s.value)}
	}
	return rules
}

// value finds a value. One that could be a part of a word must be a whole one.
func value(name, text string) func(place) found {
	return func(p place) found {
		end := p.at + len(text)
		if len(text) < 16 && (!p.fresh() || end < len(p.text) && wordByte(p.text[end])) {
			return found{}
		}
		return found{p.at, end, name}
	}
}

// harmless are last words of names whose values are no secrets, whatever stands before.
var harmless = []string{"file", "path", "dir", "sock", "socket", "id", "name", "user", "host", "port", "type", "ttl", "url", "limit", "count"}

// secretVariable reports whether a variable's name says that its value is secret.
func secretVariable(name string) bool {
	words := wordsOf(name)
	if len(words) == 0 || slices.Contains(harmless, words[len(words)-1]) || name == "PWD" || name == "OLDPWD" {
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool {
		switch word {
		case "password", "passwd", "passphrase", "pass", "pwd", "secret", "secrets", "token", "key", "apikey", "credential", "credentials", "auth", "pgpassword":
			return true
		}
		return false
	})
}

// telling reports whether a value is so special that it can be looked for in any text: no short one, no everyday word,
// no path, no small number.
func telling(value string) bool {
	if len(value) < 6 || strings.HasPrefix(value, "/") || strings.TrimSpace(value) != value || standIn(value) {
		return false
	}
	return len(value) >= 8 || strings.Trim(value, "0123456789") != ""
}
