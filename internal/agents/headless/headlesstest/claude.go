package headlesstest

import (
	"fmt"
	"time"

	"pawl"
)

// claude prints the messages of Claude Code 2.1.329.
type claude struct {
	args   []string
	turn   int
	spent  int64 // tokens of this turn
	denied []object
}

func (c *claude) asked() (string, bool) {
	if id := flag(c.args, "--resume"); id != "" {
		return id, true
	}
	return flag(c.args, "--session-id"), false
}

func (c *claude) id() string { return uuid() }

func (c *claude) gone(f *fake) int {
	text := "No conversation found with session ID: " + f.Session
	fmt.Fprintln(f.err, text)
	f.print(object{
		"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0, "session_id": f.Session,
		"total_cost_usd": 0, "usage": object{"input_tokens": 0, "output_tokens": 0}, "permission_denials": []any{}, "errors": []string{text},
	})
	return 1
}

func (c *claude) begin(f *fake) {
	f.print(object{
		"type": "system", "subtype": "init", "cwd": "/work", "session_id": f.Session, "tools": []string{"Bash", "Edit"},
		"mcp_servers": []any{}, "model": "mock", "permissionMode": "acceptEdits", "apiKeySource": "none",
	})
}

func (c *claude) assistant(f *fake, part object) {
	f.print(object{
		"type": "assistant", "parent_tool_use_id": nil, "session_id": f.Session,
		"message": object{
			"id": fmt.Sprintf("msg_%d", c.turn), "type": "message", "role": "assistant", "model": "mock", "content": []any{part},
			"usage": object{"input_tokens": c.spent, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 100, "output_tokens": 0},
		},
	})
}

func (c *claude) say(f *fake, text string) { c.assistant(f, object{"type": "text", "text": text}) }

func (c *claude) uses(f *fake, id, name string, input object) {
	c.assistant(f, object{"type": "tool_use", "id": id, "name": name, "input": input})
}

func (c *claude) answered(f *fake, id, text string, failed bool) {
	f.print(object{"type": "user", "session_id": f.Session, "message": object{"role": "user", "content": []any{
		object{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed},
	}}})
}

func (c *claude) todo(f *fake, done, all int, text string) {
	var todos []object
	for i := range all {
		status := []string{"completed", "in_progress", "pending"}[min(max(i-done+1, 0), 2)]
		todos = append(todos, object{"content": text, "status": status, "activeForm": text})
	}
	c.uses(f, fmt.Sprintf("todo_%d", done), "TodoWrite", object{"todos": todos})
}

func (c *claude) tool(f *fake, id, command string) {
	c.uses(f, id, "Bash", object{"command": command, "description": "a command"})
}

func (c *claude) result(f *fake, id, _, output string, good bool) { c.answered(f, id, output, !good) }

func (c *claude) refused(f *fake, id, what string) {
	input := object{"command": what}
	c.uses(f, id, "Bash", input)
	f.print(object{"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": id, "message": "This command requires approval", "session_id": f.Session})
	c.answered(f, id, "This command requires approval", true)
	c.denied = append(c.denied, object{"tool_name": "Bash", "tool_use_id": id, "tool_input": input})
}

// costs is reported with each part of the next message.
func (c *claude) costs(_ *fake, more pawl.Usage) {
	c.turn++
	c.spent = more.Tokens
}

// last prints the last message, with the cost of the whole session.
func (c *claude) last(f *fake, more object) int {
	message := object{
		"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "session_id": f.Session, "terminal_reason": "completed",
		"total_cost_usd": f.session.Used.USD, "permission_denials": c.denied,
		"usage": object{"input_tokens": f.used.Tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 1000, "output_tokens": 0},
	}
	for key, value := range more {
		message[key] = value
	}
	f.print(message)
	if message["is_error"] == true {
		return 1
	}
	return 0
}

func (c *claude) finish(f *fake, text string) int {
	if text != "" {
		c.say(f, text)
	}
	return c.last(f, object{"result": text})
}

func (c *claude) api(f *fake, text, kind, reason string, status int) int {
	f.print(object{
		"type": "assistant", "parent_tool_use_id": nil, "session_id": f.Session, "error": kind, "is_api_error_message": true, "api_error_status": status,
		"message": object{"id": uuid(), "model": "<synthetic>", "role": "assistant", "content": []any{object{"type": "text", "text": text}}},
	})
	return c.last(f, object{"is_error": true, "terminal_reason": reason, "api_error_status": status, "result": text})
}

func (c *claude) fail(f *fake, text string) int {
	return c.api(f, "API Error: "+text, "server_error", "api_error", 500)
}

func (c *claude) limit(f *fake, reset time.Time) int {
	if !reset.IsZero() {
		f.print(object{"type": "rate_limit_event", "session_id": f.Session, "rate_limit_info": object{
			"status": "rejected", "resetsAt": reset.Unix(), "rateLimitType": "five_hour",
		}})
	}
	return c.api(f, "API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.", "rate_limit", "api_error", 429)
}

func (c *claude) full(f *fake) int {
	return c.api(f, "Prompt is too long", "invalid_request", "prompt_too_long", 400)
}

func (c *claude) broke(f *fake) int {
	return c.last(f, object{
		"subtype": "error_max_budget_usd", "is_error": true, "terminal_reason": "budget_exhausted",
		"errors": []string{"Reached maximum budget ($" + flag(c.args, "--max-budget-usd") + ")"},
	})
}
