package gyoshu

import (
	"slices"
	"strings"
	"time"

	"pawl/internal/textedit/jsonedit"
)

// newFrontMatter returns the source of the first cell of a new notebook.
func newFrontMatter(title, goal string, run RunEntry) []string {
	created := quoteYAML(instantOf(run.Started))
	lines := []string{"---", "gyoshu:", "  schema_version: 1", "  reportTitle: " + quoteYAML(title), "  status: " + researchStatus(run),
		"  created: " + created, "  updated: " + created, "  tags:", "  runs:"}
	lines = append(lines, runLines("    ", run)...)
	if goal != "" {
		goal = strings.Join(strings.Fields(goal), " ")
		lines = append(lines, "  goal_contract:", "    version: 1", "    goal_text: "+quoteYAML(goal))
	}
	return sourceLines(strings.Join(append(lines, "---"), "\n"))
}

// researchStatus returns the status of a research whose newest run is this one.
func researchStatus(run RunEntry) string {
	if run.Status == "completed" {
		return "completed"
	}
	return "active"
}

// sourceLines splits a source as notebooks do: each line with its newline.
func sourceLines(source string) []string {
	return slices.DeleteFunc(strings.SplitAfter(source, "\n"), func(l string) bool { return l == "" })
}

func runLines(indent string, run RunEntry) []string {
	lines := []string{indent + "- id: " + quoteYAML(run.ID), indent + "  started: " + quoteYAML(instantOf(run.Started))}
	if !run.Ended.IsZero() {
		lines = append(lines, indent+"  ended: "+quoteYAML(instantOf(run.Ended)))
	}
	return append(lines, indent+"  status: "+run.Status)
}

// WithRun returns a notebook with the status of a run, and the path of its Python, in its front matter; all other lines stay as they
// are. A notebook without front matter is unchanged.
func WithRun(notebook []byte, run RunEntry, python string, now time.Time) []byte {
	root, err := jsonedit.Read(notebook)
	if err != nil {
		return notebook
	}
	old := root.Get("cells", "0", "source")
	source := multiline(old)
	if root.Get("cells", "0", "cell_type").Text() != "raw" || readFrontMatter(source) == nil {
		return notebook
	}
	next := editFront(source, run, python, now)
	var value any = sourceLines(next)
	if old.Is(jsonedit.String) {
		value = next
	}
	changed, err := jsonedit.Set(notebook, value, "cells", "0", "source")
	if err != nil || next == source {
		return notebook
	}
	return changed
}

// editFront updates the run, the status of the research, the path of Python unless it is empty, and the time of the last change in
// front matter.
func editFront(source string, run RunEntry, python string, now time.Time) string {
	newline := "\n"
	if strings.Contains(source, "\r\n") {
		newline = "\r\n"
	}
	e := &frontEditor{lines: strings.Split(source, newline)}
	from := slices.IndexFunc(e.lines, func(l string) bool { return strings.HasPrefix(l, "gyoshu:") })
	if from < 0 || from+1 >= len(e.lines) || indentOf(e.lines[from+1]) == 0 {
		return source
	}
	indent := indentOf(e.lines[from+1])
	e.setRun(from+1, indent, run)
	e.set(from+1, indent, "status", researchStatus(run))
	if python != "" {
		e.set(from+1, indent, "python_env", python)
	}
	if e.changed {
		e.set(from+1, indent, "updated", instantOf(now))
	}
	return strings.Join(e.lines, newline)
}

type frontEditor struct {
	lines   []string
	changed bool
}

// end returns the line after the block that begins at a line and has at least this indentation.
func (e *frontEditor) end(from, indent int) int {
	for i := from; i < len(e.lines); i++ {
		if l := e.lines[i]; strings.TrimSpace(l) != "" && indentOf(l) < indent {
			return i
		}
	}
	return len(e.lines)
}

// find returns the line of a key in a block, -1 if there is none.
func (e *frontEditor) find(from, indent int, key string) int {
	for i := from; i < e.end(from, indent); i++ {
		if k, _, ok := cutKey(strings.TrimLeft(e.lines[i], " ")); ok && k == key && indentOf(e.lines[i]) == indent {
			return i
		}
	}
	return -1
}

// set sets the value of a key in a block, and adds a missing key at the end.
func (e *frontEditor) set(from, indent int, key, value string) {
	line := strings.Repeat(" ", indent) + key + ": " + quoteYAML(value)
	i := e.find(from, indent, key)
	switch {
	case i < 0:
		i = e.end(from, indent)
		e.lines = slices.Insert(e.lines, i, line)
	case scalar(valueOf(e.lines[i])).value == value:
		return
	default:
		e.lines[i] = line
	}
	e.changed = true
}

func valueOf(line string) string {
	_, value, _ := cutKey(strings.TrimLeft(line, " "))
	return value
}

// setRun updates a run in the list of runs, and adds a missing one at the end.
func (e *frontEditor) setRun(from, indent int, run RunEntry) {
	runs := e.find(from, indent, "runs")
	if runs < 0 {
		runs = e.end(from, indent)
		e.lines = slices.Insert(e.lines, runs, strings.Repeat(" ", indent)+"runs:")
	}
	if value := valueOf(e.lines[runs]); value != "" && value != "[]" {
		return // a list of a shape that Gyoshu does not write
	}
	item, end := e.findItem(runs+1, indent, run.ID)
	if item < 0 {
		e.lines[runs] = strings.Repeat(" ", indent) + "runs:"
		e.lines = slices.Insert(e.lines, end, runLines(strings.Repeat(" ", indent+2), run)...)
		e.changed = true
		e.limitRuns(runs+1, indent)
		return
	}
	line := strings.Replace(e.lines[item], "-", " ", 1) // look like the other keys during the search
	inner := indentOf(line)
	dash := e.lines[item][:inner]
	e.lines[item] = line
	if !run.Ended.IsZero() {
		e.set(item, inner, "ended", instantOf(run.Ended))
	}
	e.set(item, inner, "status", run.Status)
	e.lines[item] = dash + e.lines[item][inner:]
}

// maxRuns is the number of runs that Gyoshu keeps in front matter.
const maxRuns = 10

// limitRuns removes the oldest runs, the first ones of the list.
func (e *frontEditor) limitRuns(from, indent int) {
	_, end := e.findItem(from, indent, "")
	var items []int
	for i := from; i < end; i++ {
		if _, isItem := cutItem(strings.TrimLeft(e.lines[i], " ")); isItem && indentOf(e.lines[i]) == indentOf(e.lines[from]) {
			items = append(items, i)
		}
	}
	if len(items) > maxRuns {
		e.lines = slices.Delete(e.lines, items[0], items[len(items)-maxRuns])
	}
}

// findItem returns the line where a run begins in the list, -1 if it is missing, and the line after the list.
func (e *frontEditor) findItem(from, indent int, id string) (item, end int) {
	item = -1
	for end = from; end < len(e.lines); end++ {
		line := strings.TrimLeft(e.lines[end], " ")
		text, isItem := cutItem(line)
		if depth := indentOf(e.lines[end]); depth < indent || depth == indent && !isItem {
			break
		}
		if isItem && valueOf(text) != "" && strings.HasPrefix(text, "id:") && scalar(valueOf(text)).value == id {
			item = end
		}
	}
	return item, end
}
