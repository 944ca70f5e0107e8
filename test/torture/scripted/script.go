// Package scripted is a coding agent without a model: it follows a script of tool calls, carries them out for real, and
// tells pawl's hooks of them, as one of the agents that pawl knows would.
//
// What it announces, does and is told goes into a ledger outside of the project, line by line, each synced before it goes
// on; so that after its death, which its script may hold too, anybody can tell what was true.
package scripted

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Verb is the hidden command by which a program is the agent.
const Verb = "agent"

// A Session is what an agent does from its start to its end, or to its death.
type Session struct {
	N       int           `json:"n"` // within the story
	Dialect string        `json:"dialect"`
	ID      string        `json:"id"`
	Source  string        `json:"source"` // startup or resume
	Root    string        `json:"root"`   // of the project
	Pawl    string        `json:"pawl"`
	Ledger  string        `json:"ledger"`
	Told    string        `json:"told"` // the file for what the agent is told at its start
	Environ []string      `json:"environ"`
	Turns   []Turn        `json:"turns"`
	Death   *Death        `json:"death,omitempty"`
	Cut     time.Duration `json:"cut,omitempty"` // the hook that is told of the start is killed after so long. Defaults to never.
}

// Turn is what an agent does about one prompt. Calls of one group run side by side.
type Turn struct {
	Prompt string    `json:"prompt"`
	Groups [][]*Call `json:"groups"`
}

// Calls calls each with every call of a session, also those of its subagents.
func (s *Session) Calls(each func(*Call)) {
	for _, turn := range s.Turns {
		for _, group := range turn.Groups {
			for _, c := range group {
				c.all(each)
			}
		}
	}
}

// Death is when and how an agent dies.
type Death struct {
	At    When          `json:"at"`
	Call  int           `json:"call,omitempty"` // of those that are of a call
	After time.Duration `json:"after"`
	How   How           `json:"how"`
}

// When is a moment in an agent's life.
type When string

// The moments at which an agent may die.
const (
	AnyTime    When = "any time"      // so long after its start
	AtStart    When = "at its start"  // while a hook is told of it
	Announcing When = "intent hook"   // while a hook is told of a call
	Between    When = "before a tool" // when the hook has returned, and the tool was not begun
	Running    When = "in a tool"
	Done       When = "behind a tool" // when it has ended, and no hook was told
	Reporting  When = "outcome hook"
	Stopping   When = "end of a turn"
	Idle       When = "between turns"
)

// How says who dies.
type How string

// The ways to die.
const (
	Alone   How = "agent alone"   // what it has started lives on
	Group   How = "process group" // with its commands and hooks, in one blow
	Machine How = "everything"    // also what pawl has started. Its parent sees to that.
)

// A Line of the ledger says that something has happened.
type Line struct {
	Session int             `json:"session"`
	Call    int             `json:"call,omitempty"`
	What    What            `json:"what"`
	Well    bool            `json:"well,omitempty"` // of what can fail: a hook was not killed, a tool did what it was to
	Text    string          `json:"text,omitempty"`
	Seen    map[string]Seen `json:"seen,omitempty"` // what was at the paths of the call before it, and when it had ended
	At      time.Time       `json:"at"`
}

// What is said by a line.
type What string

// What lines say.
const (
	Started   What = "started"   // a hook was told of the session
	Announced What = "announced" // a hook is about to be told of a call
	Meant     What = "meant"     // it has returned
	Begun     What = "begun"     // the tool
	Effect    What = "effect"    // a file was changed by a tool for files
	Ended     What = "ended"     // the tool
	Telling   What = "telling"   // a hook is about to be told of its outcome
	Told      What = "told"      // it has returned
	Halting   What = "halting"   // a hook is about to be told of the end of a turn
	Halted    What = "halted"    // it has returned
	Dying     What = "dying"
	Fault     What = "fault" // a hook did what no hook may
	Over      What = "over"  // the session, in good order
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
