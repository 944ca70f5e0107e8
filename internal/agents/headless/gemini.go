package headless

import (
	"cmp"
	"strings"

	"pawl"
)

// gemini is Gemini CLI. Each process counts anew, and tells what it used at its end. A shell command that it may always run
// is the only one then, whatever it is allowed besides.
var gemini = Agent{
	Name: pawl.GeminiCLI, Program: "gemini", Chooses: true, ends: true,
	head: geminiArgs, out: geminiSays,
	modest:  []string{"--approval-mode", "auto_edit", "--allowed-tools=run_shell_command(pawl)"},
	permits: []string{"--approval-mode", "-y", "--yolo"},
	gone:    []string{"error resuming session", "invalid session identifier"},
}

// geminiArgs has the folder trusted for this one time: in another one it would not even read the project's settings, and
// whoever runs a plan in a folder trusts it.
func geminiArgs(t Turn) []string {
	args := []string{"--output-format", "stream-json", "--skip-trust"}
	if t.Resume {
		args = append(args, "--resume", t.Session)
	} else {
		args = append(args, given("--session-id", t.Session)...)
	}
	return append(args, given("--model", t.Action.Model)...)
}

func geminiSays(s *Stream, m message) {
	switch m.text("type") {
	case "init":
		s.named(m.text("session_id"))
	case "message":
		s.geminiMessage(m)
	case "tool_use":
		s.begins(m.text("tool_id"), m.text("tool_name"), m.at("parameters"))
	case "tool_result":
		s.geminiTool(m)
	case "error":
		if m.text("severity") != "warning" {
			s.fails(m.text("message"), 0)
		}
	case "result":
		s.geminiResult(m)
	}
}

func (s *Stream) geminiMessage(m message) {
	switch {
	case m.text("role") != "assistant":
		s.words = "" // what follows answers it
	case m.is("delta"):
		s.continues(m.text("content"))
	default:
		s.says(m.text("content"))
	}
}

// geminiTool takes in how a tool ended. What would need a person's permission is not even offered to the model where
// there is no person, so a tool that it does not have is one that it may not use.
func (s *Stream) geminiTool(m message) {
	kind := m.text("error", "type")
	if m.text("status") == "error" && (kind == "tool_not_registered" || strings.Contains(kind, "policy") || kind == "execution_denied") {
		s.refused(s.what(m.text("tool_id")))
	}
	s.finishes(m.text("tool_id"))
	s.words = ""
}

func (s *Stream) geminiResult(m message) {
	stats := m.at("stats")
	s.usage.Tokens = max(0, stats.count("input_tokens", "output_tokens")-stats.count("cached"))
	s.ended = m.text("status") == "success"
	if !s.ended {
		s.fails(cmp.Or(m.text("error", "message"), m.text("error", "type")), 0)
	}
}
