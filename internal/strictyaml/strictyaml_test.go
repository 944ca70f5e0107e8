package strictyaml_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"pawl/internal/strictyaml"
)

type shelf struct {
	Name  string            `yaml:"name"`
	Width int               `yaml:"width,omitempty"`
	Tags  map[string]string `yaml:"tags,omitempty"`
	Books []book            `yaml:"books,omitempty"`
}

type book struct {
	Title string `yaml:"title"`
}

// TestRead: each error is reported with its location and its fix.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"name: a\nwidth: 3\nbooks: [{title: b}]\n", ""},
		{"", ""},
		{"name: a\nname: b\n", `s:2:1: duplicate key "name" (first used on line 1)`},
		{"nmae: a\n", `s:1:1: unknown key "nmae" in shelf; did you mean "name"?`},
		{"width: wide\n", "s:1:1: shelf has no \"name\"; add it\ns:1:8: \"width\" must be an integer, not a string"},
		{"name: \"\"\n", `s:1:7: "name" is empty; fill it in`},
		{"name: 3\nbooks: b\n", "s:1:7: \"name\" must be a string, not an integer; quote it: \"3\"\ns:2:8: \"books\" must be a list, not a string; write [b]"},
		{"name: a\nbooks: [{}]\n", `s:2:9: book has no "title"; add it`},
		{"name: [\n", "s:2:1: invalid YAML: a bracket, brace or quote is not closed, or a comma is missing"},
		{"name: [a\nwidth: 3\n", "s:2:6: invalid YAML: a bracket, brace or quote is not closed, or a comma is missing; see line 1"},
		{"name: \"a\n", "s:2:1: invalid YAML: a quote is not closed; see line 1"},
		{"name: \"a\\q\"\n", `s:1:9: invalid YAML: unknown escape in double quotes; write \\ for a backslash, or use single quotes`},
		{"name: a: b\n", `s:1:8: invalid YAML: ": " is not allowed here; put the value in quotes, or check the indentation`},
		{"name: @a\n", "s:1:7: invalid YAML: a value cannot start with this character; put the value in quotes"},
		{"name: a\nbooks:\n\t- title: b\n", "s:3:1: invalid YAML: a line is indented with a tab; indent with spaces"},
		{"name: a\nbooks:\n  - title: b\n - title: c\n", `s:4:2: invalid YAML: the indentation does not match the lines above, or a quote is in the wrong place`},
		{"name: a\nwidth\nbooks: []\n", `s:3:1: invalid YAML: a key has no ":" after it, or a value is not indented`},
		{"name: a\n  width: 3\n", `s:2:8: invalid YAML: ": " is not allowed here; put the value in quotes, or check the indentation`},
		{"name: *a\n", `s:1:7: invalid YAML: *NAME refers to an anchor that is not in the file; put the value in quotes if it is text`},
		{"name: a\n---\nname: b\n", "s:2:1: a second YAML document starts here; a shelf must be a single document"},
		{"name: \x00\n", "s:1:7: not a text file: byte 6 is 0x00; a shelf must be YAML in UTF-8"},
	} {
		got := ""
		if err := strictyaml.Read("shelf", []byte(c.text), &shelf{}).Err("s"); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

// TestErrorf: who reads finds faults of their own, in a list, a map, or where nothing stands.
func TestErrorf(t *testing.T) {
	t.Parallel()
	var s shelf
	f := strictyaml.Read("shelf", []byte("name: a\ntags:\n  colour: red\nbooks:\n  - title: b\n"), &s)
	f.Errorf(&s.Books[0].Title, "a")
	f.Errorf(strictyaml.Entry{Of: &s.Tags, Key: "colour"}, "b")
	f.Errorf(&s.Width, "c")
	if f.Given(&s.Width) || !f.Good(&s.Name) || f.Line(&s.Books) != 4 || f.Count() != 3 {
		t.Errorf("width given %v, name good %v, books at line %d, %d faults", f.Given(&s.Width), f.Good(&s.Name), f.Line(&s.Books), f.Count())
	}
	const want = "s:1:1: c\ns:3:3: b\ns:5:12: a"
	if err := f.Err("s"); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestTree: files of any shape, with what no file may contain.
func TestTree(t *testing.T) {
	t.Parallel()
	n, err := strictyaml.Tree("file", "f", []byte("a: &x {b: 1, c: true}\nd:\n  <<: *x\n  c: [~, 'two', *x]\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := n.Get("d")
	if len(d.Fields) != 2 || d.Get("b").Kind != strictyaml.Number || d.Get("b").Line != 1 || d.Get("c").Kind != strictyaml.List {
		t.Errorf("%+v", d)
	}
	if c := d.Get("c").List; c[0].Scalar() || c[1].Text != "two" || c[1].Line != 4 || c[1].Column != 10 || c[2].Get("c").Kind != strictyaml.Bool {
		t.Errorf("%+v", c)
	}
	if n, err := strictyaml.Tree("file", "f", nil); n != nil || err != nil {
		t.Errorf("%v, %v", n, err)
	}
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 6 {
		bomb += fmt.Sprintf("%c: &%[1]c [*%c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c, *%[2]c]\n", 'b'+i, 'a'+i)
	}
	for text, want := range map[string]string{
		bomb: "expand to more than 100000 values",
		strings.Repeat("[", 200) + strings.Repeat("]", 200): "nested more than 100 levels deep",
		"a: &a [*a]\n":   "nested more than 100 levels deep",
		"a: 1\na: 2\n":   `f:2:1: duplicate key "a" (first used on line 1)`,
		"? [a]\n: b\n":   "a key must be a string",
		"a:\n  <<: 3\n":  "f:2:7: << needs a mapping, not number",
		"a: b: c\n":      "invalid YAML",
		"\"a\\0\": b\n":  "NUL",
		"--- a\n--- b\n": "a file must be a single document",
	} {
		if _, err := strictyaml.Tree("file", "f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

// TestAny: values of any type are exact. What they hold survives YAML and JSON.
func TestAny(t *testing.T) {
	t.Parallel()
	var sheet struct {
		Any map[string]any `yaml:"any"`
	}
	read := func(text string) {
		t.Helper()
		sheet.Any = nil
		if err := strictyaml.Read("sheet", []byte(text), &sheet).Err("s"); err != nil {
			t.Fatal(err)
		}
	}
	read("any: {int: 9007199254740993, big: 123456789012345678901234567890, hex: 0x1F, whole: 1.0, point: 0.5, minus: -0.0, nan: .NaN, inf: -.inf, " +
		"far: 1e21, under: 1_000, none: ~, yes: true, text: '1.0', day: 2024-01-02, list: [2.0, {a: 3.0}]}")
	const want = `{"big":123456789012345678901234567890,"day":"2024-01-02","far":1e+21,"hex":31,"inf":{"$float":"-inf"},"int":9007199254740993,` +
		`"list":[2.0,{"a":3.0}],"minus":-0.0,"nan":{"$float":"nan"},"none":null,"point":0.5,"text":"1.0","under":1000,"whole":1.0,"yes":true}`
	for _, encode := range []func(any) ([]byte, error){json.Marshal, func(v any) ([]byte, error) { return yaml.Dump(v) }} {
		text, err := json.Marshal(sheet.Any)
		if err != nil || string(text) != want {
			t.Errorf("%s, %v\nwant %s", text, err, want)
		}
		if text, err = encode(map[string]any{"any": sheet.Any}); err != nil {
			t.Fatal(err)
		}
		read(string(text))
	}
	if text, err := json.Marshal(sheet.Any); err != nil || string(text) != want {
		t.Errorf("after YAML: %s, %v\nwant %s", text, err, want)
	}
	if err := strictyaml.Read("sheet", []byte("any: {x: {a: 1, a: 2}}"), &sheet).Err("s"); err == nil || !strings.Contains(err.Error(), `s:1:17: duplicate key "a"`) {
		t.Errorf("%v", err)
	}
}
