package splice_test

import (
	"strings"
	"testing"

	"pawl/internal/textedit/splice"
)

// TestClip: what is short stays, what is long ends with a sign, and no character is cut in two.
func TestClip(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abcd…", "abcé": "abc…", "äöü": "äö…"} {
		if got := splice.Clip(text, 4); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
	if got, want := splice.Quote("a\n"+strings.Repeat("b", 99)), `"a\n`+strings.Repeat("b", 58)+`…"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
