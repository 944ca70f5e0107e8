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

// node is a JSON value with the file that it was read from; the value may be nil.
type node struct {
	file string
	*jsonedit.Value
}

func (p node) at(path ...string) node { return node{p.file, p.Get(path...)} }

// text returns what a value says in words: a text, a number or a truth as it is written; "" for anything else.
func (p node) text(path ...string) string {
	switch v := p.Get(path...); {
	case v.Is(jsonedit.String):
		return clean(v.Text())
	case v.Is(jsonedit.Number), v.Is(jsonedit.Bool):
		return string(v.Raw())
	}
	return ""
}

// first returns the first of some keys that says something.
func (p node) first(keys ...string) string {
	for _, key := range keys {
		if text := p.text(key); text != "" {
			return text
		}
	}
	return ""
}

// number returns a whole number, also one in quotes; 0 for anything else.
func (p node) number(path ...string) int {
	n, ok := p.Get(path...).Int()
	if !ok {
		n, _ = strconv.ParseInt(p.text(path...), 10, 32)
	}
	return int(max(min(n, 1<<30), 0))
}

// list returns the elements of an array, or of an object as if it were one; a single value is a list of one.
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

// texts returns the texts of a list.
func (p node) texts(path ...string) []string {
	var all []string
	for _, item := range p.list(path...) {
		if text := item.text(); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// where names file and line.
func (p node) where() string {
	return report.Where(p.file, p.Line())
}

// clean returns a text as one can print it: valid, and without control characters other than line ends.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, text))
}

// oneLine returns a text without line breaks, and not longer than a line may be.
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

// parse reads a file whose whole is to be an object, or an array. What is no JSON is a finding.
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

// scan returns the texts that stand behind keys in what is no JSON, for it was cut off while it was written. Of a key that
// comes again the first counts: those of inner objects follow.
func scan(data []byte) map[string]string {
	found := map[string]string{}
	for _, m := range texted.FindAllSubmatch(data, -1) {
		if key := string(m[1]); found[key] == "" {
			found[key] = clean(string(m[2]))
		}
	}
	return found
}

// short returns a text as a finding quotes it.
func short(text string) string { return strconv.Quote(oneLine(text)) }
