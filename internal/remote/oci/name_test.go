package oci

import (
	"strings"
	"testing"

	"pawl/internal/remote"
)

func TestTags(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0123456789abcdef", 4)
	for _, key := range []string{
		"pawl-remote.json", "packs/" + sum, "indexes/" + sum + "-" + sum, "marks/" + sum, "runs/a_b-20260101-000000-abcd/000001-0123456789abcdef.json",
		"runs/" + strings.Repeat("x", 64) + "-20260101-000000-abcd/000001-0123456789abcdef.json", "a_h/b__c/_d_", "_h" + sum, sum + sum,
	} {
		tag, err := tagOf(key)
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if back, ok := keyOf(tag); !ok || back != key {
			t.Errorf("%s becomes %s, and then %s", key, tag, back)
		}
	}
	if tag, err := tagOf(strings.Repeat("x", 130)); err == nil {
		t.Errorf("too long: %s", tag)
	}
	for _, tag := range []string{"latest_", "v1_x", "_hshort", "_.a", "a_.._.b", "_h" + strings.Repeat("_", 43)} {
		if key, ok := keyOf(tag); ok {
			t.Errorf("%s is the tag of %q", tag, key)
		}
	}
}

// FuzzTags: a tag stands for one key, and a key has one tag.
func FuzzTags(f *testing.F) {
	f.Add("packs_.a")
	f.Add("_h" + strings.Repeat("A", 43))
	f.Fuzz(func(t *testing.T, text string) {
		if key, ok := keyOf(text); ok {
			if tag, err := tagOf(key); err != nil || tag != text || !remote.ValidKey(key) {
				t.Errorf("%q is the tag of %q, whose tag is %q", text, key, tag)
			}
		}
		if tag, err := tagOf(text); err == nil {
			if key, ok := keyOf(tag); !ok || key != text {
				t.Errorf("%q has the tag %q, which is of %q", text, tag, key)
			}
		}
	})
}
