package runs

import (
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
// itself if no engine does. The error, of KindHeld, names the attempts that outlive the time that their supervisors have.
func AwaitStop(ctx context.Context, p *project.Project, r *Run, notice func(string)) error {
	live := r.State.Live()
	holder, engine := p.EngineHolder()
	engine = engine && holder.Run == r.State.Run
	if !engine || !asked(p, r.State.Run, live, engineAsks) {
		if err := EndLive(p, r, "stopped by a person"); err != nil {
			return err
		}
	}
	limit := time.Duration(0)
	for _, x := range live {
		limit = max(limit, supervise.EndLimit(p.AttemptDir(x.AttemptRef, r.State.Run)))
	}
	left := awaitAttempts(ctx, p, r.State.Run, live, limit, func(names string) {
		notice(fmt.Sprintf("waiting until %s has ended (at most %s: its processes get SIGINT, then SIGTERM, then SIGKILL)", names, limit))
	})
	if left != "" {
		return &pawl.Error{Kind: pawl.KindHeld, Err: fmt.Errorf("still running after %s: %s", limit, left), Hint: "pawl processes"}
	}
	if engine {
		awaitEngine(ctx, p, holder, notice)
	}
	return ctx.Err()
}

// awaitAttempts waits until attempts have ended, at most for a time, and returns the names of those that have not. It calls tell if the
// wait is not short.
func awaitAttempts(ctx context.Context, p *project.Project, run pawl.RunID, live []*pawl.AttemptState, limit time.Duration, tell func(names string)) (left string) {
	wait := func(limit time.Duration) string {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		var names []string
		for _, x := range live {
			if supervise.Attach(p.AttemptDir(x.AttemptRef, run)).Wait(ctx) != nil {
				names = append(names, x.Name())
			}
		}
		return strings.Join(names, ", ")
	}
	if left = wait(tellAfter); left == "" || ctx.Err() != nil {
		return left
	}
	tell(left)
	return wait(limit - tellAfter)
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
