package redact

import "strings"

// farthest is how far behind its first line the last line of a private key is looked for.
const farthest = 32 << 10

// privateKey finds a private key with its first and last lines, also where the last one was cut off.
func privateKey(p place) found {
	const dashes = "-----"
	head := p.text[p.at:min(len(p.text), p.at+80)]
	size := strings.Index(head[len(dashes):], dashes)
	if size < 0 || !strings.Contains(head[:size+len(dashes)], "PRIVATE KEY") {
		return found{}
	}
	body := p.at + size + 2*len(dashes)
	rest := p.text[body:min(len(p.text), body+farthest)]
	if end := strings.Index(rest, dashes); end >= 0 && strings.HasPrefix(rest[end:], dashes+"END ") {
		last := rest[end+len(dashes) : min(len(rest), end+80)]
		if size := strings.Index(last, dashes); size >= 0 {
			return found{p.at, body + end + size + 2*len(dashes), "private-key"}
		}
	}
	return found{p.at, keyLines(p.text, body), "private-key"}
}

// keyLines returns the end of what may be a key's lines, of at least 16 bytes each, from at on.
func keyLines(text string, at int) int {
	end := at
	for {
		line := at
		for line < len(text) && strings.IndexByte("\r\n\t \\rn\"+,'", text[line]) >= 0 && line-at < 16 {
			line++
		}
		if at = run(text, line, len(text), keyByte); at-line < 16 {
			return end
		}
		end = at
	}
}

func keyByte(c byte) bool { return letter(c) || digit(c) || strings.IndexByte("+/=", c) >= 0 }

// urlPassword finds the password in scheme://user:password@host. The place is behind the scheme.
func urlPassword(p place) found {
	if p.at == p.done || !wordByte(p.text[p.at-1]) {
		return found{}
	}
	user := p.at + len("://")
	end := run(p.text, user, decide, userByte)
	if at := strings.LastIndexByte(p.text[user:end], '@'); at >= 0 {
		end = user + at
	} else {
		return found{}
	}
	colon := strings.IndexByte(p.text[user:end], ':')
	if colon < 0 || standIn(p.text[user+colon+1:end]) {
		return found{}
	}
	return found{user + colon + 1, end, "password"}
}

func userByte(c byte) bool { return c > ' ' && c != 0x7f && strings.IndexByte("/?#\"'`<>\\|", c) < 0 }
