package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl/internal/kernel/repl"
)

// TestPythonREPL executes code as Gyoshu's prompts do. Variables survive errors, limits and the death of the kernel; cells are captured
// in a notebook.
func TestPythonREPL(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	agent := f.over("2025-11-25", clientOf("claude-code", nil), &sdk.CommandTransport{Command: f.command("mcp")}) // a kernel's runner is the program itself
	call := func(a args) (result repl.Result, text string) {
		t.Helper()
		a["researchSessionID"] = "ses_1"
		answer, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "python_repl", Arguments: a})
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
	t.Cleanup(func() { f.command("kernel", "stop", "--session", "gyoshu.ses_1").Run() })
	run := func(code string) (repl.Result, string) {
		return call(args{"action": "execute", "code": code})
	}
	first, text := call(args{"action": "execute", "code": "x = 40\nprint('[STAGE:begin:id=S01_load_data] Loading')\nx + 2", "autoCapture": true, "reportTitle": "tides"})
	if !first.Success || first.Stdout != "[STAGE:begin:id=S01_load_data] Loading\n42\n" || first.Count != 1 || first.Memory.RSS == 0 {
		t.Errorf("execute: %s", text)
	}
	if len(first.Markers) != 1 || first.Markers[0].Type != "STAGE" || *first.Markers[0].Subtype != "begin" || first.Markers[0].Category != "WORKFLOW" {
		t.Errorf("markers: %s", text)
	}
	notebook, err := os.ReadFile(filepath.Join(f.dir, "notebooks", "tides.ipynb"))
	if err != nil || first.Notebook == nil || !first.Notebook.Captured || !strings.Contains(string(notebook), `"autoCaptured": true`) || !strings.Contains(string(notebook), first.Notebook.Cell) {
		t.Errorf("captured: %s\n%s %v", text, notebook, err)
	}
	if r, text := run("1/0"); r.Success || r.Error.Type != "ZeroDivisionError" || !strings.Contains(r.Error.Traceback, "1/0") {
		t.Errorf("error: %s", text)
	}
	if r, text := call(args{"action": "execute", "code": "print('before', flush=True)\nwhile True: pass", "executionTimeout": 200}); r.Success || r.TerminatedBy != "SIGINT" || r.Stdout != "before\n" {
		t.Errorf("limit: %s", text)
	}
	if r, text := call(args{"action": "get_state"}); !r.Success || strings.Join(r.Variables, " ") != "x" {
		t.Errorf("state: %s", text)
	}
	if r, text := run("import os; os.kill(os.getpid(), 9)"); r.Success || r.TerminatedBy != "SIGKILL" {
		t.Errorf("death: %s", text)
	}
	if r, text := run("print(x)"); r.Stdout != "40\n" || !strings.Contains(r.Note, "[REHYDRATED:from=") {
		t.Errorf("after the death: %s", text)
	}
	if r, text := call(args{"action": "interrupt"}); r.Status != "idle" {
		t.Errorf("interrupt: %s", text)
	}
	if r, text := call(args{"action": "reset"}); !r.Success {
		t.Errorf("reset: %s", text)
	}
	if r, text := run("x"); r.Success || r.Error.Type != "NameError" {
		t.Errorf("after the reset: %s", text)
	}
	if _, text := call(args{"action": "dance"}); !strings.Contains(text, `unknown action "dance"`) {
		t.Errorf("wrong action: %s", text)
	}
	if r, text := call(args{"action": "execute", "code": "1", "autoCapture": true, "notebookPath": "../../etc/x.ipynb"}); r.Notebook == nil || r.Notebook.Captured {
		t.Errorf("a notebook outside of the project: %s", text)
	}
}
