package headlesstest

import (
	"fmt"
	"time"

	"pawl"
)

// copilot prints the messages of Copilot CLI 1.0.102.
type copilot struct {
	args  []string
	spent int64 // tokens not told yet
}

func (c *copilot) asked() (string, bool) {
	if id := flag(c.args, "--resume"); id != "" {
		return id, true
	}
	return flag(c.args, "--session-id"), false
}

func (c *copilot) id() string { return uuid() }

func (c *copilot) gone(f *fake) int {
	fmt.Fprintf(f.err, "Error: No session, task, or name matched '%s'.\n\nTo resume by session or task ID:  copilot --resume=<id>\n", f.Session)
	return 1
}

func (c *copilot) event(f *fake, kind string, data object) {
	f.print(object{"type": kind, "data": data, "id": uuid(), "timestamp": "2026-11-21T22:25:42.960Z"})
}

func (c *copilot) begin(f *fake) {
	c.event(f, "session.tools_updated", object{"model": "mock"})
	c.event(f, "user.message", object{"content": f.Prompt, "turnId": "0"})
	c.event(f, "assistant.turn_start", object{"turnId": "0"})
}

func (c *copilot) say(f *fake, text string) {
	c.event(f, "assistant.message_delta", object{"deltaContent": text})
	c.event(f, "assistant.message", object{"messageId": uuid(), "model": "mock", "content": text, "toolRequests": []any{}, "outputTokens": c.spent})
	c.spent = 0
}

func (c *copilot) todo(f *fake, done, all int, text string) {
	c.say(f, fmt.Sprintf("%d of %d: %s", done, all, text))
}

func (c *copilot) tool(f *fake, id, command string) {
	c.event(f, "tool.execution_start", object{"toolCallId": id, "toolName": "bash", "arguments": object{"command": command, "description": "a command"}})
}

func (c *copilot) result(f *fake, id, _, output string, good bool) {
	c.event(f, "tool.execution_complete", object{"toolCallId": id, "success": good, "result": object{"content": output}})
}

func (c *copilot) refused(f *fake, id, what string) {
	c.tool(f, id, what)
	c.event(f, "tool.execution_complete", object{"toolCallId": id, "success": false, "error": object{
		"message": "Permission denied because no interactive user response was available.", "code": "denied",
	}})
}

func (c *copilot) costs(_ *fake, more pawl.Usage) { c.spent += more.Tokens }

func (c *copilot) last(f *fake, code int) int {
	f.print(object{"type": "result", "timestamp": "2026-11-21T22:25:43.069Z", "sessionId": f.Session, "exitCode": code, "usage": object{
		"premiumRequests": 1, "totalApiDurationMs": 30, "codeChanges": object{"linesAdded": 0},
	}})
	return code
}

func (c *copilot) finish(f *fake, text string) int {
	if text != "" || c.spent > 0 {
		c.say(f, text)
	}
	return c.last(f, 0)
}

func (c *copilot) bad(f *fake, kind, text string, status int) int {
	c.event(f, "model.call_failure", object{"model": "mock", "statusCode": status, "errorMessage": fmt.Sprintf(`{"message":%q}`, text)})
	c.event(f, "assistant.turn_end", object{"turnId": "0"})
	c.event(f, "session.error", object{"errorType": kind, "message": text, "statusCode": status})
	return c.last(f, 1)
}

func (c *copilot) fail(f *fake, text string) int { return c.bad(f, "query", text, 500) }

func (c *copilot) limit(f *fake, reset time.Time) int {
	text := "429 Rate limit reached for requests."
	if !reset.IsZero() {
		text += " Please try again in " + time.Until(reset).Round(time.Second).String() + "."
	}
	return c.bad(f, "rate_limit", text, 429)
}

func (c *copilot) full(f *fake) int {
	return c.bad(f, "query", "The provider rejected the prompt as too long, but automatic recovery could not reduce it. Reduce context before retrying.", 400)
}

func (c *copilot) broke(f *fake) int { return c.fail(f, "it has no such limit") }
