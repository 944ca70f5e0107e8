package headless

import (
	"encoding/json"
	"strings"
)

// message is a JSON value of unknown structure. Missing values and values of another type read as empty.
type message struct{ value any }

// parse parses a line as a JSON object, and reports whether it is one.
func parse(line []byte) (message, bool) {
	var v map[string]any
	if err := json.Unmarshal(line, &v); err != nil || v == nil {
		return message{}, false
	}
	return message{v}, true
}

// at returns the value at a path of keys.
func (m message) at(keys ...string) message {
	for _, key := range keys {
		object, _ := m.value.(map[string]any)
		m = message{object[key]}
	}
	return m
}

// text returns the string at a path of keys.
func (m message) text(keys ...string) string {
	text, _ := m.at(keys...).value.(string)
	return text
}

// number returns the number at a path of keys.
func (m message) number(keys ...string) float64 {
	n, _ := m.at(keys...).value.(float64)
	return n
}

// count returns the sum of the counts at several keys. Invalid counts are ignored.
func (m message) count(keys ...string) int64 {
	var sum int64
	for _, key := range keys {
		if n := m.number(key); n > 0 && n < 1<<53 {
			sum += int64(n)
		}
	}
	return sum
}

// is reports whether the value at a path of keys is true.
func (m message) is(keys ...string) bool {
	yes, _ := m.at(keys...).value.(bool)
	return yes
}

// list returns the elements of the list at a path of keys.
func (m message) list(keys ...string) []message {
	values, _ := m.at(keys...).value.([]any)
	list := make([]message, len(values))
	for i, v := range values {
		list[i] = message{v}
	}
	return list
}

// summaryKeys are the keys of a tool's input that describe it best.
var summaryKeys = []string{
	"command", "cmd", "file_path", "filePath", "path", "notebook_path", "pattern", "query", "url", "skill", "description", "prompt",
}

// about summarizes a tool's input on one line.
func (m message) about() string {
	for _, key := range summaryKeys {
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

// maxAbout is the maximum size of a summary of a tool's input in bytes.
const maxAbout = 200

// line returns a text as one line of at most a number of bytes.
func line(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
