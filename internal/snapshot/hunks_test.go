package snapshot

import (
	"strings"
	"testing"
)

// TestHunksOf: the lines of both sides are those of the texts, also where they look like parts of a patch.
func TestHunksOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, now string }{
		{"", "a\n"}, {"a\n", ""}, {"a\nb\nc\n", "a\nB\nc\n"}, {"same\n", "same\n"}, {"no end", "no end\n"},
		{"@@ -1 +1 @@\n--- a\n", "@@ -2 +2 @@\n+++ b\n\\ No newline\n"}, {strings.Repeat("x\n", 50) + "old\n", strings.Repeat("x\n", 50) + "new\n"},
	} {
		hunks := HunksOf(c.old, c.now)
		var old, now []string
		for _, h := range hunks {
			if !strings.HasPrefix(h.Header, "@@ ") {
				t.Errorf("header %q", h.Header)
			}
			for _, l := range h.Lines {
				if l.Op != "+" {
					old = append(old, l.Text)
				}
				if l.Op != "-" {
					now = append(now, l.Text)
				}
			}
		}
		if c.old == c.now {
			if len(hunks) != 0 {
				t.Errorf("%q: %+v", c.old, hunks)
			}
			continue
		}
		if !strings.HasSuffix(strings.TrimSuffix(c.old, "\n"), strings.Join(old, "\n")) || !strings.HasSuffix(strings.TrimSuffix(c.now, "\n"), strings.Join(now, "\n")) {
			t.Errorf("%q to %q: %+v", c.old, c.now, hunks)
		}
	}
}

// TestHunkLimit leaves out what is too much, and says so.
func TestHunkLimit(t *testing.T) {
	t.Parallel()
	f, left := FileDiff{}, 5
	f.add([]Hunk{{Lines: make([]Line, 3)}, {Lines: make([]Line, 3)}}, &left)
	if len(f.Hunks) != 1 || !f.More || left != 0 {
		t.Errorf("%+v, %d left", f, left)
	}
}
