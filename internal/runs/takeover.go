package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/supervise/process"
)

// TakeOver kills the engine that works in a project, and returns who that was once its lock is free; the zero Holder
// where nobody works there. Attempts go on under their supervisors. It kills nobody who is not proven to be the holder:
// then the error, of KindHeld, says why.
func TakeOver(ctx context.Context, p *project.Project) (project.Holder, error) {
	holder, alive := p.EngineHolder()
	if !alive {
		return project.Holder{}, nil
	}
	if err := killHolder(p, holder); err != nil {
		return holder, &pawl.Error{
			Kind: pawl.KindHeld, Hint: "pawl watch, or end it where it runs",
			Err: fmt.Errorf("this project is worked on by another pawl (%s), which is not ended: %w", holder, err),
		}
	}
	return holder, waitForLock(ctx, p, holder)
}

func killHolder(p *project.Project, holder project.Holder) error {
	host, err := os.Hostname()
	switch {
	case err != nil:
		return fmt.Errorf("which system this is cannot be told: %w", err)
	case holder.Process.PID == 0:
		return errors.New("it does not say which process it is")
	case holder.Host != host:
		return fmt.Errorf("it runs on another system, %s", holder.Host)
	case !process.SameBoot(holder.Process):
		return errors.New("it runs on another system of the same name, or says that it began before this one was started")
	case holder.PID != holder.Process.PID || holder.PID == os.Getpid():
		return errors.New("what it says of itself does not fit together")
	}
	err = process.KillSurely(holder.Process, func() error { return requireLockHolder(p, holder) })
	switch {
	case errors.Is(err, process.ErrElsewhere):
		return errors.New("it runs in another pid namespace, from which its process cannot be seen")
	case errors.Is(err, process.ErrGone):
		return fmt.Errorf("process %d is not the one that is named as the holder", holder.PID)
	}
	return err
}

// requireLockHolder refuses a process that does not hold the lock itself: the file may still name the holder before the present
// one.
func requireLockHolder(p *project.Project, holder project.Holder) error {
	has, err := process.HasLock(holder.PID, p.EngineLock())
	switch {
	case err != nil:
		return fmt.Errorf("whether process %d holds the lock cannot be told: %w", holder.PID, err)
	case !has:
		return fmt.Errorf("process %d does not hold the lock", holder.PID)
	}
	return nil
}

// killTimeout is how long a killed process may take to be gone: what it waits for in the kernel ends first.
const killTimeout = 10 * time.Second

// waitForLock waits until the killed holder's lock is free. Somebody else may have it then.
func waitForLock(ctx context.Context, p *project.Project, killed project.Holder) error {
	for end := time.Now().Add(killTimeout); ; {
		now, alive := p.EngineHolder()
		if !alive || now != killed {
			return nil
		}
		if time.Now().After(end) {
			return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("process %d was killed, and is not gone yet", killed.PID), Hint: "pawl resume"}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
