package gyoshu_test

import (
	"strings"
	"testing"

	"pawl/internal/interop/format/gyoshu"
)

func TestCheckSegment(t *testing.T) {
	t.Parallel()
	for segment, want := range map[string]string{
		"churn": "", "a b": "", "naïve": "", "COM": "", "COM0": "", "COMA": "", "conman": "", "com12": "", "LPTCOM1": "", "COM1x": "", "-": "",
		"":                       "runId is required and must be a string",
		"\t ":                    "Invalid runId: cannot be empty or whitespace",
		"..":                     "Invalid runId: contains path traversal characters",
		".":                      "Invalid runId: contains path traversal characters",
		"a..b":                   "Invalid runId: contains path traversal characters",
		"a/b":                    "Invalid runId: contains path traversal characters",
		`a\b`:                    "Invalid runId: contains path traversal characters",
		"a\x00b":                 "Invalid runId: contains null byte",
		"a.":                     "Invalid runId: ends with a dot or a space",
		"a ":                     "Invalid runId: ends with a dot or a space",
		strings.Repeat("ä", 127): "",
		strings.Repeat("ä", 128): "Invalid runId: exceeds maximum length of 255 bytes",
		"CON":                    "runId contains Windows reserved name: CON",
		"aux.txt.gz":             "runId contains Windows reserved name: aux.txt.gz",
		"Lpt1":                   "runId contains Windows reserved name: Lpt1",
		"COM³.x":                 "runId contains Windows reserved name: COM³.x",
		"CLOC\u212a$":            "runId contains Windows reserved name: CLOC\u212a$",
		"conout$":                "runId contains Windows reserved name: conout$",
		"nul .txt":               "runId contains Windows reserved name: nul .txt",
	} {
		if got := gyoshu.CheckSegment("runId", segment); got != want {
			t.Errorf("%q: %q, want %q", segment, got, want)
		}
	}
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "reports/x y/run-1/S01_load_data/naïve-<x>&\"q\".parquet", ".hidden/x"} {
		if issue := gyoshu.CheckPath(good); issue != "" {
			t.Errorf("%q: %s", good, issue)
		}
	}
	for _, bad := range []string{"", "/etc/passwd", "../x", "a/../b", "a/..", "./a", "a//b", "a/", `C:\x`, "c:x", `\\host\x`, `a\..\b`, "a/CON/b", "a/nul.txt", "a\x00", "a/" + strings.Repeat("x", 256)} {
		if gyoshu.CheckPath(bad) == "" {
			t.Errorf("%q is taken for a path in the project", bad)
		}
	}
}
