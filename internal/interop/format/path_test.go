package format_test

import (
	"path"
	"strings"
	"testing"

	"pawl/internal/interop/format"
)

func TestInside(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"src/a.go": "src/a.go", "./src//a.go": "src/a.go", "src/./b/": "src/b", "a b/naïve.md": "a b/naïve.md",
		"console.log": "console.log", "auxiliary/x": "auxiliary/x", "src/[tag].astro": "src/[tag].astro", "...": "...",
		"": "", ".": "", "..": "", "a/../b": "", "../x": "", "a/..": "", "/etc/passwd": "", "C:/x": "", `C:\x`: "", `\\host\x`: "",
		`a\..\..\x`: "", "~/x": "", "~root/x": "", "a\x00b": "", "a\nb": "", "nul": "", "a/CON": "", "aux.txt": "", "com1": "", "LPT9.log": "",
		"a/\xff": "", strings.Repeat("a", 256): "", strings.Repeat("a/", 2049): "",
	} {
		got, err := format.Inside(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Inside(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
}

func FuzzInside(f *testing.F) {
	for _, name := range []string{"a/b", "../x", "/x", `..\x`, "a/./b", "nul"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := format.Inside(name)
		if err != nil {
			return
		}
		if path.IsAbs(got) || got == ".." || strings.HasPrefix(got, "../") || strings.Contains(got, "/../") || got != path.Clean(got) {
			t.Fatalf("Inside(%q) = %q", name, got)
		}
		if again, err := format.Inside(got); err != nil || again != got {
			t.Fatalf("Inside(%q) = %q, %v", got, again, err)
		}
	})
}
