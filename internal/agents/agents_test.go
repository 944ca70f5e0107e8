package agents_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pawl/internal/agents"
	"pawl/internal/agents/agentstest"
	"pawl/internal/operations"
)

// update has the goldens rewritten: go test ./internal/agents -update.
var update = flag.Bool("update", false, "rewrite testdata")

// names are those of all agents.
var names = []string{"claude", "codex", "gemini", "opencode", "copilot"}

func dialect(t testing.TB, name string) *agents.Dialect {
	t.Helper()
	d, err := agents.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func shapes(t testing.TB, name string) []agentstest.Shape {
	t.Helper()
	all, err := agentstest.Shapes(name)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d shapes, %v", len(all), err)
	}
	return all
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		if d := dialect(t, name); d.Name != name {
			t.Errorf("%s is %s", name, d.Name)
		}
	}
	if _, err := agents.Find("aider"); err == nil || !strings.Contains(err.Error(), "claude, codex, gemini, opencode, copilot") {
		t.Errorf("of no agent: %v", err)
	}
}

// TestEvents: the events for which pawl installs hooks, for each agent.
func TestEvents(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"claude": "PermissionDenied PermissionRequest PostToolUse PostToolUseFailure PreCompact PreToolUse SessionEnd SessionStart " +
			"Stop StopFailure SubagentStart SubagentStop TaskCompleted TaskCreated UserPromptSubmit",
		"codex": "Interrupt PermissionRequest PostToolUse PreCompact PreToolUse SessionEnd SessionStart Stop SubagentStart " +
			"SubagentStop UserPromptSubmit",
		"gemini": "AfterAgent AfterTool BeforeAgent BeforeTool Notification SessionEnd SessionStart",
		"opencode": "PermissionRequest PostToolUse PostToolUseFailure PreCompact PreToolUse SessionEnd SessionStart Stop StopFailure " +
			"TodoUpdated UserPromptSubmit",
		"copilot": "ErrorOccurred PostToolUse PostToolUseFailure PreCompact PreToolUse SessionEnd SessionStart " +
			"Stop SubagentStart SubagentStop UserPromptSubmit",
	} {
		d := dialect(t, name)
		if got := strings.Join(d.Events(), " "); got != want {
			t.Errorf("%s: %s", name, got)
		}
		for _, event := range d.Events() {
			if !slices.ContainsFunc(shapes(t, name), func(s agentstest.Shape) bool { return s.Name == event }) {
				t.Errorf("%s: no example of %s", name, event)
			}
		}
	}
}

// TestParse reads an example of each event of each agent. What is read of it stands in testdata.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		d := dialect(t, name)
		var got bytes.Buffer
		for _, shape := range shapes(t, name) {
			e, err := d.Parse(shape.Payload)
			if err != nil {
				t.Errorf("%s: %s: %v", name, shape.Name, err)
			}
			fmt.Fprintf(&got, "# %s\n%s\n", shape.Name, plain(e))
		}
		golden(t, "testdata/"+name+".golden", got.Bytes())
	}
}

// plain returns the fields of an event that are set, one a line.
func plain(e agents.Event) string {
	var text strings.Builder
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		if field := v.Field(i); !field.IsZero() {
			value := field.Interface()
			if raw, ok := value.([]byte); ok || field.Type().Name() == "RawMessage" {
				value = string(append(raw, field.Bytes()...))
			}
			fmt.Fprintf(&text, "%s: %+v\n", v.Type().Field(i).Name, value)
		}
	}
	return text.String()
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: read now:\n%s", path, got)
	}
}

// TestOddPayloads: fields that are missing, unknown, or of another type than usual do no harm to the others.
func TestOddPayloads(t *testing.T) {
	t.Parallel()
	const before = `"session_id":"1","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x"}`
	for _, test := range []struct {
		payload string
		want    string // fields that are read, one a line
	}{
		{`{` + before + `}`, "Kind: before\nName: PreToolUse\nSession: 1\nTool: Bash\nInput: {\"command\":\"x\"}\n"},
		{`{` + before + `,"novelty":{"deep":[1,{"x":null}]},"tool_use_id":"c"}`, "Kind: before\nName: PreToolUse\nSession: 1\nTool: Bash\nCall: c\nInput: {\"command\":\"x\"}\n"},
		{`{` + before + `,"cwd":7,"transcript_path":["a"],"model":{"id":"m"},"stop_hook_active":"yes","duration_ms":"long","todos":{"a":1}}`,
			"Kind: before\nName: PreToolUse\nSession: 1\nModel: m\nTool: Bash\nInput: {\"command\":\"x\"}\n"},
		{`{"session_id":"1","hook_event_name":"PreToolUse"}`, "Kind: before\nName: PreToolUse\nSession: 1\n"},
		{`{"session_id":"1","hook_event_name":"PreToolUse","tool_name":"TodoWrite","tool_input":{"todos":"none that we read [x]"}}`,
			"Kind: before\nName: PreToolUse\nSession: 1\nTool: TodoWrite\nInput: {\"todos\":\"none that we read [x]\"}\n"},
		{`{"session_id":"1","hook_event_name":"PreToolUse","tool_name":"TodoWrite","tool_input":{"todos":[7,{"content":"dig","status":3},{"status":"pending"}]}}`,
			"Kind: before\nName: PreToolUse\nSession: 1\nTool: TodoWrite\nInput: {\"todos\":[7,{\"content\":\"dig\",\"status\":3},{\"status\":\"pending\"}]}\n" +
				"Tasks: [{ID: Title:dig Status:pending}]\nWhole: true\n"},
		{`{"session_id":"1","hook_event_name":"PostToolUse","tool_name":"mcp__x","tool_response":{"error":false,"text":"well"}}`,
			"Kind: after\nName: PostToolUse\nSession: 1\nTool: mcp__x\nAnswer: {\"error\":false,\"text\":\"well\"}\n"},
		{`{"session_id":"1","hook_event_name":"PostToolUse","tool_name":"mcp__x","tool_response":{"error":["no"]},"error":null}`,
			"Kind: after\nName: PostToolUse\nSession: 1\nTool: mcp__x\nAnswer: {\"error\":[\"no\"]}\nFailed: true\nError: [\"no\"]\n"},
		{`{"session_id":"1","hook_event_name":"Stop","last_assistant_message":null,"prompt":"not its words"}`, "Kind: stop\nName: Stop\nSession: 1\n"},
		{`{"session_id":"1","hook_event_name":"WorktreeCreate","name":"x"}`, "Name: WorktreeCreate\nSession: 1\n"},
		{`{"session_id":"../etc","hook_event_name":"Stop"}`, "Kind: stop\nName: Stop\nSession: .._etc\n"},
		{`{"hook_event_name":"Notification"}`, "Name: Notification\n"},
	} {
		e, err := dialect(t, "claude").Parse([]byte(test.payload))
		if got := plain(e); err != nil || got != test.want {
			t.Errorf("%s: %v\n%s", test.payload, err, got)
		}
	}
}

// TestUselessPayloads: a payload without usable content is an error that names the agent.
func TestUselessPayloads(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		"", " ", "null", "7", "[]", `"x"`, "{", `{"session_id":"1","hook_event_name":"Stop"`, `{"session_id":"1"} and more`, "\xff\xfe{}",
		`{"hook_event_name":"Stop"}`, `{"hook_event_name":"Stop","session_id":7}`, `{"hook_event_name":["Stop"],"session_id":"1","cwd":7}`,
		`{"hook_event_name":"Stop","parent_id":"p"}`,
	} {
		e, err := dialect(t, "codex").Parse([]byte(payload))
		if useless := err != nil && strings.Contains(err.Error(), "codex"); !useless && e.Kind != agents.Other {
			t.Errorf("%q: %+v, %v", payload, e, err)
		}
	}
}

// TestAnswers: whatever is to be said at whatever event, each agent's parser takes what is printed, and nothing of it is lost
// where the event can carry it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const text = "of \"beds\" & <roses>\n\x00\u2028… \xff"
	for _, name := range names {
		d := dialect(t, name)
		said := map[agents.Kind]bool{}
		for _, shape := range shapes(t, name) {
			e, err := d.Parse(shape.Payload)
			if err != nil {
				t.Fatal(err)
			}
			read := func(printed []byte) agentstest.Answer {
				a, err := agentstest.Read(name, e.Name, printed)
				if err != nil {
					t.Error(err)
				}
				return a
			}
			if a := read(d.Empty()); a != (agentstest.Answer{}) {
				t.Errorf("%s: nothing is %+v", name, a)
			}
			if a := read(d.Add(e, "")); a != (agentstest.Answer{}) {
				t.Errorf("%s: an empty text is %+v", name, a)
			}
			a := read(d.Add(e, text))
			if want := strings.ToValidUTF8(text, "\ufffd"); d.Adds(e.Kind) && a.Context != want || !d.Adds(e.Kind) && a.Context != "" {
				t.Errorf("%s: %s: added %q", name, shape.Name, a.Context)
			}
			said[e.Kind] = said[e.Kind] || a.Context != ""
			h := read(d.Hold(e, "not yet"))
			if holds := e.Kind == agents.Stop && !e.Held && name != "opencode"; (h.Hold == "not yet") != holds {
				t.Errorf("%s: %s: held %q", name, shape.Name, h.Hold)
			}
		}
		if !said[agents.Start] || !said[agents.Prompt] {
			t.Errorf("%s is never told anything: %v", name, said)
		}
	}
}

// TestSilence: Claude Code and Codex take an empty output for nothing; the others want JSON.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		want := "{}\n"
		if name == "claude" || name == "codex" {
			want = ""
		}
		if got := string(dialect(t, name).Empty()); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// FuzzParse: no payload does harm, whatever the agent; what is answered to it is taken by the agent's parser.
func FuzzParse(f *testing.F) {
	for i, name := range names {
		for _, shape := range shapes(f, name) {
			f.Add(i, shape.Payload)
		}
	}
	f.Add(0, []byte(`{"hook_event_name":"Stop","session_id":7,"error":[[[{}]]]}`))
	f.Fuzz(func(t *testing.T, which int, payload []byte) {
		name := names[max(0, which)%len(names)]
		d := dialect(t, name)
		e, err := d.Parse(payload)
		if err != nil {
			return
		}
		if e.Kind != agents.Other && (e.Session == "" || !slices.Contains(d.Events(), e.Name)) {
			t.Errorf("of session %q and event %q", e.Session, e.Name)
		}
		for _, printed := range [][]byte{d.Empty(), d.Add(e, "x"), d.Hold(e, "y")} {
			if _, err := agentstest.Read(name, e.Name, printed); err != nil {
				t.Error(err)
			}
		}
		if again, err := d.Parse(payload); err != nil || !reflect.DeepEqual(e, again) {
			t.Errorf("read again: %+v, %v", again, err)
		}
	})
}

// TestQuotedPrompts: OpenCode puts the prompt of its command line in quotes.
func TestQuotedPrompts(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{"opencode": `go "on"`, "claude": `"go \"on\""`} {
		e, err := dialect(t, agent).Parse([]byte(`{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"\"go \\\"on\\\"\""}`))
		if err != nil || e.Text != want {
			t.Errorf("%s: %q, %v", agent, e.Text, err)
		}
	}
}

// TestOpenCodeDenied: OpenCode has no event for a denial; its texts say so.
func TestOpenCodeDenied(t *testing.T) {
	t.Parallel()
	d, err := agents.Find("opencode")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]agents.Kind{
		"The user rejected permission to use this specific tool call.":                                                agents.Denied,
		"The user rejected permission to use this specific tool call with the following feedback: not today":          agents.Denied,
		"The user has specified a rule which prevents you from using this specific tool call. Here are some of them:": agents.Denied,
		"cat: The user rejected permission to use this specific tool call.":                                           agents.After,
		"Tool execution aborted": agents.After,
	} {
		payload := fmt.Sprintf(`{"hook_event_name":"PostToolUseFailure","session_id":"s","tool_name":"bash","tool_use_id":"c","error":%q}`, text)
		e, err := d.Parse([]byte(payload))
		if err != nil || e.Kind != want || e.Error != text || e.Call != "c" {
			t.Errorf("%q: %+v, %v", text, e, err)
		}
	}
}

// TestSkips: an agent reports no calls only of tools that change nothing.
func TestSkips(t *testing.T) {
	t.Parallel()
	for _, d := range agents.Dialects {
		for _, tool := range d.Skips() {
			if strings.HasSuffix(tool, "_.*") && strings.Contains(tool, "pawl") {
				continue // pawl's own tools
			}
			if operations.Changes(tool) {
				t.Errorf("%s: %s may change files", d.Name, tool)
			}
		}
	}
}
