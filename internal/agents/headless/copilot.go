package headless

import "pawl"

// copilot is Copilot CLI. It reports no cost, and tokens only for the answers of some models.
var copilot = Agent{
	Name: pawl.CopilotCLI, Program: "copilot", Chooses: true, ends: true,
	Credentials: []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"},
	head:        copilotArgs, out: copilotSays,
	modest:  []string{"--allow-tool=write"},
	permits: []string{"--allow-all-tools", "--allow-all", "--yolo"},
	gone:    []string{"no session, task, or name matched", "session not found"},
}

func copilotArgs(t Turn) []string {
	args := append([]string{"--output-format", "json", "--no-ask-user"}, grants("--allow-tool=shell(%s:*)")...)
	switch {
	case t.Session == "":
	case t.Resume:
		args = append(args, "--resume="+t.Session)
	default:
		args = append(args, "--session-id="+t.Session)
	}
	return append(args, given("--model", t.Action.Model)...)
}

func copilotSays(s *Stream, m message) {
	data := m.at("data")
	switch m.text("type") {
	case "session.start", "session.resume":
		s.setSession(data.text("sessionId"))
	case "assistant.message":
		s.trouble = trouble{}
		s.usage.Tokens += data.count("outputTokens")
		if data.text("parentToolCallId") == "" {
			s.addText(data.text("content"))
		}
	case "tool.execution_start":
		s.startTool(data.text("toolCallId"), data.text("toolName"), data.at("arguments"))
	case "tool.execution_complete":
		if data.text("error", "code") == "denied" {
			s.addDenied(s.what(data.text("toolCallId")))
		}
		s.endTool(data.text("toolCallId"))
	case "model.call_failure":
		s.setError(data.text("errorMessage"), int(data.number("statusCode")))
	case "session.error":
		s.setError(data.text("message"), int(data.number("statusCode")))
	case "result":
		s.setSession(m.text("sessionId"))
		s.ended = m.at("exitCode").value != nil && m.number("exitCode") == 0
	}
}
