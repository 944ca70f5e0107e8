package headless

import (
	"cmp"
	"strings"

	"pawl"
)

// gemini is Gemini CLI. Each process reports its own usage when it ends. If a shell command is always allowed, all other
// commands are denied.
var gemini = Agent{
	Name: pawl.GeminiCLI, Program: "gemini", Chooses: true, ends: true,
	Credentials: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
	head:        geminiArgs, out: geminiSays,
	modest:  []string{"--approval-mode", "auto_edit", "--allowed-tools=" + strings.Join(grants("run_shell_command(%s)"), ",")},
	permits: []string{"--approval-mode", "-y", "--yolo"},
	gone:    []string{"error resuming session", "invalid session identifier"},
}

// geminiArgs marks the folder as trusted for this run, because whoever runs a plan in a folder trusts it. In an untrusted
// folder Gemini does not even read the project's settings.
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
		s.setSession(m.text("session_id"))
	case "message":
		s.geminiMessage(m)
	case "tool_use":
		s.startTool(m.text("tool_id"), m.text("tool_name"), m.at("parameters"))
	case "tool_result":
		s.geminiTool(m)
	case "error":
		if m.text("severity") != "warning" {
			s.setError(m.text("message"), 0)
		}
	case "result":
		s.geminiResult(m)
	}
}

func (s *Stream) geminiMessage(m message) {
	switch {
	case m.text("role") != "assistant":
		s.text = "" // the next text answers it
	case m.is("delta"):
		s.appendText(m.text("content"))
	default:
		s.addText(m.text("content"))
	}
}

// geminiTool reads the end of a tool. Without a user, Gemini does not offer tools that need permission to the model, so an
// unregistered tool is a denied one.
func (s *Stream) geminiTool(m message) {
	kind := m.text("error", "type")
	if m.text("status") == "error" && (kind == "tool_not_registered" || strings.Contains(kind, "policy") || kind == "execution_denied") {
		s.addDenied(s.what(m.text("tool_id")))
	}
	s.endTool(m.text("tool_id"))
	s.text = ""
}

func (s *Stream) geminiResult(m message) {
	stats := m.at("stats")
	s.usage.Tokens = max(0, stats.count("input_tokens", "output_tokens")-stats.count("cached"))
	s.ended = m.text("status") == "success"
	if !s.ended {
		s.setError(cmp.Or(m.text("error", "message"), m.text("error", "type")), 0)
	}
}
