package redact

import (
	"encoding/json"
	"strings"
)

// JSON returns JSON text without its secrets, which is JSON again: texts are looked at as they are meant, without their
// escapes, and a text under a key like "password" counts as assigned to it. What has no secrets stays byte for byte; what
// is no JSON is treated as text.
func (r *Redactor) JSON(data []byte) []byte {
	if !json.Valid(data) {
		return []byte(r.Text(string(data)))
	}
	text := string(data)
	var out strings.Builder
	done, key := 0, ""
	for at := strings.IndexByte(text, '"'); at >= 0; {
		end := at + stringSize(text[at:])
		if clean := r.literal(text[at:end], key); clean != text[at:end] {
			out.WriteString(text[done:at])
			out.WriteString(clean)
			done = end
		}
		next := strings.IndexByte(text[end:], '"')
		if next < 0 {
			break
		}
		if key = ""; strings.TrimSpace(text[end:end+next]) == ":" {
			key = unquoted(text[at:end])
		}
		at = end + next
	}
	out.WriteString(text[done:])
	return []byte(out.String())
}

// literal returns a JSON string, which is the value of a key or of none, without its secrets.
func (r *Redactor) literal(quoted, key string) string {
	text := unquoted(quoted)
	clean := r.Text(text)
	if kind := kindOf(key); clean == text && kind != "" {
		v := assigned{text: text, quoted: true}
		switch {
		case kind == "authorization":
			if f := v.credential(); f.to > 0 {
				clean = text[:f.from] + "[redacted:" + kind + "]" + text[f.to:]
			}
		case v.secret(kind, false, false):
			clean = "[redacted:" + kind + "]"
		}
	}
	if clean == text {
		return quoted
	}
	data, err := json.Marshal(clean)
	if err != nil {
		panic("a string is always JSON: " + err.Error())
	}
	return string(data)
}

// stringSize returns the size of the JSON string that text begins with.
func stringSize(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

func unquoted(quoted string) string {
	var text string
	if err := json.Unmarshal([]byte(quoted), &text); err != nil {
		return quoted // cannot be: the whole was valid
	}
	return text
}
