// Package shellwords writes the words of a command in one line as sh would read them, and reads them back, byte for byte.
package shellwords

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Join returns the words as quoted words of sh. Split returns them.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " ")
}

// Word returns a text as one word of sh, quoted if it has to be. The words of the commands that pawl prints for people to copy may come from
// files.
func Word(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:=@%+,"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return quote(text)
}

// quote quotes an argument as sh reads it. An argument that YAML cannot hold is written as $'\xHH…'.
func quote(arg string) string {
	if utf8.ValidString(arg) && !strings.ContainsFunc(arg, NotInYAML) {
		return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(arg) {
		fmt.Fprintf(&b, `\x%02x`, arg[i])
	}
	return b.String() + "'"
}

// NotInYAML reports whether a character may not stand in YAML as JSON writes it.
func NotInYAML(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0xfeff || r&0xfffe == 0xfffe
}

// Split returns the words of a script that Join wrote. ok is false for another script.
func Split(script string) (words []string, ok bool) {
	for {
		arg, rest, ok := cutWord(script)
		if !ok {
			return nil, false
		}
		words = append(words, arg)
		if rest == "" {
			return words, true
		}
		if script, ok = strings.CutPrefix(rest, " "); !ok {
			return nil, false
		}
	}
}

// cutWord reads the first quoted word of a script.
func cutWord(script string) (word, rest string, ok bool) {
	if bytes, found := strings.CutPrefix(script, "$'"); found {
		text, rest, closed := strings.Cut(bytes, "'")
		data, err := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
		return string(data), rest, closed && err == nil
	}
	for {
		quoted, found := strings.CutPrefix(script, "'")
		if !found {
			return "", "", false
		}
		text, after, closed := strings.Cut(quoted, "'")
		if !closed {
			return "", "", false
		}
		word += text
		if script, found = strings.CutPrefix(after, `\'`); !found {
			return word, after, true
		}
		word += "'"
	}
}
