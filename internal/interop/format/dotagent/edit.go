package dotagent

import (
	"strconv"
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// set returns text with a value at a path, where it says something else; a text in which that has no place stays.
func set(text []byte, value any, path ...string) []byte {
	if next, err := jsonedit.Set(text, value, path...); err == nil {
		return next
	}
	return text
}

// setTime sets a time, unless the one that stands there is the same to the millisecond.
func setTime(text []byte, at time.Time, path ...string) []byte {
	old, _, ok := format.ParseTime(textAt(text, path...))
	if ok && old.Truncate(time.Millisecond).Equal(at.Truncate(time.Millisecond)) {
		return text
	}
	return set(text, instant(at), path...)
}

// appended returns text with one more element in a list, which is made where there is none.
func appended(text []byte, value any, path ...string) []byte {
	root, err := jsonedit.Read(text)
	if err != nil {
		return text
	}
	if v := root.Get(path...); v == nil || v.Is(jsonedit.Null) {
		return set(text, []any{value}, path...)
	}
	if next, err := jsonedit.Append(text, value, path...); err == nil {
		return next
	}
	return text
}

// removed returns text without an element.
func removed(text []byte, path ...string) []byte {
	if next, err := jsonedit.Remove(text, path...); err == nil {
		return next
	}
	return text
}

func textAt(text []byte, path ...string) string {
	root, err := jsonedit.Read(text)
	if err != nil {
		return ""
	}
	return node{Value: root}.text(path...)
}

func number(n int) string { return strconv.Itoa(n) }
