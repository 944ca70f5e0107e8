package shellwords_test

import (
	"os/exec"
	"testing"

	"pawl/internal/shellwords"
)

// TestWord: sh reads each word as the text it was, and expands nothing in it.
func TestWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain-1_a/b.c:=@%+,": "plain-1_a/b.c:=@%+,",
		"":                    "''",
		"two words":           "'two words'",
		"$(touch owned)":      "'$(touch owned)'",
		"`id`; rm -rf x":      "'`id`; rm -rf x'",
		"it's":                `'it'\''s'`,
		"~/a":                 "'~/a'",
	} {
		if got := shellwords.Word(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		out, err := exec.Command("sh", "-c", "printf %s "+shellwords.Word(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q: sh read %q, %v", text, out, err)
		}
	}
}
