package hints_test

import (
	"testing"

	"pawl/internal/cli/hints"
)

func TestWithRun(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"pawl status":                     "pawl status r",
		"pawl resume --yes":               "pawl resume --yes r",
		"pawl resume r":                   "pawl resume r",
		"pawl resume other":               "pawl resume other",
		"pawl retry a":                    "pawl retry a --run r",
		"pawl output a --stderr":          "pawl output a --stderr --run r",
		`pawl answer 3f2a91c0 "dark red"`: `pawl answer 3f2a91c0 "dark red" --run r`,
		"pawl unblock 1":                  "pawl unblock 1 --run r",
		"pawl rollback --to 3f2a91c0":     "pawl rollback --to 3f2a91c0",
		"pawl runs":                       "pawl runs",
		"pawl watch":                      "pawl watch r",
		"":                                "",
	} {
		if got := hints.WithRun(command, "r"); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}
