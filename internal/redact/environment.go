package redact

import (
	"cmp"
	"slices"
	"strings"
)

// values returns the rules for the values of secret variables, and for more secrets by name, longest first, since one value may
// be part of another.
func values(environ []string, more map[string]string) []rule {
	type variable struct{ name, value string }
	var secrets []variable
	for name, value := range more {
		if distinctive(value) {
			secrets = append(secrets, variable{name, value})
		}
	}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if secretVariable(name) && distinctive(value) {
			secrets = append(secrets, variable{name, value})
		}
	}
	slices.SortFunc(secrets, func(a, b variable) int {
		return cmp.Or(len(b.value)-len(a.value), strings.Compare(a.name, b.name))
	})
	rules := make([]rule, len(secrets))
	for i, s := range secrets {
		rules[i] = rule{prefix: s.value, find: value(s.name, s.value)}
	}
	return rules
}

// value returns a function that finds a value. A short one must be a whole word.
func value(name, text string) func(position) match {
	return func(p position) match {
		end := p.at + len(text)
		if len(text) < 16 && (!p.wordStart() || end < len(p.text) && wordByte(p.text[end])) {
			return match{}
		}
		return match{p.at, end, name}
	}
}

// publicSuffixes are last words of names whose values are not secrets.
var publicSuffixes = []string{"file", "path", "dir", "sock", "socket", "id", "name", "user", "host", "port", "type", "ttl", "url", "limit", "count"}

// secretVariable reports whether a variable's name indicates a secret.
func secretVariable(name string) bool {
	words := wordsOf(name)
	if strings.HasPrefix(name, "OTEL_EXPORTER_") && strings.HasSuffix(name, "_HEADERS") {
		return true
	}
	if len(words) == 0 || slices.Contains(publicSuffixes, words[len(words)-1]) || name == "PWD" || name == "OLDPWD" || name == "PAWL_TOKEN" {
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

// StoreVariable is the variable with the DSN of the database for runs.
const StoreVariable = "PAWL_POSTGRES"

// SecretVariable reports whether a variable may hold a secret, by its name (a password, token or key; a DSN) or by its value (a
// URL with a password, or anything that pawl redacts). Variables of pawl itself hold none.
func SecretVariable(name, value string) bool {
	if name == StoreVariable {
		return value != ""
	}
	if value == "" || strings.HasPrefix(name, "PAWL_") {
		return false
	}
	return secretVariable(name) || slices.Contains(wordsOf(name), "dsn") || hasURLPassword(value) || patterns().Text(value) != value
}

// hasURLPassword reports whether a text contains scheme://user:password@host with any password, also one that looks like a
// placeholder.
func hasURLPassword(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "://")
		if !found {
			return false
		}
		end := scanWhile(rest, 0, maxScan, userByte)
		if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
			if _, password, _ := strings.Cut(rest[:at], ":"); password != "" {
				return true
			}
		}
		text = rest
	}
}

// distinctive reports whether a value can be searched for in any text: it is not short, a common word, a path or a
// small number.
func distinctive(value string) bool {
	if len(value) < 6 || strings.HasPrefix(value, "/") || strings.TrimSpace(value) != value || placeholder(value) {
		return false
	}
	return len(value) >= 8 || strings.Trim(value, "0123456789") != ""
}
