package pawl

import "time"

// Line is one line of an attempt's events file: a message from a running step. Exactly one field is set. Steps append
// lines with O_APPEND, directly or through `pawl progress`, `pawl learn` and similar commands.
type Line struct {
	Progress   *Progress   `json:"progress,omitempty"`
	Item       *ItemNamed  `json:"item,omitempty"`
	Learn      *Memory     `json:"learn,omitempty"`
	Decide     *Decision   `json:"decide,omitempty"`
	Block      *Blocker    `json:"block,omitempty"`
	Ask        *GateAction `json:"ask,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`

	Conversation *Conversation `json:"conversation,omitempty"`
}

// Payload returns the event for the line, which was read from source at the time now.
func (l Line) Payload(source Source, now time.Time) Payload {
	switch {
	case l.Item != nil:
		l.Item.Step, l.Item.Source = source.Step, &source
		return *l.Item
	case l.Learn != nil:
		return MemoryLearned{Memory: *l.Learn, Source: &source}
	case l.Decide != nil:
		l.Decide.Step = source.Step
		return DecisionMade{Decision: *l.Decide, Source: &source}
	case l.Block != nil:
		l.Block.Step = source.Step
		return BlockerOpened{Blocker: *l.Block, Source: &source}
	case l.Ask != nil:
		gate := l.Ask.Gate(source.Step, source.Item, now)
		gate.Source = &source
		return GateOpened{Gate: gate}
	case l.Checkpoint != nil:
		l.Checkpoint.Step, l.Checkpoint.Item, l.Checkpoint.Source = source.Step, source.Item, &source
		return CheckpointSaved{Checkpoint: *l.Checkpoint}
	case l.Conversation != nil:
		return Conversed{AttemptRef: source.AttemptRef, Conversation: *l.Conversation, Source: &source}
	}
	return Progressed{
		AttemptRef: source.AttemptRef, Text: l.Progress.Text, Done: l.Progress.Done, Total: l.Progress.Total,
		Usage: l.Progress.Usage, Cell: l.Progress.Cell, Note: l.Progress.Note, Saving: l.Progress.Saving, Source: &source,
	}
}

// Gate returns the gate that the action opens now for a step or one of its items.
func (a GateAction) Gate(step StepID, item ItemID, now time.Time) Gate {
	g := Gate{Step: step, Item: item, Type: a.Type, Ask: a.Ask, Options: a.Options, Default: a.Default, Expect: a.Expect}
	if a.Expires > 0 {
		g.Expires = now.UTC().Add(time.Duration(a.Expires))
	}
	g.ID = g.Identify()
	return g
}
