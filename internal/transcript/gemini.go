package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Gemini CLI 0.61.0 appends a JSON object a line to ~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl. It repeats a message
// whenever that has more tool calls, and records a call when all calls of its batch have ended. Its hooks have no ids of calls.

// geminiMessage is a message, or a change of the record.
type geminiMessage struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Calls   []geminiCall    `json:"toolCalls"`
	Set     struct {
		Messages []geminiMessage `json:"messages"`
	} `json:"$set"`
}

// geminiCall is a tool call that has ended.
type geminiCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Status string          `json:"status"`
	Time   string          `json:"timestamp"`
	Agent  string          `json:"agentId"`
	Result []struct {
		Function struct {
			Response struct {
				Output string `json:"output"`
				Error  string `json:"error"`
			} `json:"response"`
		} `json:"functionResponse"`
	} `json:"result"`
}

// gemini reads a line.
func (r *reader) gemini(data []byte) {
	switch {
	case !bytes.Contains(data, []byte(`"type"`)):
		return
	case bytes.Contains(data, []byte(`"type":"user"`)) && !bytes.Contains(data, []byte(`"toolCalls"`)):
		r.record.TurnEnded = false // the content repeats results
		return
	}
	var m geminiMessage
	if !decode(data, &m) {
		return
	}
	r.geminiMessage(m)
	for _, m := range m.Set.Messages {
		r.geminiMessage(m)
	}
}

func (r *reader) geminiMessage(m geminiMessage) {
	switch m.Type {
	case "gemini":
		for _, c := range m.Calls {
			r.announce(c.ID, call{tool: c.Name, input: c.Args, prompt: promptIn(c.Args)})
			r.geminiCall(c)
		}
		r.record.TurnEnded = len(m.Calls) == 0 && strings.TrimSpace(textOf(m.Content)) != ""
	case "user":
		r.record.TurnEnded = false
	}
}

// The texts of Gemini CLI 0.61.0 for calls without a result.
const (
	geminiDenied    = "[Operation Cancelled] Reason: User denied execution."
	geminiSibling   = "[Operation Cancelled] Reason: User cancelled operation" // another call of the batch was refused
	geminiPolicy    = "Tool execution denied by policy."
	geminiUnattends = "requires user confirmation, which is not supported in non-interactive mode."
)

// geminiCall records the outcome of a call.
func (r *reader) geminiCall(c geminiCall) {
	var output, problem string
	for _, part := range c.Result {
		output, problem = output+part.Function.Response.Output, problem+part.Function.Response.Error
	}
	o := Outcome{Call: c.ID, Time: timeOf(c.Time)}
	switch c.Status {
	case "success":
		o = geminiSuccess(o, output)
	case "cancelled":
		switch problem {
		case geminiDenied:
			o.Kind, o.By = Refused, Person
		case geminiSibling:
			o.Kind = Skipped
		default:
			o.Kind = Interrupted
		}
	case "error":
		o.Kind, o.Text = Failed, problem
		if hasPrefix(problem, geminiPolicy) || strings.HasSuffix(problem, geminiUnattends) {
			o.Kind, o.By = Refused, Policy
		}
	}
	r.settle(o)
	if c.Agent != "" && o.Kind != "" {
		r.startSub(c.Agent, c.ID)
		if o.Kind != Started {
			r.endSub(c.Agent)
		}
	}
}

// geminiSuccess distinguishes commands that succeeded from those that failed or continued in the background. Only the last lines are those of the
// tool: all before them is the command's output.
func geminiSuccess(o Outcome, output string) Outcome {
	output = strings.TrimPrefix(strings.TrimSuffix(output, "\n</untrusted_context>"), "<untrusted_context>\n")
	if hasPrefix(output, "Command moved to background (PID: ") {
		o.Kind = Started
		return o
	}
	o.Kind = Succeeded
	if !hasPrefix(output, "Output: ") {
		return o
	}
	lines := strings.Split(output, "\n")
	for i, line := range slices.Backward(lines) {
		if !hasPrefix(line, "Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ") {
			break
		}
		output = strings.Join(lines[:i], "\n")
		if code, found := codeAfter(line, "Exit Code: "); found && code != 0 {
			o.Kind, o.Exit = Failed, code
		}
		if hasPrefix(line, "Error: ", "Signal: ") {
			o.Kind = Failed
		}
	}
	if o.Kind == Failed {
		o.Text = strings.TrimPrefix(strings.TrimPrefix(output, "Output: "), "(empty)")
	}
	return o
}
