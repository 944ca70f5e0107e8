package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"pawl/internal/hook"
	"pawl/internal/supervise"
)

// startSlack is by how much a start may miss its goal before the row fails: the machine may be busy.
const startSlack = 1.5

// starts is row start: how long a hook and a supervisor take to start, in a folder that is not a project and with an attempt
// that does not exist, so that both end at once. It is the only row that fails: what others link must cost no tool call.
func (b *bench) starts() ([]line, error) {
	empty := filepath.Join(b.dir, "no-project")
	if err := os.Mkdir(empty, 0o700); err != nil {
		return nil, err
	}
	var lines []line
	for _, c := range []struct {
		what    string
		program string
		args    []string
		goal    goal
	}{
		{"start of a hook by `pawl-hook`, outside of projects", b.hookProgram, []string{hook.Verb, "claude"}, goal{ratio: 3}},
		{"the same by `pawl`", b.pawl, []string{hook.Verb, "claude"}, goal{}},
		{"start of a supervisor by `pawl-hook`, of no attempt", b.hookProgram, []string{supervise.Verb, filepath.Join(empty, "none")}, goal{ratio: 2.5}},
		{"the same by `pawl`", b.pawl, []string{supervise.Verb, filepath.Join(empty, "none")}, goal{}},
	} {
		m, err := inTurns(b.full(300, 100), 1, start(empty, c.program, c.args...), start(empty, b.nothing))
		if err != nil {
			return nil, err
		}
		if c.goal.ratio > 0 && m.ratio > c.goal.ratio*startSlack {
			return nil, fmt.Errorf("%s takes %.2f × as long as a do-nothing Go program: more than %g × %g", c.what, m.ratio, c.goal.ratio, startSlack)
		}
		lines = append(lines, m.line(c.what, "a do-nothing Go program", c.goal))
	}
	return lines, nil
}

// start returns a measurement of a program from its start to its end, with nothing to read.
func start(folder, program string, args ...string) func() (time.Duration, error) {
	return timed(func() error {
		cmd := exec.Command(program, args...)
		cmd.Dir = folder
		err := cmd.Run()
		if _, failed := err.(*exec.ExitError); failed {
			return nil // a supervisor of no attempt does
		}
		return err
	})
}
