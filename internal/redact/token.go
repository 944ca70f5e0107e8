package redact

import "strings"

// token is the shape of a service's tokens: how they begin, and what follows.
type token struct {
	kind, first string
	body        func(byte) bool
	least       int               // bytes of body
	exact       bool              // no more than least
	check       func(string) bool // of the body's first bytes; nil: none is needed
	inWord      bool              // so special that it may stand within a word
}

// shapes are the tokens that are known. Where one beginning is part of another, the longer one comes first.
var shapes = []token{
	{kind: "aws", first: "AKIA", body: upperDigit, least: 16, exact: true},
	{kind: "aws", first: "ASIA", body: upperDigit, least: 16, exact: true},
	{kind: "aws", first: "ABIA", body: upperDigit, least: 16, exact: true},
	{kind: "aws", first: "ACCA", body: upperDigit, least: 16, exact: true},
	{kind: "github", first: "ghp_", body: wordByte, least: 36, inWord: true},
	{kind: "github", first: "gho_", body: wordByte, least: 36, inWord: true},
	{kind: "github", first: "ghu_", body: wordByte, least: 36, inWord: true},
	{kind: "github", first: "ghs_", body: wordByte, least: 36, inWord: true},
	{kind: "github", first: "ghr_", body: wordByte, least: 36, inWord: true},
	{kind: "github", first: "github_pat_", body: wordByte, least: 60, inWord: true},
	{kind: "gitlab", first: "glpat-", body: tokenByte, least: 20, inWord: true},
	{kind: "anthropic", first: "sk-ant-", body: tokenByte, least: 20},
	{kind: "openrouter", first: "sk-or-v1-", body: tokenByte, least: 32},
	{kind: "openai", first: "sk-proj-", body: tokenByte, least: 32},
	{kind: "openai", first: "sk-svcacct-", body: tokenByte, least: 32},
	{kind: "openai", first: "sk-admin-", body: tokenByte, least: 32},
	{kind: "openai", first: "sk-", body: tokenByte, least: 20, check: dense},
	{kind: "stripe", first: "sk_live_", body: wordByte, least: 16},
	{kind: "stripe", first: "sk_test_", body: wordByte, least: 16},
	{kind: "stripe", first: "rk_live_", body: wordByte, least: 16},
	{kind: "stripe", first: "rk_test_", body: wordByte, least: 16},
	{kind: "stripe", first: "whsec_", body: wordByte, least: 24},
	{kind: "slack", first: "xoxa-", body: tokenByte, least: 10, check: mixed},
	{kind: "slack", first: "xoxb-", body: tokenByte, least: 10, check: mixed},
	{kind: "slack", first: "xoxe-", body: tokenByte, least: 10, check: mixed},
	{kind: "slack", first: "xoxe.xox", body: dottedByte, least: 10, check: mixed},
	{kind: "slack", first: "xoxp-", body: tokenByte, least: 10, check: mixed},
	{kind: "slack", first: "xoxr-", body: tokenByte, least: 10, check: mixed},
	{kind: "slack", first: "xoxs-", body: tokenByte, least: 10, check: mixed},
	{kind: "slack", first: "xapp-", body: tokenByte, least: 20, check: mixed},
	{kind: "slack", first: "hooks.slack.com/services/T", body: pathByte, least: 30, inWord: true},
	{kind: "google", first: "AIza", body: tokenByte, least: 35},
	{kind: "google", first: "GOCSPX-", body: tokenByte, least: 20},
	{kind: "google", first: "ya29.", body: dottedByte, least: 20, check: mixed},
	{kind: "google", first: "1//0", body: tokenByte, least: 30, check: mixed},
	{kind: "npm", first: "npm_", body: wordByte, least: 36},
	{kind: "pypi", first: "pypi-AgE", body: tokenByte, least: 50},
	{kind: "huggingface", first: "hf_", body: wordByte, least: 30},
	{kind: "digitalocean", first: "dop_v1_", body: wordByte, least: 64},
	{kind: "sendgrid", first: "SG.", body: dottedByte, least: 60, check: func(body string) bool { return body[22] == '.' }},
	{kind: "bearer", first: "Bearer ", body: headerByte, least: 20, check: mixed},
	{kind: "bearer", first: "bearer ", body: headerByte, least: 20, check: mixed},
}

func tokens() []rule {
	rules := []rule{{"eyJ", webToken}}
	for _, t := range shapes {
		rules = append(rules, rule{t.first, t.find})
	}
	return rules
}

// decide is how many bytes are looked at to decide whether something is secret. What is longer is taken out whole all the
// same; the limit keeps the time in proportion to the text.
const decide = 256

func (t token) find(p place) found {
	if !t.inWord && !p.fresh() {
		return found{}
	}
	from := p.at + len(t.first)
	end := run(p.text, from, decide, t.body)
	if end-from < t.least || t.exact && end-from > t.least || t.check != nil && !t.check(p.text[from:end]) {
		return found{}
	}
	return found{p.at, run(p.text, end, len(p.text), t.body), t.kind}
}

// webToken finds a JSON Web Token: header and payload are objects, written in base64.
func webToken(p place) found {
	if !p.fresh() {
		return found{}
	}
	head := run(p.text, p.at, 2048, tokenByte)
	if head-p.at < 12 || !strings.HasPrefix(p.text[head:], ".eyJ") {
		return found{}
	}
	end := run(p.text, head+1, len(p.text), tokenByte)
	if end < len(p.text) && p.text[end] == '.' {
		end = run(p.text, end+1, len(p.text), tokenByte)
	}
	return found{p.at, end, "jwt"}
}

func upperDigit(c byte) bool { return 'A' <= c && c <= 'Z' || digit(c) }
func tokenByte(c byte) bool  { return wordByte(c) || c == '-' }
func dottedByte(c byte) bool { return tokenByte(c) || c == '.' }
func pathByte(c byte) bool   { return wordByte(c) || c == '/' }
func headerByte(c byte) bool { return dottedByte(c) || strings.IndexByte("~+/=", c) >= 0 }

// mixed reports whether a text has both letters and digits.
func mixed(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.ContainsFunc(text, func(r rune) bool { return r < 0x80 && letter(byte(r)) })
}

// dense reports whether a text has a stretch of twenty letters and digits, mixed: no words with dashes.
func dense(text string) bool {
	for len(text) >= 20 {
		end := run(text, 0, len(text), func(c byte) bool { return letter(c) || digit(c) })
		if end >= 20 && mixed(text[:end]) {
			return true
		}
		text = text[min(end+1, len(text)):]
	}
	return false
}
