package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/project"
)

// TestRunFromElsewhere removes the user's record of a run. The tools that tell of a run refuse it then.
func TestRunFromElsewhere(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.pawl("run", "--", "true")
	p, err := project.Find(f.dir)
	if err == nil {
		err = os.RemoveAll(filepath.Join(p.Trust.Folder, "runs"))
	}
	if err != nil {
		t.Fatal(err)
	}
	agent := f.connect("stdio", "2025-11-25", clientOf("claude-code", nil))
	for _, tool := range []string{"status", "history"} {
		if got := use(t, agent, tool, args{"run": "latest"}); !got.wrong || !strings.Contains(got.text, "comes from elsewhere") {
			t.Errorf("%s: %+v", tool, got)
		}
	}
}
