package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/supervise"
)

// How long AwaitStop waits for an engine.
const (
	engineAsks = 2 * time.Second  // until the engine has asked the supervisors of all attempts
	engineEnds = 10 * time.Second // until it has journaled how they ended
)

// tellAfter is how long AwaitStop waits before it says for what.
const tellAfter = time.Second

// AwaitStop waits after Stop until the processes of all attempts have ended, and then until the engine has. It asks the supervisors
// itself if no engine does. Then it ends the kernels of the run, whose variables stay saved. The error, of KindHeld, names what outlives the
// time that its supervisor has.
func AwaitStop(ctx context.Context, p *project.Project, r *Run, notice func(string)) error {
	live := r.State.Live()
	holder, engine := p.EngineHolder()
	engine = engine && holder.Run == r.State.Run
	if !engine || !asked(p, r.State.Run, live, engineAsks) {
		if err := EndLive(p, r, "stopped by a person"); err != nil {
			return err
		}
	}
	var attempts []supervised
	for _, x := range live {
		attempts = append(attempts, supervised{x.Name(), p.AttemptDir(x.AttemptRef, r.State.Run)})
	}
	if err := awaitEnd(ctx, attempts, notice); err != nil {
		return err
	}
	if engine {
		awaitEngine(ctx, p, holder, notice)
	}
	return cmp.Or(ctx.Err(), endKernels(ctx, p, r.State.Run, "the run was stopped", notice))
}

// supervised is a process under a supervisor: an attempt or a kernel.
type supervised struct{ name, dir string }

// awaitEnd waits until processes have ended whose supervisors were asked to terminate them, at most for the time that the supervisors have.
// It gives notice if that is not short.
func awaitEnd(ctx context.Context, list []supervised, notice func(string)) error {
	limit := time.Duration(0)
	for _, s := range list {
		limit = max(limit, supervise.EndLimit(s.dir))
	}
	left := namesOfLeft(ctx, list, tellAfter)
	if left != "" && ctx.Err() == nil {
		notice(fmt.Sprintf("waiting until %s has ended (at most %s: its processes get SIGINT, then SIGTERM, then SIGKILL)", left, limit))
		left = namesOfLeft(ctx, list, limit-tellAfter)
	}
	if left != "" {
		return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("still running after %s: %s", limit, left), Hint: "pawl processes"}
	}
	return nil
}

// namesOfLeft waits until processes have ended, at most for a time, and returns the names of those that have not.
func namesOfLeft(ctx context.Context, list []supervised, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var names []string
	for _, s := range list {
		if supervise.Attach(s.dir).Wait(ctx) != nil {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, ", ")
}

// asked reports whether the engine asks the supervisors of all attempts that run to terminate them, before a time is over.
func asked(p *project.Project, run pawl.RunID, live []*pawl.AttemptState, limit time.Duration) bool {
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		missing := false
		for _, x := range live {
			dir := p.AttemptDir(x.AttemptRef, run)
			status, err := supervise.Probe(dir)
			_, abort := disk.Lstat(filepath.Join(dir, pawl.AbortFile))
			missing = missing || err == nil && status.State == supervise.Live && abort != nil
		}
		if !missing || time.Now().After(end) {
			return !missing
		}
	}
}

// awaitEngine waits until an engine has journaled how its attempts ended, and says so if it takes long.
func awaitEngine(ctx context.Context, p *project.Project, holder project.Holder, notice func(string)) {
	waiting, cancel := context.WithTimeout(ctx, engineEnds)
	defer cancel()
	if err := p.WaitForEngine(waiting); errors.Is(err, context.DeadlineExceeded) {
		notice(fmt.Sprintf("the steps have ended; the engine (pid %d) has not ended yet", holder.PID))
	}
}
