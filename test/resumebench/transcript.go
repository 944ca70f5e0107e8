package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// transcript writes a session's conversation as Claude Code does: one JSON object a line.
type transcript struct {
	path    string
	session string
	cwd     string
	last    string // the id of the line before
	lines   int
	sub     string // the sub-agent whose conversation it is
}

// transcriptPath is where Claude Code keeps the conversation of a session.
func transcriptPath(home, cwd, session string) string {
	return filepath.Join(home, ".claude", "projects", notPlain.ReplaceAllString(cwd, "-"), session+".jsonl")
}

var notPlain = regexp.MustCompile(`[^A-Za-z0-9]`)

// newID returns a random id in the form of a UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// add appends a line with the fields of every line of the real client.
func (t *transcript) add(kind string, message any, more map[string]any) error {
	line := map[string]any{
		"type": kind, "message": message, "uuid": newID(), "parentUuid": nil, "isSidechain": t.sub != "", "userType": "external", "entrypoint": "cli",
		"cwd": t.cwd, "sessionId": t.session, "version": "2.1.329", "gitBranch": "main", "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	if t.last != "" {
		line["parentUuid"] = t.last
	}
	if t.sub != "" {
		line["agentId"] = t.sub
	}
	for key, value := range more {
		line[key] = value
	}
	t.last, _ = line["uuid"].(string)
	t.lines++
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(t.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(append(data, '\n'))
	return err
}

// follow continues a conversation that is already stored.
func (t *transcript) follow() error {
	data, err := os.ReadFile(t.path)
	if err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	var newest struct{ UUID string }
	err = json.Unmarshal(lines[len(lines)-1], &newest)
	t.last = newest.UUID
	return err
}

func (t *transcript) user(text string) error {
	return t.add("user", map[string]any{"role": "user", "content": text}, nil)
}

// assistant adds an answer of the model. Its parts have a line each, and one id.
func (t *transcript) assistant(parts ...map[string]any) error {
	id := "msg_" + newID()[:8]
	for _, p := range parts {
		reason := "end_turn"
		if p["type"] == "tool_use" {
			reason = "tool_use"
		}
		err := t.add("assistant", map[string]any{
			"id": id, "type": "message", "role": "assistant", "model": "scripted", "content": []any{p}, "stop_reason": reason,
			"stop_sequence": nil, "usage": map[string]any{"input_tokens": 100, "output_tokens": 10},
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// result adds the result of a tool call.
func (t *transcript) result(id, text string, wrong bool) error {
	part := map[string]any{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": wrong}
	return t.add("user", map[string]any{"role": "user", "content": []any{part}}, map[string]any{"toolUseResult": text})
}

// compact adds the line after which a compacted conversation starts, and its summary.
func (t *transcript) compact(summary string) error {
	before := t.last
	t.last = ""
	err := t.add("system", nil, map[string]any{
		"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info", "isMeta": false, "logicalParentUuid": before,
		"compactMetadata": map[string]any{"trigger": "auto", "preTokens": 150000},
	})
	if err != nil {
		return err
	}
	text := "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\n" + summary
	return t.add("user", map[string]any{"role": "user", "content": text}, map[string]any{"isCompactSummary": true, "isVisibleInTranscriptOnly": true})
}

// limited adds the client's own message that a limit is reached.
func (t *transcript) limited(text string) error {
	message := map[string]any{
		"id": newID(), "type": "message", "role": "assistant", "model": "<synthetic>", "content": []any{map[string]any{"type": "text", "text": text}}, "stop_reason": "stop_sequence",
	}
	return t.add("assistant", message, map[string]any{"isApiErrorMessage": true, "error": "rate_limit"})
}

// message is one of a conversation, in a transcript or in a request to a model.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// part is a piece of a message's content.
type part struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Call    string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

// readTranscript returns the messages of a transcript.
func readTranscript(data []byte) ([]message, error) {
	var all []message
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var line struct {
			Type       string
			Message    message
			IsAPIError bool `json:"isApiErrorMessage"` // the client's own text, which the model does not get
			IsSummary  bool `json:"isCompactSummary"`  // of all before it
		}
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("read transcript: %w", err)
		}
		if line.IsSummary {
			all = nil
		}
		if (line.Type == "user" || line.Type == "assistant") && !line.IsAPIError {
			all = append(all, line.Message)
		}
	}
	return all, scanner.Err()
}

// render writes a conversation as text for the reader: one statement for each text, and one for each call of a tool with its
// result. A task list becomes a list, and only the newest is written. A prompt without a following text of the model is marked: a
// model sees that it has not answered. Texts that skip selects are left out.
func render(all []message, skip func(m message, text string) bool) string {
	results := map[string]part{}
	answered := map[int]bool{}
	last, list := -1, ""
	for i, m := range all {
		for _, p := range m.parts() {
			switch {
			case p.Type == "tool_result":
				results[p.Call] = p
			case p.Type == "tool_use" && len(p.todos()) > 0:
				list = p.ID
			case p.Type != "text" || skip(m, p.Text):
			case m.Role == "user":
				last = i
			default:
				answered[last] = true
			}
		}
	}
	var out strings.Builder
	for i, m := range all {
		for _, p := range m.parts() {
			switch {
			case p.Type == "text" && !skip(m, p.Text):
				who := m.Role
				if who == "user" && !answered[i] {
					who = "user, not answered"
				}
				fmt.Fprintf(&out, "%s: %s\n", who, indent(p.Text))
			case p.Type == "tool_use" && (len(p.todos()) == 0 || p.ID == list):
				renderCall(&out, p, results)
			}
		}
	}
	return out.String()
}

// todo is an entry of a task list.
type todo struct{ Content, Status string }

// todos returns the task list that a call writes; nothing if it is another call.
func (p part) todos() []todo {
	var list struct{ Todos []todo }
	_ = json.Unmarshal(p.Input, &list) // otherwise it is not a task list
	return list.Todos
}

// renderCall writes a call and its result.
func renderCall(out *strings.Builder, p part, results map[string]part) {
	if list := p.todos(); len(list) > 0 {
		for _, t := range list {
			fmt.Fprintf(out, "task list: %s: %s\n", t.Status, t.Content)
		}
		return
	}
	answer := "no result"
	if r, ok := results[p.ID]; ok {
		answer = "result"
		if r.IsError {
			answer = "error"
		}
		answer += ": " + indent(message{Content: r.Content}.text())
	}
	fmt.Fprintf(out, "call %s `%s`\n  %s\n", p.Name, strings.ReplaceAll(p.summary(), "`", "'"), answer)
}

// summary is the input of a call on one line: a command as it is, else the JSON.
func (p part) summary() string {
	var shell struct{ Command string }
	if json.Unmarshal(p.Input, &shell) == nil && shell.Command != "" {
		return strings.ReplaceAll(shell.Command, "\n", " ⏎ ")
	}
	return string(p.Input)
}

func indent(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// parts returns the content of a message, which is a text or a list.
func (m message) parts() []part {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []part{{Type: "text", Text: text}}
	}
	var parts []part
	if json.Unmarshal(m.Content, &parts) != nil {
		return nil
	}
	return parts
}

// text returns the texts of a message.
func (m message) text() string {
	var texts []string
	for _, p := range m.parts() {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
