package pawl_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl"
)

func TestParseStepID(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a", "step-1", "S01_load.data", "...a", strings.Repeat("x", 64)} {
		if id, err := pawl.ParseStepID(s); err != nil || string(id) != s {
			t.Errorf("%q: %q, %v", s, id, err)
		}
	}
	for _, s := range []string{"", ".", "..", "...", "a b", "a/b", "ü", "a\n", "\x00", strings.Repeat("x", 65)} {
		if id, err := pawl.ParseStepID(s); err == nil || id != "" {
			t.Errorf("%q: accepted as %q", s, id)
		}
	}
}

func TestParseRunID(t *testing.T) {
	t.Parallel()
	const good = "my.plan-20261121-060102-ab12"
	if id, err := pawl.ParseRunID(good); err != nil || string(id) != good {
		t.Errorf("%q, %v", id, err)
	}
	for _, s := range []string{
		"", "plan", "-20261121-060102-ab12", "plan-20261121-060102-AB12", "plan-20261121-060102-ab123", "plan-2026112-060102-ab12",
		"../x-20261121-060102-ab12", good + "\n", "x" + strings.Repeat("y", 64) + "-20261121-060102-ab12",
	} {
		if id, err := pawl.ParseRunID(s); err == nil || id != "" {
			t.Errorf("%q: accepted as %q", s, id)
		}
	}
}

// TestItemIDs: every value has an id that can be a folder's name, the value itself where it can be one, and values that
// differ have ids that differ.
func TestItemIDs(t *testing.T) {
	t.Parallel()
	if got := pawl.ItemIDOf("bufio"); got != "bufio" {
		t.Errorf("bufio: %s", got)
	}
	if got := pawl.ItemIDOf("encoding/json"); !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(string(got)) {
		t.Errorf("encoding/json: %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		for _, v := range []string{a, b, "..", ".", ""} {
			if _, err := pawl.ParseStepID(string(pawl.ItemIDOf(v))); err != nil {
				t.Fatalf("%q: %v", v, err)
			}
		}
		if (a == b) != (pawl.ItemIDOf(a) == pawl.ItemIDOf(b)) {
			t.Fatalf("%q and %q: %s and %s", a, b, pawl.ItemIDOf(a), pawl.ItemIDOf(b))
		}
	})
}
