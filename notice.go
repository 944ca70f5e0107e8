package pawl

import (
	"fmt"
	"slices"
	"time"
)

// Notify is an entry of a plan's list of notifications: on what, and to whom. Exactly one of Command and Webhook is set.
type Notify struct {
	Name    string       `yaml:"name,omitempty" json:"name,omitempty"` // Defaults to "command-1", "webhook-2", … by its place in the list.
	On      []NoticeKind `yaml:"on" json:"on"`
	Command string       `yaml:"command,omitempty" json:"command,omitempty"` // script for sh -e
	Webhook *Variable    `yaml:"webhook,omitempty" json:"webhook,omitempty"` // URL
	Headers Env          `yaml:"headers,omitempty" json:"headers,omitempty"` // of the webhook's request
}

// Example returns an example value in plan syntax.
func (Notify) Example() string { return "{on: [gate, failure], command: ./tell-me}" }

// NoticeKind is what a notice is about.
type NoticeKind string

// The kinds of notices.
const (
	NoticeFailure NoticeKind = "failure" // the run fails
	NoticeSuccess NoticeKind = "success" // the run completes
	NoticeGate    NoticeKind = "gate"    // a gate or a review waits for a person
	NoticeBlocked NoticeKind = "blocked" // a blocker was recorded
	NoticeExpiry  NoticeKind = "expiry"  // an open gate expires within ExpirySoon; only `pawl serve` sends it
)

// NoticeKinds lists the kinds of notices that engines send.
var NoticeKinds = []NoticeKind{NoticeFailure, NoticeSuccess, NoticeGate, NoticeBlocked}

// ExpirySoon is how long before a gate expires a notice says so.
const ExpirySoon = time.Hour

// NoticeLimit is how long pawl tries to deliver a notice to one receiver.
const NoticeLimit = 15 * time.Second

// Notice is a message about a run. Its JSON form is the body of webhooks and the standard input of commands: keys are added, never renamed.
type Notice struct {
	Version int          `json:"version"` // of this form: 1
	ID      string       `json:"id"`      // unique in the run, and the same if it is sent again
	Kind    NoticeKind   `json:"kind"`
	Title   string       `json:"title"` // one line
	Text    string       `json:"text"`
	Run     RunID        `json:"run"`
	Plan    string       `json:"plan"`    // its name
	Project string       `json:"project"` // path of the folder
	Host    string       `json:"host"`
	Status  RunStatus    `json:"status"` // active, completed or failed
	Failed  []StepID     `json:"failed_steps,omitempty"`
	Gate    *NoticeGated `json:"gate,omitempty"`
	Step    StepID       `json:"step,omitempty"`    // the one that asks or is blocked
	Blocker int          `json:"blocker,omitempty"` // its number
	Time    time.Time    `json:"time"`              // when it was first due; when it was sent, if that is not known
}

// NoticeGated is the gate of a notice.
type NoticeGated struct {
	ID      GateID   `json:"id"`
	Type    GateType `json:"type"`
	Ask     string   `json:"ask"`
	Options []string `json:"options,omitempty"`

	Expires time.Time `json:"expires,omitzero"`
}

// NoticeSent records that a notice was sent, or could not be sent, to one receiver. It is not sent there again.
type NoticeSent struct {
	Notice string     `json:"notice"` // its id
	Kind   NoticeKind `json:"kind"`
	To     string     `json:"to"` // the receiver's name
	Tries  int        `json:"tries,omitempty"`
	Error  string     `json:"error,omitempty"` // why it was not delivered
}

func (NoticeSent) Event() EventType { return "notice.sent" }

func (p NoticeSent) fold(s *State, e Event) error {
	if s.Notified(p.Notice, p.To) {
		return fmt.Errorf("notice %s was already sent to %s", p.Notice, p.To)
	}
	s.Notices = append(s.Notices, NoticeState{p, e.Time})
	return nil
}

// NoticeState is a notice that was sent or could not be sent.
type NoticeState struct {
	NoticeSent
	Time time.Time `json:"time"`
}

// Notified reports whether a notice was sent to a receiver, or could not be sent.
func (s *State) Notified(notice, to string) bool {
	return slices.ContainsFunc(s.Notices, func(n NoticeState) bool { return n.Notice == notice && n.To == to })
}

// Delivery is a notice for one receiver, with everything that sending it needs.
type Delivery struct {
	To      string // the receiver's name
	Key     string // idempotency key: the same if the notice is sent to the receiver again
	Notice  Notice
	Command string   // or Webhook
	Dir     string   // of the command
	RunAs   *Account // who executes the command. Defaults to the user of this process.
	Environ []string
	Webhook string
	Headers map[string]string
}
