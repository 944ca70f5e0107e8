package tomledit

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pawl/internal/textedit"
)

// texts are of the shapes that people and programs write.
var texts = map[string]string{
	"empty":        "",
	"blank":        "\n\n",
	"one":          "model = \"gpt-5\"\n",
	"no end":       "model = \"gpt-5\"",
	"comment last": "model = 'x' # mine\n# the end",
	"tables":       "# mine\nmodel = \"x\"\n\n[features]\nhooks = true\n\n[mcp_servers.docs]\ncommand = \"npx\"\nargs = [\n  \"-y\", # yes\n  \"docs\",\n]\nenv = { KEY = \"v\" }\n",
	"windows":      "model = \"x\"\r\n\r\n[tui]\r\ntheme = \"dark\"\r\n",
	"marked":       "\ufeffmodel = \"x\"\n",
	"dotted":       "tui.theme = \"dark\"\n[projects.\"/home/a/b c\"]\ntrust_level = \"trusted\"\n",
	"long texts":   "a = \"\"\"\n[no.table]\nx = \\\"\"\"\"\"\nb = '''\n[neither]'''\n[[profiles]]\nname = \"a\"\n[[profiles]]\nname = \"b\"\n",
	"indented":     "[a]\n  [a.b]\n    c = 1979-05-27 07:32:00 # a date\n",
}

var path = []string{"mcp_servers", "pawl"}

// What Add puts there, Drop takes out again, and the bytes are the same as before.
func TestAddAndDrop(t *testing.T) {
	t.Parallel()
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := Read([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			after, err := doc.Add(path, Pair{"command", `/opt/a "b"/pawl`}, Pair{"args", []string{"mcp"}})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"command": `/opt/a "b"/pawl`, "args": []any{"mcp"}}
			if got := after.Get(path...); !reflect.DeepEqual(got, want) {
				t.Errorf("%s\nsays %v, want %v", after.Text, got, want)
			}
			back, err := after.Remove(path)
			if err != nil || string(back.Text) != text {
				t.Errorf("%q\nbecame %q\nand then %q, %v", text, after.Text, back.Text, err)
			}
		})
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		keys []string
		want any
	}{
		{texts["tables"], []string{"features", "hooks"}, true},
		{texts["tables"], []string{"mcp_servers", "docs", "args"}, []any{"-y", "docs"}},
		{texts["tables"], []string{"mcp_servers", "docs", "env", "KEY"}, "v"},
		{texts["dotted"], []string{"projects", "/home/a/b c", "trust_level"}, "trusted"},
		{texts["dotted"], []string{"tui", "theme"}, "dark"},
		{texts["long texts"], []string{"a"}, "[no.table]\nx = \"\""},
		{texts["long texts"], []string{"b"}, "[neither]"},
		{texts["long texts"], []string{"profiles", "name"}, "b"},
		{texts["indented"], []string{"a", "b", "c"}, "1979-05-27 07:32:00"},
		{"a = \"\\u00e4\\t\\x41\\U0001F600\"", []string{"a"}, "ä\tA😀"},
		{"a = 'C:\\x'", []string{"a"}, `C:\x`},
		{"a = \"\"\"x \\\n   y\"\"\"", []string{"a"}, "x y"},
		{"a.b = 1", []string{"a", "b", "c"}, nil},
		{"[a]\nb = {}\n[a.b.c]\nd = inf", []string{"a", "b", "c", "d"}, "inf"},
	} {
		doc, err := Read([]byte(c.text))
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		} else if got := doc.Get(c.keys...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v is %#v, want %#v", c.text, c.keys, got, c.want)
		}
	}
}

// Where something was changed around a table, taking it out leaves that change to the byte.
func TestDropAmongOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"a = 1\n\n[mcp_servers.pawl]\ncommand = \"x\"\n\n[b]\nc = 2\n", "a = 1\n\n[b]\nc = 2\n"},
		{"a = 1\n[mcp_servers.pawl]\n# mine\ncommand = \"x\"\n[mcp_servers.pawl.env]\nA = \"b\"\n[b]\n", "a = 1\n# mine\n[b]\n"},
		{"[mcp_servers]\npawl = { command = \"x\" }\nother = { command = \"y\" }\n", "[mcp_servers]\nother = { command = \"y\" }\n"},
		{"[mcp_servers]\npawl.command = \"x\"\npawl.args = [\n]\n", "[mcp_servers]\n"},
		{"[mcp_servers.\"pawl\"]\n", ""},
		{"[mcp_servers.pawls]\n", "[mcp_servers.pawls]\n"},
	} {
		doc, err := Read([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := doc.Remove(path); err != nil || string(got.Text) != c.want {
			t.Errorf("%q\nbecame %q, %v\nwant   %q", c.text, got.Text, err, c.want)
		}
	}
}

// Where a table cannot be added or taken out, that is said with the place, and nothing comes of it.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	doc, err := Read([]byte("a = 1\nmcp_servers = { docs = { command = \"x\" }, pawl = { command = \"y\" } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := doc.Add(path); err == nil || err.Error() != "line 2, column 1: mcp_servers is an inline table, which cannot be extended; write it as [mcp_servers.NAME]" {
		t.Error(err)
	}
	if _, err := doc.Remove(path); err == nil || !strings.Contains(err.Error(), "remove it manually") {
		t.Error(err)
	}
}

// Each syntax error is reported with its location and a hint.
func TestBroken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a = \n":                          "line 1, column 5: expected a value",
		"a = yes\n":                       "line 1, column 5: expected a value; strings need quotes",
		"b = 1\na 1\n":                    "line 2, column 3: expected = after a",
		"[a\n":                            "line 1, column 3: expected ] after a",
		"[[a]\n":                          "line 1, column 4: expected ]] after a",
		"[a] b\n":                         "line 1, column 5: expected the end of the line",
		"a = \"b\n":                       "line 1, column 5: unclosed string, expected \"",
		"a = \"\"\"b\n":                   "line 1, column 5: unclosed string, expected \"\"\"",
		"a = [1, 2\nb = 3\n":              "line 1, column 5: unclosed array",
		"a = { b = 1\n":                   "line 1, column 5: unclosed inline table",
		"ä = 1\n":                         "line 1, column 1: expected a key",
		"a = \"\\q\"\n":                   "line 1, column 5: unknown escape \"\\\\q\"",
		"a = 1 2 3\n":                     "line 1, column 7: expected the end",
		"a = \"\"\r":                      "line 1, column 7: expected the end",
		"a = " + strings.Repeat("[", 1e4): "are nested too deep",
	} {
		_, err := Read([]byte(text))
		var syntax *textedit.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// FuzzSplice checks that what can be read can still be read when a table has been added, and that taking it out again
// gives the same bytes, also when something was written behind it meanwhile.
func FuzzSplice(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text), "/usr/bin/pawl")
	}
	f.Fuzz(func(t *testing.T, text []byte, command string) {
		before, err := Read(text)
		if err != nil || before.Get(path...) != nil {
			t.Skip()
		}
		after, err := before.Add(path, Pair{"command", command})
		if err != nil {
			t.Skip() // an inline table stands in the way
		}
		back, err := after.Remove(path)
		if err != nil || !bytes.Equal(back.Text, text) {
			t.Fatalf("%q became %q and then %q: %v", text, after.Text, back.Text, err)
		}
		if len(text) == 0 || text[len(text)-1] != '\n' {
			return
		}
		edited, err := Read(append(bytes.Clone(after.Text), "[zz]\n"...))
		if err != nil {
			t.Fatal(err)
		}
		if back, err = edited.Remove(path); err != nil || string(back.Text) != string(text)+"[zz]\n" {
			t.Fatalf("%q, edited, became %q: %v", text, back.Text, err)
		}
	})
}
