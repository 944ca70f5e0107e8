package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestArchitectureNamesEveryPackage checks that ARCHITECTURE.md links to each folder of internal.
// TestLinksLeadSomewhere checks that the links exist.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	t.Parallel()
	text := strings.Join(lines(t, filepath.Join(root, "ARCHITECTURE.md")), "\n")
	folders, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		link := "](internal/" + f.Name()
		if !strings.Contains(text, link+")") && !strings.Contains(text, link+"/") {
			t.Errorf("ARCHITECTURE.md has no link to internal/%s", f.Name())
		}
	}
}

// TestInstalledToolsAreNamed checks that the documents name what `make test` installs.
func TestInstalledToolsAreNamed(t *testing.T) {
	t.Parallel()
	var tools []string
	for _, line := range lines(t, filepath.Join(root, "Makefile")) {
		if _, names, ok := strings.Cut(line, "@./scripts/need "); ok && !strings.HasPrefix(line, "\t-") { // without a dash, it must succeed
			tools = append(tools, strings.Fields(names)...)
		}
		if of, ok := strings.CutPrefix(line, "tools: "); ok {
			of, _, _ = strings.Cut(of, "##")
			tools = append(tools, strings.Fields(strings.ReplaceAll(of, "$(BIN)/", ""))...)
		}
	}
	if len(tools) < 4 {
		t.Fatalf("found only %q", tools)
	}
	for _, document := range []string{"README.md", "CONTRIBUTING.md"} {
		text := strings.Join(lines(t, filepath.Join(root, document)), "\n")
		for _, tool := range tools {
			if !strings.Contains(text, tool) {
				t.Errorf("%s does not name %s, which make test installs", document, tool)
			}
		}
	}
}

// TestDocumentsAreShort keeps the documents that are read first short.
func TestDocumentsAreShort(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"README.md": 60, "ARCHITECTURE.md": 150, "docs/concepts.md": 80} {
		if n := len(lines(t, filepath.Join(root, name))) - 1; n > most {
			t.Errorf("%s has %d lines, want at most %d", name, n, most)
		}
	}
}
