package redact

import "strings"

// token is the form of a service's tokens: prefix and body.
type token struct {
	kind, prefix string
	body         func(byte) bool
	minBody      int               // minimum number of bytes of body
	exact        bool              // body has exactly minBody bytes
	check        func(string) bool // checks the first bytes of body; may be nil
	inWord       bool              // may occur within a word
}

// shapes are the known tokens. A prefix that is part of another one comes later.
var shapes = []token{
	{kind: "aws", prefix: "AKIA", body: upperDigit, minBody: 16, exact: true},
	{kind: "aws", prefix: "ASIA", body: upperDigit, minBody: 16, exact: true},
	{kind: "aws", prefix: "ABIA", body: upperDigit, minBody: 16, exact: true},
	{kind: "aws", prefix: "ACCA", body: upperDigit, minBody: 16, exact: true},
	{kind: "github", prefix: "ghp_", body: wordByte, minBody: 36, inWord: true},
	{kind: "github", prefix: "gho_", body: wordByte, minBody: 36, inWord: true},
	{kind: "github", prefix: "ghu_", body: wordByte, minBody: 36, inWord: true},
	{kind: "github", prefix: "ghs_", body: wordByte, minBody: 36, inWord: true},
	{kind: "github", prefix: "ghr_", body: wordByte, minBody: 36, inWord: true},
	{kind: "github", prefix: "github_pat_", body: wordByte, minBody: 60, inWord: true},
	{kind: "gitlab", prefix: "glpat-", body: tokenByte, minBody: 20, inWord: true},
	{kind: "anthropic", prefix: "sk-ant-", body: tokenByte, minBody: 20},
	{kind: "openrouter", prefix: "sk-or-v1-", body: tokenByte, minBody: 32},
	{kind: "openai", prefix: "sk-proj-", body: tokenByte, minBody: 32},
	{kind: "openai", prefix: "sk-svcacct-", body: tokenByte, minBody: 32},
	{kind: "openai", prefix: "sk-admin-", body: tokenByte, minBody: 32},
	{kind: "openai", prefix: "sk-", body: tokenByte, minBody: 20, check: dense},
	{kind: "stripe", prefix: "sk_live_", body: wordByte, minBody: 16},
	{kind: "stripe", prefix: "sk_test_", body: wordByte, minBody: 16},
	{kind: "stripe", prefix: "rk_live_", body: wordByte, minBody: 16},
	{kind: "stripe", prefix: "rk_test_", body: wordByte, minBody: 16},
	{kind: "stripe", prefix: "whsec_", body: wordByte, minBody: 24},
	{kind: "slack", prefix: "xoxa-", body: tokenByte, minBody: 10, check: mixed},
	{kind: "slack", prefix: "xoxb-", body: tokenByte, minBody: 10, check: mixed},
	{kind: "slack", prefix: "xoxe-", body: tokenByte, minBody: 10, check: mixed},
	{kind: "slack", prefix: "xoxe.xox", body: dottedByte, minBody: 10, check: mixed},
	{kind: "slack", prefix: "xoxp-", body: tokenByte, minBody: 10, check: mixed},
	{kind: "slack", prefix: "xoxr-", body: tokenByte, minBody: 10, check: mixed},
	{kind: "slack", prefix: "xoxs-", body: tokenByte, minBody: 10, check: mixed},
	{kind: "slack", prefix: "xapp-", body: tokenByte, minBody: 20, check: mixed},
	{kind: "slack", prefix: "hooks.slack.com/services/T", body: pathByte, minBody: 30, inWord: true},
	{kind: "google", prefix: "AIza", body: tokenByte, minBody: 35},
	{kind: "google", prefix: "GOCSPX-", body: tokenByte, minBody: 20},
	{kind: "google", prefix: "ya29.", body: dottedByte, minBody: 20, check: mixed},
	{kind: "google", prefix: "1//0", body: tokenByte, minBody: 30, check: mixed},
	{kind: "npm", prefix: "npm_", body: wordByte, minBody: 36},
	{kind: "pypi", prefix: "pypi-AgE", body: tokenByte, minBody: 50},
	{kind: "huggingface", prefix: "hf_", body: wordByte, minBody: 30},
	{kind: "digitalocean", prefix: "dop_v1_", body: wordByte, minBody: 64},
	{kind: "sendgrid", prefix: "SG.", body: dottedByte, minBody: 60, check: func(body string) bool { return body[22] == '.' }},
	{kind: "bearer", prefix: "Bearer ", body: headerByte, minBody: 20, check: mixed},
	{kind: "bearer", prefix: "bearer ", body: headerByte, minBody: 20, check: mixed},
}

func tokens() []rule {
	rules := []rule{{"eyJ", webToken}}
	for _, t := range shapes {
		rules = append(rules, rule{t.prefix, t.find})
	}
	return rules
}

// maxScan is the number of bytes examined to decide whether something is secret. Longer secrets are still redacted as a
// whole; the limit keeps the time linear.
const maxScan = 256

func (t token) find(p position) match {
	if !t.inWord && !p.wordStart() {
		return match{}
	}
	from := p.at + len(t.prefix)
	end := scanWhile(p.text, from, maxScan, t.body)
	if end-from < t.minBody || t.exact && end-from > t.minBody || t.check != nil && !t.check(p.text[from:end]) {
		return match{}
	}
	return match{p.at, scanWhile(p.text, end, len(p.text), t.body), t.kind}
}

// webToken finds a JSON Web Token: header and payload are JSON objects in base64.
func webToken(p position) match {
	if !p.wordStart() {
		return match{}
	}
	head := scanWhile(p.text, p.at, 2048, tokenByte)
	if head-p.at < 12 || !strings.HasPrefix(p.text[head:], ".eyJ") {
		return match{}
	}
	end := scanWhile(p.text, head+1, len(p.text), tokenByte)
	if end < len(p.text) && p.text[end] == '.' {
		end = scanWhile(p.text, end+1, len(p.text), tokenByte)
	}
	return match{p.at, end, "jwt"}
}

func upperDigit(c byte) bool { return 'A' <= c && c <= 'Z' || digit(c) }
func tokenByte(c byte) bool  { return wordByte(c) || c == '-' }
func dottedByte(c byte) bool { return tokenByte(c) || c == '.' }
func pathByte(c byte) bool   { return wordByte(c) || c == '/' }
func headerByte(c byte) bool { return dottedByte(c) || strings.IndexByte("~+/=", c) >= 0 }

// mixed reports whether a text contains both letters and digits.
func mixed(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.ContainsFunc(text, func(r rune) bool { return r < 0x80 && letter(byte(r)) })
}

// dense reports whether a text contains at least twenty consecutive letters and digits, mixed. That excludes words with
// dashes.
func dense(text string) bool {
	for len(text) >= 20 {
		end := scanWhile(text, 0, len(text), func(c byte) bool { return letter(c) || digit(c) })
		if end >= 20 && mixed(text[:end]) {
			return true
		}
		text = text[min(end+1, len(text)):]
	}
	return false
}
