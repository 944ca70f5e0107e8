package dotagent

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/lazyregexp"
	"pawl/internal/textedit/jsonedit"
)

// node is a JSON value with the file that it was read from. The value may be nil.
type node struct {
	file string
	*jsonedit.Value
}

func (p node) at(path ...string) node { return node{p.file, p.Get(path...)} }

// text returns a string, a number or a boolean as text; "" for anything else.
func (p node) text(path ...string) string {
	switch v := p.Get(path...); {
	case v.Is(jsonedit.String):
		return clean(v.Text())
	case v.Is(jsonedit.Number), v.Is(jsonedit.Bool):
		return string(v.Raw())
	}
	return ""
}

// first returns the text of the first of some keys that has any.
func (p node) first(keys ...string) string {
	for _, key := range keys {
		if text := p.text(key); text != "" {
			return text
		}
	}
	return ""
}

// number returns an integer, also a quoted one; 0 for anything else.
func (p node) number(path ...string) int {
	n, ok := p.Get(path...).Int()
	if !ok {
		n, _ = strconv.ParseInt(p.text(path...), 10, 32)
	}
	return int(max(min(n, 1<<30), 0))
}

// list returns the elements of an array, the values of an object, or a single value as a list.
func (p node) list(path ...string) []node {
	v := p.Get(path...)
	var all []node
	switch {
	case v.Is(jsonedit.Array):
		for _, item := range v.Items {
			all = append(all, node{p.file, item})
		}
	case v.Is(jsonedit.Object):
		for _, m := range v.Members {
			all = append(all, node{p.file, m.Value})
		}
	case v.Is(jsonedit.String):
		all = append(all, node{p.file, v})
	}
	return all
}

// texts returns the strings in a list.
func (p node) texts(path ...string) []string {
	var all []string
	for _, item := range p.list(path...) {
		if text := item.text(); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// where returns file and line.
func (p node) where() string {
	return report.Where(p.file, p.Line())
}

// clean returns a printable text: valid UTF-8 without control characters other than line breaks.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, text))
}

// oneLine returns a text without line breaks, cut to the maximum length of a line.
func oneLine(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(clean(text)), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// addTruncated records the finding for a truncated file.
func (r *workflowReader) addTruncated(f pawl.Finding) { r.truncated = append(r.truncated, f) }

// addBadTime records the finding for an impossible time.
func (r *workflowReader) addBadTime(f pawl.Finding) { r.badTimes = append(r.badTimes, f) }

// parse parses a file that must be an object or an array. Invalid JSON is a finding.
func (r *workflowReader) parse(f *format.File) (node, bool) {
	root, err := jsonedit.Read(f.Data)
	if err != nil {
		line := 1
		if wrong, ok := errors.AsType[*jsonedit.SyntaxError](err); ok {
			line = wrong.Line
		}
		r.addTruncated(r.Bad(report.Where(f.Path, line), "invalid JSON: %v", err))
		return node{file: f.Path}, false
	}
	p := node{f.Path, root}
	if !root.Is(jsonedit.Object) && !root.Is(jsonedit.Array) {
		r.Bad(p.where(), "neither an object nor a list")
		return node{file: f.Path}, false
	}
	r.checkDuplicateKeys(p)
	return p, true
}

// checkDuplicateKeys reports duplicate keys of an object: the last one counts.
func (r *workflowReader) checkDuplicateKeys(p node) {
	seen := map[string]bool{}
	for _, m := range p.Members {
		if seen[m.Key] {
			r.Warn(node{p.file, m.Value}.where(), "duplicate key %q; this one is used", oneLine(m.Key))
		}
		seen[m.Key] = true
	}
}

// texted finds a key with a text, wherever it stands.
var texted = lazyregexp.New(`"([a-z_]{1,40})"\s*:\s*"([^"\\\n]{0,200})"`)

// scan returns the strings after some keys in truncated JSON. The first occurrence of a key counts; later ones are in inner
// objects.
func scan(data []byte) map[string]string {
	found := map[string]string{}
	for _, m := range texted.FindAllSubmatch(data, -1) {
		if key := string(m[1]); found[key] == "" {
			found[key] = clean(string(m[2]))
		}
	}
	return found
}

// short shortens a text for a finding.
func short(text string) string { return strconv.Quote(oneLine(text)) }
