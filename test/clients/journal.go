package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
)

// journal is the sessions and operations of the only run, read line by line as docs/format.md describes, without pawl's own reader.
type journal struct {
	sessions []pawl.SessionID
	prompts  []pawl.SessionPrompted
	ended    []pawl.SessionID
	begun    []begun
	judged   []pawl.OperationJudged
}

// begun is an operation, and whether it has an outcome.
type begun struct {
	pawl.Operation
	at    time.Time
	ended bool
}

// journal reads it; a second run is an error.
func (s *story) journal() (*journal, error) {
	paths, err := filepath.Glob(s.place.project(".pawl", "runs", "*", "journal.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(paths) != 1 {
		return nil, fmt.Errorf("there are %d runs, not 1", len(paths))
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		return nil, err
	}
	j := &journal{}
	for line := range strings.Lines(string(data)) {
		if err := j.read(line); err != nil {
			return nil, fmt.Errorf("journal: %w: %s", err, line)
		}
	}
	return j, nil
}

// line is a line of the journal.
type line struct {
	Seq  pawl.Seq
	Time time.Time
	Type pawl.EventType
	Data json.RawMessage
}

func (j *journal) read(text string) error {
	var l line
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return err
	}
	switch l.Type {
	case "session.began":
		return j.session(l)
	case "operation.begun":
		one := begun{at: l.Time}
		err := json.Unmarshal(l.Data, &one.Operation)
		if one.ID == "" { // some agents have no ids for their calls
			one.ID = pawl.OperationIDOf(one.Session, fmt.Sprint("event-", l.Seq))
		}
		j.begun = append(j.begun, one)
		return err
	case "operation.ended":
		return j.outcome(l)
	case "operation.judged":
		var judged pawl.OperationJudged
		err := json.Unmarshal(l.Data, &judged)
		j.judged = append(j.judged, judged)
		return err
	case "session.prompted":
		var prompted pawl.SessionPrompted
		err := json.Unmarshal(l.Data, &prompted)
		j.prompts = append(j.prompts, prompted)
		return err
	case "session.ended":
		var ended pawl.SessionEnded
		err := json.Unmarshal(l.Data, &ended)
		j.ended = append(j.ended, ended.Session)
		return err
	}
	return nil
}

// session records each session once.
func (j *journal) session(l line) error {
	var came pawl.SessionBegan
	err := json.Unmarshal(l.Data, &came)
	if !slices.Contains(j.sessions, came.Session) {
		j.sessions = append(j.sessions, came.Session)
	}
	return err
}

// outcome ends the oldest operation that it matches.
func (j *journal) outcome(l line) error {
	var ended pawl.OperationEnded
	if err := json.Unmarshal(l.Data, &ended); err != nil {
		return err
	}
	i := slices.IndexFunc(j.begun, func(b begun) bool {
		if ended.Operation != "" {
			return !b.ended && b.ID == ended.Operation
		}
		return !b.ended && b.Session == ended.Session && b.Digest == ended.Digest
	})
	if i < 0 {
		return errors.New("an outcome without an intent")
	}
	j.begun[i].ended = true
	return nil
}

// open are the operations without an outcome.
func (j *journal) open() []begun {
	return slices.DeleteFunc(slices.Clone(j.begun), func(b begun) bool { return b.ended })
}

// count returns the number of operations of a session, and of those without an outcome.
func (j *journal) count(session pawl.SessionID) (all, open int) {
	for _, b := range j.begun {
		if b.Session == session {
			all++
			if !b.ended {
				open++
			}
		}
	}
	return all, open
}
