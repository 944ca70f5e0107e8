package headless

import "pawl"

// copilot is Copilot CLI. It tells neither tokens nor money, but for the tokens of some models' answers.
var copilot = Agent{
	Name: pawl.CopilotCLI, Program: "copilot", Chooses: true, ends: true,
	head: copilotArgs, out: copilotSays,
	modest:  []string{"--allow-tool=write"},
	permits: []string{"--allow-all-tools", "--allow-all", "--yolo"},
	gone:    []string{"no session, task, or name matched", "session not found"},
}

func copilotArgs(t Turn) []string {
	args := []string{"--output-format", "json", "--no-ask-user", "--allow-tool=shell(pawl:*)"}
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
		s.named(data.text("sessionId"))
	case "assistant.message":
		s.trouble = trouble{}
		s.usage.Tokens += data.count("outputTokens")
		if data.text("parentToolCallId") == "" {
			s.says(data.text("content"))
		}
	case "tool.execution_start":
		s.begins(data.text("toolCallId"), data.text("toolName"), data.at("arguments"))
	case "tool.execution_complete":
		if data.text("error", "code") == "denied" {
			s.refused(s.what(data.text("toolCallId")))
		}
		s.finishes(data.text("toolCallId"))
	case "model.call_failure":
		s.fails(data.text("errorMessage"), int(data.number("statusCode")))
	case "session.error":
		s.fails(data.text("message"), int(data.number("statusCode")))
	case "result":
		s.named(m.text("sessionId"))
		s.ended = m.at("exitCode").value != nil && m.number("exitCode") == 0
	}
}
