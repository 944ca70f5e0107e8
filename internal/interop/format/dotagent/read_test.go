package dotagent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
)

// TestRead reads each fixture and compares the result with the fixture's comment.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, a := range archives(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			about, want, _ := strings.Cut(string(a.Comment), "\n\n")
			files, env := unpacked(t, a)
			got := told(files, env)
			if *update {
				a.Comment = []byte(about + "\n\n" + got)
				if err := os.WriteFile(name, txtar.Format(a), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); diff != "" {
				t.Errorf("%s: -want +got\n%s", about, diff)
			}
		})
	}
}

// reading reads a fixture by its name.
func reading(t *testing.T, name string) (format.Project, []pawl.Finding) {
	t.Helper()
	a := archives(t)["testdata/read/"+name+".txtar"]
	if a == nil {
		t.Fatalf("there is no fixture %s", name)
	}
	files, env := unpacked(t, a)
	return dotagent.Format().Read(files, env)
}

func finds(findings []pawl.Finding, text string) bool {
	return slices.ContainsFunc(findings, func(f pawl.Finding) bool { return strings.Contains(f.Where+": "+f.What, text) })
}
