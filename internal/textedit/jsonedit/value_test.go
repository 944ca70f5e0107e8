package jsonedit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/textedit/jsonedit"
)

func readJSON(t testing.TB, text string) *jsonedit.Value {
	t.Helper()
	v, err := jsonedit.Read([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

func TestReadJSON(t *testing.T) {
	t.Parallel()
	v := readJSON(t, "\xef\xbb\xbf {\r\n  \"a\": [1, {\"b\": \"x\\ty\"}, true],\r\n  \"a\\u0062\": -1.50e2 , \"n\":null}\r\n")
	if got := v.Get("a", "1", "b").Text(); got != "x\ty" {
		t.Errorf("a.1.b = %q", got)
	}
	if n, ok := v.Get("ab").Int(); n != -150 || !ok {
		t.Errorf("ab = %d, %v", n, ok)
	}
	if got := string(v.Get("ab").Raw()); got != "-1.50e2" {
		t.Errorf("ab stands there as %q", got)
	}
	if line := v.Get("ab").Line(); line != 3 {
		t.Errorf("ab is in line %d", line)
	}
	if !v.Get("a", "2").True() || !v.Get("n").Is(jsonedit.Null) || v.Get("a", "3") != nil || v.Get("n", "x") != nil || v.Get("a", "-1") != nil {
		t.Error("a.2, n or what is not there")
	}
	if _, ok := v.Get("n").Float(); ok || v.Get("none").Text() != "" || v.Get("none").Line() != 0 || v.Get("none").Raw() != nil {
		t.Error("what is not there has a value")
	}
}

func TestLastDuplicateKeyCounts(t *testing.T) {
	t.Parallel()
	v := readJSON(t, `{"a":1,"b":2,"a":3}`)
	if n, _ := v.Get("a").Int(); n != 3 || len(v.Members) != 3 {
		t.Errorf("a = %d of %d members", n, len(v.Members))
	}
}

func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "line 1, column 1: unexpected end, expected a value",
		"{\n  \"a\": 1,\n}":      "line 3, column 1: expected a key in double quotes",
		"{\"a\"=1}":              "line 1, column 5: expected : after the key",
		"[1 2]":                  "line 1, column 4: expected , or ] after the element",
		"{\"ä\":1 \"b\"":         "line 1, column 8: expected , or } after the member",
		"{\n\"a\": [1,":          "line 2, column 9: unexpected end, the [ of line 2 is not closed",
		"{":                      "line 1, column 2: unexpected end, the { of line 1 is not closed",
		"[1":                     "line 1, column 3: unexpected end, the [ of line 1 is not closed",
		"{} x":                   "line 1, column 4: unexpected text after the value",
		"[\"a\nb\"]":             "line 1, column 4: unescaped control character or line end in a string",
		`["\x"]`:                 "line 1, column 4: unknown escape",
		`["\u12g4"]`:             "line 1, column 7: expected four hexadecimal digits after \\u",
		`["a`:                    "line 1, column 4: unclosed string",
		"[01]":                   "line 1, column 3: expected , or ] after the element",
		"[1.]":                   "line 1, column 4: expected a digit",
		"NaN":                    "line 1, column 1: expected a value",
		strings.Repeat("[", 2e4): "line 1, column 10002: values are nested more than 10000 levels deep",
	} {
		_, err := jsonedit.Read([]byte(text))
		var wrong *jsonedit.SyntaxError
		if !errors.As(err, &wrong) || err.Error() != want {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}

// TestStringify holds what node writes for the same; see TestStringifyAgainstNode in package gyoshu.
func TestStringify(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"b":1,"10":2,"9":3,"a":4,"01":5,"4294967295":6,"4294967294":7,"-1":8}`: `{"9":3,"10":2,"4294967294":7,"b":1,"a":4,"01":5,"4294967295":6,"-1":8}`,
		`{"a":1,"b":2,"a":3}`:                   `{"a":3,"b":2}`,
		`[1.0,-0,1e21,1e20,123456789012345678]`: `[1,0,1e+21,100000000000000000000,123456789012345680]`,
		`[0.000001,1e-7,1.5e-10,1e400,5e-324]`:  `[0.000001,1e-7,1.5e-10,null,5e-324]`,
		`"\ud83d\ude00\ud83d\u2028\/<&>\u007f"`: "\"\U0001f600\\ud83d\u2028/<&>\x7f\"",
		`"\u0000\b\f\n\r\t\u001f\"\\"`:          `"\u0000\b\f\n\r\t\u001f\"\\"`,
		`"\udc00\ud800"`:                        `"\udc00\ud800"`,
		` [ ] `:                                 `[]`,
		`{"a":{},"b":[[]]}`:                     `{"a":{},"b":[[]]}`,
	} {
		if got := string(readJSON(t, text).Stringify("")); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	want := "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"
	if got := string(readJSON(t, `{"a":[1,{}],"b":[]}`).Stringify("  ")); got != want {
		t.Errorf("got %s", got)
	}
}

func TestSetJSON(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	cases := []struct {
		name, text string
		value      any
		path       []string
		want       string
	}{
		{"the same", `{"a" :1.0}`, 1, []string{"a"}, `{"a" :1.0}`},
		{"the same object", `{"a":{"x":1, "y":"\u0041"}}`, m{"y": "A", "x": 1}, []string{"a"}, `{"a":{"x":1, "y":"\u0041"}}`},
		{"a value", "{\n\t\"a\": 1, \"b\":2\n}", "x", []string{"b"}, "{\n\t\"a\": 1, \"b\":\"x\"\n}"},
		{"the last of two", `{"a":1,"a":2}`, 3, []string{"a"}, `{"a":1,"a":3}`},
		{"in an array", `[{"s":"a"},{"s":"b"}]`, "c", []string{"1", "s"}, `[{"s":"a"},{"s":"c"}]`},
		{"a new member, compact", `{"a":1,"b":2}`, 3, []string{"c"}, `{"a":1,"b":2,"c":3}`},
		{"a new member, compact, spaced", `{"a": 1}`, m{"x": []int{1, 2}}, []string{"c"}, `{"a": 1, "c": {"x": [1, 2]}}`},
		{"a new member, CRLF", "{\r\n    \"a\": 1\r\n}\r\n", m{"x": 1}, []string{"c"}, "{\r\n    \"a\": 1,\r\n    \"c\": {\r\n        \"x\": 1\r\n    }\r\n}\r\n"},
		{"a member of what is not there", "{\n  \"a\": {}\n}", 1, []string{"a", "b", "c"}, "{\n  \"a\": {\n    \"b\": {\n      \"c\": 1\n    }\n  }\n}"},
		{"into nothing", "{}", 1, []string{"a"}, "{\n  \"a\": 1\n}"},
		{"a whole value", "{\n  \"a\": [\n    1\n  ]\n}", []int{1, 2}, []string{"a"}, "{\n  \"a\": [\n    1,\n    2\n  ]\n}"},
		{"odd text", `{"a":1}`, "\u2028<\x01", []string{"b"}, "{\"a\":1,\"b\":\"\u2028<\\u0001\"}"},
		{"the root", " 1 ", 2, nil, " 2 "},
		{"with a BOM", "\xef\xbb\xbf{\"a\":1}", 2, []string{"a"}, "\xef\xbb\xbf{\"a\":2}"},
	}
	for _, c := range cases {
		got, err := jsonedit.Set([]byte(c.text), c.value, c.path...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
	if _, err := jsonedit.Set([]byte(`{"a":1}`), 1, "a", "b"); err == nil {
		t.Error("a member of a number was set")
	}
	if _, err := jsonedit.Set([]byte(`{"a":`), 1, "a"); err == nil {
		t.Error("broken text was changed")
	}
	if _, err := jsonedit.Set([]byte(`{}`), math.Inf(1), "a"); err == nil {
		t.Error("infinity was set")
	}
}

func TestAppendAndRemoveJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"l":[1, 2]}`:                            `{"l":[1, 2, 9]}`,
		`{"l":[]}`:                                `{"l":[9]}`,
		`{"l":[1]}`:                               `{"l":[1,9]}`,
		"{\n \"l\": [\n  1,\n  2\n ]\n}":          "{\n \"l\": [\n  1,\n  2,\n  9\n ]\n}",
		"{\n \"l\": [\n  1\n ]\n}":                "{\n \"l\": [\n  1,\n  9\n ]\n}",
		"{\n \"l\": []\n}":                        "{\n \"l\": [\n  9\n ]\n}",
		"{\n \"l\": [1]\n}":                       "{\n \"l\": [1, 9]\n}",
		"{\"k\":0, \"l\":[\r\n1,\r\n2\r\n] }\r\n": "{\"k\":0, \"l\":[\r\n1,\r\n2,\r\n9\r\n] }\r\n",
	} {
		got, err := jsonedit.Append([]byte(text), 9, "l")
		if err != nil || string(got) != want {
			t.Errorf("append to %q: %q, %v; want %q", text, got, err, want)
		}
	}
	if _, err := jsonedit.Append([]byte(`{"l":{}}`), 1, "l"); err == nil {
		t.Error("appended to an object")
	}
	for text, want := range map[string]string{
		`{"a":1, "b":2, "c":3}`: `{"a":1, "c":3}`,
		`{"b":2, "c":3}`:        `{"c":3}`,
		`{"a":1, "b":2}`:        `{"a":1}`,
		`{ "b":2 }`:             `{}`,
		`{"c":3}`:               `{"c":3}`,
	} {
		got, err := jsonedit.Remove([]byte(text), "b")
		if err != nil || string(got) != want {
			t.Errorf("remove from %q: %q, %v; want %q", text, got, err, want)
		}
	}
	if got, err := jsonedit.Remove([]byte(`{"a":[1,2,3]}`), "a", "1"); err != nil || string(got) != `{"a":[1,3]}` {
		t.Errorf("removed an element: %s, %v", got, err)
	}
}

// FuzzReadJSON compares what is taken with encoding/json, and what was read with what it reads.
func FuzzReadJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e3,true,null,"\ud83d\ude00"],"a":{}}`, "\xef\xbb\xbf[]", `"\ud800"`, "-0", "[1,]", "[\"\xff\"]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := jsonedit.Read(text)
		body := bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		if valid := json.Valid(body); valid != (err == nil) {
			t.Fatalf("%q: %v, encoding/json says %v", text, err, valid)
		}
		if err != nil {
			return
		}
		if got := v.Raw(); !bytes.Equal(got, bytes.TrimSpace(body)) {
			t.Errorf("%q stands there as %q", text, got)
		}
		for _, indent := range []string{"", "  "} {
			again, err := jsonedit.Read(v.Stringify(indent))
			if err != nil || !bytes.Equal(again.Stringify("  "), v.Stringify("  ")) {
				t.Errorf("%q is %q, and that is read as another: %v", text, v.Stringify(indent), err)
			}
		}
	})
}

// FuzzSetJSON changes one value of any text and looks whether it is the only thing that changed.
func FuzzSetJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1, 2], "b": {}}`), "a")
	f.Add([]byte("{\n  \"a\": 1\n}"), "c")
	f.Add([]byte("{\"a\":1,\"a\" : {\r\n}}"), "a")
	f.Fuzz(func(t *testing.T, text []byte, key string) {
		v, err := jsonedit.Read(text)
		if err != nil || !v.Is(jsonedit.Object) || !json.Valid([]byte(`"`+key+`"`)) || !utf8.ValidString(key) || strings.ContainsAny(key, "\\\u2028\u2029") {
			return
		}
		const value = "set by the fuzzer"
		got, err := jsonedit.Set(text, value, key)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		changed := readJSON(t, string(got))
		if changed.Get(key).Text() != value {
			t.Errorf("%q: %s = %s", text, key, got)
		}
		for _, m := range v.Members {
			if other := changed.Get(m.Key); m.Key != key && !bytes.Equal(other.Raw(), v.Get(m.Key).Raw()) {
				t.Errorf("%q: %s became %s", text, m.Key, other.Raw())
			}
		}
		if again, err := jsonedit.Set(got, value, key); err != nil || !bytes.Equal(again, got) {
			t.Errorf("set twice: %q, %v", again, err)
		}
		removed, err := jsonedit.Remove(got, key)
		if err != nil {
			t.Fatal(err)
		}
		readJSON(t, string(removed))
	})
}
