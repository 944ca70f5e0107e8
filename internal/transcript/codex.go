package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// Codex 0.169.0 appends a JSON object a line to $CODEX_HOME/sessions/<date>/rollout-<time>-<thread>.jsonl. A response_item is
// what the model sees: calls and the texts of their outputs. An event_msg with a finished item has the status of a command or
// a patch. Older versions have only the former. "declined" is not proof that nothing happened: Codex asks again after a command
// that failed in its sandbox.

// codexLine is a line of a rollout.
type codexLine struct {
	Type    string       `json:"type"`
	Time    string       `json:"timestamp"`
	Payload codexPayload `json:"payload"`
}

type codexPayload struct {
	Type      string          `json:"type"`
	Call      string          `json:"call_id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Reason    string          `json:"reason"`
	Item      codexItem       `json:"item"`
}

// codexItem is a finished command, patch, call of an MCP server, or a change of a subagent.
type codexItem struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"` // of the call
	Status string          `json:"status"`
	Exit   *int            `json:"exit_code"`
	Output string          `json:"aggregated_output"`
	Errors string          `json:"stderr"`
	Error  json.RawMessage `json:"error"`
	Kind   string          `json:"kind"`            // of SubAgentActivity
	Agent  string          `json:"agent_thread_id"` // likewise
	Tool   string          `json:"tool"`            // of CollabAgentToolCall, which is for the older kind of subagents
	Agents []string        `json:"receiver_thread_ids"`
	States map[string]struct {
		Status string `json:"status"`
	} `json:"agents_states"`
}

// codex reads a line.
func (r *reader) codex(data []byte) {
	var l codexLine
	if !bytes.Contains(data, []byte(`"response_item"`)) && !bytes.Contains(data, []byte(`"event_msg"`)) || !decode(data, &l) {
		return
	}
	p := l.Payload
	switch l.Type + "/" + p.Type {
	case "response_item/function_call", "response_item/custom_tool_call":
		input := codexInput(p)
		r.announce(p.Call, call{tool: p.Name, input: input, prompt: codexPrompt(input)})
		r.record.TurnEnded = false
	case "response_item/function_call_output", "response_item/custom_tool_call_output":
		r.codexOutput(l)
	case "event_msg/item_completed":
		r.codexItem(l)
	case "event_msg/task_started", "event_msg/user_message":
		r.record.TurnEnded, r.record.Interrupted = false, false
	case "event_msg/task_complete":
		r.record.TurnEnded = true
	case "event_msg/turn_aborted":
		r.record.TurnEnded, r.record.Interrupted = true, p.Reason == "interrupted"
	}
}

// codexInput returns the input of a call. Arguments are JSON in a string.
func codexInput(p codexPayload) json.RawMessage {
	var text string
	if json.Unmarshal(p.Arguments, &text) == nil && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return p.Input
}

// codexPrompt returns the prompt in the input of a call that starts a subagent.
func codexPrompt(input json.RawMessage) string {
	var in struct {
		Message string `json:"message"`
		Prompt  string `json:"prompt"`
	}
	decode(input, &in)
	return in.Message + in.Prompt
}

// codexItem records the status of a finished item, which is surer than its text.
func (r *reader) codexItem(l codexLine) {
	item := l.Payload.Item
	o := Outcome{Call: item.ID, Time: timeOf(l.Time), Text: textOf(item.Error)}
	switch item.Type {
	case "CommandExecution", "FileChange":
		o.Text = cmp.Or(item.Output, item.Errors)
	case "McpToolCall":
	case "SubAgentActivity", "CollabAgentToolCall":
		r.codexAgent(item)
		return
	default:
		return
	}
	switch item.Status {
	case "completed":
		o.Kind, o.Text = Succeeded, ""
	case "failed":
		o.Kind = Failed
		if item.Exit != nil && *item.Exit > 0 {
			o.Exit = *item.Exit
		}
	case "declined":
		o = codexRefused(o, o.Text)
	}
	r.settle(o)
}

// codexOutput records the text of an output, if no item had the status.
func (r *reader) codexOutput(l codexLine) {
	p := l.Payload
	text := textOf(p.Output)
	if text == "" {
		text = codexContent(p.Output)
	}
	if !r.settled(p.Call) {
		o := codexOutcome(text)
		o.Call, o.Time = p.Call, timeOf(l.Time)
		r.settle(o)
	}
}

// codexContent returns the text of an output that is an object.
func codexContent(output json.RawMessage) string {
	var o struct {
		Content json.RawMessage `json:"content"`
	}
	decode(output, &o)
	return textOf(o.Content)
}

// codexAgent follows subagents.
func (r *reader) codexAgent(item codexItem) {
	switch item.Kind {
	case "started":
		r.startSub(item.Agent, item.ID)
	case "completed", "interrupted":
		r.endSub(item.Agent)
	}
	for _, id := range item.Agents {
		if item.Tool == "spawn_agent" || item.Tool == "spawnAgent" {
			r.startSub(id, item.ID)
		}
	}
	for id, state := range item.States {
		if state.Status != "" && state.Status != "pending_init" && state.Status != "running" {
			r.endSub(id)
		}
	}
}

// codexRefused completes the outcome of a call that was refused for this reason. A person's refusal has none.
func codexRefused(o Outcome, reason string) Outcome {
	o.Kind, o.By, o.Text = Refused, Policy, reason
	if strings.HasSuffix(reason, "rejected by user") {
		o.By, o.Text = Person, ""
	}
	return o
}

// codexRejected begins the reason of a refusal in the text of an error.
const codexRejected = `"Rejected(\"`

// codexOutcome judges an output by its text. A command's own output comes after a header and is ignored.
func codexOutcome(text string) Outcome {
	switch {
	case text == "exec command rejected by user", text == "patch rejected by user", text == "rejected by user",
		hasPrefix(text, "approval required by policy"), hasPrefix(text, "`") && strings.HasSuffix(text, " rejected: blocked by policy"):
		return codexRefused(Outcome{}, text)
	case hasPrefix(text, "exec_command failed: ") && strings.Contains(text, codexRejected):
		return codexRefused(Outcome{}, between(text, codexRejected, `\")"`))
	case hasPrefix(text, "exec_command failed: "):
		return Outcome{Kind: Failed, Text: text}
	case text == "aborted before dispatch":
		return Outcome{Kind: Skipped}
	case text == "aborted": // made up when the session continued: the call may have run or not
		return Outcome{}
	case hasPrefix(text, "aborted by user after "), hasPrefix(text, "Wall time: ") && strings.HasSuffix(text, "\naborted by user"):
		return Outcome{Kind: Interrupted}
	}
	header, output, _ := strings.Cut(text, "\nOutput:\n")
	if !hasPrefix(header, "Chunk ID: ", "Wall time: ", "Exit code: ") {
		return Outcome{Kind: Ended}
	}
	for line := range strings.Lines(header) {
		if code, found := codeAfter(line, "Process exited with code "); found {
			return exited(code, output)
		}
		if code, found := codeAfter(line, "Exit code: "); found {
			return exited(code, output)
		}
		if _, found := codeAfter(line, "Process running with session ID "); found {
			return Outcome{Kind: Started}
		}
	}
	return Outcome{Kind: Ended}
}

// exited is the outcome of a command with this exit code.
func exited(code int, output string) Outcome {
	if code == 0 {
		return Outcome{Kind: Succeeded}
	}
	return Outcome{Kind: Failed, Exit: code, Text: output}
}
