package jsonedit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/textedit/jsonedit"
)

func encoded(t testing.TB, value any) *jsonedit.Value {
	t.Helper()
	v, err := jsonedit.Encode(value)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEdits: values are written in the style of the text, sorted keys stay sorted, and all other bytes stay.
func TestEdits(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]struct{ before, after string }{
		"Jupyter": {
			"{\n \"cells\": [\n  {\n   \"a\": {},\n   \"m\": 1\n  }\n ],\n \"z\": 4\n}\n",
			"{\n \"cells\": [\n  {\n   \"a\": {\n    \"k\": [\n     1\n    ]\n   },\n   \"b\": 2,\n   \"m\": 3,\n   \"n\": [],\n   \"o\": true\n  },\n  {\n   \"last\": null\n  }\n ],\n \"z\": 4\n}\n",
		},
		"unsorted, on one line": {
			`{"z": 4, "cells": [{"m": 1, "a": {}}]}`,
			`{"z": 4, "cells": [{"m": 3, "a": {"k": [1]}, "o": true, "b": 2, "n": []}, {"last": null}]}`,
		},
		"CRLF and tabs": {
			"{\r\n\t\"cells\": [\r\n\t\t{\"a\": {}, \"m\": 1}\r\n\t],\r\n\t\"z\": 4\r\n}",
			"{\r\n\t\"cells\": [\r\n\t\t{\"a\": {\r\n\t\t\t\"k\": [\r\n\t\t\t\t1\r\n\t\t\t]\r\n\t\t}, \"b\": 2, \"m\": 3, \"n\": [], \"o\": true},\r\n\t\t{\r\n\t\t\t\"last\": null\r\n\t\t}\r\n\t],\r\n\t\"z\": 4\r\n}",
		},
	} {
		root := readJSON(t, text.before)
		e := jsonedit.NewEdits(root)
		cell := root.Get("cells", "0")
		e.Set(cell, "o", encoded(t, true))
		e.Set(cell, "b", encoded(t, 2))
		e.Set(cell, "m", encoded(t, 3))
		e.Set(cell, "n", encoded(t, []int{}))
		e.Set(cell.Get("a"), "k", encoded(t, []int{1}))
		e.Set(root, "z", encoded(t, 4.0))
		e.Insert(root.Get("cells"), 1, encoded(t, map[string]any{"last": nil}))
		if diff := cmp.Diff(text.after, string(e.Apply())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestNoEdits: a text stays the same if its values are set to what they are.
func TestNoEdits(t *testing.T) {
	t.Parallel()
	const text = "{ \"a\" : [ 1,2 ] ,\n\"b\":{\"c\":1.0}}"
	root := readJSON(t, text)
	e := jsonedit.NewEdits(root)
	e.Set(root, "a", encoded(t, []int{1, 2}))
	e.Replace(root.Get("b"), encoded(t, map[string]int{"c": 1}))
	if got := string(e.Apply()); got != text {
		t.Errorf("%q becomes %q", text, got)
	}
}

// TestInsert: an element goes before another one, or is the first one.
func TestInsert(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[\n 1,\n 2\n]":    "[\n 0,\n 1,\n 2\n]",
		"[]":               "[\n  0\n]",
		"[1]":              "[0, 1]",
		"[1, 2]":           "[0, 1, 2]",
		"{\n \"a\": []\n}": "{\n \"a\": [\n  0\n ]\n}",
	} {
		root := readJSON(t, text)
		e, list := jsonedit.NewEdits(root), root
		if a := root.Get("a"); a != nil {
			list = a
		}
		e.Insert(list, 0, encoded(t, 0))
		if got := string(e.Apply()); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}
