// Package scripted is a coding agent without a model: it follows a script of tool calls, really executes them, and reports them to
// pawl's hooks in the format of a real agent.
//
// It records in a ledger outside of the project what it announces, does and receives. It syncs each line before it continues. So the
// truth is known after its death, which its script may contain too.
package scripted

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Verb is the hidden command by which a program is the agent.
const Verb = "agent"

// A Session is the script of an agent from its start to its end or death.
type Session struct {
	N       int           `json:"n"` // within the story
	Dialect string        `json:"dialect"`
	ID      string        `json:"id"`
	Source  string        `json:"source"`          // startup or resume
	Root    string        `json:"root"`            // of the project
	Dir     string        `json:"dir"`             // the agent's working folder, absolute
	Stays   bool          `json:"stays,omitempty"` // its process does not end with it: it waits for the path of the next script
	Hook    string        `json:"hook"`            // the program for hooks that attach installs
	Ledger  string        `json:"ledger"`
	Told    string        `json:"told"` // the file for the context that the agent gets at its start
	Environ []string      `json:"environ"`
	Turns   []Turn        `json:"turns"`
	Death   *Death        `json:"death,omitempty"`
	Cut     time.Duration `json:"cut,omitempty"` // after this time the start hook is killed. Defaults to never.
}

// Turn is a prompt and the calls that follow it. Calls of one group run concurrently.
type Turn struct {
	Prompt string    `json:"prompt"`
	Groups [][]*Call `json:"groups"`
}

// Calls calls each with every call of a session, including those of its subagents.
func (s *Session) Calls(each func(*Call)) {
	for _, turn := range s.Turns {
		for _, group := range turn.Groups {
			for _, c := range group {
				c.all(each)
			}
		}
	}
}

// Hosts reports whether another agent runs meanwhile.
func (s *Session) Hosts() (is bool) {
	s.Calls(func(c *Call) { is = is || c.Holds })
	return is
}

// Death is when and how an agent dies.
type Death struct {
	At    When          `json:"at"`
	Call  int           `json:"call,omitempty"` // for the moments of a call
	After time.Duration `json:"after"`
	How   How           `json:"how"`
}

// When is a moment in an agent's life.
type When string

// The moments at which an agent may die.
const (
	AnyTime    When = "any time"      // this long after its start
	Asking     When = "asking"        // a request for permission has no answer
	AtStart    When = "at its start"  // while its hook runs
	Announcing When = "intent hook"   // while the hook of a call runs
	Between    When = "before a tool" // the hook has returned, and the tool has not started
	Running    When = "in a tool"
	Done       When = "behind a tool" // it has ended, and no hook was called
	Reporting  When = "outcome hook"
	Stopping   When = "end of a turn"
	Idle       When = "between turns"
)

// How says which processes die.
type How string

// The ways to die.
const (
	Alone   How = "agent alone"   // its child processes survive
	Group   How = "process group" // with its commands and hooks, at once
	Machine How = "everything"    // with pawl's processes; its parent does that
)

// A Line is an event in the ledger.
type Line struct {
	Session int             `json:"session"`
	Call    int             `json:"call,omitempty"`
	What    What            `json:"what"`
	Well    bool            `json:"well,omitempty"` // for what can fail: a hook was not killed, a tool succeeded
	Text    string          `json:"text,omitempty"`
	Seen    map[string]Seen `json:"seen,omitempty"` // the content of the call's paths before it and after it
	At      time.Time       `json:"at"`
}

// What is the type of a line.
type What string

// The types of lines.
const (
	Started   What = "started"   // the start hook has returned
	Announced What = "announced" // a call's hook is about to start
	Meant     What = "meant"     // it has returned
	AskedFor  What = "asked for" // the hook for a request for permission is about to start
	Asked     What = "asked"     // it has returned
	Refused   What = "refused"   // the person refused
	Begun     What = "begun"     // the tool
	Effect    What = "effect"    // a file was changed by a tool for files
	Ended     What = "ended"     // the tool
	Telling   What = "telling"   // the hook for its outcome is about to start
	Told      What = "told"      // it has returned
	Halting   What = "halting"   // the hook for the end of a turn is about to start
	Halted    What = "halted"    // it has returned
	Prompting What = "prompting" // the hook for a prompt is about to start
	Dying     What = "dying"
	Fault     What = "fault" // a hook misbehaved
	Over      What = "over"  // the session ended normally
)

// ReadSession reads the script of a session.
func ReadSession(path string) (*Session, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Session{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return s, nil
}
