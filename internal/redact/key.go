package redact

import "strings"

// maxKeySize is the maximum distance between the first and the last line of a private key.
const maxKeySize = 32 << 10

// privateKey finds a private key with its first and last line, or without the last one if the text is truncated.
func privateKey(p position) match {
	const dashes = "-----"
	head := p.text[p.at:min(len(p.text), p.at+80)]
	size := strings.Index(head[len(dashes):], dashes)
	if size < 0 || !strings.Contains(head[:size+len(dashes)], "PRIVATE KEY") {
		return match{}
	}
	body := p.at + size + 2*len(dashes)
	rest := p.text[body:min(len(p.text), body+maxKeySize)]
	if end := strings.Index(rest, dashes); end >= 0 && strings.HasPrefix(rest[end:], dashes+"END ") {
		last := rest[end+len(dashes) : min(len(rest), end+80)]
		if size := strings.Index(last, dashes); size >= 0 {
			return match{p.at, body + end + size + 2*len(dashes), "private-key"}
		}
	}
	return match{p.at, keyLines(p.text, body), "private-key"}
}

// keyLines returns the end of the lines from at on that may be part of a key, which have at least 16 bytes each.
func keyLines(text string, at int) int {
	end := at
	for {
		line := at
		for line < len(text) && strings.IndexByte("\r\n\t \\rn\"+,'", text[line]) >= 0 && line-at < 16 {
			line++
		}
		if at = scanWhile(text, line, len(text), keyByte); at-line < 16 {
			return end
		}
		end = at
	}
}

func keyByte(c byte) bool { return letter(c) || digit(c) || strings.IndexByte("+/=", c) >= 0 }

// urlPassword finds the password in scheme://user:password@host. The position is that of "://".
func urlPassword(p position) match {
	if p.at == p.done || !wordByte(p.text[p.at-1]) {
		return match{}
	}
	user := p.at + len("://")
	end := scanWhile(p.text, user, maxScan, userByte)
	if at := strings.LastIndexByte(p.text[user:end], '@'); at >= 0 {
		end = user + at
	} else {
		return match{}
	}
	colon := strings.IndexByte(p.text[user:end], ':')
	name := p.text[user:end]
	if colon >= 0 {
		name = name[:colon]
	}
	if len(name) >= 20 && mixed(name) && !placeholder(name) {
		return match{user, end, "token"} // https://TOKEN@host
	}
	if colon < 0 || placeholder(p.text[user+colon+1:end]) {
		return match{}
	}
	return match{user + colon + 1, end, "password"}
}

func userByte(c byte) bool { return c > ' ' && c != 0x7f && strings.IndexByte("/?#\"'`<>\\|", c) < 0 }
