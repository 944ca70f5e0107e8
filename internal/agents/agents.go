// Package agents knows how coding agents speak to their hooks: one dialect each, over one table of what happens.
//
// It is pure: a payload goes in and an Event comes out; what is to be told an agent goes in, and the bytes come out that
// its parser takes. It is lenient in reading: fields that are missing, unknown or of another type are no errors. It is
// strict in writing: nothing is printed that an agent does not know.
package agents

import (
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
)

// Kind says what happened, whatever the agent calls it.
type Kind string

// What happens in a session. Other is anything that is not of interest.
const (
	Other      Kind = ""
	Start      Kind = "start"      // of a session, also after a compaction
	End        Kind = "end"        // of a session, in good order
	Prompt     Kind = "prompt"     // a person asks something of it
	Before     Kind = "before"     // a tool is about to run
	After      Kind = "after"      // a tool has run
	Compact    Kind = "compact"    // the context is about to be shortened
	Stop       Kind = "stop"       // the turn is about to end
	Failure    Kind = "failure"    // the model could not be asked
	Interrupt  Kind = "interrupt"  // a person has ended the turn
	Permission Kind = "permission" // a person is asked for permission
	Denied     Kind = "denied"     // permission for a tool was refused
	SubStart   Kind = "sub-start"  // of a subagent
	SubStop    Kind = "sub-stop"   //
	Tasks      Kind = "tasks"      // the task list, or one task of it
)

// Event is what an agent told a hook.
type Event struct {
	Kind       Kind
	Name       string // as the agent calls it
	Session    string // the agent's own id
	Sub        string // the subagent's; empty: it is none
	Dir        string
	Transcript string
	Model      string
	Source     string // of Start: startup, resume, clear, compact, fork
	Tool       string
	Call       string // the agent's id of the tool call; empty: it has none
	Input      json.RawMessage
	Answer     json.RawMessage
	Failed     bool
	Error      string
	Seconds    float64
	Text       string // a prompt, or last words
	Why        string
	Held       bool // of Stop: it was held open already
	Tasks      []Task
	Whole      bool // Tasks is the whole list
}

// Task is an entry of an agent's task list.
type Task struct {
	ID     string // empty: it has none
	Title  string
	Status pawl.ItemStatus
}

// Dialect is how one agent speaks.
type Dialect struct {
	Name   string
	events map[string]Kind
	adds   map[Kind]bool // whose output can add to the agent's context
	holds  bool          // the end of a turn can be held open by decision: block
	silent []byte        // what is printed where there is nothing to say
	flat   bool          // what is added stands at the top level
	named  bool          // what is added stands beside the event's name
	refuse string        // the word by which a turn is held open
	hides  bool          // variables of its own that look secret are kept from its hooks
}

// Dialects are those that pawl speaks.
var Dialects = []*Dialect{claude, codex, gemini, opencode, copilot}

// Find returns the dialect of an agent, or an error that names those that there are.
func Find(name string) (*Dialect, error) {
	var names []string
	for _, d := range Dialects {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return nil, fmt.Errorf("no agent %q: use %s", name, strings.Join(names, ", "))
}

// Hides reports whether the agent keeps variables that look secret from its hooks, so that these do not know what to redact.
func (d *Dialect) Hides() bool { return d.hides }

// Tells reports whether what is printed at an event of this kind reaches the agent's context.
func (d *Dialect) Tells(k Kind) bool { return d.adds[k] }

// Nothing returns what is printed where there is nothing to say.
func (d *Dialect) Nothing() []byte { return d.silent }

// Add returns what is printed to add a text to the agent's context; Nothing where the event cannot.
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

// Hold returns what is printed to keep a turn from ending, and why it should not; Nothing where the agent cannot.
func (d *Dialect) Hold(e Event, why string) []byte {
	if e.Kind != Stop || !d.holds || e.Held {
		return d.silent
	}
	return encode(map[string]any{"decision": d.refuse, "reason": why})
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("a map of texts is always JSON: " + err.Error())
	}
	return append(data, '\n')
}
