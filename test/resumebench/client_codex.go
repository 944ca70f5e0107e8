package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// codexClient is OpenAI's Codex CLI.
var codexClient = client{
	program:   "RESUMEBENCH_CODEX",
	store:     storeCodex,
	arguments: []string{"exec", "--dangerously-bypass-approvals-and-sandbox", "resume", "--last", firstPrompt},
	environ:   func(string) []string { return []string{"MOCK_KEY=none"} },
	answer: `event: response.created
data: {"type":"response.created","response":{"id":"r1"}}

event: response.output_item.done
data: {"type":"response.output_item.done","item":{"type":"message","role":"assistant","id":"m1","content":[{"type":"output_text","text":"Yes."}]}}

event: response.completed
data: {"type":"response.completed","response":{"id":"r1","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}

`,
	read: readCodex,
	own: func(text string) bool {
		return strings.HasPrefix(text, "<environment_context>") || strings.HasPrefix(text, "<user_instructions>")
	},
}

// codexConfig has the address of the model and the path of the project.
const codexConfig = `model = "gpt-5.5"
model_provider = "mock"

[model_providers.mock]
name = "mock"
base_url = "%s/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[projects.%q]
trust_level = "trusted"
`

// codexItem is an item of a conversation, in a rollout and in a request.
type codexItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role,omitempty"`
	Content   []codexText     `json:"content,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments string          `json:"arguments,omitempty"`
	Input     string          `json:"input,omitempty"`
	Call      string          `json:"call_id,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
}

type codexText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// storeCodex writes a rollout as Codex 0.169 does: a call before it runs, and its output afterwards.
func storeCodex(home, project, url string, conversation []message) error {
	now, id := time.Now().UTC(), newID()
	path := filepath.Join(home, ".codex", "sessions", now.Format("2006/01/02"), fmt.Sprintf("rollout-%s-%s.jsonl", now.Format("2006-01-02T15-04-05"), id))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var lines []any
	line := func(kind string, payload any) {
		lines = append(lines, map[string]any{"timestamp": now.Format("2006-01-02T15:04:05.000Z"), "ordinal": len(lines), "type": kind, "payload": payload})
	}
	line("session_meta", map[string]any{
		"session_id": id, "id": id, "timestamp": now.Format("2006-01-02T15:04:05.000Z"), "cwd": project, "originator": "codex_exec", "cli_version": "0.169.0",
		"source": "exec", "model_provider": "mock",
	})
	for _, m := range conversation {
		for _, p := range m.parts() {
			item := codexItemOf(m.Role, p)
			line("response_item", item)
			if m.Role == "user" && p.Type == "text" {
				line("event_msg", map[string]any{"type": "user_message", "message": p.Text, "kind": "plain"})
			}
		}
	}
	if err := writeLines(path, lines); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, ".codex", "config.toml"), fmt.Appendf(nil, codexConfig, url, project), 0o600)
}

// codexItemOf returns a part of a conversation in Codex's format.
func codexItemOf(role string, p part) codexItem {
	switch p.Type {
	case "tool_use":
		var in struct{ Command string }
		if json.Unmarshal(p.Input, &in) == nil && in.Command != "" {
			arguments, _ := json.Marshal(map[string]any{"cmd": in.Command}) // a text
			return codexItem{Type: "function_call", Name: "exec_command", Arguments: string(arguments), Call: p.ID}
		}
		return codexItem{Type: "function_call", Name: strings.ToLower(p.Name), Arguments: string(p.Input), Call: p.ID}
	case "tool_result":
		output, _ := json.Marshal(codexOutput(message{Content: p.Content}.text(), p.IsError)) // a text
		return codexItem{Type: "function_call_output", Call: p.Call, Output: output}
	}
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	return codexItem{Type: "message", Role: role, Content: []codexText{{kind, p.Text}}}
}

// codexOutput is a tool's result in Codex's wording.
func codexOutput(text string, wrong bool) string {
	var code int
	switch {
	case strings.HasPrefix(text, refusedText):
		return "exec command rejected by user"
	case strings.HasPrefix(text, deniedText):
		return "exec_command failed: rejected: " + strings.TrimPrefix(text, deniedText)
	case wrong:
		if _, err := fmt.Sscanf(text, "Exit code %d", &code); err != nil {
			return "apply_patch verification failed: " + text
		}
		_, text, _ = strings.Cut(text, "\n")
	}
	return fmt.Sprintf("Exit code: %d\nWall time: 0.1 seconds\nOutput:\n%s", code, text)
}

// readCodex reads a request to OpenAI's Responses API.
func readCodex(request []byte) ([]message, error) {
	var asked struct{ Input []codexItem }
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, err
	}
	var all []message
	for _, item := range asked.Input {
		p := part{ID: item.Call, Call: item.Call, Name: item.Name, Content: item.Output}
		switch item.Type {
		case "function_call":
			p.Type, p.Input = "tool_use", json.RawMessage(strings.Replace(item.Arguments, `"cmd":`, `"command":`, 1))
		case "function_call_output":
			p.Type = "tool_result"
		case "message":
			p.Type = "text"
			for _, c := range item.Content {
				p.Text += c.Text
			}
		default:
			continue
		}
		one, err := messageOf(item.Role, p)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// messageOf is a message of one part.
func messageOf(role string, p part) (message, error) {
	data, err := json.Marshal([]part{p})
	return message{Role: role, Content: data}, err
}

// writeLines writes values as JSON, one a line.
func writeLines(path string, lines []any) error {
	var text []byte
	for _, l := range lines {
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		text = append(append(text, data...), '\n')
	}
	return os.WriteFile(path, text, 0o600)
}
