package pawl

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
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
	ByTable      AuthorKind = "table" // a row in another system's table, of an unknown author
	ByStep       AuthorKind = "step"  // a process of a step; the author's name is the step, its session the run
)

// EventType names what happened, such as "step.done". Each event type has one payload type.
type EventType string

// A Payload is the content of an event. Its type determines the event's type and its effect on the state.
// Only this package has payload types.
type Payload interface {
	// Event returns the event's type.
	Event() EventType
	// fold applies the event to the state. An error means that the event does not fit the state, which is then unchanged.
	fold(s *State, e Event) error
}

// NewEvent returns the event that carries payload, to be numbered by the journal. It fails only for payloads that JSON cannot hold.
func NewEvent(by Author, payload Payload) (Event, error) {
	data, err := json.Marshal(payload)
	if err != nil {
		return Event{}, fmt.Errorf("encode %s: %w", payload.Event(), err)
	}
	return Event{By: by, Type: payload.Event(), Data: data}, nil
}

// Known reports whether this pawl knows the event's type. A journal with an unknown type was written
// by a newer pawl: it may be read, but not written.
func (t EventType) Known() bool { return decoders[t].decode != nil }

// Payload decodes what the event says. Unknown types give an error.
func (e Event) Payload() (Payload, error) {
	decode := decoders[e.Type].decode
	if decode == nil {
		return nil, fmt.Errorf("event %d: unknown type %q", e.Seq, e.Type)
	}
	p, err := decode(e.Data)
	if err != nil {
		return nil, fmt.Errorf("event %d: %s: %w", e.Seq, e.Type, err)
	}
	return p, nil
}

// payloadTypes lists all event types. A new one needs one line here.
var payloadTypes = []payloadType{
	decoderOf[RunCreated](),
	decoderOf[RunPlanned](),
	decoderOf[RunGiven](),
	decoderOf[RunPaused](),
	decoderOf[RunContinued](),
	decoderOf[RunStopped](),
	decoderOf[RunEnded](),
	decoderOf[RunReopened](),
	decoderOf[RunExamined](),
	decoderOf[RunRecovered](),
	decoderOf[ResultsAdopted](),

	decoderOf[EngineStarted](),
	decoderOf[EngineStopped](),
	decoderOf[MachineSlept](),

	decoderOf[StepDone](),
	decoderOf[StepFailed](),
	decoderOf[StepSkipped](),
	decoderOf[StepReopened](),
	decoderOf[StepChecked](),
	decoderOf[StepReviewed](),
	decoderOf[OutputsChanged](),

	decoderOf[StepListed](),
	decoderOf[ItemNamed](),
	decoderOf[ItemDone](),
	decoderOf[ItemsSkipped](),

	decoderOf[AttemptStarted](),
	decoderOf[AttemptRejoined](),
	decoderOf[AttemptEnded](),
	decoderOf[Progressed](),
	decoderOf[Conversed](),
	decoderOf[Heartbeat](),
	decoderOf[WatchdogActed](),
	decoderOf[ServiceWaiting](),
	decoderOf[ServiceReady](),
	decoderOf[ServiceReleased](),

	decoderOf[GateOpened](),
	decoderOf[GateAnswered](),
	decoderOf[GateExpired](),
	decoderOf[GateWithdrawn](),
	decoderOf[BudgetSpent](),

	decoderOf[DecisionMade](),
	decoderOf[BlockerOpened](),
	decoderOf[BlockerCleared](),
	decoderOf[MemoryLearned](),
	decoderOf[NoticeSent](),

	decoderOf[CheckpointSaved](),
	decoderOf[CheckpointsPruned](),
	decoderOf[FilesRestored](),

	decoderOf[RollbackStarted](),
	decoderOf[UndoStarted](),
	decoderOf[UndoDone](),
	decoderOf[UndoFailed](),
	decoderOf[UndoSkipped](),
	decoderOf[RollbackEnded](),

	decoderOf[SessionBegan](),
	decoderOf[SessionPrompted](),
	decoderOf[SessionTurned](),
	decoderOf[SessionCompacted](),
	decoderOf[SessionTold](),
	decoderOf[SessionEnded](),

	decoderOf[OperationBegun](),
	decoderOf[OperationEnded](),
	decoderOf[OperationJudged](),
	decoderOf[OperationSettled](),
	decoderOf[OperationLeft](),

	decoderOf[RunImported](),
	decoderOf[RunMirrored](),
}

// decoders holds the payload types by event type.
var decoders = byEventType(payloadTypes)

// payloadType decodes the payloads of one event type.
type payloadType struct {
	event  EventType
	zero   Payload
	decode func(json.RawMessage) (Payload, error)
}

func decoderOf[P Payload]() payloadType {
	var zero P
	check := sync.OnceValue(func() idCheck { return idCheckOf(reflect.TypeFor[P]()) }) // programs that read no journal do without
	return payloadType{event: zero.Event(), zero: zero, decode: func(data json.RawMessage) (Payload, error) {
		var p P
		err := json.Unmarshal(data, &p)
		if check := check(); err == nil && check != nil {
			err = check(reflect.ValueOf(&p).Elem())
		}
		return p, err
	}}
}

// Payloads returns an empty payload of each event type.
func Payloads() []Payload {
	var all []Payload
	for _, t := range payloadTypes {
		all = append(all, t.zero)
	}
	return all
}

func byEventType(types []payloadType) map[EventType]payloadType {
	m := make(map[EventType]payloadType, len(types))
	for _, t := range types {
		m[t.event] = t
	}
	return m
}
