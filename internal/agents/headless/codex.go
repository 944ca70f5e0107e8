package headless

import (
	"cmp"

	"pawl"
)

// codex is Codex CLI. It reports the tokens of the whole session, and only at the end of a turn. It never asks for
// permission: actions that its sandbox does not allow fail.
var codex = Agent{
	Name: pawl.CodexCLI, Program: "codex", ends: true,
	Credentials: []string{"CODEX_API_KEY", "OPENAI_API_KEY"},
	head:        codexArgs, tail: codexSession, out: codexSays,
	modest: []string{"--sandbox", "workspace-write"},
	permits: []string{
		"-s", "--sandbox", "--dangerously-bypass-approvals-and-sandbox", "--approve-for-me", "-p", "--profile",
	},
	gone: []string{"no rollout found", "no session found", "thread not found"},
}

func codexArgs(t Turn) []string {
	return append([]string{"exec", "--json", "--skip-git-repo-check"}, given("--model", t.Action.Model)...)
}

// codexSession selects the session. Options that `resume` does not accept come before it.
func codexSession(t Turn) []string {
	if t.Resume {
		return []string{"resume", t.Session, "-"}
	}
	return []string{"-"}
}

func codexSays(s *Stream, m message) {
	switch m.text("type") {
	case "thread.started":
		s.setSession(m.text("thread_id"))
	case "turn.started":
		s.ended = false
	case "item.started":
		s.codexItem(m.at("item"), true)
	case "item.updated":
		if m.text("item", "type") == "todo_list" {
			s.codexItem(m.at("item"), false)
		}
	case "item.completed":
		s.codexItem(m.at("item"), false)
		s.endTool(m.text("item", "id"))
	case "turn.completed":
		s.ended = true
		s.codexUsage(m.at("usage"))
	case "turn.failed":
		s.codexUsage(m.at("usage"))
		s.setError(m.text("error", "message"), 0)
	case "error":
		s.setError(m.text("message"), 0)
	}
}

func (s *Stream) codexUsage(usage message) {
	if usage.value == nil {
		return
	}
	s.total.Tokens = max(0, usage.count("input_tokens", "output_tokens")-usage.count("cached_input_tokens"))
	s.usage.Tokens = int64(since(float64(s.turn.Before.Tokens), float64(s.total.Tokens)))
}

func (s *Stream) codexItem(item message, begun bool) {
	id, kind := item.text("id"), item.text("type")
	switch {
	case kind == "agent_message" && !begun:
		s.addText(item.text("text"))
	case kind == "todo_list":
		s.codexTodos(item.list("items"))
	case kind == "command_execution" && item.text("status") == "declined":
		s.addDenied("command: " + item.about())
	case kind == "command_execution" && begun:
		s.startTool(id, "command", item)
	case kind == "mcp_tool_call" && begun:
		s.startTool(id, item.text("server")+" "+item.text("tool"), item.at("arguments"))
	case kind == "web_search" && begun:
		s.startTool(id, "web search", item)
	case kind == "file_change" && !begun:
		for _, change := range item.list("changes") {
			s.addTool(id, cmp.Or(change.text("kind"), "change")+": "+line(change.text("path"), maxAbout))
		}
	}
}

func (s *Stream) codexTodos(items []message) {
	done, now := 0, ""
	for _, item := range items {
		if item.is("completed") {
			done++
		} else if now == "" {
			now = item.text("text")
		}
	}
	s.setTasks(done, len(items), now)
}
