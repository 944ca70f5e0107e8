package agent

import (
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestEachLine: lines are complete, however they are read; a line that is too long is skipped.
func TestEachLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10<<20)
	for text, want := range map[string][]string{
		"":                               nil,
		"a\nb\r\n\nc":                    {"a", "b", "", "c"},
		"\n":                             {""},
		long + "\nnext\n":                {long, "next"},
		long + long + "\nnext\n":         {"next"},
		"first\n" + long + long + "tail": {"first"},
	} {
		var got []string
		eachLine(strings.NewReader(text), func(line []byte) { got = append(got, string(line)) })
		if !slices.Equal(got, want) {
			t.Errorf("%d bytes: %d lines, want %d", len(text), len(got), len(want))
		}
	}
	var got []string
	eachLine(iotest.OneByteReader(strings.NewReader("ab\ncd\n")), func(line []byte) { got = append(got, string(line)) })
	if !slices.Equal(got, []string{"ab", "cd"}) {
		t.Errorf("byte by byte: %q", got)
	}
}

// TestScreen: words come in lines, parts when their line is whole, and secrets in neither.
func TestScreen(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := screen{to: &out, clean: func(text string) string { return strings.ReplaceAll(text, "secret", "[redacted]") }}
	s.part("I look ")
	s.part("for a sec")
	if out.Len() > 0 {
		t.Errorf("half a line is shown: %q", out.String())
	}
	s.part("ret.\nAnd ")
	s.print("> tool: secret")
	s.part("end")
	s.flush()
	s.flush()
	if want := "I look for a [redacted].\nAnd \n> tool: [redacted]\nend\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
