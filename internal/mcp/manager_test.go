package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/interop/format/gyoshu"
)

// TestCheckpointManager saves, lists, validates and resumes as Gyoshu's prompts do, and finds Gyoshu's files.
func TestCheckpointManager(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	agent := f.connect("stdio", "2025-11-25", clientOf("claude-code", nil))
	call := func(a args) (result gyoshu.Result, text string) {
		t.Helper()
		answer, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "checkpoint_manager", Arguments: a})
		if err != nil {
			t.Fatal(err)
		}
		text = answer.Content[0].(*sdk.TextContent).Text
		if !answer.IsError {
			if err := json.Unmarshal([]byte(text), &result); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		return result, text
	}
	saved, text := call(args{"action": "save", "reportTitle": "tides", "runId": "r1", "checkpointId": "c1", "researchSessionID": "s", "stageId": "S01_load_data",
		"artifacts": []any{args{"relativePath": "hello.txt"}}})
	if !saved.Success || *saved.Artifacts != 1 {
		t.Fatalf("save: %s", text)
	}
	data, err := os.ReadFile(filepath.Join(f.dir, saved.ManifestPath))
	if err != nil || !strings.Contains(string(data), saved.SHA256) || strings.Contains(string(data), `"pythonPath": "unknown"`) {
		t.Errorf("manifest: %s, %v", data, err)
	}
	if list, text := call(args{"action": "list", "reportTitle": "tides"}); *list.Count != 1 || list.Checkpoints[0].Checkpoint != "c1" {
		t.Errorf("list: %s", text)
	}
	if valid, text := call(args{"action": "validate", "reportTitle": "tides", "runId": "r1", "checkpointId": "c1"}); !*valid.Valid {
		t.Errorf("validate: %s", text)
	}
	if resumed, text := call(args{"action": "resume", "reportTitle": "tides"}); !*resumed.Found || resumed.Next != "S02_" {
		t.Errorf("resume: %s", text)
	}
	if _, text := call(args{"action": "save", "reportTitle": ".."}); !strings.Contains(text, "runId is required for save action") {
		t.Errorf("wrong call: %s", text)
	}
}
