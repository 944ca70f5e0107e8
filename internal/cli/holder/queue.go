package holder

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/project"
)

// errTimeout is the cause of a context whose wait is over.
var errTimeout = errors.New("the project was not free in time")

// Queue starts work when the project is free.
type Queue struct {
	Project  func() (*project.Project, error)
	Deadline time.Time    // when the wait ends; zero: never
	Notice   func(string) // prints a line for the user
}

// Start calls start when no process holds the project, and again if another one was faster.
func (q Queue) Start(ctx context.Context, start func(context.Context) error) error {
	for {
		err := q.wait(ctx)
		if err == nil {
			err = start(ctx)
		}
		if _, held := errors.AsType[*project.HeldError](err); !held {
			return err
		}
	}
}

// wait waits until no process holds the project. It returns at once if there is no project yet.
func (q Queue) wait(ctx context.Context) error {
	p, err := q.Project()
	if errors.Is(err, pawl.ErrNoProject) {
		return nil
	}
	if err != nil {
		return err
	}
	if err = p.RequireNoEngine(); err == nil {
		return nil
	}
	held := Describe(ctx, p, err, false)
	ctx, release := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer release()
	q.Notice("waiting until the project is free (Ctrl-C stops waiting): " + held.Error())
	if !q.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, q.Deadline, errTimeout)
		defer cancel()
	}
	err = p.WaitForEngine(ctx)
	switch {
	case errors.Is(err, errTimeout):
		return &pawl.Error{Kind: pawl.KindHeld, Err: &timeout{held: held}, Hint: pawl.HintOf(held)}
	case ctx.Err() != nil:
		return &pawl.Error{Kind: pawl.KindInterrupted, Err: errors.New("stopped waiting; nothing was started")}
	}
	return err
}

// timeout is the error that the project was held longer than the user wants to wait. It no longer is a reason to wait.
type timeout struct{ held error }

func (t *timeout) Error() string { return "the project was not free in time: " + t.held.Error() }

// As finds the Held of the holder, and nothing else of its error.
func (t *timeout) As(target any) bool {
	into, ok := target.(**Held)
	if !ok {
		return false
	}
	return errors.As(t.held, into)
}
