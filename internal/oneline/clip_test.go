package oneline_test

import (
	"strings"
	"testing"

	"pawl/internal/oneline"
)

// TestClip: what is short stays, what is long ends with a sign, and no character is cut in two.
func TestClip(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abcd…", "abcé": "abc…", "äöü": "äö…"} {
		if got := oneline.Clip(text, 4); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
	if got, want := oneline.Quote("a\n"+strings.Repeat("b", 99)), `"a\n`+strings.Repeat("b", 58)+`…"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
