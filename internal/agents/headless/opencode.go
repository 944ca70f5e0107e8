package headless

import (
	"cmp"
	"strings"
	"time"

	"pawl"
)

// openCode is OpenCode. It tells of a tool when that has ended, and each step's cost by itself. A rate limit it waits out
// without a word but in its log.
var openCode = Agent{
	Name: pawl.OpenCode, Program: "opencode",
	head: openCodeArgs, out: openCodeSays, warns: openCodeWarns,
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
	s.named(m.text("sessionID"))
	part := m.at("part")
	switch m.text("type") {
	case "step_start":
		s.trouble, s.limits = trouble{}, 0
	case "text":
		s.says(part.text("text"))
	case "tool_use":
		s.openCodeTool(part)
	case "step_finish":
		s.usage.USD += max(0, part.number("cost"))
		s.usage.Tokens += part.at("tokens").count("input", "output", "reasoning") + part.at("tokens", "cache").count("write")
	case "error":
		data := m.at("error", "data")
		s.fails(cmp.Or(data.text("message"), m.text("error", "name")), int(data.number("statusCode")))
		if m.text("error", "name") == "ContextOverflowError" {
			s.trouble.how = Full
		}
	}
}

func (s *Stream) openCodeTool(part message) {
	if part.text("tool") == "todowrite" {
		s.claudeTodos(part.list("state", "input", "todos")) // it has the same list
		return
	}
	s.begins(part.text("callID"), part.text("tool"), part.at("state", "input"))
	if part.text("state", "status") == "error" && strings.Contains(part.text("state", "error"), "rejected permission") {
		s.refused(s.what(part.text("callID")))
	}
	s.finishes(part.text("callID"))
}

// openCodeWarns reads a line of its log. A limit that lasts is not left to OpenCode: it is ended, so that what the plan
// says of limits holds. One of a minute or two, or of which nobody knows yet that it lasts, it may wait out itself.
func openCodeWarns(s *Stream, text string) {
	if !strings.Contains(text, `message="stream error"`) || strings.Contains(text, "small=true") {
		return
	}
	if _, id, ok := strings.Cut(text, "session.id="); ok {
		id, _, _ = strings.Cut(id, " ")
		s.named(id)
	}
	_, why, _ := strings.Cut(text, "error.error=")
	why = strings.Trim(why, `"`)
	if kindOf(why, 0) != Limited {
		return
	}
	s.fails(why, 0)
	s.news = append(s.news, Said{Words: why})
	if s.limits++; s.limits >= maxLimits || lasts(why) > shortLimit {
		s.stop(s.trouble)
	}
}

const (
	maxLimits  = 5               // limits that an agent may run into one after another
	shortLimit = 2 * time.Minute // that it may wait out itself
)
