package mcp_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
)

// settings writes the user's own settings into a home folder of this test.
func (f *folder) settings(yaml string) {
	f.Helper()
	home := f.TempDir()
	path := filepath.Join(home, ".config", "pawl", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		f.Fatal(err)
	}
	state := filepath.Join(os.Getenv("HOME"), ".local", "state", "pawl") // the project is trusted there
	f.env = slices.DeleteFunc(f.env, func(v string) bool { return strings.HasPrefix(v, "HOME=") })
	f.env = append(f.env, "HOME="+home, "PAWL_STATE="+state)
}

// The tests below do not run in parallel: others record sessions of this process, whose environment has other settings then.

// TestToolsThatTheUserRefuses: the user's settings refuse tools to agents, as they refuse the commands.
func TestToolsThatTheUserRefuses(t *testing.T) {
	f := newFolder(t)
	f.settings("agents: {refuse: [decide, log, brief]}\n")
	for way, agent := range map[string]*sdk.ClientSession{
		"program": f.program("2025-11-25", clientOf("claude-code", nil)), "http": f.connect("http", "2025-11-25", clientOf("claude-code", nil)),
	} {
		for tool, given := range map[string]args{"decide": {"choice": "red"}, "history": {}, "brief": {}} {
			got := use(t, agent, tool, given)
			if command := strings.ReplaceAll(tool, "history", "log"); !got.wrong || !strings.Contains(got.text, "your settings refuse pawl "+command+" to agents") {
				t.Errorf("%s: %s: %+v", way, tool, got)
			}
		}
		if _, err := agent.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "pawl://brief"}); err == nil || !strings.Contains(err.Error(), "your settings refuse pawl brief") {
			t.Errorf("%s: resource: %v", way, err)
		}
		if _, err := agent.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "pawl_resume"}); err == nil || !strings.Contains(err.Error(), "your settings refuse pawl brief") {
			t.Errorf("%s: prompt: %v", way, err)
		}
		if got := use(t, agent, "learn", args{"text": "learned by " + way}); got.wrong {
			t.Errorf("%s: learn: %+v", way, got)
		}
	}
	if found := f.events(pawl.DecisionMade{}.Event()); len(found) > 0 {
		t.Errorf("%s", found)
	}
}

// TestServerThatTheUserRefuses: a server that is refused to agents answers no tool.
func TestServerThatTheUserRefuses(t *testing.T) {
	f := newFolder(t)
	f.settings("agents: {refuse: [mcp]}\n")
	agent := f.program("2025-11-25", clientOf("claude-code", nil))
	if got := use(t, agent, "status", args{}); !got.wrong || !strings.Contains(got.text, "your settings refuse pawl mcp to agents") {
		t.Errorf("%+v", got)
	}
}
