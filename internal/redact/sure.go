package redact

import (
	"slices"
	"strings"
	"sync"
)

// Sure returns the kind of the first secret in a text that is certainly one, "" for none. It is for texts that cannot be
// redacted and must be refused instead. So it finds only tokens of well-known services and private keys. It ignores names,
// passwords, tokens that are often public or for tests, and what documentation shows in place of tokens.
func Sure(text string) string {
	for _, f := range append(sureRules().known(text), serviceTokens(text)...) {
		if sureKind(f.kind) && !sample(text[f.from:f.to]) {
			return f.kind
		}
	}
	return ""
}

// sureRules are the forms that Sure knows besides those of gitleaks.
var sureRules = sync.OnceValue(func() *Redactor {
	return newRedactor(newTable(append(tokens(), rule{"-----BEGIN ", privateKey})))
})

// sureKind reports whether secrets of this kind are recognized by their own form, and are never public.
func sureKind(kind string) bool {
	switch kind {
	case "bearer", "jwt", "google", "gcp-api-key", "jwt-base64", "lob", "facebook", "authress-service-client-access-key":
		return false
	}
	i := slices.IndexFunc(gitleaksRules[:], func(g gitleaksRule) bool { return g.kind == kind })
	return i < 0 || !gitleaksRules[i].assigned()
}

// sample reports whether a token is made up: an example, or a key for tests.
func sample(token string) bool {
	lower := strings.ToLower(token)
	for _, part := range []string{"example", "sample", "dummy", "fake", "test", "redacted", "placeholder", "your", "xxxx", "0000", "1234567", "abcdefg", "..."} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	if strings.HasPrefix(token, "-----BEGIN ") {
		return len(token) < 120 // the first line alone is a text about keys
	}
	return entropy(token) < 3 || !mixed(token)
}
