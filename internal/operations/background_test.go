package operations_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/operations"
)

func TestBackground(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]bool{
		`{"command":"make","run_in_background":true}`:  true,
		`{"command":"make","run_in_background":false}`: false,
		`{"command":"make","is_background":true}`:      true,
		`{"command":"make","isBackground":true}`:       true,
		`{"command":"make","mode":"async"}`:            true,
		`{"command":"make","mode":"sync"}`:             false,
		`{"command":["bash","-lc","serve & make"]}`:    true,
		`{"command":["echo","&"]}`:                     false,
		`[]`:                                           false,
	} {
		if got := operations.Background("Bash", json.RawMessage(input)); got != want {
			t.Errorf("%s: %v", input, got)
		}
	}
	for tool, want := range map[string]bool{"Task": true, "Agent": true, "exec_command": true, "Read": false, "Write": false, "KillShell": false} {
		if got := operations.Background(tool, json.RawMessage(`{"run_in_background":true,"prompt":"do it"}`)); got != want {
			t.Errorf("%s: %v", tool, got)
		}
	}
	if !operations.Background("Monitor", json.RawMessage(`{"command":"tail -f log"}`)) || operations.Background("Task", json.RawMessage(`{"command":"a &"}`)) {
		t.Error("a monitor runs in the background, and what is not a shell command has no part that does")
	}
}

func TestBackgroundParts(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"serve &":                  true,
		"serve & echo $! > pid":    true,
		"nohup serve > log 2>&1 &": true,
		"setsid nohup serve >log 2>&1 < /dev/null &": true,
		"cd x && (make; serve) &":                    true,
		"{ make; serve; } > log &":                   true,
		"for i in 1 2; do work $i & done; wait":      true,
		"setsid serve":                               true,
		"setsid --wait serve":                        false,
		"nohup setsid serve":                         true,
		"bash -lc 'serve &'":                         true,
		"timeout 5 sh -c \"sh -c 'serve &'\"":        true,
		"make && make test":                          false,
		"make 2>&1 | tee log":                        false,
		"make |& tee log":                            false,
		"make &> log":                                false,
		"make >& log; exec 3<&0":                     false,
		"echo 'a & b' \"c & d\" e\\&f":               false,
		"make # not &":                               false,
		"cat <<'E'\na &\nE\n":                        false,
		"echo $((1 & 3))":                            false,
		"nohup make":                                 false,
		"bash -c 'echo \"a & b\"'":                   false,
		"":                                           false,
	} {
		data, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		if got := operations.Background("Bash", data); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}

// TestControls: a call that waits, reads, lists or ends is never in doubt.
func TestControls(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{
		"wait_agent", "list_agents", "close_agent", "read_agent", "TaskOutput", "AgentOutput", "KillShell", "BashOutput", "stop_bash",
		"mcp__pawl__status", "mcp_pawl_note", "pawl_brief", "pawl-gates", "PAWL_status",
	} {
		if operations.Changes(tool) {
			t.Errorf("%s may change something", tool)
		}
	}
	for _, tool := range []string{"spawn_agent", "Task", "mcp__pawlow__run", "pawlonia", "write_bash", "send_input", "mcp__github__create_issue"} {
		if !operations.Changes(tool) {
			t.Errorf("%s changes nothing", tool)
		}
	}
	for chars, want := range map[string]pawl.OperationKind{"": pawl.OperationReads, "y\n": pawl.OperationOther} {
		w := newWorld(t, nil)
		if o := w.mean("write_stdin", map[string]any{"session_id": 7, "chars": chars}); o.Kind != want {
			t.Errorf("%q: %s", chars, o.Kind)
		}
	}
}

// TestSubagents: what a subagent is asked to do is kept, not only what the call is titled.
func TestSubagents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("rename it everywhere. ", 80)
	for _, in := range []map[string]any{
		{"description": "Rename", "prompt": long, "subagent_type": "general-purpose"},
		{"task_name": "rename", "message": long},
		{"objective": long},
		{"agent_type": "task", "name": "rename", "description": "Rename", "prompt": long, "mode": "background"},
	} {
		w := newWorld(t, nil)
		want := long
		if in["description"] != nil {
			want = "Rename: " + long
		}
		if o := w.mean("Task", in); o.Summary != want || o.Kind != pawl.OperationOther || !o.Sub {
			t.Errorf("%v: %+v", in, o)
		}
	}
	w := newWorld(t, nil)
	if o := w.mean("Agent", map[string]any{"prompt": strings.Repeat(long, 2)}); len(o.Summary) > pawl.MaxSummary || !strings.HasPrefix(o.Summary, "rename") {
		t.Errorf("%d bytes", len(o.Summary))
	}
	if o := w.mean("WebFetch", map[string]any{"url": "https://example.org", "prompt": "read it"}); o.Summary != "https://example.org" {
		t.Errorf("%q", o.Summary)
	}
}
