package pawl

import (
	"encoding/json"
	"fmt"
	"time"
)

// Format is the version of the journal's format that this pawl writes, and the newest that it reads.
const Format = 1

// An Event is one durable line of the journal. Seq, Batch and, where zero, Time and Epoch are given by the journal.
type Event struct {
	Seq   Seq             `json:"seq"`
	Batch Seq             `json:"batch"` // seq of the first line of the batch that was synced with this one
	Time  time.Time       `json:"time"`  // UTC
	Epoch Epoch           `json:"epoch"`
	By    Author          `json:"by"`
	Type  EventType       `json:"type"`
	Data  json.RawMessage `json:"data"`
}

// Author says who wrote an event.
type Author struct {
	Kind    AuthorKind `json:"kind"`
	Name    string     `json:"name,omitempty"`    // a person's login, an agent's name
	Session string     `json:"session,omitempty"` // the agent's own session id
}

// AuthorKind is the sort of author.
type AuthorKind string

// The sorts of authors.
const (
	ByEngine     AuthorKind = "engine"
	ByHook       AuthorKind = "hook"
	ByPerson     AuthorKind = "person"
	ByAgent      AuthorKind = "agent"
	BySupervisor AuthorKind = "supervisor"
)

// EventType is the word for what happened, such as "step.done". Each has one payload type.
type EventType string

// A Payload is what an event says; its type names the event's type.
type Payload interface{ Event() EventType }

// NewEvent returns the event that carries payload, to be numbered by the journal.
// It fails only for payloads that JSON cannot hold.
func NewEvent(by Author, payload Payload) (Event, error) {
	data, err := json.Marshal(payload)
	if err != nil {
		return Event{}, fmt.Errorf("encode %s: %w", payload.Event(), err)
	}
	return Event{By: by, Type: payload.Event(), Data: data}, nil
}

// Known reports whether this pawl knows the event's type. A journal with an unknown type was written
// by a newer pawl: it may be read, but not written.
func (t EventType) Known() bool { return payloads[t].decode != nil }

// Payload decodes what the event says. Unknown types give an error.
func (e Event) Payload() (Payload, error) {
	decode := payloads[e.Type].decode
	if decode == nil {
		return nil, fmt.Errorf("event %d: unknown type %q", e.Seq, e.Type)
	}
	p, err := decode(e.Data)
	if err != nil {
		return nil, fmt.Errorf("event %d: %s: %w", e.Seq, e.Type, err)
	}
	return p, nil
}

// payloads is the one list of event types.
var payloads = register(
	payload[RunCreated](), payload[RunPlanned](), payload[EngineStarted](), payload[EngineStopped](),
	payload[RunPaused](), payload[RunContinued](), payload[RunStopped](), payload[RunEnded](),
	payload[RunReopened](), payload[RunRecovered](), payload[MachineSlept](), payload[StepListed](), payload[ItemNamed](),
	payload[StepDone](), payload[StepFailed](), payload[StepReopened](), payload[StepSkipped](),
	payload[StepChecked](), payload[StepReviewed](), payload[OutputsChanged](), payload[AttemptStarted](),
	payload[AttemptEnded](), payload[ItemDone](), payload[Progressed](), payload[Conversed](), payload[Heartbeat](),
	payload[WatchdogActed](), payload[GateOpened](), payload[GateAnswered](), payload[GateExpired](),
	payload[GateWithdrawn](), payload[BudgetSpent](), payload[DecisionMade](), payload[BlockerOpened](),
	payload[BlockerCleared](), payload[MemoryLearned](), payload[CheckpointSaved](), payload[RunExamined](),
	payload[CheckpointsPruned](), payload[FilesRestored](), payload[RollbackStarted](), payload[UndoStarted](),
	payload[UndoDone](), payload[UndoFailed](), payload[UndoSkipped](), payload[RollbackEnded](),
	payload[SessionBegan](), payload[SessionPrompted](), payload[SessionTurned](), payload[SessionCompacted](),
	payload[SessionEnded](), payload[OperationBegun](), payload[OperationEnded](), payload[OperationJudged](),
	payload[RunImported](), payload[RunMirrored](),
)

// payloadType is how payloads of one type are decoded.
type payloadType struct {
	event  EventType
	decode func(json.RawMessage) (Payload, error)
}

func payload[P Payload]() payloadType {
	var zero P
	return payloadType{event: zero.Event(), decode: func(data json.RawMessage) (Payload, error) {
		var p P
		err := json.Unmarshal(data, &p)
		return p, err
	}}
}

func register(types ...payloadType) map[EventType]payloadType {
	m := make(map[EventType]payloadType, len(types))
	for _, t := range types {
		m[t.event] = t
	}
	return m
}
