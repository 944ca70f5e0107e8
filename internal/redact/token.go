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
	{kind: "slack", prefix: "hooks.slack.com/workflows/", body: pathByte, minBody: 30, inWord: true},
	{kind: "slack", prefix: "hooks.slack.com/triggers/", body: pathByte, minBody: 30, inWord: true},
	{kind: "discord", prefix: "discord.com/api/webhooks/", body: webhookByte, minBody: 60, inWord: true},
	{kind: "discord", prefix: "discordapp.com/api/webhooks/", body: webhookByte, minBody: 60, inWord: true},
	{kind: "groq", prefix: "gsk_", body: wordByte, minBody: 40, check: mixed},
	{kind: "xai", prefix: "xai-", body: tokenByte, minBody: 60, check: mixed},
	{kind: "replicate", prefix: "r8_", body: wordByte, minBody: 30, check: mixed},
	{kind: "langsmith", prefix: "lsv2_", body: wordByte, minBody: 32, check: mixed},
	{kind: "pinecone", prefix: "pcsk_", body: wordByte, minBody: 30, check: mixed},
	{kind: "docker", prefix: "dckr_pat_", body: tokenByte, minBody: 20, check: mixed},
	{kind: "docker", prefix: "dckr_oat_", body: tokenByte, minBody: 20, check: mixed},
	{kind: "vault", prefix: "hvs.", body: tokenByte, minBody: 24, check: mixed},
	{kind: "vault", prefix: "s.", body: wordByte, minBody: 24, exact: true, check: dense},
	{kind: "linear", prefix: "lin_oauth_", body: wordByte, minBody: 32, check: mixed},
	{kind: "doppler", prefix: "dp.", body: dottedByte, minBody: 42, check: mixed},
	{kind: "mailgun", prefix: "key-", body: hexDigit, minBody: 32, exact: true, check: mixed},
	{kind: "notion", prefix: "secret_", body: wordByte, minBody: 43, exact: true, check: mixed},
	{kind: "figma", prefix: "figd_", body: tokenByte, minBody: 30, check: mixed},
	{kind: "airtable", prefix: "pat", body: dottedByte, minBody: 79, exact: true, check: func(body string) bool { return body[14] == '.' }},
	{kind: "atlassian", prefix: "ATATT3", body: headerByte, minBody: 100, check: mixed},
	{kind: "bitbucket", prefix: "ATBB", body: wordByte, minBody: 32, exact: true, check: mixed},
	{kind: "newrelic", prefix: "NRAK-", body: upperDigit, minBody: 27, check: mixed},
	{kind: "tailscale", prefix: "tskey-", body: tokenByte, minBody: 20, check: mixed},
	{kind: "supabase", prefix: "sbp_", body: hexDigit, minBody: 40, check: mixed},
	{kind: "supabase", prefix: "sb_secret_", body: tokenByte, minBody: 20, check: mixed},
	{kind: "sourcegraph", prefix: "sgp_", body: wordByte, minBody: 40, check: mixed},
	{kind: "circleci", prefix: "CCIPAT_", body: wordByte, minBody: 40, check: mixed},
	{kind: "buildkite", prefix: "bkua_", body: hexDigit, minBody: 40, check: mixed},
	{kind: "sonar", prefix: "squ_", body: hexDigit, minBody: 40, check: mixed},
	{kind: "sonar", prefix: "sqp_", body: hexDigit, minBody: 40, check: mixed},
	{kind: "sonar", prefix: "sqa_", body: hexDigit, minBody: 40, check: mixed},
	{kind: "netlify", prefix: "nfp_", body: wordByte, minBody: 36, check: mixed},
	{kind: "twilio", prefix: "SK", body: hexDigit, minBody: 32, exact: true, check: mixed},
	{kind: "lob", prefix: "live_", body: hexDigit, minBody: 35, exact: true, check: mixed},
	{kind: "lob", prefix: "test_", body: hexDigit, minBody: 35, exact: true, check: mixed},
	{kind: "bearer", prefix: "Bearer ", body: headerByte, minBody: 20, check: mixed},
	{kind: "bearer", prefix: "bearer ", body: headerByte, minBody: 20, check: mixed},
}

func tokens() []rule {
	rules := []rule{{"eyJ", webToken}, {"Q~", azureSecret}, {"-us", mailchimpKey}, {":AA", telegramToken}, {"|", facebookToken}}
	for _, digit := range []string{"1/", "2/"} {
		rules = append(rules, rule{digit, asanaToken})
	}
	for _, start := range []string{"MT", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"} {
		rules = append(rules, rule{start, discordToken})
	}
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

// around returns the secret that has from before bytes in front of the position, and that many after it.
func (p position) around(kind string, before, mark, after int, in func(byte) bool) match {
	from, to := p.at-before, p.at+mark+after
	if from < p.done || to > len(p.text) || scanWhile(p.text, from, before, in) != p.at || scanWhile(p.text, p.at+mark, after, in) != to {
		return match{}
	}
	if from > p.done && in(p.text[from-1]) {
		return match{}
	}
	return match{from, scanWhile(p.text, to, len(p.text), in), kind}
}

// azureSecret finds a client secret of Azure: three bytes, a digit, Q~, and at least 31 bytes.
func azureSecret(p position) match {
	if p.at == 0 || !digit(p.text[p.at-1]) {
		return match{}
	}
	return p.around("azure", 4, 2, 31, func(c byte) bool { return dottedByte(c) || c == '~' })
}

// mailchimpKey finds 32 hexadecimal digits before -us14.
func mailchimpKey(p position) match {
	end := scanWhile(p.text, p.at+3, 2, digit)
	f := p.around("mailchimp", 32, 3, 1, hexDigit)
	if f.to == 0 || end == p.at+3 {
		return match{}
	}
	return match{f.from, end, f.kind}
}

// telegramToken finds the id of a bot, a colon and 35 bytes.
func telegramToken(p position) match {
	from := p.at
	for from > p.done && p.at-from < 16 && digit(p.text[from-1]) {
		from--
	}
	end := scanWhile(p.text, p.at+1, 64, tokenByte)
	if p.at-from < 5 || end-p.at-1 != 35 {
		return match{}
	}
	return match{from, end, "telegram"}
}

// facebookToken finds the id of an app, a bar and at least 27 bytes.
func facebookToken(p position) match {
	from := p.at
	for from > p.done && p.at-from < 17 && digit(p.text[from-1]) {
		from--
	}
	end := scanWhile(p.text, p.at+1, 64, tokenByte)
	if size := end - p.at - 1; p.at-from < 15 || p.at-from > 16 || size < 27 || size > 40 || !mixed(p.text[p.at+1:end]) {
		return match{}
	}
	return match{from, end, "facebook"}
}

// asanaToken finds 1/ or 2/, the number of a user, a colon and 32 hexadecimal digits.
func asanaToken(p position) match {
	if !p.wordStart() {
		return match{}
	}
	colon := scanWhile(p.text, p.at+2, 64, func(c byte) bool { return digit(c) || c == '/' })
	end := scanWhile(p.text, min(len(p.text), colon+1), 64, hexDigit)
	if colon-p.at < 12 || colon == len(p.text) || p.text[colon] != ':' || end-colon-1 != 32 {
		return match{}
	}
	return match{p.at, end, "asana"}
}

// discordToken finds the id of a bot in base64, a time and a signature.
func discordToken(p position) match {
	if !p.wordStart() {
		return match{}
	}
	id := scanWhile(p.text, p.at, 64, tokenByte)
	stamp := scanWhile(p.text, min(len(p.text), id+1), 64, tokenByte)
	end := scanWhile(p.text, min(len(p.text), stamp+1), 64, tokenByte)
	dots := stamp < len(p.text) && p.text[id] == '.' && p.text[stamp] == '.'
	if !dots || id-p.at < 23 || id-p.at > 28 || stamp-id-1 < 6 || stamp-id-1 > 7 || end-stamp-1 < 27 {
		return match{}
	}
	return match{p.at, end, "discord"}
}

func webhookByte(c byte) bool { return tokenByte(c) || c == '/' }
func upperDigit(c byte) bool  { return 'A' <= c && c <= 'Z' || digit(c) }
func tokenByte(c byte) bool   { return wordByte(c) || c == '-' }
func dottedByte(c byte) bool  { return tokenByte(c) || c == '.' }
func pathByte(c byte) bool    { return wordByte(c) || c == '/' }
func headerByte(c byte) bool  { return dottedByte(c) || strings.IndexByte("~+/=", c) >= 0 }

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
