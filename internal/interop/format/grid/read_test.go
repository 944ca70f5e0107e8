package grid_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/grid"
)

var update = flag.Bool("update", false, "write the goldens anew")

// now is when all fixtures are read.
var now = time.Date(2026, 1, 23, 17, 30, 0, 0, time.FixedZone("here", 3600))

// project returns the files of a fixture and its git log, the lines "hash time subject" of git.log.
func project(t *testing.T, name string) (format.Files, []format.Commit) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var files format.Files
	var log []format.Commit
	for _, f := range archive.Files {
		if f.Name == "git.log" {
			log = commits(t, string(f.Data))
			continue
		}
		files = append(files, format.File{Path: f.Name, Data: f.Data, Changed: now.Add(-time.Hour)})
	}
	return files, log
}

func commits(t *testing.T, text string) []format.Commit {
	t.Helper()
	var log []format.Commit
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		at, err := time.Parse(time.RFC3339, parts[1])
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, format.Commit{Hash: parts[0], Time: at, Message: parts[2]})
	}
	return log
}

// wanted leaves those files that the format reads.
func wanted(files format.Files) format.Files {
	var kept format.Files
	for _, pattern := range grid.Format().Patterns {
		for _, f := range files.Match(pattern) {
			if kept.Find(f.Path) == nil {
				kept = append(kept, f)
			}
		}
	}
	return kept
}

func readAll(files format.Files, log []format.Commit) (format.Project, []pawl.Finding) {
	return grid.Format().Read(wanted(files), format.Env{Now: now, Commits: log})
}

// TestRead compares the result of reading each fixture with a golden file.
func TestRead(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(err, len(names))
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			reading, findings := readAll(project(t, name))
			got, err := json.MarshalIndent(map[string]any{"reading": reading, "findings": findings}, "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(name, ".txtar")+".json", append(got, '\n'))
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: -want +got:\n%s", name, diff)
	}
}
