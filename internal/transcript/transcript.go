// Package transcript reads what coding agents recorded about their own tool calls: outcomes, refusals, interruptions and
// subagents.
//
// A transcript is evidence, never more: Read examines the end of a file up to a limit, ignores all that it does not know, and
// reports only what the record says in so many words. A call that the record leaves open has no outcome. The record belongs to
// the agent, whose format may change with any version, and whoever can write to it can lie: a missing, damaged or unknown
// record has no outcomes, and callers continue without it.
package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/disk"
	"pawl/internal/oneline"
)

// Kind is how a tool call ended.
type Kind string

// The kinds of outcomes.
const (
	Succeeded   Kind = "succeeded"
	Failed      Kind = "failed"
	Ended       Kind = "ended"       // it has a result, and the record does not say whether it failed
	Refused     Kind = "refused"     // a person or a policy denied it
	Skipped     Kind = "skipped"     // it did not run, and was not refused
	Interrupted Kind = "interrupted" // it was stopped while it ran: it may have run in part or in full
	Started     Kind = "started"     // it was moved to the background, and no end is recorded
)

// Decider is who refused a tool call.
type Decider string

// The deciders.
const (
	Person Decider = "person"
	Policy Decider = "policy" // a rule, a mode without questions, or the agent's own safety check
)

// Outcome is what the record says about a tool call.
type Outcome struct {
	Call       string // the agent's id of the call
	Kind       Kind
	By         Decider // of Refused; Person of Interrupted: the user refused or interrupted it
	Text       string  // the reason or the error: one line, at most MaxText bytes; it may contain secrets
	Exit       int     // the exit code of a failed command. Defaults to 0: unknown.
	Background bool    // it was moved to the background at first
	Time       time.Time
	Sub        string          // the subagent that made the call; empty: the session itself
	Tool       string          // empty: its announcement is not in the part that was read; for agents without ids, as in their hooks
	Input      json.RawMessage // as in the record
}

// Sub is a subagent that a call of the record started.
type Sub struct {
	ID     string
	Call   string
	Prompt string // it may contain secrets
	Ended  bool
}

// Record is what Read found.
type Record struct {
	Outcomes    map[string]Outcome // by call
	Open        map[string]bool    // the calls that were announced and have no outcome
	Subs        map[string]Sub     // by the subagent's id
	TurnEnded   bool               // the last turn is over
	Interrupted bool               // the user ended it
	Partial     bool               // some of the file was not read
	Read        int64              // bytes
}

// MaxText is the maximum length of Outcome.Text, in bytes.
const MaxText = 400

// Limits of what is read.
const (
	MaxTail = 8 << 20 // bytes at the end of a file
	maxLine = 2 << 20 // bytes of a line; a longer one is skipped
)

// ErrUnknown is the error for an agent whose record cannot be read.
var ErrUnknown = errors.New("no reader for the transcripts of this agent")

// Read reads at most limit bytes at the end of an agent's record of a session; a limit of 0 means MaxTail. It reads only a
// regular file of this user, and follows no link at the end of path.
func Read(ctx context.Context, agent, path string, limit int64) (Record, error) {
	if !filepath.IsAbs(path) {
		return Record{}, fmt.Errorf("read the transcript: %q is not an absolute path", path)
	}
	f, err := disk.OpenOwn(path)
	if err != nil {
		return Record{}, fmt.Errorf("read the transcript: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Record{}, fmt.Errorf("read the transcript: %w", err)
	}
	return Parse(ctx, agent, f, info.Size(), limit)
}

// Parse is Read for a file of this size. It stops when ctx is done; the record is then partial.
func Parse(ctx context.Context, agent string, file io.ReaderAt, size, limit int64) (Record, error) {
	if limit <= 0 || limit > MaxTail {
		limit = MaxTail
	}
	r := &reader{calls: map[string]call{}, shells: map[string]string{}, record: Record{Outcomes: map[string]Outcome{}, Open: map[string]bool{}, Subs: map[string]Sub{}}}
	line, known := map[string]func([]byte){"claude": r.claude, "codex": r.codex, "gemini": r.gemini, "copilot": r.copilot}[agent]
	if !known {
		return Record{}, ErrUnknown
	}
	tail, partial, err := readTail(file, size, limit)
	if err != nil {
		return Record{}, fmt.Errorf("read the transcript: %w", err)
	}
	r.record.Partial, r.record.Read = partial, int64(len(tail))
	for text := range slices.Values(lines(tail)) {
		switch {
		case ctx.Err() != nil:
			r.record.Partial = true
			return r.finish(), nil
		case len(text) > maxLine:
			r.record.Partial = true
		default:
			line(text)
		}
	}
	return r.finish(), nil
}

// reader collects a record.
type reader struct {
	record Record
	calls  map[string]call
	shells map[string]string // calls by the agent's id of a shell
}

// call is the announcement of a tool call.
type call struct {
	tool   string
	input  json.RawMessage
	sub    string
	prompt string // of a call that starts a subagent
}

// announce records that the agent made a call.
func (r *reader) announce(id string, c call) {
	if id != "" {
		r.calls[id] = c
	}
}

// settle records an outcome. The end of a call in the background replaces its start.
func (r *reader) settle(o Outcome) {
	if o.Call == "" || o.Kind == "" {
		return
	}
	was := r.record.Outcomes[o.Call]
	if o.Kind == Started {
		if was.Kind != "" {
			return
		}
		o.Background = true
	}
	o.Background = o.Background || was.Background
	o.Text = oneline.Clip(oneline.Printable(o.Text), MaxText)
	r.record.Outcomes[o.Call] = o
}

// settled reports whether the end of a call is known.
func (r *reader) settled(id string) bool {
	kind := r.record.Outcomes[id].Kind
	return kind != "" && kind != Started
}

// startSub records that a call started a subagent.
func (r *reader) startSub(id, call string) {
	if id != "" {
		r.record.Subs[id] = Sub{ID: id, Call: call, Prompt: r.calls[call].prompt}
	}
}

// endSub records that a subagent ended.
func (r *reader) endSub(id string) {
	if sub, known := r.record.Subs[id]; known {
		sub.Ended = true
		r.record.Subs[id] = sub
	}
}

// finish completes the outcomes with their announcements.
func (r *reader) finish() Record {
	for id, o := range r.record.Outcomes {
		c := r.calls[id]
		o.Tool, o.Input = c.tool, c.input
		if o.Sub == "" {
			o.Sub = c.sub
		}
		r.record.Outcomes[id] = o
	}
	for id := range r.calls {
		if _, ended := r.record.Outcomes[id]; !ended {
			r.record.Open[id] = true
		}
	}
	return r.record
}

// InOrder returns the outcomes by time.
func (r Record) InOrder() []Outcome {
	return slices.SortedFunc(maps.Values(r.Outcomes), func(a, b Outcome) int {
		if at := a.Time.Compare(b.Time); at != 0 {
			return at
		}
		return strings.Compare(a.Call, b.Call)
	})
}
