package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// payload has the fields of all agents. Those whose type differs among them are taken as they are.
type payload struct {
	Event        string          `json:"hook_event_name"`
	Session      string          `json:"session_id"`
	Transcript   string          `json:"transcript_path"`
	Dir          string          `json:"cwd"`
	Model        json.RawMessage `json:"model"`
	Source       string          `json:"source"`
	Tool         string          `json:"tool_name"`
	Call         string          `json:"tool_use_id"`
	Input        json.RawMessage `json:"tool_input"`
	Answer       json.RawMessage `json:"tool_response"`
	Result       json.RawMessage `json:"tool_result"`
	Error        json.RawMessage `json:"error"`
	Details      json.RawMessage `json:"error_details"`
	Milliseconds float64         `json:"duration_ms"`
	Prompt       string          `json:"prompt"`
	Last         string          `json:"last_assistant_message"`
	Response     string          `json:"prompt_response"`
	Message      string          `json:"message"`
	Notice       string          `json:"notification_type"`
	Reason       string          `json:"reason"`
	Trigger      string          `json:"trigger"`
	Held         bool            `json:"stop_hook_active"`
	Sub          string          `json:"agent_id"`
	Parent       string          `json:"parent_id"`
	TaskID       string          `json:"task_id"`
	TaskTitle    string          `json:"task_subject"`
	Todos        []todo          `json:"todos"`

	// Copilot CLI's PermissionRequest, whatever names its hooks have.
	CamelEvent   string          `json:"hookName"`
	CamelSession string          `json:"sessionId"`
	CamelTool    string          `json:"toolName"`
	CamelInput   json.RawMessage `json:"toolInput"`
}

type todo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Title   string `json:"subject"`
	Text    string `json:"description"`
	Step    string `json:"step"`
	Status  string `json:"status"`
}

// Parse reads a payload. An error means that it says nothing that can be used: it is no JSON object, or names no session.
func (d *Dialect) Parse(data []byte) (Event, error) {
	var p payload
	err := json.Unmarshal(data, &p)
	p.uncamel()
	if err != nil {
		if _, odd := errors.AsType[*json.UnmarshalTypeError](err); !odd || p.Event == "" {
			return Event{}, fmt.Errorf("read the payload of %s: %w", d.Name, err)
		}
	}
	e := Event{
		Kind: d.events[p.Event], Name: p.Event, Session: p.Session, Sub: p.Sub, Dir: p.Dir, Transcript: p.Transcript,
		Model: text(p.Model), Tool: p.Tool, Call: p.Call, Input: p.Input,
		Answer: first(p.Answer, p.Result), Seconds: p.Milliseconds / 1000, Held: p.Held, Error: text(p.Error),
		Text: cmp.Or(p.Prompt, p.Last, p.Response), Why: cmp.Or(p.Reason, p.Trigger, p.Message),
	}
	if p.Parent != "" && p.Session != "" { // a session of its own, as OpenCode has them for subagents
		e.Session, e.Sub = p.Parent, p.Session
	}
	if e.Session == "" && e.Kind != Other {
		return e, fmt.Errorf("read the payload of %s: it names no session", d.Name)
	}
	e.settle(p)
	return e, nil
}

// uncamel reads names of fields in camelCase as the usual ones: permissionRequest is PermissionRequest.
func (p *payload) uncamel() {
	if p.Event == "" && p.CamelEvent != "" {
		p.Event = strings.ToUpper(p.CamelEvent[:1]) + p.CamelEvent[1:]
	}
	p.Session, p.Tool = cmp.Or(p.Session, p.CamelSession), cmp.Or(p.Tool, p.CamelTool)
	p.Input = first(p.Input, p.CamelInput)
}

// settle fills in what depends on what happened.
func (e *Event) settle(p payload) {
	switch e.Kind {
	case Start:
		if e.Source = cmp.Or(p.Source, "startup"); e.Source == "new" {
			e.Source = "startup"
		}
	case Prompt:
		e.Text = asked(p.Prompt)
	case After:
		e.Failed = p.Event == "PostToolUseFailure" || e.Error != ""
		if problem := problemOf(e.Answer); problem != "" {
			e.Failed, e.Error = true, cmp.Or(e.Error, problem)
		}
	case Stop:
		e.Text = cmp.Or(p.Last, p.Response)
	case Failure:
		e.Why = cmp.Or(join(text(p.Error), text(p.Details)), p.Reason, p.Event)
	case Permission:
		if p.Notice != "" && p.Notice != "ToolPermission" {
			e.Kind = Other
		}
		e.Why = cmp.Or(e.Tool, p.Message)
	case Tasks:
		e.tasks(p)
	}
	if (e.Kind == Before || e.Kind == After) && taskTools[strings.ToLower(e.Tool)] {
		e.todos(e.Input)
	}
}

// asked is a prompt without what our own hook said before it: Gemini CLI puts that in front of the prompt of `gemini -p`.
func asked(prompt string) string {
	if context, wrapped := strings.CutPrefix(prompt, "<hook_context>"); wrapped {
		if _, rest, whole := strings.Cut(context, "</hook_context>"); whole {
			return strings.TrimLeft(rest, "\n")
		}
	}
	return prompt
}

// taskTools are the tools by which agents keep their task lists.
var taskTools = map[string]bool{"todowrite": true, "write_todos": true, "update_plan": true, "update_todo": true}

// todos reads a task list from a tool's input.
func (e *Event) todos(input json.RawMessage) {
	var in struct {
		Todos []todo `json:"todos"`
		Plan  []todo `json:"plan"`
	}
	var text struct {
		Todos string `json:"todos"`
	}
	_ = json.Unmarshal(input, &in) // what of it can be read is used
	if json.Unmarshal(input, &text) == nil {
		in.Todos = checklist(text.Todos)
	}
	e.list(append(in.Todos, in.Plan...))
}

// checklist reads a task list in Markdown: - [x] done, - [ ] open.
func checklist(text string) (todos []todo) {
	for line := range strings.Lines(text) {
		mark, title, is := strings.Cut(strings.TrimLeft(line, " \t-*"), "]")
		if mark, ok := strings.CutPrefix(mark, "["); is && ok {
			todos = append(todos, todo{Content: strings.TrimSpace(title), Status: map[string]string{"x": "completed", "X": "completed"}[mark]})
		}
	}
	return todos
}

func (e *Event) list(todos []todo) {
	for _, t := range todos {
		if title := cmp.Or(t.Content, t.Title, t.Step, t.Text); title != "" {
			e.Tasks = append(e.Tasks, Task{ID: t.ID, Title: title, Status: statusOf(t.Status)})
		}
	}
	e.Whole = len(e.Tasks) > 0
}

func (e *Event) tasks(p payload) {
	if p.TaskID == "" {
		e.list(p.Todos)
		return
	}
	status := pawl.ItemPending
	if p.Event == "TaskCompleted" {
		status = pawl.ItemIsDone
	}
	e.Tasks = []Task{{ID: p.TaskID, Title: p.TaskTitle, Status: status}}
}

// statusOf reads what agents call the statuses of tasks.
func statusOf(word string) pawl.ItemStatus {
	switch word {
	case "completed", "done":
		return pawl.ItemIsDone
	case "in_progress", "running":
		return pawl.ItemRunning
	case "cancelled":
		return pawl.ItemDropped
	case "failed":
		return pawl.ItemFailed
	}
	return pawl.ItemPending
}

// problemOf returns what an answer says went wrong.
func problemOf(answer json.RawMessage) string {
	var a struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return ""
	}
	return text(a.Error)
}

// nothings are the JSON values that say nothing.
var nothings = []string{"", "null", "false", "0", "{}", "[]"}

// text returns a JSON value as text: a string's own, of an object its message, nothing for null and the like, else the JSON.
func text(value json.RawMessage) string {
	var s string
	if slices.Contains(nothings, string(value)) || json.Unmarshal(value, &s) == nil {
		return s
	}
	var o struct {
		Message string `json:"message"`
		ID      string `json:"id"`
	}
	if json.Unmarshal(value, &o) == nil && cmp.Or(o.Message, o.ID) != "" {
		return cmp.Or(o.Message, o.ID)
	}
	return string(value)
}

func first(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if len(v) > 0 {
			return v
		}
	}
	return nil
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ": " + b
}
