package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// geminiClient is Google's Gemini CLI.
var geminiClient = client{
	program:   "RESUMEBENCH_GEMINI",
	store:     storeGemini,
	arguments: []string{"--resume", "latest", "--prompt", firstPrompt, "--approval-mode", "yolo", "--model", "gemini-2.5-pro"},
	environ: func(url string) []string {
		return []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_NO_RELAUNCH=true"}
	},
	answer: `data: {"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[{"text":"Yes."}]}}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}

`,
	read: readGemini,
	own: func(text string) bool {
		return strings.HasPrefix(text, "<session_context>") || text == "[The previous response was interrupted before it completed.]"
	},
}

// geminiPart is a part of a message, in a session file and in a request.
type geminiPart struct {
	Text     string          `json:"text,omitempty"`
	Call     *geminiCall     `json:"functionCall,omitempty"`
	Response *geminiResponse `json:"functionResponse,omitempty"`
}

type geminiCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type geminiResponse struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

// geminiTools are the tools of Gemini CLI by those of Claude Code.
var geminiTools = map[string]string{"Bash": "run_shell_command", "Write": "write_file", "Edit": "replace", "Agent": "invoke_agent", "TodoWrite": "write_todos"}

// storeGemini writes a session as Gemini CLI 0.61 does: a call is written once it has a result.
func storeGemini(home, project, _ string, conversation []message) error {
	now, id := time.Now().UTC(), newID()
	chats := filepath.Join(home, ".gemini", "tmp", "project", "chats")
	if err := os.MkdirAll(chats, 0o700); err != nil {
		return err
	}
	stamp := now.Format("2006-01-02T15:04:05.000Z")
	lines := []any{map[string]any{"sessionId": id, "projectHash": "0", "startTime": stamp, "lastUpdated": stamp, "kind": "main"}}
	for _, m := range geminiMessages(conversation) {
		m["id"], m["timestamp"] = newID(), stamp
		lines = append(lines, m)
	}
	if err := writeLines(filepath.Join(chats, fmt.Sprintf("session-%s-%s.jsonl", now.Format("2006-01-02T15-04"), id[:8])), lines); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"settings.json":             `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`,
		"trustedFolders.json":       fmt.Sprintf("{%q: \"TRUST_FOLDER\"}", project),
		"projects.json":             fmt.Sprintf("{\"projects\": {%q: \"project\"}}", project),
		"tmp/project/.project_root": project,
	} {
		if err := os.WriteFile(filepath.Join(home, ".gemini", name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// geminiMessages returns a conversation in Gemini CLI's format.
func geminiMessages(conversation []message) []map[string]any {
	results := map[string]part{}
	for _, m := range conversation {
		for _, p := range m.parts() {
			if p.Type == "tool_result" {
				results[p.Call] = p
			}
		}
	}
	var all []map[string]any
	for _, m := range conversation {
		for _, p := range m.parts() {
			switch {
			case p.Type == "text" && m.Role == "user":
				all = append(all, map[string]any{"type": "user", "content": []geminiPart{{Text: p.Text}}})
			case p.Type == "text":
				all = append(all, map[string]any{"type": "gemini", "content": p.Text, "thoughts": []any{}, "model": "gemini-2.5-pro"})
			case p.Type == "tool_use":
				all = append(all, geminiCallOf(p, results)...)
			}
		}
	}
	return all
}

// geminiCallOf returns a call, followed by its result. Without a result, only an empty message of the model is stored.
func geminiCallOf(p part, results map[string]part) []map[string]any {
	said := map[string]any{"type": "gemini", "content": "", "thoughts": []any{}, "model": "gemini-2.5-pro"}
	result, ok := results[p.ID]
	if !ok {
		return []map[string]any{said}
	}
	name := geminiTools[p.Name]
	status, response := geminiResult(message{Content: result.Content}.text(), result.IsError)
	back := geminiPart{Response: &geminiResponse{ID: p.ID, Name: name, Response: response}}
	said["toolCalls"] = []any{map[string]any{"id": p.ID, "name": name, "args": p.Input, "result": []geminiPart{back}, "status": status}}
	return []map[string]any{said, {"type": "user", "content": []geminiPart{back}}}
}

// geminiResult is a tool's result in Gemini CLI's wording.
func geminiResult(text string, wrong bool) (status string, response map[string]string) {
	switch {
	case strings.HasPrefix(text, refusedText):
		return "cancelled", map[string]string{"error": "[Operation Cancelled] Reason: User denied execution."}
	case strings.HasPrefix(text, deniedText):
		return "error", map[string]string{"error": "Tool execution denied by policy."}
	case wrong && !strings.HasPrefix(text, "Exit code "):
		return "error", map[string]string{"error": text}
	case wrong:
		text = "Output: " + strings.Replace(text, "Exit code ", "Exit Code: ", 1)
	}
	return "success", map[string]string{"output": text}
}

// readGemini reads a request to Google's generateContent.
func readGemini(request []byte) ([]message, error) {
	var asked struct {
		Contents []struct {
			Role  string
			Parts []geminiPart
		}
	}
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, err
	}
	var all []message
	for n, c := range asked.Contents {
		for _, g := range c.Parts {
			p, err := g.part(n)
			if err != nil {
				return nil, err
			}
			one, err := messageOf(strings.Replace(c.Role, "model", "assistant", 1), p)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// part is a part in the form of a transcript. In some requests calls have no id: then the answer follows its call.
func (g geminiPart) part(n int) (part, error) {
	switch {
	case g.Call != nil:
		return part{Type: "tool_use", ID: geminiID(g.Call.ID, n), Name: g.Call.Name, Input: g.Call.Args}, nil
	case g.Response != nil:
		text := g.Response.Response["output"] + g.Response.Response["error"]
		data, err := json.Marshal(text)
		return part{Type: "tool_result", Call: geminiID(g.Response.ID, n-1), Content: data, IsError: g.Response.Response["error"] != ""}, err
	}
	return part{Type: "text", Text: g.Text}, nil
}

func geminiID(id string, n int) string {
	if id == "" {
		return fmt.Sprint("message ", n)
	}
	return id
}
