package oneline_test

import (
	"testing"

	"pawl/internal/oneline"
)

// A name takes one line, and is as it is unless it has something that does not print or ends quotes.
func TestPath(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"": "", "a b": "a b", "ä/ö": "ä/ö", "it's": "it's", "a\nb": `"a\nb"`, "tab\t": `"tab\t"`, `a"b`: `"a\"b"`, `a\b`: `"a\\b"`,
		"\x1b[31m": `"\033[31m"`, "bad\xff": `"bad\377"`, "\x7fä": `"\177\303\244"`,
	} {
		if got := oneline.Path(name); got != want {
			t.Errorf("%q becomes %s, not %s", name, got, want)
		}
	}
	if got, want := oneline.Paths([]string{"a", "b\nc"}), `a, "b\nc"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
