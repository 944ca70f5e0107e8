package headless

import (
	"cmp"
	"strings"
	"time"

	"pawl"
)

// openCode is OpenCode. It reports a tool when that has ended, and the cost of each step. It waits for rate limits silently,
// except in its log.
var openCode = Agent{
	Name: pawl.OpenCode, Program: "opencode",
	Credentials: []string{"OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY"},
	head:        openCodeArgs, out: openCodeSays, warns: openCodeWarns,
	permits: []string{"--auto"},
	gone:    []string{"session not found"},
}

func openCodeArgs(t Turn) []string {
	args := []string{"run", "--format", "json", "--print-logs", "--log-level", "ERROR"}
	if t.Resume {
		args = append(args, "--session", t.Session)
	}
	return append(args, given("--model", t.Action.Model)...)
}

func openCodeSays(s *Stream, m message) {
	s.setSession(m.text("sessionID"))
	part := m.at("part")
	switch m.text("type") {
	case "step_start":
		s.trouble, s.limits, s.ended = trouble{}, 0, false
	case "text":
		s.openCodeText(part)
	case "tool_use":
		s.openCodeTool(part)
	case "step_finish":
		s.ended = s.resumed && part.text("reason") == "stop"
		s.usage.USD += max(0, part.number("cost"))
		s.usage.Tokens += part.at("tokens").count("input", "output", "reasoning") + part.at("tokens", "cache").count("write")
	case "error":
		s.resumed = false
		data := m.at("error", "data")
		s.setError(cmp.Or(data.text("message"), m.text("error", "name")), int(data.number("statusCode")))
		if m.text("error", "name") == "ContextOverflowError" {
			s.trouble.how = Full
		}
	}
}

// openCodeText reads a message to the user, or the one with which OpenCode makes the model continue after it has compacted a context
// that was full. Then it exits with 1, as after any error, even if the model finishes.
func (s *Stream) openCodeText(part message) {
	switch {
	case part.at("metadata").is("compaction_continue"):
		s.resumed = true
	case !part.is("synthetic"):
		s.addText(part.text("text"))
	}
}

func (s *Stream) openCodeTool(part message) {
	if part.text("tool") == "todowrite" {
		s.claudeTodos(part.list("state", "input", "todos")) // same format
		return
	}
	s.startTool(part.text("callID"), part.text("tool"), part.at("state", "input"))
	if part.text("state", "status") == "error" && strings.Contains(part.text("state", "error"), "rejected permission") {
		s.addDenied(s.what(part.text("callID")))
	}
	s.endTool(part.text("callID"))
}

// loggedError returns the error in a line of OpenCode's log, or the line itself if it is not one.
func loggedError(line string) string {
	if _, why, ok := strings.Cut(line, "error.error="); ok {
		return strings.Trim(why, `"`)
	}
	return line
}

// openCodeWarns reads a line of its log. OpenCode may wait for a short limit, or one of unknown duration. For a long limit it
// is stopped, so that the plan's setting for limits applies.
func openCodeWarns(s *Stream, text string) {
	if !strings.Contains(text, `message="stream error"`) || strings.Contains(text, "small=true") {
		return
	}
	if _, id, ok := strings.Cut(text, "session.id="); ok {
		id, _, _ = strings.Cut(id, " ")
		s.setSession(id)
	}
	why := loggedError(text)
	if kindOf(why, 0) != Limited {
		return
	}
	s.setError(why, 0)
	s.queue = append(s.queue, Update{Text: why})
	if s.limits++; s.limits >= maxLimits || duration(why) > shortLimit {
		s.stop(s.trouble)
	}
}

const (
	maxLimits  = 5               // consecutive limits that are accepted
	shortLimit = 2 * time.Minute // the longest limit that it may wait for itself
)
