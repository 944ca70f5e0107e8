package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
)

// payload has the fields of all agents. Fields whose type differs between agents stay raw.
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
	Background   []Background    `json:"background_tasks"`

	// Copilot CLI's PermissionRequest has names in camelCase.
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

// Parse parses a payload. It fails only if the payload is not a JSON object or has no session id.
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
	if p.Parent != "" && p.Session != "" { // OpenCode runs subagents in sessions of their own
		e.Session, e.Sub = p.Parent, p.Session
	}
	if e.Session == "" && e.Kind != Other {
		return e, fmt.Errorf("read the payload of %s: no session id", d.Name)
	}
	e.Session = strings.ReplaceAll(e.Session, "/", "_") // in our ids a slash begins that of a subagent
	e.addDetails(p)
	if e.Kind == After && slices.ContainsFunc(d.denied, func(text string) bool { return strings.HasPrefix(e.Error, text) }) {
		e.Kind = Denied
	}
	if text, err := strconv.Unquote(e.Text); err == nil && d.quotes && e.Kind == Prompt {
		e.Text = text
	}
	if e.Kind == Prompt {
		e.Text = typed(e.Text)
	}
	return e, nil
}

// Both are in the texts of the commands that attach installs: the first one after what the command is about, the second one before what
// the user adds to it.
const (
	commandMark   = "pawl keeps a durable record of the work in this project"
	argumentsMark = "Asked for: "
)

// typed returns what a user typed: for the text of a command of pawl's, which some agents put in its place, what the command is about and
// what the user added.
func typed(text string) string {
	about, rest, found := strings.Cut(text, commandMark)
	if !found {
		return text
	}
	about = cmp.Or(strings.TrimSuffix(about[strings.LastIndex(about, "\n")+1:], ". "), "pawl")
	if at := strings.LastIndex(rest, argumentsMark); at >= 0 {
		if added := strings.Trim(rest[at+len(argumentsMark):], " \n'\""); added != "" {
			return about + ": " + added
		}
	}
	return about
}

// uncamel copies fields in camelCase to the usual ones, and renames permissionRequest to PermissionRequest.
func (p *payload) uncamel() {
	if p.Event == "" && p.CamelEvent != "" {
		p.Event = strings.ToUpper(p.CamelEvent[:1]) + p.CamelEvent[1:]
	}
	p.Session, p.Tool = cmp.Or(p.Session, p.CamelSession), cmp.Or(p.Tool, p.CamelTool)
	p.Input = first(p.Input, p.CamelInput)
}

// addDetails sets the fields that depend on the kind.
func (e *Event) addDetails(p payload) {
	switch e.Kind {
	case Start:
		if e.Source = cmp.Or(p.Source, "startup"); e.Source == "new" {
			e.Source = "startup"
		}
	case Prompt:
		e.Text, e.Source = withoutContext(p.Prompt), p.Source
	case After:
		e.Failed = p.Event == "PostToolUseFailure" || e.Error != ""
		if problem := problemOf(e.Answer); problem != "" {
			e.Failed, e.Error = true, cmp.Or(e.Error, problem)
		}
		if code := exitCode(e.Answer); code != 0 && !e.Failed {
			e.Failed, e.Error = true, "exit code "+strconv.Itoa(code)
		}
	case Stop:
		e.Text = cmp.Or(p.Last, p.Response)
		for _, b := range p.Background {
			if b.Command != "" && b.Status == "running" {
				e.Background = append(e.Background, b)
			}
		}
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

// withoutContext removes the context that pawl's own hook added: Gemini CLI puts it before the prompt of `gemini -p`.
func withoutContext(prompt string) string {
	if context, wrapped := strings.CutPrefix(prompt, "<hook_context>"); wrapped {
		if _, rest, whole := strings.Cut(context, "</hook_context>"); whole {
			return strings.TrimLeft(rest, "\n")
		}
	}
	return prompt
}

// taskTools are the tools with which agents update their task lists.
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
	_ = json.Unmarshal(input, &in) // use whatever could be parsed
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

// statusOf converts an agent's word for the status of a task.
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

// problemOf returns the error in a tool's answer.
func problemOf(answer json.RawMessage) string {
	var a struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return ""
	}
	return text(a.Error)
}

// emptyValues are the JSON values that count as empty.
var emptyValues = []string{"", "null", "false", "0", "{}", "[]"}

// text returns a JSON value as text: a string itself, the message of an object, "" for an empty value, else the JSON.
func text(value json.RawMessage) string {
	var s string
	if slices.Contains(emptyValues, string(value)) || json.Unmarshal(value, &s) == nil {
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
