// Package queuecheck checks that a plan's steps for workers can reach their queues.
package queuecheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli/workercmd"
	"pawl/internal/config"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/courier"
	"pawl/internal/engine"
	"pawl/internal/oneline"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/transfer"
)

// answerTime is how long a database or server may take to answer before a run begins.
const answerTime = 10 * time.Second

// errorSize is how many characters of the error of a database are shown. It names each address that was tried.
const errorSize = 300

// Requirement checks, before a run of a plan begins, that the steps for workers can reach them. It changes nothing in the folder.
type Requirement struct {
	Name     string // of the plan, in errors
	Loaded   *planfile.Loaded
	Project  func() (*project.Project, error)
	Temporal func(config.Temporal) engine.Executor
	Getenv   func(string) string
}

// Check returns an error at the "on" of the first step that cannot reach its queue.
func (r Requirement) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	checked := map[string]bool{}
	for _, step := range r.Loaded.Plan.Steps() {
		queue := dispatch.QueueOf(step)
		if queue == "" || checked[queue] {
			continue
		}
		checked[queue] = true
		if err := r.check(ctx, step); err != nil {
			return r.at(step, err)
		}
	}
	return nil
}

// at adds the place of a step's "on" to an error.
func (r Requirement) at(step *pawl.Step, err error) error {
	file, place := r.Loaded.File.Without(), any(&step.On)
	if !file.Given(place) {
		place = &r.Loaded.Plan.Defaults.On
	}
	file.Errorf(place, "step %s on queue %s %s", step.ID, dispatch.QueueOf(step), err)
	return &pawl.Error{Kind: pawl.KindUsage, Err: file.Err(r.Name), Hint: pawl.HintOf(err)}
}

func (r Requirement) check(ctx context.Context, step *pawl.Step) error {
	p, err := r.Project()
	root := ""
	switch {
	case errors.Is(err, pawl.ErrNoProject):
		return usageError("pawl init, and then pawl remote add "+transfer.Usual+" URL", "needs a remote for its files, and this folder is not a project yet")
	case err != nil:
		return nil // whatever opens the project says it
	default:
		root = p.Root
	}
	if _, err := transfer.Find(p, ""); err != nil {
		return fmt.Errorf("needs a remote: %w", err)
	}
	own, err := config.ReadUser(root)
	if err != nil {
		return err
	}
	if own.Temporal.Carries(dispatch.QueueOf(step)) {
		return r.checkTemporal(ctx, own.Temporal, step, root)
	}
	if r.Getenv(courier.CommandVariable) != "" {
		return nil
	}
	open, closeAll := workercmd.Postgres(r.Getenv)
	defer closeAll()
	if _, err := open(ctx, p); err != nil {
		hint := pawl.HintOf(err)
		if errors.Is(err, dispatch.ErrUnreachable) {
			hint = "set " + config.PostgresVariable + " to the DSN of a database that answers, or use on: {queue: local}"
		}
		return usageError(hint, "needs the database with its queue: %s", oneline.Clip(err.Error(), errorSize))
	}
	return nil
}

// checkTemporal asks the program that carries steps by Temporal, which alone can speak with the server.
func (r Requirement) checkTemporal(ctx context.Context, settings config.Temporal, step *pawl.Step, root string) error {
	args, err := r.Temporal(settings).Command(step)
	if err != nil {
		return usageError("", "needs a program: %w", err)
	}
	c := exec.CommandContext(ctx, args[0], workercmd.CheckVerb)
	c.Dir, c.WaitDelay = root, time.Second
	_, err = c.Output()
	if err == nil {
		return nil
	}
	said := ""
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		said = strings.TrimPrefix(strings.TrimSpace(string(ended.Stderr)), "pawl: error: ")
	}
	text, hint, _ := strings.Cut(said, "\npawl: hint: ")
	return usageError(oneline.Clip(hint, errorSize), "needs its server: %s", oneline.Clip(cmp.Or(text, err.Error()), errorSize))
}

func usageError(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}
