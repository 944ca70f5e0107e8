package jsonedit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pawl/internal/textedit/jsonedit"
)

// texts are of the shapes that people and editors write.
var texts = map[string]string{
	"empty":               "{}",
	"spaced":              "{ }\n",
	"two lines":           "{\n}\n",
	"only a comment":      "{\n  // nothing yet\n}\n",
	"comment on the line": "{ /* nothing */ }",
	"two spaces":          "{\n  \"a\": 1,\n  \"b\": [true, null]\n}\n",
	"tabs":                "{\n\t\"a\": {\n\t\t\"b\": 2\n\t}\n}\n",
	"four spaces, no end": "{\n    \"a\": \"x\"\n}",
	"trailing comma":      "{\n  \"a\": 1, // one\n}\n",
	"comment behind":      "{\n  \"a\": 1 // one  \n}\n",
	"block behind":        "{\n  \"a\": 1 /* one\n  more */\n  // end\n}\n",
	"minified":            `{"a":{"b":[1,2]},"c":"d"}`,
	"one line":            `{ "a": 1, "b": 2, }`,
	"windows":             "{\r\n  \"a\": 1\r\n}\r\n",
	"marked":              "\ufeff{\n  \"a\": 1\n}\n",
	"comma first":         "{\n    \"a\": 1\n  , \"b\": 2\n}\n",
	"same key twice":      "{\n  \"a\": 1,\n  \"a\": 2\n}\n",
}

// What Add puts into an object, Drop takes out again, and the bytes are the same as before.
func TestAddAndDrop(t *testing.T) {
	t.Parallel()
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := read(t, text)
			doc := before
			for _, key := range []string{"new", "other"} {
				doc = must(t)(doc.Add(doc.Root, key, map[string]any{"x": []int{1}, "y": "<z>"}))
			}
			if got := doc.Root.Get("other", "x"); got == nil || !got.Holds([]int{1}) {
				t.Fatalf("not added: %s", doc.Text)
			}
			for _, key := range []string{"new", "other"} {
				doc = must(t)(doc.Remove(doc.Root, doc.Root.Index(key), before.Root.Inner()))
			}
			if string(doc.Text) != text {
				t.Errorf("after:\n%q\nbefore:\n%q", doc.Text, text)
			}
		})
	}
}

// What is added looks like what is there.
func TestAddLooksLikeTheRest(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"tabs":                "{\n\t\"a\": {\n\t\t\"b\": 2\n\t},\n\t\"new\": [\n\t\t1\n\t]\n}\n",
		"comment behind":      "{\n  \"a\": 1, // one  \n  \"new\": [\n    1\n  ]\n}\n",
		"trailing comma":      "{\n  \"a\": 1, // one\n  \"new\": [\n    1\n  ],\n}\n",
		"minified":            `{"a":{"b":[1,2]},"c":"d","new":[1]}`,
		"one line":            `{ "a": 1, "b": 2, "new": [1], }`,
		"windows":             "{\r\n  \"a\": 1,\r\n  \"new\": [\r\n    1\r\n  ]\r\n}\r\n",
		"four spaces, no end": "{\n    \"a\": \"x\",\n    \"new\": [\n        1\n    ]\n}",
		"empty":               "{\n  \"new\": [\n    1\n  ]\n}",
		"only a comment":      "{\n  \"new\": [\n    1\n  ]\n  // nothing yet\n}\n",
	} {
		doc := read(t, texts[name])
		if got := must(t)(doc.Add(doc.Root, "new", []int{1})); string(got.Text) != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got.Text, want)
		}
	}
}

// Where something was changed around a member, taking it out leaves that change to the byte.
func TestDropAmongOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"{\n  \"a\": 1,\n  \"new\": 2,\n  \"z\": 3\n}\n", "{\n  \"a\": 1,\n  \"z\": 3\n}\n"},
		{"{\n  \"new\": 2,\n  \"z\": 3\n}\n", "{\n  \"z\": 3\n}\n"},
		{"{\n  \"a\": 1, // mine\n\n  // of z  \n  \"new\": 2, // ours\n  \"z\": 3,\n}\n", "{\n  \"a\": 1, // mine\n\n  // of z   // ours\n  \"z\": 3,\n}\n"},
		{"{ \"a\": 1, // mine\n  \"new\": 2 }", "{ \"a\": 1 // mine\n   }"},
		{"{ // mine\n  \"new\": 2 }", "{ // mine\n   }"},
		{"{\"new\":2,\"z\":3}", "{\"z\":3}"},
		{"[1, {\"new\": 2}, 3]", "[1, 3]"},
	} {
		doc := read(t, c.text)
		i := max(doc.Root.Index("new"), 0)
		if doc.Root.Kind == jsonedit.Array {
			i = 1
		}
		if got := must(t)(doc.Remove(doc.Root, i, nil)); string(got.Text) != c.want {
			t.Errorf("%s\nbecame\n%s\nwant\n%s", c.text, got.Text, c.want)
		}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	doc := read(t, "{\n  \"a\": {\"b\": 1}, // kept\n  \"c\": [\n    1\n  ]\n}\n")
	doc = must(t)(doc.Set(doc.Root.Get("a"), map[string]int{"x": 2}))
	doc = must(t)(doc.Set(doc.Root.Get("c"), []int{2, 3}))
	if want := "{\n  \"a\": {\"x\":2}, // kept\n  \"c\": [\n    2,\n    3\n  ]\n}\n"; string(doc.Text) != want {
		t.Errorf("%s\nwant\n%s", doc.Text, want)
	}
}

// A value may be inserted on a separate line.
func TestLine(t *testing.T) {
	t.Parallel()
	doc := read(t, texts["two spaces"])
	doc = must(t)(doc.Add(doc.Root, "new", jsonedit.OneLine{Value: []any{map[string]any{"x": "a: \"b\", c", "y": []int{1, 2}}}}))
	if want := "[true, null],\n  \"new\": [{\"x\": \"a: \\\"b\\\", c\", \"y\": [1, 2]}]\n}\n"; !strings.HasSuffix(string(doc.Text), want) {
		t.Errorf("%s\nwant …%s", doc.Text, want)
	}
}

func TestSyntaxErrorsOfJSONC(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"// only a comment":               "line 1, column 18: unexpected end, expected a value",
		"{ // open":                       "line 1, column 10: unexpected end, the { of line 1 is not closed",
		"{\n  \"a\": 1\n  \"b\": 2\n}":    "line 3, column 3: expected , or } after the member",
		"{\n  a: 1\n}":                    "line 2, column 3: expected a key in double quotes",
		"{\"ä\": 'x'}":                    "line 1, column 7: expected a value",
		"{} // x\n x":                     "line 2, column 2: unexpected text after the value",
		"{ /* }":                          "line 1, column 3: unclosed comment, or a / that begins no comment",
		"[1, / 2]":                        "line 1, column 5: unclosed comment",
		"[1,,2]":                          "line 1, column 4: expected a value",
		"[,]":                             "line 1, column 2: expected a value",
		strings.Repeat("[", 20_000):       "values are nested more than 10000 levels deep",
		"{\"a\": [1, 2}":                  "line 1, column 12: expected , or ] after the element",
		"\ufeff{\n  \"a\": [\n    1,\n\n": "line 5, column 1: unexpected end, the [ of line 2 is not closed",
	} {
		_, err := jsonedit.ReadJSONC([]byte(text))
		var syntax *jsonedit.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// FuzzJSONC checks that what can be read can still be read when something has been added, that nothing else in it
// changed, and that taking it out again gives the same bytes.
func FuzzJSONC(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text), "key", "value")
	}
	f.Fuzz(func(t *testing.T, text []byte, key, value string) {
		before, err := jsonedit.ReadJSONC(text)
		if err != nil || before.Root.Inner() == nil {
			t.Skip()
		}
		if before.Root.Kind == jsonedit.Array {
			key = ""
		} else if key == "" || before.Root.Index(key) >= 0 || !plain(key) {
			t.Skip()
		}
		after, err := before.Add(before.Root, key, map[string]string{"v": value})
		if err != nil {
			t.Fatalf("%q: add: %v", text, err)
		}
		n := before.Root.Len()
		if got := shape(after.Root); len(got) != n+1 || strings.Join(got[:n], "\x00") != strings.Join(shape(before.Root), "\x00") {
			t.Fatalf("%q became %q", text, after.Text)
		}
		back, err := after.Remove(after.Root, n, before.Root.Inner())
		if err != nil || !bytes.Equal(back.Text, text) {
			t.Fatalf("%q became %q and then %q: %v", text, after.Text, back.Text, err)
		}
	})
}

// shape returns the keys and values of a container.
func shape(v *jsonedit.Value) []string {
	var all []string
	for _, m := range v.Members {
		all = append(all, m.Key+"\x00"+string(m.Value.Raw()))
	}
	for _, item := range v.Items {
		all = append(all, string(item.Raw()))
	}
	return all
}

// plain reports whether a key is written and read again as the same.
func plain(key string) bool {
	text, err := json.Marshal(key)
	var again string
	return err == nil && json.Unmarshal(text, &again) == nil && again == key
}

func read(t *testing.T, text string) jsonedit.Doc {
	t.Helper()
	doc, err := jsonedit.ReadJSONC([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return doc
}

func must(t *testing.T) func(jsonedit.Doc, error) jsonedit.Doc {
	t.Helper()
	return func(doc jsonedit.Doc, err error) jsonedit.Doc {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
}
