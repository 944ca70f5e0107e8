//go:build linux

package hostile

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"pawl/internal/agents/agentstest"
	"pawl/test/stories/storytest"
)

var agentNames = []string{"claude", "codex", "gemini", "opencode", "copilot"}

// payload returns what an agent sends for an event.
func (w *world) payload(agent, event string) string {
	w.Helper()
	a, err := agentstest.New(agent, "s1", w.root, io.Discard)
	w.must(err)
	payload, err := a.Payload(event, "", nil)
	w.must(err)
	return string(payload)
}

// silent sends everything that an agent sends in a session, or only its starts and tool calls, and requires that the answers hold
// nothing but the fixed line for the user.
func (w *world) silent(agent string, all bool) {
	w.Helper()
	examples, err := agentstest.Shapes(agent)
	w.must(err)
	for _, s := range examples {
		if !all && !strings.HasPrefix(s.Name, "SessionStart") && s.Name != "PreToolUse" && s.Name != "BeforeTool" {
			continue
		}
		r := w.run(w.payload(agent, s.Name), storytest.PawlHook(w.T), "hook", agent)
		event, _, _ := strings.Cut(s.Name, " ")
		answer, err := agentstest.Read(agent, event, []byte(r.out))
		if err != nil || r.code != 0 || r.errOut != "" {
			w.Errorf("%s %s: %v, %+v", agent, s.Name, err, r)
		}
		if answer.Context != "" || answer.Hold != "" || answer.Message != "" && answer.Message != told {
			w.Errorf("%s %s: %+v", agent, s.Name, answer)
		}
		if strings.Contains(r.out, marker) {
			w.Errorf("%s %s: %s", agent, s.Name, r.out)
		}
	}
}

// TestHooks opens each agent in a clone of the attacker's project, with the agent attached at user scope.
func TestHooks(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"", "PAWL_PROJECT", "CLAUDE_PROJECT_DIR"} {
		for _, agent := range agentNames {
			t.Run(agent+variable, func(t *testing.T) {
				t.Parallel()
				w := newHostile(t)
				if variable != "" {
					w.env = append(w.env, variable+"="+w.root)
				}
				w.unharmed(true, func() { w.silent(agent, variable == "") })
			})
		}
	}
}

// TestRunOfEnvironment calls hooks that seem to belong to an attempt of the attacker's run.
func TestRunOfEnvironment(t *testing.T) {
	t.Parallel()
	w := newHostile(t)
	w.env = append(w.env, "PAWL_PROJECT="+w.root, "PAWL_RUN=planted-20260101-000000-0000", "PAWL_STEP=second", "PAWL_EVENTS="+w.path("victim", "file"))
	w.unharmed(true, func() { w.silent("claude", true) })
}

// client is an MCP client on standard input and output.
type client struct {
	*world
	in   io.WriteCloser
	out  *bufio.Scanner
	cmd  *exec.Cmd
	last int
}

// serve starts pawl mcp in the project's folder.
func (w *world) serve() *client {
	w.Helper()
	c := &client{world: w, cmd: exec.Command(w.program(), "mcp")}
	c.cmd.Dir, c.cmd.Env = w.root, w.env
	in, err := c.cmd.StdinPipe()
	w.must(err)
	out, err := c.cmd.StdoutPipe()
	w.must(err)
	c.in, c.out = in, bufio.NewScanner(out)
	c.out.Buffer(nil, 16<<20)
	w.must(c.cmd.Start())
	w.Cleanup(func() { in.Close(); c.cmd.Wait() }) // the last calls have failed the test if it did
	c.call("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "claude-code", "version": "1"},
	})
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// call sends a request and returns the line of its answer.
func (c *client) call(method string, params any) string {
	c.Helper()
	c.last++
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	c.must(err)
	_, err = fmt.Fprintf(c.in, "%s\n", request)
	c.must(err)
	for c.out.Scan() {
		if strings.Contains(c.out.Text(), fmt.Sprintf(`"id":%d`, c.last)) {
			return c.out.Text()
		}
	}
	c.Fatalf("%s: no answer: %v", method, c.out.Err())
	return ""
}

// tools returns the names of the tools.
func (c *client) tools() []string {
	c.Helper()
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	c.must(json.Unmarshal([]byte(c.call("tools/list", map[string]any{})), &answer))
	var names []string
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// arguments are those of the tools that need some.
var arguments = map[string]map[string]any{
	"progress": {"text": "t"}, "learn": {"text": "t", "kind": "pattern"}, "decide": {"choice": "c"}, "block": {"text": "t"}, "ask": {"question": "q"}, "checkpoint_manager": {"action": "list", "reportTitle": "t"},
	"python_repl": {"action": "execute", "researchSessionID": "s", "code": "1"},
}

// allTools calls each tool that only reads, in a server of its own, and returns the answers.
func (w *world) allTools() string {
	w.Helper()
	c := w.serve()
	var all strings.Builder
	for _, name := range []string{"status", "brief", "history"} {
		for _, arguments := range []map[string]any{{}, {"run": "planted"}, {"run": "latest"}} {
			all.WriteString(c.call("tools/call", map[string]any{"name": name, "arguments": arguments}) + "\n")
		}
	}
	all.WriteString(c.call("resources/read", map[string]any{"uri": "pawl://state"}) + "\n")
	all.WriteString(c.call("prompts/get", map[string]any{"name": "resume"}) + "\n")
	return all.String()
}

// TestMCP has a server that was started before the attacker's .pawl arrived. Each tool, resource and prompt is refused.
func TestMCP(t *testing.T) {
	t.Parallel()
	w := newHostile(t)
	w.must(rename(w.pawlDir(), w.path("later")))
	c := w.serve()
	w.must(rename(w.path("later"), w.pawlDir()))
	w.unharmed(true, func() {
		names := c.tools()
		if len(names) < 10 {
			t.Errorf("only %q", names)
		}
		for _, name := range names {
			given := arguments[name]
			if given == nil {
				given = map[string]any{}
			}
			answer := c.call("tools/call", map[string]any{"name": name, "arguments": given})
			if strings.Contains(answer, marker) || !strings.Contains(answer, `"isError":true`) || !strings.Contains(answer, "not trusted") {
				t.Errorf("%s: %s", name, answer)
			}
		}
		for _, uri := range []string{"pawl://brief", "pawl://state"} {
			if answer := c.call("resources/read", map[string]any{"uri": uri}); strings.Contains(answer, marker) {
				t.Errorf("%s: %s", uri, answer)
			}
		}
		if answer := c.call("prompts/get", map[string]any{"name": "resume"}); strings.Contains(answer, marker) {
			t.Errorf("prompt: %s", answer)
		}
	})
}
