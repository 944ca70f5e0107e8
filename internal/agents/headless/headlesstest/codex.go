package headlesstest

import (
	"fmt"
	"slices"
	"time"

	"pawl"
)

// codex prints the messages of Codex CLI 0.169.0.
type codex struct {
	args []string
	item int
}

func (c *codex) asked() (string, bool) {
	if i := slices.Index(c.args, "resume"); i >= 0 {
		return c.args[i+1], true
	}
	return "", false
}

func (c *codex) id() string { return uuid() }

func (c *codex) gone(f *fake) int {
	fmt.Fprintf(f.err, "Error: thread/resume: thread/resume failed: no rollout found for thread id %s (code -32600)\n", f.Session)
	return 1
}

func (c *codex) begin(f *fake) {
	f.print(object{"type": "thread.started", "thread_id": f.Session})
	f.print(object{"type": "item.completed", "item": object{"id": "item_0", "type": "error", "message": "Model metadata for `mock` not found."}})
	f.print(object{"type": "turn.started"})
}

func (c *codex) say(f *fake, text string) {
	c.item++
	f.print(object{"type": "item.completed", "item": object{"id": fmt.Sprintf("item_%d", c.item), "type": "agent_message", "text": text}})
}

func (c *codex) todo(f *fake, done, all int, text string) {
	var items []object
	for i := range all {
		items = append(items, object{"text": text, "completed": i < done})
	}
	f.print(object{"type": "item.updated", "item": object{"id": "list", "type": "todo_list", "items": items}})
}

func (c *codex) command(id, command, status string, exit any, output string) object {
	return object{
		"id": id, "type": "command_execution", "command": "/bin/bash -lc '" + command + "'", "aggregated_output": output,
		"exit_code": exit, "status": status,
	}
}

func (c *codex) tool(f *fake, id, command string) {
	f.print(object{"type": "item.started", "item": c.command(id, command, "in_progress", nil, "")})
}

func (c *codex) result(f *fake, id, command, output string, good bool) {
	exit := 1
	if good {
		exit = 0
	}
	f.print(object{"type": "item.completed", "item": c.command(id, command, "completed", exit, output)})
}

func (c *codex) refused(f *fake, id, what string) {
	f.print(object{"type": "item.completed", "item": c.command(id, what, "declined", nil, "")})
}

// costs is reported at the end of the turn.
func (c *codex) costs(*fake, pawl.Usage) {}

// finish reports the tokens of the whole thread.
func (c *codex) finish(f *fake, text string) int {
	if text != "" {
		c.say(f, text)
	}
	f.print(object{"type": "turn.completed", "usage": object{
		"input_tokens": f.session.Used.Tokens + 1000, "cached_input_tokens": 1000, "cache_write_input_tokens": 0, "output_tokens": 0,
	}})
	return 0
}

func (c *codex) fail(f *fake, text string) int {
	f.print(object{"type": "error", "message": text})
	f.print(object{"type": "turn.failed", "error": object{"message": text}})
	return 1
}

func (c *codex) limit(f *fake, reset time.Time) int {
	text := "You’ve hit your usage limit. Upgrade to Pro (https://example.com/pro)"
	if !reset.IsZero() {
		text += fmt.Sprintf(" or try again in %d seconds", int(time.Until(reset).Round(time.Second).Seconds()))
	}
	return c.fail(f, text+".")
}

func (c *codex) full(f *fake) int {
	return c.fail(f, "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.")
}

func (c *codex) broke(f *fake) int { return c.fail(f, "it has no such limit") }
