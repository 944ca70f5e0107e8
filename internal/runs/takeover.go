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

// TakeOver kills the engine that holds the project's lock and waits for the lock. It returns the killed holder, or the
// zero Holder if nobody held the lock. Attempts continue under their supervisors. If the holder's identity cannot be
// verified, it kills nothing, and the error is of KindHeld.
func TakeOver(ctx context.Context, p *project.Project) (project.Holder, error) {
	holder, alive := p.EngineHolder()
	if !alive {
		return project.Holder{}, nil
	}
	if err := killHolder(p, holder); err != nil {
		return holder, &pawl.Error{
			Kind: pawl.KindHeld, Hint: "pawl watch",
			Err: fmt.Errorf("project is locked by pawl (%s), and it cannot be killed: %w; end it on the system where it runs", holder, err),
		}
	}
	return holder, waitForLock(ctx, p, holder)
}

func killHolder(p *project.Project, holder project.Holder) error {
	host, err := os.Hostname()
	switch {
	case err != nil:
		return fmt.Errorf("cannot identify this system: %w", err)
	case holder.Process.PID == 0:
		return errors.New("the lock does not name a process")
	case holder.Host != host:
		return fmt.Errorf("it runs on another system, %s", holder.Host)
	case !process.SameBoot(holder.Process):
		return errors.New("it runs on another system of the same name, or its start time precedes this system's boot")
	case holder.PID != holder.Process.PID || holder.PID == os.Getpid():
		return errors.New("the lock's record is inconsistent")
	}
	err = process.KillVerified(holder.Process, func() error { return requireLockHolder(p, holder) })
	switch {
	case errors.Is(err, process.ErrOtherNamespace):
		return errors.New("it runs in another pid namespace")
	case errors.Is(err, process.ErrGone):
		return fmt.Errorf("process %d is not the recorded holder", holder.PID)
	}
	return err
}

// requireLockHolder fails if the process does not hold the lock. The lock file may name an earlier holder.
func requireLockHolder(p *project.Project, holder project.Holder) error {
	has, err := process.HasLock(holder.PID, p.EngineLock())
	switch {
	case err != nil:
		return fmt.Errorf("cannot tell whether process %d holds the lock: %w", holder.PID, err)
	case !has:
		return fmt.Errorf("process %d does not hold the lock", holder.PID)
	}
	return nil
}

// killTimeout is how long a killed process may take to exit. System calls in progress finish first.
const killTimeout = 10 * time.Second

// waitForLock waits until the killed holder has released the lock. Another process may then have it.
func waitForLock(ctx context.Context, p *project.Project, killed project.Holder) error {
	for end := time.Now().Add(killTimeout); ; {
		now, alive := p.EngineHolder()
		if !alive || now != killed {
			return nil
		}
		if time.Now().After(end) {
			return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("process %d was killed but has not exited yet", killed.PID), Hint: "pawl resume"}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
