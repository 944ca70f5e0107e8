package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"pawl"

	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/resume"
	"pawl/internal/runs"
)

// dryRun measures `pawl resume --dry-run` of the run of row 5 in a project of many files, and where its time goes.
func (b *bench) dryRun() ([]line, error) {
	p, run, err := b.bigRun("dry")
	if err != nil {
		return nil, err
	}
	files := b.full(100_000, 5000)
	t := &tree{root: filepath.Join(p.Root, "tree"), files: files}
	if err := t.grow(); err != nil {
		return nil, err
	}
	if out, err := exec.Command(b.pawl, "-C", p.Root, "checkpoint").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("checkpoint: %w: %s", err, out)
	}
	rounds := b.full(15, 3)
	dry := func() error { return exec.Command(b.pawl, "-C", p.Root, "resume", "--dry-run").Run() }
	status := func() error { return exec.Command(b.pawl, "-C", p.Root, "status").Run() }
	whole, err := inTurns(rounds, 1, timed(dry), timed(status))
	if err != nil {
		return nil, err
	}
	work := fmt.Sprintf("`pawl resume --dry-run`: %d steps, %d events, %d files", openSteps, openEvents, files)
	lines := []line{whole.line(work, "`pawl status` of it", goal{})}
	r, err := runs.Load(b, p, run)
	if err != nil {
		return nil, err
	}
	parts, err := b.dryParts(p, r, rounds)
	return append(lines, parts...), errors.Join(err, r.Log.Close())
}

// dryParts measures the parts, each against opening the run.
func (b *bench) dryParts(p *project.Project, r *runs.Run, rounds int) (lines []line, err error) {
	open := afresh(func() error { return openRun(b, p, r.State.Run) })
	change, err := resume.DiffPlan(p, r, pawl.GivenValues{})
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name string
		do   func() error
	}{
		{"comparing plan, inputs and outputs", func() error { _, err := resume.DiffPlan(p, r, pawl.GivenValues{}); return err }},
		{"gathering, validating, judging", func() error {
			_, err := resume.Examine(b, p, r, change, config.Snapshots{}, nil, false)
			return err
		}},
	} {
		m, err := inTurns(rounds, 1, afresh(part.do), open)
		if err != nil {
			return nil, err
		}
		lines = append(lines, m.line("of that, "+part.name, "opening that run", goal{}))
	}
	return lines, nil
}
