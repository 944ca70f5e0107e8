package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl"
)

// truth is the truth about the interrupted command.
type truth struct {
	agent      string
	command    string
	began      time.Time
	pid        int
	alive      bool // before the brief
	aliveAfter bool // it may still have been dying
}

// whatIsTrue collects the truth before the brief is written.
func (s *story) whatIsTrue(a agent) (truth, error) {
	j, err := s.journal()
	if err != nil {
		return truth{}, err
	}
	open := j.open()
	if len(open) != 1 || !strings.Contains(open[0].Summary, "until test -e") {
		return truth{}, fmt.Errorf("after the kill, not exactly the command has an intent without outcome: %+v", open)
	}
	pid, err := s.process("pid")
	return truth{agent: a.name, command: s.twoSteps(), began: open[0].at, pid: pid, alive: living(pid)}, err
}

// status is the part of `pawl status --json` that is checked.
type status struct {
	Sessions []struct {
		Agent string
		Gone  bool
		Doing string
		Done  int `json:"operations_done"`
	}
	Doubts []struct{ Verdict pawl.OperationVerdict } `json:"in_doubt"`
}

func (s *story) status(ctx context.Context) (status, error) {
	var is status
	said, err := s.place.command(ctx, nil, s.pawl, "status", "--json").Output()
	if err != nil {
		return is, fmt.Errorf("pawl status --json: %w: %s", err, said)
	}
	return is, json.Unmarshal(said, &is)
}

// oneInDoubt checks pawl's status after the kill: the session is gone, and one call is in doubt.
func (s *story) oneInDoubt(ctx context.Context, a agent) error {
	if _, err := s.runPawl(ctx, "status"); err != nil {
		return err
	}
	is, err := s.status(ctx)
	if err != nil {
		return err
	}
	if len(is.Sessions) != 1 || is.Sessions[0].Agent != a.name || !is.Sessions[0].Gone || is.Sessions[0].Done != 3 {
		return fmt.Errorf("pawl status does not report one dead session of %s with 3 calls: %+v", a.name, is.Sessions)
	}
	if len(is.Doubts) != 1 || is.Doubts[0].Verdict != pawl.OperationPartly {
		return fmt.Errorf("pawl status does not report one call in doubt that was done partly: %+v", is.Doubts)
	}
	return nil
}

// theEnd checks the end: one run, two sessions, outcomes for the calls of the second one, and the verdict in its brief.
func (s *story) theEnd(ctx context.Context, a, b agent) error {
	j, err := s.journal()
	if err != nil {
		return err
	}
	if err := j.twoSessions(a, b); err != nil {
		return err
	}
	if err := j.outcomes(j.sessions[0], 4, 1); err != nil {
		return err
	}
	if err := j.outcomes(j.sessions[1], 2, 0); err != nil {
		return err
	}
	if err := j.toldPartly(j.open()[0].ID, j.sessions[1]); err != nil {
		return err
	}
	return s.noOtherDoubt(ctx)
}

// twoSessions checks the sessions and their prompts, and that only the second one ended normally.
func (j *journal) twoSessions(a, b agent) error {
	if len(j.sessions) != 2 || j.sessions[0].Agent() != a.name || j.sessions[1].Agent() != b.name {
		return fmt.Errorf("the sessions are not one of %s and one of %s: %v", a.name, b.name, j.sessions)
	}
	if len(j.ended) != 1 || j.ended[0] != j.sessions[1] {
		return fmt.Errorf("of the sessions these have ended, not just the second: %v", j.ended)
	}
	if len(j.prompts) != 2 || strings.Trim(j.prompts[1].Text, `"`) != goOn { // OpenCode puts its prompt in quotes
		return fmt.Errorf("the sessions do not have two prompts, the second %q: %+v", goOn, j.prompts)
	}
	return nil
}

// outcomes checks how many operations a session has, and how many of them have no outcome.
func (j *journal) outcomes(session pawl.SessionID, all, open int) error {
	isAll, isOpen := j.count(session)
	if isAll != all || isOpen != open {
		return fmt.Errorf("%s has %d operations, %d without an outcome, not %d and %d", session, isAll, isOpen, all, open)
	}
	return nil
}

// toldPartly checks that the journal names the session whose brief had the verdict partly.
func (j *journal) toldPartly(doubt pawl.OperationID, session pawl.SessionID) error {
	for _, v := range j.judged {
		if v.Operation == doubt && v.Verdict == pawl.OperationPartly && v.Told == session {
			return nil
		}
	}
	return fmt.Errorf("no verdict on %s says that the brief of %s had partly: %+v", doubt, session, j.judged)
}

// noOtherDoubt checks that pawl reports no new doubt, and that its hooks logged no errors.
func (s *story) noOtherDoubt(ctx context.Context) error {
	for _, command := range []string{"status", "brief"} {
		if _, err := s.runPawl(ctx, command); err != nil {
			return err
		}
	}
	is, err := s.status(ctx)
	if err != nil {
		return err
	}
	if len(is.Sessions) != 2 || len(is.Doubts) > 1 || len(is.Doubts) == 1 && is.Doubts[0].Verdict != pawl.OperationPartly {
		return fmt.Errorf("pawl status does not report two sessions and only the doubt that is done partly: %+v", is)
	}
	return s.hooksFailed()
}
