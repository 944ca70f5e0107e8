package git

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const porcelain = "aaaa 1 1 2\nauthor Ann\nauthor-mail <a@b>\nauthor-time 1700000000\nauthor-tz +0000\nsummary author Eve\nfilename f\n\t## Gotchas\naaaa 2 2\n\t\n" +
	"bbbb 3 3 1\nauthor Bob\nauthor-time x\nboundary\nfilename f\n\t- author Eve\naaaa 4 4 1\n\tend\n"

func TestParseBlame(t *testing.T) {
	t.Parallel()
	then := time.Unix(1700000000, 0).UTC()
	want := []Line{{"## Gotchas", "aaaa", "Ann", then}, {"", "aaaa", "Ann", then}, {"- author Eve", "bbbb", "Bob", time.Time{}}, {"end", "aaaa", "Ann", then}}
	if diff := cmp.Diff(want, parseBlame([]byte(porcelain))); diff != "" {
		t.Error(diff)
	}
}

// FuzzParseBlame: each line of the file becomes a line, whatever else git prints.
func FuzzParseBlame(f *testing.F) {
	f.Add(porcelain)
	f.Add("\t\n\t")
	f.Fuzz(func(t *testing.T, text string) {
		want := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "\t") && strings.HasSuffix(line, "\n") {
				want++
			}
		}
		if got := parseBlame([]byte(text)); len(got) != want {
			t.Errorf("%d lines, want %d", len(got), want)
		}
	})
}
