package layout_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl/internal/cli/layout"
)

// TestFilter writes texts with control characters, whole and byte by byte.
func TestFilter(t *testing.T) {
	for _, c := range []struct{ name, text, plain, colours string }{
		{"nothing", "step a\tdone ünïcode 日本\n", "", ""},
		{"escape", "a\x1b[2Jb", `a\u001b[2Jb`, `a\u001b[2Jb`},
		{"title", "\x1b]0;x\x07", `\u001b]0;x\u0007`, `\u001b]0;x\u0007`},
		{"colour", "\x1b[1;31mred\x1b[0m", `\u001b[1;31mred\u001b[0m`, "\x1b[1;31mred\x1b[0m"},
		{"carriage return", "10%\r20%", `10%\u000d20%`, "10%\r20%"},
		{"C1", "\u009b2J\u0085", `\u009b2J\u0085`, `\u009b2J\u0085`},
		{"raw C1", "\x9b2J", `\u009b2J`, `\u009b2J`},
		{"Latin-1", "caf\xe9 x", "", ""},
		{"bidi", "a\u202eb\u2066c\u200f", `a\u202eb\u2066c\u200f`, `a\u202eb\u2066c\u200f`},
		{"separators", "a\u2028b", `a\u2028b`, `a\u2028b`},
		{"delete", "a\x7f\x08", `a\u007f\u0008`, `a\u007f\u0008`},
		{"cut colour", "\x1b[1;" + strings.Repeat("1", 40) + "x", `\u001b[1;` + strings.Repeat("1", 40) + "x", `\u001b[1;` + strings.Repeat("1", 40) + "x"},
	} {
		for colours, want := range map[bool]string{false: c.plain, true: c.colours} {
			if want == "" {
				want = c.text
			}
			for _, size := range []int{len(c.text), 1} {
				var out strings.Builder
				f := layout.Filter{Out: &out, Colours: colours}
				for rest := c.text; rest != ""; rest = rest[min(size, len(rest)):] {
					if n, err := f.Write([]byte(rest[:min(size, len(rest))])); err != nil || n != min(size, len(rest)) {
						t.Fatalf("%d, %v", n, err)
					}
				}
				if out.String() != want {
					t.Errorf("%s, colours %v, %d bytes at once: %q, want %q", c.name, colours, size, out.String(), want)
				}
			}
		}
	}
}

// TestFilterKeepsJSON prints JSON with control characters. It decodes to the same text.
func TestFilterKeepsJSON(t *testing.T) {
	text := "a\x1b[2J\u009b\u202e\u2028\x7f\n"
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal([]byte(layout.Visible(string(data))), &got); err != nil || got != text {
		t.Errorf("%q, %v", got, err)
	}
}
