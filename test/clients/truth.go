package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"pawl"
)

// truth is what there is to know about the command that was cut off.
type truth struct {
	agent      string
	command    string
	began      time.Time
	pid        int
	alive      bool // before anybody was told
	aliveAfter bool // it may still have been dying
}

// whatIsTrue looks at the world before anybody is told of it.
func (s *story) whatIsTrue(a agent) (truth, error) {
	j, err := s.journal()
	if err != nil {
		return truth{}, err
	}
	open := j.open()
	if len(open) != 1 || !strings.Contains(open[0].Summary, "until test -e") {
		return truth{}, fmt.Errorf("after the kill, not exactly the command has an intent without outcome: %+v", open)
	}
	pid, err := s.process()
	return truth{agent: a.name, command: s.twoSteps(), began: open[0].at, pid: pid, alive: living(pid)}, err
}

// status is what `pawl status --json` must say at least.
type status struct {
	Sessions []struct {
		Agent string
		Gone  bool
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

// oneInDoubt checks what pawl says when the agent was killed: its session is gone, and one thing is in doubt.
func (s *story) oneInDoubt(ctx context.Context, a agent) error {
	if _, err := s.runPawl(ctx, "status"); err != nil {
		return err
	}
	is, err := s.status(ctx)
	if err != nil {
		return err
	}
	if len(is.Sessions) != 1 || is.Sessions[0].Agent != a.name || !is.Sessions[0].Gone || is.Sessions[0].Done != 3 {
		return fmt.Errorf("pawl status does not say that one session of %s is gone that did 3 things: %+v", a.name, is.Sessions)
	}
	if len(is.Doubts) != 1 || is.Doubts[0].Verdict != pawl.OperationPartly {
		return fmt.Errorf("pawl status does not say that one thing is in doubt and was done partly: %+v", is.Doubts)
	}
	return nil
}

// nothingInDoubt checks the end: one run, two sessions, what the second one did has outcomes, and it was told the verdict.
func (s *story) nothingInDoubt(ctx context.Context, a, b agent) error {
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
	return s.nothingSaidInDoubt(ctx)
}

// twoSessions checks who came, what they were asked, and that only the second one ended in good order.
func (j *journal) twoSessions(a, b agent) error {
	if len(j.sessions) != 2 || j.sessions[0].Agent() != a.name || j.sessions[1].Agent() != b.name {
		return fmt.Errorf("the sessions are not one of %s and one of %s: %v", a.name, b.name, j.sessions)
	}
	if len(j.ended) != 1 || j.ended[0] != j.sessions[1] {
		return fmt.Errorf("of the sessions these have ended, not just the second: %v", j.ended)
	}
	if len(j.prompts) != 2 || strings.Trim(j.prompts[1].Text, `"`) != goOn { // OpenCode puts what it is asked in quotes
		return fmt.Errorf("the sessions were not asked two things, the second %q: %+v", goOn, j.prompts)
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

// toldPartly checks that the journal says which session was told that the operation was done partly.
func (j *journal) toldPartly(doubt pawl.OperationID, session pawl.SessionID) error {
	for _, v := range j.judged {
		if v.Operation == doubt && v.Verdict == pawl.OperationPartly && v.Told == session {
			return nil
		}
	}
	return fmt.Errorf("no verdict on %s says that %s was told partly: %+v", doubt, session, j.judged)
}

// nothingSaidInDoubt checks that pawl has no doubt any more, and that none of its hooks had cause to complain.
func (s *story) nothingSaidInDoubt(ctx context.Context) error {
	for _, command := range []string{"status", "brief"} {
		said, err := s.runPawl(ctx, command)
		if err != nil {
			return err
		}
		if strings.Contains(said, "in doubt") {
			return fmt.Errorf("in the end pawl %s still says that something is in doubt:\n%s", command, said)
		}
	}
	is, err := s.status(ctx)
	if err != nil {
		return err
	}
	if len(is.Sessions) != 2 || len(is.Doubts) > 0 {
		return fmt.Errorf("pawl status does not tell of two sessions and no doubt: %+v", is)
	}
	complaints, err := os.ReadFile(s.place.project(".pawl", "hook.log"))
	if err == nil {
		return fmt.Errorf("hooks failed:\n%s", complaints)
	}
	return nil
}
