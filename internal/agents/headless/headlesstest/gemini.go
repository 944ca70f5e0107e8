package headlesstest

import (
	"fmt"
	"time"

	"pawl"
)

// gemini prints the messages of Gemini CLI 0.61.0.
type gemini struct{ args []string }

func (g *gemini) asked() (string, bool) {
	if id := flag(g.args, "--resume"); id != "" {
		return id, true
	}
	return flag(g.args, "--session-id"), false
}

func (g *gemini) id() string { return uuid() }

func (g *gemini) gone(f *fake) int {
	fmt.Fprintf(f.err, "Error resuming session: Invalid session identifier %q.\n  Searched for sessions in /home/you/.gemini/tmp/proj/chats.\n", f.Session)
	return 42
}

func (g *gemini) begin(f *fake) {
	fmt.Fprintln(f.err, "Ripgrep is not available. Falling back to GrepTool.")
	f.print(object{"type": "init", "timestamp": "2026-11-21T22:25:46.585Z", "session_id": f.Session, "model": "mock"})
	f.print(object{"type": "message", "timestamp": "2026-11-21T22:25:46.589Z", "role": "user", "content": f.Prompt})
}

// say prints a text in two parts.
func (g *gemini) say(f *fake, text string) {
	half := len(text) / 2
	for _, part := range []string{text[:half], text[half:]} {
		f.print(object{"type": "message", "role": "assistant", "content": part, "delta": true})
	}
}

func (g *gemini) todo(f *fake, done, all int, text string) {
	g.say(f, fmt.Sprintf("%d of %d: %s\n", done, all, text))
}

func (g *gemini) tool(f *fake, id, command string) {
	f.print(object{"type": "tool_use", "tool_name": "run_shell_command", "tool_id": id, "parameters": object{"command": command}})
}

func (g *gemini) result(f *fake, id, _, output string, good bool) {
	status := "success"
	if !good {
		status = "error"
	}
	f.print(object{"type": "tool_result", "tool_id": id, "status": status, "output": output})
}

func (g *gemini) refused(f *fake, id, what string) {
	g.tool(f, id, what)
	f.print(object{"type": "tool_result", "tool_id": id, "status": "error", "output": "Tool execution denied by policy.", "error": object{
		"type": "policy_violation", "message": "Tool execution denied by policy.",
	}})
}

// costs is reported at the end.
func (g *gemini) costs(*fake, pawl.Usage) {}

func (g *gemini) last(f *fake, more object) {
	message := object{"type": "result", "status": "success", "stats": object{
		"total_tokens": f.used.Tokens + 1000, "input_tokens": f.used.Tokens + 1000, "output_tokens": 0, "cached": 1000, "tool_calls": f.tools,
	}}
	for key, value := range more {
		message[key] = value
	}
	f.print(message)
}

func (g *gemini) finish(f *fake, text string) int {
	g.say(f, text)
	g.last(f, nil)
	return 0
}

func (g *gemini) fail(f *fake, text string) int {
	fmt.Fprintln(f.err, "Error when talking to Gemini API", text)
	g.last(f, object{"status": "error", "error": object{"type": "unknown", "message": "[API Error: " + text + "]"}})
	return 1
}

func (g *gemini) limit(f *fake, reset time.Time) int {
	text := "You have exhausted your capacity on this model."
	if !reset.IsZero() {
		text += fmt.Sprintf(" Your quota will reset after %ds.", int(time.Until(reset).Round(time.Second).Seconds()))
	} else {
		text = "You have exhausted your daily quota on this model."
	}
	return g.fail(f, text)
}

func (g *gemini) full(f *fake) int {
	return g.fail(f, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`)
}

func (g *gemini) broke(f *fake) int { return g.fail(f, "it has no such limit") }
