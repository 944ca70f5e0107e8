package sessions

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/operations"
	"pawl/internal/transcript"
)

// Limits of what one look into transcripts costs, because an agent may wait for it.
const (
	transcriptTime  = 300 * time.Millisecond
	transcriptBytes = 16 << 20
	transcriptTail  = 1 << 20 // bytes of a record that are read at first: what is in doubt is mostly near its end
)

// settle returns what the agents' own records say about tool calls in doubt. A missing, unreadable or unfinished record says
// nothing. The outcomes have texts that are not redacted.
//
// A record is evidence of what the agent saw, not of what is on the disk: a call that was refused may have run in part
// before, and the files show more than "interrupted" does.
func settle(ctx context.Context, s *pawl.State, doubts []*pawl.OperationState) map[pawl.OperationID]transcript.Outcome {
	ctx, cancel := context.WithTimeout(ctx, transcriptTime)
	defer cancel()
	t := transcripts{state: s, left: transcriptBytes, tails: map[string]*tail{}}
	found := map[pawl.OperationID]transcript.Outcome{}
	unnamed := map[pawl.SessionID][]*pawl.OperationState{}
	newest := slices.SortedFunc(slices.Values(doubts), func(a, b *pawl.OperationState) int { return cmp.Compare(b.Seq, a.Seq) })
	for _, o := range newest {
		call := nativeCall(o)
		if call == "" {
			unnamed[o.Session] = append(unnamed[o.Session], o)
			continue
		}
		if outcome, known := t.outcome(ctx, o.Session, call); known {
			found[o.ID] = outcome
		}
	}
	for session, doubts := range unnamed {
		var outcomes []transcript.Outcome
		for _, path := range t.paths(session) {
			r := t.read(ctx, session.Agent(), path, func(transcript.Record) bool { return false })
			outcomes = append(outcomes, r.InOrder()...)
		}
		matchByInput(doubts, outcomes, found)
	}
	return found
}

// maxCorrected is how many sessions are corrected, the last active ones.
const maxCorrected = 3

// correctOutcomes moves calls that an agent's own record calls failed from the successful calls of its session to the failed ones, because
// Codex does not report to its hooks that a command failed. The errors have texts that are not redacted.
func correctOutcomes(ctx context.Context, s *pawl.State, told []brief.Session) {
	ctx, cancel := context.WithTimeout(ctx, transcriptTime)
	defer cancel()
	t := transcripts{state: s, left: transcriptBytes, tails: map[string]*tail{}}
	corrected := 0
	for i := range told {
		x := &told[i]
		if x.Reader || len(x.Recent) == 0 || corrected == maxCorrected {
			continue
		}
		corrected++
		var recent []pawl.PastCall
		for _, c := range x.Recent {
			call := nativeCall(&pawl.OperationState{Operation: pawl.Operation{ID: c.ID, Session: x.Session}})
			outcome, known := t.outcome(ctx, x.Session, call)
			if call == "" || !known || outcome.Kind != transcript.Failed {
				recent = append(recent, c)
				continue
			}
			c.Error = errorOf(outcome)
			x.Failed = append(slices.Clone(x.Failed), c)
		}
		x.Recent = recent
	}
}

// errorOf returns the exit code and the error of a failed call.
func errorOf(o transcript.Outcome) string {
	if o.Exit == 0 {
		return cmp.Or(o.Text, "no reason recorded")
	}
	return strings.TrimSuffix(fmt.Sprintf("exit code %d: %s", o.Exit, o.Text), ": ")
}

// settles reports whether an outcome leaves nothing in doubt, whatever the files show.
func settles(o transcript.Outcome) bool {
	return !o.Background && (o.Kind == transcript.Succeeded || o.Kind == transcript.Failed || o.Kind == transcript.Ended)
}

// endings returns the outcomes of the tool calls that their agents' records settle.
func endings(doubts []*pawl.OperationState, said map[pawl.OperationID]transcript.Outcome, redact func(string) string) (payloads []pawl.Payload) {
	for _, o := range doubts {
		outcome, known := said[o.ID]
		if !known || !settles(outcome) {
			continue
		}
		ended := pawl.OperationEnded{Operation: o.ID, Session: o.Session, Digest: o.Digest, Failed: outcome.Kind == transcript.Failed, Source: pawl.FromTranscript}
		if ended.Failed {
			ended.Error = redact(errorOf(outcome))
		}
		payloads = append(payloads, ended)
	}
	return payloads
}

// addRecord adds what the agent's own record says about a tool call that it does not settle.
func (d *ReconciledOperation) addRecord(o transcript.Outcome) {
	const record = "its agent's own record says that "
	switch o.Kind {
	case transcript.Refused:
		who := "a policy"
		if o.By == transcript.Person {
			who = "the user"
		}
		d.Verdict, d.Evidence = pawl.OperationRefused, []string{record + who + " refused it" + orNothing(": ", o.Text)} // what changed since is not its
	case transcript.Skipped:
		if d.Verdict == pawl.OperationUnknown {
			d.Verdict = pawl.OperationNotDone
		}
		d.note(record + "it did not run" + orNothing(": ", o.Text))
	case transcript.Interrupted:
		who := "it was interrupted"
		if o.By == transcript.Person {
			who = "the user refused or interrupted it"
		}
		d.note(record + who + orNothing(": ", o.Text))
	default:
		d.note(record + "it was moved to the background")
	}
}

// nativeCall returns the agent's id of a call; "" if the agent has none, and the fold assigned the operation's id.
func nativeCall(o *pawl.OperationState) string {
	call, is := strings.CutPrefix(string(o.ID), string(o.Session)+"#")
	if !is || strings.HasPrefix(call, "event-") {
		return ""
	}
	return call
}

// transcripts reads records within limits.
type transcripts struct {
	state *pawl.State
	left  int64 // bytes
	tails map[string]*tail
}

// tail is what was read of a record.
type tail struct {
	transcript.Record
	whole bool // as much as transcript.Read reads
}

// outcome returns the outcome of a call that has an id.
func (t *transcripts) outcome(ctx context.Context, session pawl.SessionID, call string) (transcript.Outcome, bool) {
	has := func(r transcript.Record) bool { return r.Open[call] || r.Outcomes[call].Kind != "" }
	for _, path := range t.paths(session) {
		if r := t.read(ctx, session.Agent(), path, has); has(r) {
			outcome, known := r.Outcomes[call]
			return outcome, known
		}
	}
	return transcript.Outcome{}, false
}

// paths returns where the calls of a session may be recorded.
func (t *transcripts) paths(id pawl.SessionID) []string {
	_, sub, _ := strings.Cut(string(id), "/")
	return transcript.Session{Agent: id.Agent(), ID: id.Native(), Sub: sub, Path: t.pathOf(id), Above: t.pathOf(id.Parent())}.Paths(os.Getenv)
}

func (t *transcripts) pathOf(id pawl.SessionID) string {
	if x := t.state.Sessions[id]; x != nil {
		return x.Transcript
	}
	return ""
}

// read returns the end of a record, or more of it if that is not enough; an empty one if it cannot be read.
func (t *transcripts) read(ctx context.Context, agent, path string, enough func(transcript.Record) bool) transcript.Record {
	key := agent + "\x00" + path
	if t.tails[key] == nil {
		t.tails[key] = &tail{Record: t.readTail(ctx, agent, path, transcriptTail)}
	}
	r := t.tails[key]
	if r.whole || !r.Partial || enough(r.Record) {
		return r.Record
	}
	more := t.readTail(ctx, agent, path, transcript.MaxTail)
	if ctx.Err() != nil { // it lacks the newest lines
		return r.Record
	}
	r.Record, r.whole = more, true
	return r.Record
}

func (t *transcripts) readTail(ctx context.Context, agent, path string, limit int64) transcript.Record {
	if t.left <= 0 || ctx.Err() != nil {
		return transcript.Record{}
	}
	r, _ := transcript.Read(ctx, agent, path, min(limit, t.left)) // without it there is less evidence
	t.left -= r.Read
	return r
}

// matchByInput adds the outcomes of calls that have no ids. A call can only be one with the same input that ended after it
// began; if those ended differently, the record does not settle it.
func matchByInput(doubts []*pawl.OperationState, outcomes []transcript.Outcome, found map[pawl.OperationID]transcript.Outcome) {
	byDigest := map[string][]transcript.Outcome{}
	for _, o := range outcomes {
		digest := operations.Digest(o.Tool, o.Input)
		byDigest[digest] = append(byDigest[digest], o)
	}
	for _, o := range doubts {
		early := func(outcome transcript.Outcome) bool { return outcome.Time.Before(o.Began.Truncate(time.Millisecond)) }
		match := slices.DeleteFunc(slices.Clone(byDigest[o.Digest]), early)
		differs := func(outcome transcript.Outcome) bool { return outcome.Kind != match[0].Kind }
		if len(match) > 0 && !slices.ContainsFunc(match, differs) {
			found[o.ID] = match[0]
		}
	}
}
