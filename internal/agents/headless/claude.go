package headless

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// claude is Claude Code. It reports the cost of the whole session, but the tokens of the current process only.
var claude = Agent{
	Name: pawl.ClaudeCode, Program: "claude", Chooses: true, ends: true,
	Credentials: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
	head:        claudeArgs, out: claudeSays,
	modest:  []string{"--permission-mode", "acceptEdits"},
	permits: []string{"--permission-mode", "--dangerously-skip-permissions"},
	gone:    []string{"no conversation found"},
}

func claudeArgs(t Turn) []string {
	args := []string{"-p", "--output-format", "stream-json", "--verbose", "--allowedTools=" + strings.Join(grants("Bash(%s)", "Bash(%s *)"), ",")}
	if t.Resume {
		args = append(args, "--resume", t.Session)
	} else {
		args = append(args, given("--session-id", t.Session)...)
	}
	if t.USD > 0 {
		args = append(args, "--max-budget-usd", strconv.FormatFloat(t.USD, 'f', -1, 64))
	}
	return append(args, given("--model", t.Action.Model)...)
}

func claudeSays(s *Stream, m message) {
	switch m.text("type") {
	case "system":
		s.claudeSystem(m)
	case "assistant":
		s.claudeAssistant(m)
	case "user":
		for _, part := range m.list("message", "content") {
			s.endTool(part.text("tool_use_id"))
		}
	case "rate_limit_event":
		if info := m.at("rate_limit_info"); info.text("status") == "rejected" {
			s.trouble.reset = clock(info.number("resetsAt"))
		}
	case "result":
		s.claudeResult(m)
	}
}

func (s *Stream) claudeSystem(m message) {
	switch m.text("subtype") {
	case "init":
		s.setSession(m.text("session_id"))
	case "permission_denied":
		s.addDenied(cmp.Or(s.what(m.text("tool_use_id")), m.text("tool_name")))
	}
}

// claudeAssistant reads a message of the model. Text of subagents is for the agent, not for the user.
func (s *Stream) claudeAssistant(m message) {
	if m.is("is_api_error_message") || m.text("error") != "" {
		s.claudeFails(m)
		return
	}
	sub := m.text("parent_tool_use_id") != ""
	if id := m.text("message", "id"); id != s.counted {
		s.counted = id
		s.usage.Tokens += m.at("message", "usage").count("input_tokens", "cache_creation_input_tokens", "output_tokens")
	}
	for _, part := range m.list("message", "content") {
		switch input := part.at("input"); {
		case part.text("type") == "text" && !sub:
			s.addText(part.text("text"))
		case part.text("type") == "tool_use" && part.text("name") == "TodoWrite":
			s.claudeTodos(input.list("todos"))
		case part.text("type") == "tool_use":
			s.startTool(part.text("id"), part.text("name"), input)
		}
	}
}

func (s *Stream) claudeTodos(todos []message) {
	done, now := 0, ""
	for _, todo := range todos {
		switch todo.text("status") {
		case "completed":
			done++
		case "in_progress":
			now = todo.text("content")
		}
	}
	s.setTasks(done, len(todos), now)
}

// claudeFails reads an error of a request to the model.
func (s *Stream) claudeFails(m message) {
	if info := m.at("api_error_params", "rate_limit_info"); info.value != nil {
		s.trouble.reset = clock(info.number("resetsAt"))
	}
	for _, part := range m.list("message", "content") {
		s.setError(part.text("text"), int(m.number("api_error_status")))
	}
}

func (s *Stream) claudeResult(m message) {
	s.setSession(m.text("session_id"))
	if used := m.at("usage").count("input_tokens", "cache_creation_input_tokens", "output_tokens"); used > s.usage.Tokens {
		s.usage.Tokens = used
	}
	s.total.USD = m.number("total_cost_usd")
	s.usage.USD = since(s.turn.Before.USD, s.total.USD)
	for _, d := range m.list("permission_denials") {
		s.addDenied(line(d.text("tool_name")+": "+d.at("tool_input").about(), maxAbout))
	}
	s.ended = m.text("subtype") == "success" && !m.is("is_error")
	if s.ended {
		s.text = cmp.Or(m.text("result"), s.text)
		return
	}
	why := m.text("result")
	for _, e := range m.list("errors") {
		text, _ := e.value.(string)
		why = cmp.Or(why, text)
	}
	switch reason := m.text("terminal_reason"); {
	case reason == "budget_exhausted", m.text("subtype") == "error_max_budget_usd":
		s.trouble = trouble{how: Overspent, why: why}
	case reason == "prompt_too_long":
		s.trouble = trouble{how: Full, why: why}
	default:
		s.setError(cmp.Or(why, cmp.Or(reason, m.text("subtype"))), int(m.number("api_error_status")))
	}
}

// clock returns the time for a number of seconds since 1970.
func clock(seconds float64) time.Time {
	if seconds <= 0 || seconds > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}
