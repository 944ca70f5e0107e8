package sitebuilder

import (
	"errors"
	"pawl"
	"slices"
	"strings"

	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/oneline"
	"pawl/internal/textedit"
	"pawl/internal/textedit/yamledit"
)

// task is a task in the registry.
type task struct {
	id, title, agent, native, estimate, actual string

	phase    string
	needs    []string
	criteria []string
	checks   []string // that must pass when it is done
	files    []string // that must exist when it is done
	minimum  map[string]int
	facts    map[string]string
	line     int
	part     textedit.Part // its YAML
}

// readRegistry reads the YAML blocks with an id.
func (r *teamReader) readRegistry() {
	f := r.file(r.registry())
	if f == nil {
		return
	}
	seen := map[string]bool{}
	for _, part := range yamlBlocks(f.Data) {
		t, ok := r.readTask(f, part)
		if !ok {
			continue
		}
		if seen[t.id] {
			r.Warn(report.Where(f.Path, t.line), "duplicate task %s; the first one is used", oneline.Quote(t.id))
			continue
		}
		seen[t.id] = true
		r.tasks = append(r.tasks, t)
	}
}

// yamlBlocks returns the YAML code blocks in a Markdown text.
func yamlBlocks(data []byte) []textedit.Part {
	var parts []textedit.Part
	open := -1
	for _, l := range textedit.Lines(data) {
		text := strings.TrimSpace(l.Text)
		switch {
		case open < 0 && (text == "```yaml" || text == "```yml"):
			open = l.Number
			parts = append(parts, textedit.Part{From: l.End, To: len(data), Line: l.Number + 1})
		case open >= 0 && text == "```":
			parts[len(parts)-1].To = l.From
			open = -1
		}
	}
	return parts
}

func (r *teamReader) readTask(f *format.File, part textedit.Part) (*task, bool) {
	var root *yamledit.Value
	y, err := yamledit.Read(f.Data, part)
	if wrong, bad := errors.AsType[*yamledit.SyntaxError](err); bad {
		r.Find(pawl.Warn, report.Where(f.Path, wrong.Line), "put the value in quotes", "invalid YAML (%s); it was read line by line", wrong.Why)
		root = yamledit.Scan(f.Data, part)
	} else {
		root = y.Root
	}
	t := &task{part: part, line: part.Line, minimum: map[string]int{}, facts: map[string]string{}}
	says := func(path ...string) string { return scalarOrNone(root.Get(path...)) }
	t.id, t.title, t.native, t.phase = says("id"), says("title"), says("status"), says("phase")
	t.estimate, t.actual = says("estimated_complexity"), says("actual_hours")
	t.agent = agentNamed(firstOf(says("assigned_to"), says("stream")))
	if t.id == "" || strings.Contains(says("stream"), "|") { // not a task, or the schema of one
		return nil, false
	}
	t.needs, t.criteria = root.Get("dependencies").Texts(), texts(root.Get("acceptance_criteria"))
	for _, key := range []string{"files_created", "files_modified"} {
		t.files = append(t.files, root.Get("done_when", key).Texts()...)
	}
	t.files = slices.DeleteFunc(t.files, func(name string) bool { return strings.Contains(name, "...") })
	t.readMinimum(root.Get("done_when", "review_scores"))
	for _, key := range []string{"priority", "source", "notes", "estimated_complexity", "actual_hours", "phase"} {
		if text := says(key); text != "" {
			t.facts[key] = text
		}
	}
	if t.checks = texts(root.Get("done_when", "tests_passing")); len(t.checks) > 0 {
		t.facts["tests_passing"] = strings.Join(t.checks, "; ")
	}
	return t, true
}

// texts returns the items of a list. An item with a colon, which is a map in YAML, is returned as its line.
func texts(v *yamledit.Value) []string {
	if v == nil || v.Kind != yamledit.List {
		return v.Texts()
	}
	var all []string
	for _, item := range v.Items {
		if item.Kind == yamledit.Map && len(item.Pairs) == 1 {
			all = append(all, strings.TrimSpace(item.Pairs[0].Key+": "+item.Pairs[0].Value.Says()))
		} else if text := item.Says(); text != "" {
			all = append(all, text)
		}
	}
	return all
}

func (t *task) readMinimum(v *yamledit.Value) {
	if v == nil || v.Kind != yamledit.Map {
		return
	}
	for _, p := range v.Pairs {
		if n, ok := score(p.Value.Says()); ok {
			t.minimum[p.Key] = n
		}
	}
}

// scalarOrNone returns a scalar, "" if it is one of the words for none.
func scalarOrNone(v *yamledit.Value) string {
	switch text := v.Says(); strings.ToLower(text) {
	case "none", "null", "-", "—":
		return ""
	default:
		return strings.ToValidUTF8(text, "\uFFFD")
	}
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
