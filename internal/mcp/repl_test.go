package mcp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"pawl/internal/interop/repl"
)

// repl returns a function that calls python_repl for a session, and stops its kernel at the end.
func (f *folder) repl(t *testing.T) func(args) (repl.Result, string) {
	agent := f.over("2025-11-25", clientOf("claude-code", nil), &sdk.CommandTransport{Command: f.command("mcp")}) // a kernel's runner is the program itself
	t.Cleanup(func() { f.command("kernel", "stop", "--session", "gyoshu.ses_1").Run() })
	return func(a args) (result repl.Result, text string) {
		if a["researchSessionID"] == nil {
			a["researchSessionID"] = "ses_1"
		}
		answer, err := agent.CallTool(t.Context(), &sdk.CallToolParams{Name: "python_repl", Arguments: a})
		if err != nil {
			t.Error(err)
			return result, ""
		}
		text = answer.Content[0].(*sdk.TextContent).Text
		if answer.IsError {
			t.Errorf("%.300v: %.300s", a, text)
		} else if err := json.Unmarshal([]byte(text), &result); err != nil {
			t.Errorf("%.300s: %v", text, err)
		}
		return result, text
	}
}

// TestPythonREPL executes code as Gyoshu's prompts do. Variables survive errors, limits and the death of the kernel; cells are captured
// in a notebook.
func TestPythonREPL(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	call := f.repl(t)
	run := func(code string) (repl.Result, string) {
		return call(args{"action": "execute", "code": code})
	}
	first, text := call(args{"action": "execute", "code": "x = 40\nprint('[STAGE:begin:id=S01_load_data] Loading')\nx + 2", "autoCapture": true, "reportTitle": "tides"})
	if !first.Success || first.Stdout != "[STAGE:begin:id=S01_load_data] Loading\n42\n" || first.Count != 1 || first.Memory.RSS == 0 {
		t.Errorf("execute: %s", text)
	}
	if len(first.Markers) != 1 || first.Markers[0].Type != "STAGE" || *first.Markers[0].Subtype != "begin" || first.Markers[0].Category != "workflow" {
		t.Errorf("markers: %s", text)
	}
	if r, text := run("print('[OBJECTIVE] Predict the tides')"); !r.Success || !strings.Contains(text, `"subtype": null`) { // as Gyoshu's bridge
		t.Errorf("a marker without a subtype: %s", text)
	}
	notebook, err := os.ReadFile(filepath.Join(f.dir, "notebooks", "tides.ipynb"))
	if err != nil || first.Captured == nil || !first.Captured.Captured || !strings.Contains(string(notebook), `"autoCaptured": true`) || !strings.Contains(string(notebook), first.Captured.Cell) {
		t.Errorf("captured: %s\n%s %v", text, notebook, err)
	}
	if r, text := run("1/0"); r.Success || r.Error.Type != "ZeroDivisionError" || !strings.Contains(r.Error.Traceback, "1/0") {
		t.Errorf("error: %s", text)
	}
	if r, text := call(args{"action": "execute", "code": "print('before', flush=True)\nwhile True: pass", "executionTimeout": 200}); r.Success || r.TerminatedBy != "graceful" || r.Error.Type != "TimeoutError" || r.Error.Code != -32001 || r.Stdout != "before\n" {
		t.Errorf("limit: %s", text)
	}
	if r, text := call(args{"action": "get_state"}); !r.Success || strings.Join(r.Variables, " ") != "x" {
		t.Errorf("state: %s", text)
	}
	if r, text := run("import os; os.kill(os.getpid(), 9)"); r.Success || r.TerminatedBy != "SIGKILL" || r.Error.Code != -32000 {
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
	if r, text := call(args{"action": "execute", "code": "1", "autoCapture": true, "notebookPath": "../../etc/x.ipynb"}); r.Captured == nil || r.Captured.Captured {
		t.Errorf("a notebook outside of the project: %s", text)
	}
}

// TestPythonREPLErrors: calls that execute nothing are answered in Gyoshu's words, with its codes and no other keys.
func TestPythonREPLErrors(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	call := f.repl(t)
	for _, c := range []struct {
		call args
		want string
	}{
		{args{"action": "dance"}, `{"success":false,"error":{"code":-32006,"message":"Unknown action: dance"}}`},
		{args{"action": "execute"}, `{"success":false,"error":{"code":-32006,"message":"code is required for execute action"}}`},
		{args{"action": "execute", "code": "1", "researchSessionID": ""}, `{"success":false,"error":{"code":-32006,"message":"researchSessionID is required"}}`},
		{args{"action": "execute", "code": "1", "projectDir": "/etc"}, `{"success":false,"error":{"code":-32005,"message":"Failed to start Python bridge","details":"/etc is not in the project"}}`},
		{args{"action": "interrupt"}, `{"success":true,"status":"idle"}`}, // no kernel is started to interrupt it
		{args{"action": "get_state"}, `{"success":true,"memory":{},"variables":[],"variable_count":0}`},
	} {
		_, text := call(c.call)
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(text)); err != nil {
			t.Fatal(text, err)
		}
		got := regexp.MustCompile(`"memory":{[^}]*}`).ReplaceAllString(compact.String(), `"memory":{}`)
		if got != c.want {
			t.Errorf("%v:\ngot  %s\nwant %s", c.call, got, c.want)
		}
	}
	if r, text := call(args{"action": "execute", "code": "#" + strings.Repeat("x", 10<<20)}); r.Success || r.Error == nil || r.Error.Message != "Request too large" {
		t.Errorf("10 MiB of code: %.200s", text)
	}
	if r, text := call(args{"action": "execute", "code": "#" + strings.Repeat("x", 9<<20)}); !r.Success {
		t.Errorf("9 MiB of code: %.200s", text)
	}
	if r, text := call(args{"action": "execute", "code": "len('" + secret + "')"}); r.Output == nil || r.Stdout != strconv.Itoa(len(secret))+"\n" {
		t.Errorf("code with a secret runs as it is: %s", text)
	}
}

// TestPythonREPLQueue: code that waits for other code of its session gives up after queueTimeout; an interrupt needs no turn, and returns
// what the code had put out.
func TestPythonREPLQueue(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	call := f.repl(t)
	ended := make(chan repl.Result, 1)
	fifo := filepath.Join(f.dir, "begun")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		r, _ := call(args{"action": "execute", "code": "print('half', flush=True)\nopen('begun', 'w').close()\nwhile True: pass"})
		ended <- r
	}()
	if _, err := os.ReadFile(fifo); err != nil { // blocks until the code runs
		t.Fatal(err)
	}
	if r, text := call(args{"action": "execute", "code": "1", "queueTimeout": 100}); r.Error == nil || r.Error.Code != -32004 || r.Error.Message != "Session busy, queue timeout exceeded (100ms)" {
		t.Errorf("queue: %s", text)
	}
	r, text := call(args{"action": "interrupt", "interruptWithTimeout": args{"gracePeriodMs": 4000}})
	if r.Status != "interrupt_requested" || r.TerminatedBy != "graceful" || r.PartialStdout != "half\n" {
		t.Errorf("interrupt: %s", text)
	}
	if r := <-ended; r.Success || r.Error.Type != "KeyboardInterrupt" || r.Stdout != "half\n" {
		t.Errorf("the interrupted code: %+v", r)
	}
}
