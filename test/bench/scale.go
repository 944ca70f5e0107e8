package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// scale is the row "scale": it compares large projects with small ones.
func (b *bench) scale() ([]line, error) {
	steps, err := b.longPlan()
	if err != nil {
		return nil, err
	}
	ended, err := b.manyRuns()
	return append(steps, ended...), err
}

// longPlan measures plans of many steps.
func (b *bench) longPlan() ([]line, error) {
	few, many := b.full(300, 20), b.full(3000, 200)
	perStep := func(n int) (p *project.Project, run func() (time.Duration, error), err error) {
		if p, err = b.project(fmt.Sprint("plan-", n)); err == nil {
			err = writePlan(p.Root, n, 0, "")
		}
		return p, func() (time.Duration, error) {
			took, err := timed(func() error { return quiet(exec.Command(b.pawl, "-C", p.Root, "run", "plan.yaml")) })()
			return took / time.Duration(n), err
		}, err
	}
	_, little, err := perStep(few)
	if err != nil {
		return nil, err
	}
	p, much, err := perStep(many)
	if err != nil {
		return nil, err
	}
	m, err := inTurns(b.full(3, 1), 1, much, little)
	if err != nil {
		return nil, err
	}
	lines := []line{m.line(fmt.Sprintf("a step of a plan of %d shell no-op steps", many), fmt.Sprintf("of a plan of %d", few), goal{ratio: 1.5})}
	if err := begun(b, p); err != nil {
		return nil, err
	}
	command := func(word string) func() (time.Duration, error) {
		return timed(func() error { return quiet(exec.Command(b.pawl, "-C", p.Root, word)) })
	}
	m, err = inTurns(b.full(5, 1), 1, command("why"), command("status"))
	return append(lines, m.line(fmt.Sprintf("`pawl why` of a run of %d steps, of which none has run", many), "`pawl status` of it", goal{})), err
}

// begun makes a run of a project's plan that no engine has worked on.
func begun(ctx context.Context, p *project.Project) error {
	path := filepath.Join(p.Root, "plan.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	plan, err := planfile.Read("plan.yaml", data)
	if err == nil {
		_, err = runs.Create(ctx, p, runs.CreateOptions{Kind: pawl.PlanRun, Plan: plan, Data: data})
	}
	return err
}

// manyRuns measures a project with many ended runs.
func (b *bench) manyRuns() ([]line, error) {
	many := b.full(200, 20)
	status := func(n int) (func() (time.Duration, error), error) {
		p, err := b.project(fmt.Sprint("runs-", n))
		if err == nil {
			err = writePlan(p.Root, 1, 0, "")
		}
		for range n {
			err = errors.Join(err, quiet(exec.Command(b.pawl, "-C", p.Root, "run", "--new", filepath.Join(p.Root, "plan.yaml"))))
		}
		return timed(func() error { return quiet(exec.Command(b.pawl, "-C", p.Root, "status")) }), err
	}
	little, err := status(1)
	if err != nil {
		return nil, err
	}
	much, err := status(many)
	if err != nil {
		return nil, err
	}
	m, err := inTurns(b.full(21, 3), 1, much, little)
	return []line{m.line(fmt.Sprintf("`pawl status` in a project of %d ended runs", many), "of one", goal{ratio: 2})}, err
}
