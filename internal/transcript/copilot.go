package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// Copilot CLI 1.0.102 appends an event a line to ~/.copilot/session-state/<session>/events.jsonl; its
// schemas/session-events.schema.json describes them. The events of a subagent stand in the record of the session.

// copilotLine is an event.
type copilotLine struct {
	Type  string      `json:"type"`
	Time  string      `json:"timestamp"`
	Agent string      `json:"agentId"`
	Data  copilotData `json:"data"`
}

type copilotData struct {
	Call      string          `json:"toolCallId"`
	Parent    string          `json:"parentToolCallId"`
	Tool      string          `json:"toolName"`
	Arguments json.RawMessage `json:"arguments"`
	Success   bool            `json:"success"`
	Reason    string          `json:"reason"`
	Decision  string          `json:"decisionSource"`
	Canceled  bool            `json:"cancelled"`
	Requests  json.RawMessage `json:"toolRequests"`
	Result    copilotResult   `json:"result"`
	Shell     *copilotExit    `json:"shellExecution"`
	Notice    copilotExit     `json:"kind"` // of a notification
	Error     struct {
		Message string `json:"message"`
		Code    string `json:"code"`
	} `json:"error"`
}

// copilotExit is the end of a shell command.
type copilotExit struct {
	Type  string `json:"type"`
	Shell string `json:"shellId"`
	Exit  int    `json:"exitCode"`
}

// copilotResult is the result of a tool or of a request for permission.
type copilotResult struct {
	Content  string `json:"content"`
	Kind     string `json:"kind"`
	Feedback string `json:"feedback"`
	Message  string `json:"message"`
}

// copilot reads a line.
func (r *reader) copilot(data []byte) {
	var l copilotLine
	if !copilotKnown(data) || !decode(data, &l) {
		return
	}
	d := l.Data
	switch l.Type {
	case "tool.execution_start":
		r.announce(d.Call, call{tool: cmp.Or(copilotNames[d.Tool], d.Tool), input: d.Arguments, sub: l.Agent, prompt: promptIn(d.Arguments)})
	case "tool.execution_complete":
		r.copilotEnd(l)
	case "permission.completed":
		r.copilotPermission(l)
	case "subagent.started":
		r.startSub(l.Agent, d.Call)
	case "subagent.completed", "subagent.failed":
		r.copilotSubEnd(l)
	case "system.notification":
		r.copilotNotice(l)
	}
	if l.Agent == "" {
		r.copilotTurn(l)
	}
}

// copilotKnown reports whether a line may be one of the events that matter. Others are many and long.
func copilotKnown(data []byte) bool {
	rest, first := bytes.CutPrefix(data, []byte(`{"type":"`))
	if !first {
		return true
	}
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	kind, _, _ := bytes.Cut(name, []byte("."))
	switch string(kind) {
	case "tool", "permission", "subagent", "system", "user", "assistant", "abort":
		return string(name) != "system.message"
	}
	return false
}

// copilotNames are the names of tools as hooks with Claude Code's names of events see them.
var copilotNames = map[string]string{"bash": "Bash", "create": "Write", "edit": "Edit", "task": "Agent"}

// copilotTurn follows the beginning and end of turns.
func (r *reader) copilotTurn(l copilotLine) {
	switch l.Type {
	case "user.message":
		r.record.TurnEnded, r.record.Interrupted = false, false
	case "assistant.message":
		r.record.TurnEnded = string(l.Data.Requests) == "" || string(l.Data.Requests) == "[]" || string(l.Data.Requests) == "null"
	case "abort":
		r.record.TurnEnded, r.record.Interrupted = true, hasPrefix(l.Data.Reason, "user_")
	}
}

// copilotPermission records a request for permission that was not granted.
func (r *reader) copilotPermission(l copilotLine) {
	result := l.Data.Result
	o := Outcome{Call: l.Data.Call, Time: timeOf(l.Time), Sub: l.Agent, Kind: Refused, By: Policy, Text: result.Feedback + result.Message}
	switch {
	case result.Kind == "cancelled":
		o.Kind, o.By, o.Text = Skipped, "", ""
	case !hasPrefix(result.Kind, "denied-"):
		return
	case result.Kind == "denied-interactively-by-user" && (l.Data.Decision == "" || l.Data.Decision == "human_response"):
		o.By = Person
	}
	r.settle(o)
}

// copilotEnd records the outcome of a call. A refusal is recorded twice; the first says who refused.
func (r *reader) copilotEnd(l copilotLine) {
	d := l.Data
	o := Outcome{Call: d.Call, Time: timeOf(l.Time), Sub: l.Agent, Kind: Succeeded}
	was := r.record.Outcomes[d.Call]
	output, shell := copilotShell(d.Result.Content)
	switch {
	case d.Success && shell.Type != "" && d.Shell == nil || d.Success && r.runsSub(d.Call):
		o.Kind = Started
		r.shells[shell.Shell] = d.Call
	case d.Shell != nil && d.Shell.Exit != 0:
		o.Kind, o.Exit, o.Text = Failed, d.Shell.Exit, output+d.Error.Message
	case d.Success:
	case was.Kind == Refused, was.Kind == Skipped:
		return
	case d.Error.Code == "rejected" || d.Error.Code == "denied":
		o.Kind, o.By, o.Text = Refused, Policy, d.Error.Message
		if said, is := strings.CutPrefix(o.Text, "The user rejected this tool call."); is {
			o.By, o.Text = Person, strings.TrimPrefix(said, " User feedback: ")
		}
	default:
		o.Kind, o.Text = Failed, d.Error.Message
	}
	r.settle(o)
}

// copilotShell splits a command's output from the line that the tool adds. Type says that the command runs on.
func copilotShell(content string) (output string, shell copilotExit) {
	at := strings.LastIndex(content, "<command ")
	if end := strings.LastIndex(content, "\n<shellId: "); end > at {
		return content[:end], shell
	}
	if at < 0 || !hasPrefix(content[at:], "<command started in ") && !strings.Contains(content[at:], " is still running after ") {
		return content, shell
	}
	shell.Type, shell.Shell = "runs", strings.TrimRight(between(content[at:], "shellId: ", ">"), ">")
	shell.Shell, _, _ = strings.Cut(shell.Shell, " ")
	return content[:at], shell
}

// runsSub reports whether a subagent that a call started has not ended.
func (r *reader) runsSub(call string) bool {
	for _, sub := range r.record.Subs {
		if sub.Call == call && !sub.Ended {
			return true
		}
	}
	return false
}

// copilotSubEnd records the end of a subagent, and of the call that had started it in the background.
func (r *reader) copilotSubEnd(l copilotLine) {
	r.endSub(l.Agent)
	if r.record.Outcomes[l.Data.Call].Kind != Started {
		return
	}
	o := Outcome{Call: l.Data.Call, Time: timeOf(l.Time), Kind: Succeeded}
	switch {
	case l.Type == "subagent.failed":
		o.Kind = Failed
	case l.Data.Canceled:
		o.Kind = Interrupted
	}
	r.settle(o)
}

// copilotNotice records the end of a command in the background.
func (r *reader) copilotNotice(l copilotLine) {
	n := l.Data.Notice
	call := r.shells[n.Shell]
	if n.Type != "shell_completed" || n.Shell == "" || r.record.Outcomes[call].Kind != Started {
		return
	}
	o := Outcome{Call: call, Time: timeOf(l.Time), Kind: Succeeded, Exit: n.Exit}
	if n.Exit != 0 {
		o.Kind = Failed
	}
	r.settle(o)
}
