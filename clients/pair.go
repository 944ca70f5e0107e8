package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"pawl"
)

// pair has one agent finish some work and die in the middle of a command, and a new session of the other one go on.
func (s *story) pair(ctx context.Context, a, b agent) error {
	if err := s.attach(ctx, a, b); err != nil {
		return err
	}
	if err := s.dieInACommand(ctx, a); err != nil {
		return err
	}
	truth, err := s.whatIsTrue(a)
	if err != nil {
		return err
	}
	if _, err := s.runPawl(ctx, "status"); err != nil {
		return err
	}
	if err := s.carryOn(ctx, b); err != nil {
		return err
	}
	truth.aliveAfter = living(truth.pid)
	told, err := briefIn(s.model.conversation())
	if err != nil {
		return err
	}
	s.page.note("What "+b.name+" had been told before its first word", told.text)
	s.found = finding{verdict: told.verdict(), process: fate(truth.aliveAfter)}
	return errors.Join(told.tells(truth), s.nothingInDoubt(ctx, a, b))
}

// attach furnishes both agents, attaches them to the project, and has them trust what was installed.
func (s *story) attach(ctx context.Context, a, b agent) error {
	for _, one := range slices.CompactFunc([]agent{a, b}, func(a, b agent) bool { return a.name == b.name }) {
		if err := one.furnish(s.place, s.model.url); err != nil {
			return err
		}
		if _, err := s.runPawl(ctx, "attach", one.name, "--yes"); err != nil {
			return err
		}
		if err := s.trust(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// trust does what a person must still do so that the hooks run. Up to then, and not after it, pawl doctor says so.
func (s *story) trust(ctx context.Context, a agent) error {
	if a.trust != nil {
		if complaint := s.complaint(ctx, a); !strings.Contains(complaint, "/hooks") {
			return fmt.Errorf("%s trusts no hooks yet, and pawl doctor only says: %q", a.name, complaint)
		}
		if err := a.trust(ctx, s.place, a.program(a.from.folder(s.cache))); err != nil {
			return err
		}
		s.page.note("In "+a.name+", under /hooks", "trusted")
	}
	if complaint := s.complaint(ctx, a); complaint != "" {
		return fmt.Errorf("the hooks of %s are in place, but pawl doctor says: %s", a.name, complaint)
	}
	return nil
}

// complaint is what pawl doctor has against an agent's settings. The system under us may have faults of its own.
func (s *story) complaint(ctx context.Context, a agent) string {
	said, _ := s.place.command(ctx, nil, s.pawl, "doctor").CombinedOutput()
	var complaint strings.Builder
	for line := range strings.Lines(string(said)) {
		about := strings.Contains(line, ": "+a.name+": ") && !strings.HasPrefix(line, "ok ")
		if about || complaint.Len() > 0 && strings.HasPrefix(line, "  ") {
			complaint.WriteString(line)
		}
	}
	return complaint.String()
}

// dieInACommand is the first session: what it finishes is done, and what it was killed in is in doubt.
func (s *story) dieInACommand(ctx context.Context, a agent) error {
	work := s.someWork(a)
	work[len(work)-1] = turn{calls: []call{a.shell(s.twoSteps())}}
	one, err := s.begin(ctx, a, "Begin with the notes, then take both steps.", work...)
	if err != nil {
		return err
	}
	return errors.Join(s.killAt(one, "step1.txt"), s.workIsThere())
}

// goOn is what the second session is asked. All else it must know from pawl.
const goOn = "Go on."

// carryOn is the second session: it does what is missing.
func (s *story) carryOn(ctx context.Context, b agent) error {
	one, err := s.begin(ctx, b, goOn,
		turn{calls: []call{b.write(s.place.project("step2.txt"), "two\n")}},
		turn{calls: []call{b.shell("cat step1.txt step2.txt | wc -l > steps.txt")}},
		turn{text: "Both steps are taken."},
	)
	if err != nil {
		return err
	}
	return errors.Join(s.finish(one), s.workIsThere(), s.holds("step2.txt", "two"), s.holds("steps.txt", "2"))
}

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
	complaints, err := os.ReadFile(s.place.project(".pawl", "hook.log"))
	if err == nil {
		return fmt.Errorf("hooks failed:\n%s", complaints)
	}
	return nil
}
