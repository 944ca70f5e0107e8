package headless

import (
	"encoding/json"
	"strings"
)

// message is a JSON value of which we know little. Whatever is missing or of another type is empty.
type message struct{ value any }

// parse returns the JSON object that a line is, and whether it is one.
func parse(line []byte) (message, bool) {
	var v map[string]any
	if err := json.Unmarshal(line, &v); err != nil || v == nil {
		return message{}, false
	}
	return message{v}, true
}

// at returns what stands below keys.
func (m message) at(keys ...string) message {
	for _, key := range keys {
		object, _ := m.value.(map[string]any)
		m = message{object[key]}
	}
	return m
}

// text returns the text below keys.
func (m message) text(keys ...string) string {
	text, _ := m.at(keys...).value.(string)
	return text
}

// number returns the number below keys.
func (m message) number(keys ...string) float64 {
	n, _ := m.at(keys...).value.(float64)
	return n
}

// count returns the sum of the whole numbers below several keys. What no count can be counts nothing.
func (m message) count(keys ...string) int64 {
	var sum int64
	for _, key := range keys {
		if n := m.number(key); n > 0 && n < 1<<53 {
			sum += int64(n)
		}
	}
	return sum
}

// is reports whether what stands below keys is true.
func (m message) is(keys ...string) bool {
	yes, _ := m.at(keys...).value.(bool)
	return yes
}

// list returns the elements of the list below keys.
func (m message) list(keys ...string) []message {
	values, _ := m.at(keys...).value.([]any)
	list := make([]message, len(values))
	for i, v := range values {
		list[i] = message{v}
	}
	return list
}

// telling are the keys of a tool's input that say best what it is about.
var telling = []string{
	"command", "cmd", "file_path", "filePath", "path", "notebook_path", "pattern", "query", "url", "skill", "description", "prompt",
}

// about says in one line what a tool's input is about.
func (m message) about() string {
	for _, key := range telling {
		if text := m.text(key); text != "" {
			return line(text, maxAbout)
		}
	}
	object, _ := m.value.(map[string]any)
	if len(object) == 0 {
		return ""
	}
	data, _ := json.Marshal(object) // it came from JSON
	return line(string(data), maxAbout)
}

// maxAbout is how many bytes of a tool's input are told.
const maxAbout = 200

// line returns a text as one line of at most so many bytes.
func line(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
