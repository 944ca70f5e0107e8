// Package agents knows the hook protocols of coding agents: one dialect per agent, mapped to one set of events.
//
// It is pure: it parses a payload into an Event, and encodes an answer in the form that the agent's parser accepts. Parsing is
// lenient: missing or unknown fields and fields of another type are not errors. Encoding is strict: an answer contains
// nothing that the agent does not know.
package agents

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// Kind is the kind of an event, independent of the agent's name for it.
type Kind string

// The kinds of events. Other is any event that pawl ignores.
const (
	Other      Kind = ""
	Start      Kind = "start"      // a session starts, or continues after a compaction
	End        Kind = "end"        // a session ends normally
	Prompt     Kind = "prompt"     // the user sends a prompt
	Before     Kind = "before"     // a tool is about to run
	After      Kind = "after"      // a tool has run
	Compact    Kind = "compact"    // the context is about to be compacted
	Stop       Kind = "stop"       // the turn is about to end
	Failure    Kind = "failure"    // a request to the model failed
	Interrupt  Kind = "interrupt"  // the user interrupted the turn
	Permission Kind = "permission" // the user is asked for permission
	Denied     Kind = "denied"     // permission for a tool was denied
	SubStart   Kind = "sub-start"  // a subagent starts
	SubStop    Kind = "sub-stop"   // a subagent ends
	Tasks      Kind = "tasks"      // a change of the task list or of one task
)

// Event is an event that an agent reported to a hook.
type Event struct {
	Kind       Kind
	Name       string // the agent's name for it
	Session    string // the agent's own id
	Sub        string // id of the subagent; empty: none
	Dir        string
	Transcript string
	Model      string
	Source     string // of Start: startup, resume, clear, compact, fork; of Prompt: who gave it, empty if unknown
	Tool       string
	Call       string // the agent's id for the tool call; may be empty
	Input      json.RawMessage
	Answer     json.RawMessage
	Failed     bool
	Error      string
	Seconds    float64
	Text       string // a prompt or the last message
	Why        string
	Held       bool         // of Stop: a hook has prevented the end of this turn already
	Background []Background // of Stop: the tasks that run in the background
	Tasks      []Task
	Whole      bool // Tasks is the whole list
}

// ByPerson reports whether a person, or a program of theirs, wrote the prompt. Claude Code also prompts itself, for example when a background
// task has ended.
func (e Event) ByPerson() bool {
	switch e.Source {
	case "system", "loop_wakeup", "schedule_wakeup", "poll_event":
		return e.Kind != Prompt
	}
	return true
}

// Task is an entry of an agent's task list.
type Task struct {
	ID     string // may be empty
	Title  string
	Status pawl.ItemStatus
}

// Background is a command that an agent runs in the background.
type Background struct {
	Command string `json:"command"`
	Status  string `json:"status"`
}

// Dialect is the hook protocol of an agent.
type Dialect struct {
	Name   string
	events map[string]Kind
	adds   map[Kind]bool // events whose answer can add to the agent's context
	holds  bool          // a hook can prevent the end of a turn
	silent []byte        // the empty answer
	flat   bool          // additionalContext is at the top level
	named  bool          // additionalContext is accompanied by the event's name
	refuse string        // the decision that prevents the end of a turn
	tells  bool          // the answer to a start can hold a message for the user
	skips  []string      // tools without hooks, if the agent selects these by tool
	late   []string      // sources of a start whose answer the agent drops; "compact": it does not report the start after a compaction
	quotes bool          // it puts a prompt of its command line in quotes
	mixes  bool          // it reports the tool calls of a subagent as those of another session
	denied []string      // how the error of a tool begins if permission for it was denied
	hides  bool          // it removes variables that look secret from the environment of its hooks
}

// Dialects lists the supported dialects.
var Dialects = []*Dialect{claude, codex, gemini, opencode, copilot}

// Find returns the dialect of an agent, or an error that lists the supported agents.
func Find(name string) (*Dialect, error) {
	var names []string
	for _, d := range Dialects {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return nil, fmt.Errorf("unknown agent %q: use one of %s", name, strings.Join(names, ", "))
}

// Hides reports whether the agent removes variables that look secret from the environment of its hooks, so that these do not
// know what to redact.
func (d *Dialect) Hides() bool { return d.hides }

// Skips returns the tools whose calls an agent does not report: they change nothing, so that none of them is ever in doubt, and a hook costs
// each call two processes. Without any, the agent reports all calls. Calls of pawl's own MCP server are among them.
func (d *Dialect) Skips() []string { return d.skips }

// BriefedVar is set in the environment of an agent whose first prompt has the brief, so that its hook does not add the brief again.
const BriefedVar = "PAWL_BRIEFED"

// Adds reports whether the answer to an event of this kind can add to the agent's context.
func (d *Dialect) Adds(k Kind) bool { return d.adds[k] }

// TellsLate reports whether a session that starts from this source gets its brief with its next prompt.
func (d *Dialect) TellsLate(source string) bool { return slices.Contains(d.late, source) }

// MixesSubagents reports whether the agent reports the tool calls of a subagent as those of another session.
func (d *Dialect) MixesSubagents() bool { return d.mixes }

// Empty returns the empty answer.
func (d *Dialect) Empty() []byte { return d.silent }

// Add returns the answer that adds a text to the agent's context; Empty if the event does not allow it.
func (d *Dialect) Add(e Event, text string) []byte {
	switch {
	case !d.adds[e.Kind] || text == "":
		return d.silent
	case d.flat:
		return encode(map[string]any{"additionalContext": text})
	}
	specific := map[string]any{"additionalContext": text}
	if d.named {
		specific["hookEventName"] = e.Name
	}
	return encode(map[string]any{"hookSpecificOutput": specific})
}

// Tells reports whether Tell can show the user a text.
func (d *Dialect) Tells() bool { return d.tells }

// Tell returns the answer to a start that shows the user a text, and the model nothing; Empty if the agent has no such message.
func (d *Dialect) Tell(e Event, text string) []byte {
	if e.Kind != Start || !d.tells {
		return d.silent
	}
	return encode(map[string]any{"systemMessage": text})
}

// Hold returns the answer that prevents the end of a turn, with the reason; Empty if the agent does not support it.
func (d *Dialect) Hold(e Event, why string) []byte {
	if e.Kind != Stop || !d.holds || e.Held {
		return d.silent
	}
	return encode(map[string]any{"decision": d.refuse, "reason": why})
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("encode an answer: " + err.Error())
	}
	return append(data, '\n')
}
