package yamledit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/textedit"
	"pawl/internal/textedit/markdown"
	"pawl/internal/textedit/yamledit"
)

// plain returns what a value says, without where it stands.
func plain(v *yamledit.Value) any {
	switch {
	case v == nil || v.Kind == yamledit.Scalar && v.Null:
		return nil
	case v.Kind == yamledit.Scalar:
		return v.Text
	case v.Kind == yamledit.List:
		list := []any{}
		for _, item := range v.Items {
			list = append(list, plain(item))
		}
		return list
	}
	m := map[string]any{}
	for _, p := range v.Pairs {
		m[p.Key] = plain(p.Value)
	}
	return m
}

// TestScanAgreesWithYAML: where a file is good, the scan reads the same.
func TestScanAgreesWithYAML(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		state,
		"a: 08\nb:\n  - x\n  - y: 1\n    z:\n      - q\n  - \n    w: 2\nc: ~\n'd e': [\"a, b\", c]\n",
		"a:\n- b: 1\n  c: \"x # y\"\n- |\nd: >-\n  x\n   y\n\n  z\ne: 1\n",
		"\uFEFFa: 1\r\nb:\r\n  c: 2\r\n",
	} {
		part, _, _, ok := markdown.Front([]byte(file))
		if !ok {
			part = textedit.Whole([]byte(file))
		}
		y, err := yamledit.Read([]byte(file), part)
		if err != nil {
			t.Fatal(err)
		}
		want, got := plain(y.Root), plain(yamledit.Scan([]byte(file), part))
		if diff := cmp.Diff(trimmed(want), trimmed(got)); diff != "" {
			t.Errorf("%q: -yaml +scan:\n%s", file, diff)
		}
	}
}

// trimmed takes the ends off blocks of text, which the scan does not keep, and what folds lines.
func trimmed(v any) any {
	switch v := v.(type) {
	case string:
		return strings.Join(strings.Fields(v), " ")
	case []any:
		for i := range v {
			v[i] = trimmed(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = trimmed(v[k])
		}
	}
	return v
}

// TestScanReadsWhatYAMLRefuses: colons inside, leading signs, tabs, a quote without an end.
func TestScanReadsWhatYAMLRefuses(t *testing.T) {
	t.Parallel()
	file := "---\ntype: failure\nlast_action: Writing: the file\nby: @foo\npercent: %5\n\tx: 1\nopen: \"a\nlist:\n- a: b: c\n- `x`\nfine: [1, [2], 3]\n"
	part, _, closed, ok := markdown.Front([]byte(file))
	if _, err := yamledit.Read([]byte(file), part); err == nil || closed || !ok {
		t.Fatal("this is YAML after all")
	}
	want := map[string]any{
		"type": "failure", "last_action": "Writing: the file", "by": "@foo", "percent": "%5", "x": "1", "open": "\"a",
		"list": []any{map[string]any{"a": "b: c"}, "`x`"}, "fine": []any{"1", "[2]", "3"},
	}
	if diff := cmp.Diff(want, plain(yamledit.Scan([]byte(file), part))); diff != "" {
		t.Error(diff)
	}
}

func FuzzScan(f *testing.F) {
	for _, file := range []string{state, "- a\n- b: 1\n", "a: [\"x\", 'y', [z]]", "a:\n  - - - x", "'a': \"b\n\"c\"d: e"} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		part, body, _, ok := markdown.Front(file)
		if ok && (part.From > part.To || part.To > body.From || body.From > body.To) {
			t.Fatal(part, body)
		}
		if !ok {
			part = textedit.Whole(file)
		}
		if v := yamledit.Scan(file, part); v.Kind != yamledit.Map {
			t.Fatal("no map")
		}
	})
}
