package redact

import (
	"encoding/json"
	"strings"
)

// JSON redacts JSON text; the result is valid JSON. It redacts strings without their escapes, and treats a string under
// a key such as "password" as assigned to that key. Text without secrets stays the same byte for byte. Invalid JSON is
// redacted as text.
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

// literal redacts a JSON string, which is the value of key, if that is not empty.
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
		case ownToken(key, text):
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

// stringSize returns the size of the JSON string at the start of text.
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
		return quoted // impossible: the whole text is valid
	}
	return text
}
