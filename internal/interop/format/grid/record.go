package grid

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// yamlRecord gives typed access to the YAML of a file. It knows which values were used; the others become facts.
// sitebuilder's jsonRecord and dotagent's node do this for JSON. They share no code, because each system has its own rules for
// what is empty, a number or a list.
type yamlRecord struct {
	r    *clusterReader
	file string
	root *yamledit.Value
	used map[*yamledit.Value]bool
}

// front parses the front matter of a file or, with bare, the whole file as YAML. ok is false if it has neither.
func (r *clusterReader) front(f *format.File, bare bool) (c yamlRecord, body textedit.Part, ok bool) {
	part, body, closed, found := markdown.Front(f.Data)
	switch {
	case found && !closed:
		r.Find(pawl.Warn, report.Where(f.Path, part.Line), "add a line with three dashes after it", "the front matter is not closed")
	case !found && !bare:
		return yamlRecord{}, textedit.Whole(f.Data), false
	case !found:
		part, body = textedit.Whole(f.Data), textedit.Part{From: len(f.Data), To: len(f.Data)}
	}
	c = yamlRecord{r: r, file: f.Path, used: map[*yamledit.Value]bool{}}
	y, err := yamledit.Read(f.Data, part)
	if syntax, bad := errors.AsType[*yamledit.SyntaxError](err); bad {
		c.root = yamledit.Scan(f.Data, part)
		r.Find(pawl.Warn, report.Where(f.Path, syntax.Line), "put the value in quotes", "invalid YAML (%s); it was read line by line", syntax.Why)
	} else {
		c.root = y.Root
	}
	for key, line := range c.root.Twice() {
		r.Find(pawl.Warn, report.Where(f.Path, line), "remove the others", "duplicate key %q; the last one is used", key)
	}
	return c, body, len(c.root.Pairs) > 0 || found
}

// at returns the value at a path of keys.
func (c yamlRecord) at(path ...string) *yamledit.Value { return c.root.Get(path...) }

// text returns a scalar; empty if there is none.
func (c yamlRecord) text(path ...string) string {
	v := c.at(path...)
	if text := v.Says(); text != "" && !strings.EqualFold(text, "none") {
		c.used[v] = true
		return text
	}
	return ""
}

// texts returns a list of scalars; a single scalar is a list of one.
func (c yamlRecord) texts(path ...string) []string {
	v := c.at(path...)
	texts := v.Texts()
	if len(texts) > 0 {
		c.used[v] = true
	}
	return texts
}

// number returns a count; 0 if there is none.
func (c yamlRecord) number(path ...string) int {
	v := c.at(path...)
	text := strings.TrimSuffix(v.Says(), "%")
	switch {
	case v != nil && v.Kind != yamledit.Scalar:
		c.r.Warn(report.Where(c.file, v.Line), "%s is not a number", strings.Join(path, "."))
		return 0
	case text == "":
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n > 1e9 {
		c.r.Warn(report.Where(c.file, v.LineOf()), "%s is not a number: %q", strings.Join(path, "."), text)
		return 0
	}
	c.used[v] = true
	return int(n)
}

// truth reports whether a scalar is true.
func (c yamlRecord) truth(path ...string) bool {
	switch strings.ToLower(c.text(path...)) {
	case "true", "yes", "on", "y":
		return true
	}
	return false
}

// time returns a time; zero if there is none.
func (c yamlRecord) time(path ...string) time.Time {
	v := c.at(path...)
	text := c.text(path...)
	if text == "" {
		return time.Time{}
	}
	return c.r.readTime(c.file, v.LineOf(), text)
}

// block returns the id of a block.
func (c yamlRecord) block(path ...string) string { return blockID(c.text(path...)) }

// records returns the maps of a list.
func (c yamlRecord) records(path ...string) []yamlRecord {
	v := c.at(path...)
	if v == nil || v.Kind != yamledit.List {
		return nil
	}
	var all []yamlRecord
	for _, item := range v.Items {
		if item.Kind == yamledit.Map {
			all = append(all, c.in(item))
		}
	}
	return all
}

// in returns a record for a value of this one.
func (c yamlRecord) in(v *yamledit.Value) yamlRecord {
	return yamlRecord{r: c.r, file: c.file, root: v, used: c.used}
}

// unusedFacts adds the unused values to facts, by path.
func (c yamlRecord) unusedFacts(facts map[string]string, prefix string) {
	c.collectUnused(facts, prefix, c.root)
}

func (c yamlRecord) collectUnused(facts map[string]string, name string, v *yamledit.Value) {
	switch {
	case v == nil || c.used[v]:
	case v.Kind == yamledit.Map:
		for _, p := range v.Pairs {
			c.collectUnused(facts, name+"."+p.Key, p.Value)
		}
	case v.Kind == yamledit.List && len(v.Texts()) == len(v.Items):
		if len(v.Items) > 0 {
			facts[name] = strings.Join(v.Texts(), "; ")
		}
	case v.Kind == yamledit.List:
		for i, item := range v.Items {
			c.collectUnused(facts, name+"."+strconv.Itoa(i+1), item)
		}
	case v.Says() != "":
		facts[name] = v.Says()
	}
}
