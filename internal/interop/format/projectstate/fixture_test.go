package projectstate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/evidence"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/projectstate"
)

// noon is when the tests read.
var noon = time.Date(2026, 2, 28, 12, 0, 0, 0, time.UTC)

// The projects of the fixtures.
const (
	first  = "7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1101"
	second = "7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1102"
	third  = "7b1d9a52-0c3e-4f6a-9d21-5e8f00aa1103"
)

// fixture returns a file of testdata, changed by pairs of old and new text, each of which must be in it.
func fixture(t testing.TB, name string, changes ...string) format.Files {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return format.Files{{Path: name, Data: []byte(changed(t, string(data), changes...))}}
}

func changed(t testing.TB, text string, changes ...string) string {
	t.Helper()
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("there is no %q", changes[i])
		}
		text = strings.ReplaceAll(text, changes[i], changes[i+1])
	}
	return text
}

// testEnv is an Env in which these files exist.
func testEnv(there ...string) format.Env {
	return format.Env{
		Now: noon,
		Exists: func(path string) bool {
			return strings.Contains(" "+strings.Join(there, " ")+" ", " "+path+" ")
		},
		Scan: func(since time.Time, _ ...string) evidence.Census {
			c := evidence.Census{Since: since}
			for i, name := range there {
				c.Add(name, noon.Add(-time.Duration(i)*time.Hour), noon)
			}
			return c
		},
	}
}

// read reads as the engine does.
func read(t testing.TB, files format.Files, env format.Env) (format.Project, []pawl.Finding) {
	t.Helper()
	return projectstate.Format().Read(files, env)
}

// finds fails unless a finding has this level and says this.
func finds(t *testing.T, findings []pawl.Finding, level pawl.Level, what string) {
	t.Helper()
	for _, f := range findings {
		if f.Level == level && strings.Contains(f.What, what) {
			return
		}
	}
	t.Errorf("no finding %s %q among %v", level, what, findings)
}

// worst returns the findings that are not good.
func worst(findings []pawl.Finding) []pawl.Finding {
	var all []pawl.Finding
	for _, f := range findings {
		if f.Level != pawl.OK {
			all = append(all, f)
		}
	}
	return all
}
