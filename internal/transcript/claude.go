package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// Claude Code 2.1.329 appends a JSON object a line to ~/.claude/projects/<folder>/<session>.jsonl. A message with one
// tool_result has toolDenialKind if the call has no result of its own. Older versions have only the texts.

// claudeLine is a line of a transcript.
type claudeLine struct {
	Type       string          `json:"type"`
	Time       string          `json:"timestamp"`
	Agent      string          `json:"agentId"`
	Sidechain  bool            `json:"isSidechain"`
	Meta       bool            `json:"isMeta"`
	Result     json.RawMessage `json:"toolUseResult"`
	Denial     string          `json:"toolDenialKind"`
	BeforeRun  bool            `json:"toolDenialBeforeRun"`
	AfterRun   bool            `json:"toolDenialAfterRun"`
	FromHost   bool            `json:"toolDenialFromHost"`
	Unanswered string          `json:"toolDenialUnanswered"`
	Feedback   string          `json:"userFeedback"`
	Decision   struct {
		Source string `json:"source"`
	} `json:"permissionDecision"`
	Message struct {
		Content json.RawMessage `json:"content"`
		Stop    string          `json:"stop_reason"`
	} `json:"message"`
}

// claudeBlock is a part of a message.
type claudeBlock struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Call    string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	Failed  bool            `json:"is_error"`
}

// claudeResult is the structured result of a tool.
type claudeResult struct {
	Status      string `json:"status"`
	Agent       string `json:"agentId"`
	Task        string `json:"backgroundTaskId"`
	Interrupted bool   `json:"interrupted"`
}

// claude reads a line. Lines of other types repeat messages or hold none.
func (r *reader) claude(data []byte) {
	if !bytes.Contains(data, []byte(`"user"`)) && !bytes.Contains(data, []byte(`"assistant"`)) {
		return
	}
	var l claudeLine
	if !decode(data, &l) || l.Type != "user" && l.Type != "assistant" {
		return
	}
	var blocks []claudeBlock
	decode(l.Message.Content, &blocks)
	results, calls := 0, 0
	for _, b := range blocks {
		switch {
		case b.Type == "tool_use" && l.Type == "assistant":
			calls++
			r.announce(b.ID, call{tool: b.Name, input: b.Input, sub: l.Agent, prompt: promptIn(b.Input)})
		case b.Type == "tool_result" && l.Type == "user":
			results++
		}
	}
	for _, b := range blocks {
		if b.Type == "tool_result" && l.Type == "user" {
			r.claudeResult(l, b, results == 1)
		}
	}
	if !l.Sidechain {
		r.claudeTurn(l, calls+results)
	}
}

// promptIn returns the prompt in the input of a call that starts a subagent.
func promptIn(input json.RawMessage) string {
	var in struct {
		Prompt string `json:"prompt"`
	}
	decode(input, &in)
	return in.Prompt
}

// claudeTurn follows the beginning and end of turns.
func (r *reader) claudeTurn(l claudeLine, tools int) {
	text := textOf(l.Message.Content)
	switch {
	case l.Type == "assistant":
		r.record.TurnEnded = tools == 0 && l.Message.Stop != "" && l.Message.Stop != "tool_use" && l.Message.Stop != "pause_turn"
		r.record.Interrupted = false
	case hasPrefix(text, "<task-notification>"):
		r.claudeTask(l, text)
	case hasPrefix(text, "[Request interrupted"):
		r.record.TurnEnded, r.record.Interrupted = true, hasPrefix(text, "[Request interrupted by user")
	case !l.Meta:
		r.record.TurnEnded, r.record.Interrupted = false, false
	}
}

// claudeResult records the outcome of a call. What the line says about a denial belongs to its only result.
func (r *reader) claudeResult(l claudeLine, b claudeBlock, only bool) {
	if !only {
		l = claudeLine{Type: l.Type, Time: l.Time, Agent: l.Agent, Sidechain: l.Sidechain}
	}
	o := Outcome{Call: b.Call, Time: timeOf(l.Time), Sub: l.Agent, Text: textOf(b.Content)}
	var result claudeResult
	decode(l.Result, &result)
	switch {
	case l.Denial != "" || b.Failed:
		claudeFailure(&o, l)
	case result.Interrupted:
		o.Kind, o.Text = Interrupted, ""
	case result.Task != "", hasPrefix(result.Status, "async_launched", "remote_launched", "teammate_spawned"):
		o.Kind, o.Text = Started, ""
	default:
		o.Kind, o.Text = Succeeded, ""
	}
	r.settle(o)
	if l.Result != nil && result.Agent != "" && !l.Sidechain {
		r.startSub(result.Agent, b.Call)
		if o.Kind != Started {
			r.endSub(result.Agent)
		}
	}
}

// claudeUnknown are results that were made up when the session continued: the call may have run or not.
var claudeUnknown = []string{"[Tool call interrupted: the session ended", "[Tool call result not in this copy:", "[Agent call interrupted:"}

// claudeNotRun are results of calls that did not run without being refused.
var claudeNotRun = []string{"[Tool call skipped:", "[Tool call not completed:"}

// claudeFailure records why a call has no result, or an error. The texts for the model, such as "STOP what you are doing", are not
// reasons.
func claudeFailure(o *Outcome, l claudeLine) {
	text := o.Text
	switch {
	case hasPrefix(text, claudeUnknown...):
		return
	case l.AfterRun, l.FromHost:
		o.Kind, o.Text = Interrupted, ""
	case hasPrefix(text, claudeNotRun...), l.Unanswered != "":
		o.Kind, o.Text = Skipped, ""
	case claudeRefused(l, text):
		o.Kind, o.By = Refused, Person
		_, said, _ := strings.Cut(text, claudeSaid)
		said, _, _ = strings.Cut(said, "\n\nNote: The user's next message")
		o.Text = cmp.Or(said, l.Feedback)
	case l.Denial == "permission-rule", hasPrefix(l.Denial, "automode-"), l.Denial == "" && claudeDenied(text):
		o.Kind, o.By = Refused, Policy
	case l.Denial != "", hasPrefix(text, "[Request interrupted by user", "The user doesn't want to "):
		o.Kind, o.Text = Interrupted, ""
		if l.Denial == "user-rejected" || hasPrefix(text, "The user doesn't want to ") {
			o.By = Person // the record is the same for a call that was refused and for one that was interrupted
		}
	default:
		o.Kind = Failed
		o.Exit, _ = codeAfter(text, "Exit code ")
	}
}

// claudeSaid is what the user's reason for a refusal follows.
const claudeSaid = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was " +
	"NOT written to the file). To tell you how to proceed, the user said:\n"

// claudeRefused reports whether a person refused a call before it ran. Claude Code writes "user-rejected" and the same text also for
// a call that the user interrupted while it ran, and older versions have nothing else.
func claudeRefused(l claudeLine, text string) bool {
	return l.Denial == "user-rejected" && (l.BeforeRun || l.Decision.Source == "user_reject" || l.Feedback != "") || hasPrefix(text, claudeSaid)
}

// claudeDenied reports whether a result of an older version is that of a denied call.
func claudeDenied(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	return hasPrefix(line, "Permission to use ") && strings.Contains(line, " denied") ||
		hasPrefix(line, "Permission for this action has been denied.") || strings.HasPrefix(line, "Claude requested permissions to ")
}

// claudeTask records the end of a call in the background.
func (r *reader) claudeTask(l claudeLine, text string) {
	id := between(text, "<tool-use-id>", "</tool-use-id>")
	o := Outcome{Call: id, Time: timeOf(l.Time), Text: between(text, "<summary>", "</summary>"), Background: true}
	switch between(text, "<status>", "</status>") {
	case "completed":
		o.Kind = Succeeded
	case "failed":
		o.Kind = Failed
	case "killed":
		o.Kind = Interrupted
	}
	if r.record.Outcomes[id].Kind != Started {
		return
	}
	r.settle(o)
	for _, sub := range r.record.Subs {
		if sub.Call == id {
			r.endSub(sub.ID)
		}
	}
}

func between(text, open, end string) string {
	_, rest, _ := strings.Cut(text, open)
	inside, _, closed := strings.Cut(rest, end)
	if !closed {
		return ""
	}
	return inside
}
