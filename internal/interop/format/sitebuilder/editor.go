package sitebuilder

import (
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// editor changes a text in JSON where it does not say what it is to say.
type editor struct {
	text    []byte
	root    *jsonedit.Value
	made    bool // there was nothing before
	changed bool
}

// edit returns an editor of a text, nil where it is no object in JSON.
func edit(text []byte) *editor {
	root, err := jsonedit.Read(text)
	if err != nil || !root.Is(jsonedit.Object) {
		return nil
	}
	return &editor{text: text, root: root}
}

// at returns the value at a path; nil where there is none or null.
func (e *editor) at(path ...string) *jsonedit.Value {
	v := e.root.Get(path...)
	if v.Is(jsonedit.Null) {
		return nil
	}
	return v
}

func (e *editor) says(path ...string) string {
	if v := e.at(path...); v != nil {
		return scalar(v)
	}
	return ""
}

func (e *editor) number(path ...string) int {
	n, _ := e.at(path...).Int()
	return int(min(max(n, 0), most))
}

// set has the value at a path be this. What cannot have it, since it would be in something that is no object, stays.
func (e *editor) set(value any, path ...string) {
	e.accept(jsonedit.Set(e.text, value, path...))
}

// fill sets what is not there in a text that was there before only if it says something.
func (e *editor) fill(value any, says bool, path ...string) {
	if says || e.made || e.root.Get(path...) != nil {
		e.set(value, path...)
	}
}

func (e *editor) remove(path ...string) { e.accept(jsonedit.Remove(e.text, path...)) }

func (e *editor) append(value any, path ...string) {
	if e.at(path...).Is(jsonedit.Array) {
		e.accept(jsonedit.Append(e.text, value, path...))
		return
	}
	e.set([]any{value}, path...)
}

func (e *editor) accept(next []byte, err error) {
	if err != nil || string(next) == string(e.text) {
		return
	}
	if root, err := jsonedit.Read(next); err == nil {
		e.text, e.root, e.changed = next, root, true
	}
}

// setTime sets a time, unless the same second stands there in whatever form.
func (e *editor) setTime(at time.Time, path ...string) {
	if was, _, _ := format.ParseTime(e.says(path...)); !at.IsZero() && was.Unix() != at.Unix() {
		e.set(stamp(at), path...)
	}
}
