package mcp_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestServerOnly: where only a server may answer, the client's user is not asked, and the gate stays open.
func TestServerOnly(t *testing.T) {
	settings := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(settings, "pawl"), 0o700), os.WriteFile(filepath.Join(settings, "pawl/config.yaml"), []byte("gates: server-only\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", settings)
	for _, version := range versions {
		f := newFolder(t)
		agent := f.connect("stdio", version, clientOf("claude-code", replying("accept", map[string]any{"answer": "blue"})))
		got := use(t, agent, "ask", colours)
		says(t, got.text, "is open, not answered yet")
		if answered := f.events("gate.answered"); len(answered) > 0 {
			t.Errorf("%s", answered)
		}
	}
}
