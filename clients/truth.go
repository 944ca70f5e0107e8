package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
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
	if len(j.sessions) != 2 || j.sessions[0].Agent() != a.name || j.sessions[1].Agent() != b.name {
		return fmt.Errorf("the sessions are not one of %s and one of %s: %v", a.name, b.name, j.sessions)
	}
	first, second := j.sessions[0], j.sessions[1]
	if all, open := j.count(first); all != 4 || open != 1 {
		return fmt.Errorf("the first session has %d operations, %d without an outcome, not 4 and 1", all, open)
	}
	if all, open := j.count(second); all != 2 || open != 0 {
		return fmt.Errorf("the second session has %d operations, %d without an outcome, not 2 and 0", all, open)
	}
	if len(j.ended) != 1 || j.ended[0] != second {
		return fmt.Errorf("of the sessions these have ended, not just the second: %v", j.ended)
	}
	if len(j.prompts) != 2 || strings.Trim(j.prompts[1].Text, `"`) != goOn { // OpenCode puts what it is asked in quotes
		return fmt.Errorf("the sessions were not asked two things, the second %q: %+v", goOn, j.prompts)
	}
	doubt := j.open()[0]
	if !slices.ContainsFunc(j.judged, func(v pawl.OperationJudged) bool {
		return v.Operation == doubt.ID && v.Verdict == pawl.OperationPartly && v.Told == second
	}) {
		return fmt.Errorf("no verdict says what the second session was told: %+v", j.judged)
	}
	return s.nothingSaidInDoubt(ctx)
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
