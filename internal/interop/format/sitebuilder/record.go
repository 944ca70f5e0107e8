package sitebuilder

import (
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/oneline"
	"pawl/internal/textedit/jsonedit"
)

// jsonRecord gives typed access to an object of a checkpoint. It knows which values were used; the others become facts.
type jsonRecord struct {
	r    *teamReader
	file string
	v    *jsonedit.Value
	used map[*jsonedit.Value]bool
}

// at returns the value at a path of keys, and marks it as used; nil if it is missing or null.
func (c jsonRecord) at(path ...string) *jsonedit.Value {
	v := c.v.Get(path...)
	if v == nil || v.Kind == jsonedit.Null {
		return nil
	}
	return v
}

// text returns a scalar as text, "" if there is none.
func (c jsonRecord) text(path ...string) string {
	v := c.at(path...)
	if v == nil || v.Kind == jsonedit.Array || v.Kind == jsonedit.Object {
		return ""
	}
	c.used[v] = true
	return scalar(v)
}

// scalar returns a scalar as text. A number or boolean is returned as written, so that the id 08 stays 08.
func scalar(v *jsonedit.Value) string {
	if v.Is(jsonedit.String) {
		return strings.TrimSpace(strings.ToValidUTF8(v.Text(), "\uFFFD"))
	}
	return string(v.Raw())
}

// maxCount is the largest number that is accepted as a count.
const maxCount = 1e9

// number returns a count, and whether there is one. "65%" and "65" are numbers too.
func (c jsonRecord) number(path ...string) (int, bool) {
	v := c.at(path...)
	if v == nil {
		return 0, false
	}
	text := strings.TrimSuffix(c.text(path...), "%")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || n > maxCount {
		c.warn(v, "", "%s is not a number: %s", strings.Join(path, "."), oneline.Quote(text))
		return 0, false
	}
	return int(n), true
}

// truth returns a boolean, nil if there is none. "true" and 1 are true too.
func (c jsonRecord) truth(path ...string) *bool {
	v := c.at(path...)
	if v == nil {
		return nil
	}
	text := strings.ToLower(c.text(path...))
	yes := text == "true" || text == "yes" || text == "1"
	if !yes && text != "false" && text != "no" && text != "0" {
		c.warn(v, "", "%s is neither true nor false: %s", strings.Join(path, "."), oneline.Quote(text))
	}
	return &yes
}

// time returns a time, zero if there is none.
func (c jsonRecord) time(path ...string) time.Time {
	v := c.at(path...)
	text := c.text(path...)
	if text == "" {
		return time.Time{}
	}
	return c.r.time(c.file, v.Line(), text)
}

// list returns the elements of an array, or a single value as a list.
func (c jsonRecord) list(path ...string) []jsonRecord {
	v := c.at(path...)
	switch {
	case v == nil:
		return nil
	case v.Kind != jsonedit.Array:
		c.warn(v, "", "%s is not a list", strings.Join(path, "."))
		return nil
	}
	var all []jsonRecord
	for _, item := range v.Items {
		all = append(all, c.in(item))
	}
	return all
}

func (c jsonRecord) in(v *jsonedit.Value) jsonRecord {
	return jsonRecord{r: c.r, file: c.file, v: v, used: c.used}
}

// paths returns a list of claimed files, relative to the project. A path that leads out of it is a finding.
func (c jsonRecord) paths(path ...string) []string {
	var all []string
	for _, item := range c.list(path...) {
		name := scalar(item.v)
		if item.v.Kind != jsonedit.String || name == "" {
			continue
		}
		c.used[item.v] = true
		if clean := c.r.path(c.file, item.v.Line(), name); clean != "" {
			all = append(all, clean)
		}
	}
	return all
}

// unusedFacts adds the unused values to facts, by path.
func (c jsonRecord) unusedFacts(facts map[string]string) { c.collectUnused(facts, "", c.v) }

func (c jsonRecord) collectUnused(facts map[string]string, name string, v *jsonedit.Value) {
	switch {
	case v == nil || c.used[v] || v.Kind == jsonedit.Null:
	case v.Kind == jsonedit.Object:
		for _, m := range v.Members {
			c.collectUnused(facts, strings.TrimPrefix(name+"."+m.Key, "."), m.Value)
		}
	case v.Kind == jsonedit.Array:
		for i, item := range v.Items {
			c.collectUnused(facts, name+"."+strconv.Itoa(i+1), item)
		}
	default:
		if text := scalar(v); text != "" {
			facts[strings.ToValidUTF8(name, "\uFFFD")] = oneline.Clip(text, maxText)
		}
	}
}

func (c jsonRecord) warn(v *jsonedit.Value, hint, format string, args ...any) {
	c.r.Find(pawl.Warn, report.Where(c.file, v.Line()), hint, format, args...)
}

// checkDuplicateKeys reports duplicate keys of an object: the last one counts.
func (c jsonRecord) checkDuplicateKeys() {
	seen := make(map[string]bool, len(c.v.Members))
	for _, m := range c.v.Members {
		if seen[m.Key] {
			c.warn(m.Value, "remove the others", "duplicate key %s; the last one is used", oneline.Quote(m.Key))
		}
		seen[m.Key] = true
	}
}

// path returns a claimed path relative to the project's root; empty, with a finding, if it leads out of it.
func (r *teamReader) path(file string, line int, name string) string {
	clean, err := format.Inside(name)
	if err != nil {
		r.Warn(report.Where(file, line), "%v", err)
		return ""
	}
	return r.root + clean
}

// maxText limits the texts that are kept, in bytes.
const maxText = 8 << 10
