package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/agents/headless"
	"pawl/internal/redact"
	"pawl/internal/supervise"
)

// Runner does one attempt at an agent's step, as its environment says.
type Runner struct {
	Out, Err io.Writer
	Brief    func(ctx context.Context, reader pawl.AgentName) (string, error) // what a fresh agent is told, checked just now
}

// Run does the attempt, and returns how it says that it ended. When ctx ends, so does the attempt: whoever ended it has
// told the agent too.
func (r Runner) Run(ctx context.Context) (pawl.ResultStatus, error) {
	supervise.AdoptOrphans()
	a, err := r.attempt()
	if err != nil {
		return "", err
	}
	return a.run(ctx)
}

// attempt is one attempt at a step.
type attempt struct {
	Runner
	job    pawl.Job
	agent  headless.Agent
	task   headless.Task
	told   *pawl.Resume // of earlier attempts; nil: there was none
	course headless.Course
	screen *screen
	lines  teller
	used   pawl.Usage // by the turns that are over
}

func (r Runner) attempt() (*attempt, error) {
	dir := os.Getenv("PAWL_ATTEMPT_DIR")
	job, err := readJob(dir)
	if err != nil {
		return nil, err
	}
	agent, ok := headless.Find(job.Agent.Use)
	if !ok {
		return nil, fmt.Errorf("this pawl knows no agent %q", job.Agent.Use)
	}
	told, err := readResume()
	if err != nil {
		return nil, err
	}
	clean := redact.New(os.Environ()).Text
	a := &attempt{
		Runner: r, job: job, agent: agent, told: told,
		task: headless.Task{
			Step: job.Name(), Prompt: headless.Expand(job.Agent.Prompt, os.LookupEnv), Goal: job.Goal,
			Outputs: job.Outputs, Checks: job.Checks, Result: os.Getenv("PAWL_RESULT"),
		},
		course: headless.Course{Action: *job.Agent, Deadline: time.Now().Add(forEver)},
		screen: &screen{to: r.Out, clean: clean},
		lines:  teller{path: os.Getenv("PAWL_EVENTS"), clean: clean, faults: r.Err},
	}
	if job.Timeout > 0 {
		a.course.Deadline = time.Now().Add(time.Duration(job.Timeout))
	}
	return a, nil
}

// forEver is longer than any attempt lasts.
const forEver = 365 * 24 * time.Hour

// readJob returns what the supervisor was told. It need not be durable: our supervisor has just read it too.
func readJob(dir string) (pawl.Job, error) {
	var job pawl.Job
	data, err := os.ReadFile(filepath.Join(dir, pawl.JobFile))
	if err == nil {
		err = json.Unmarshal(data, &job)
	}
	if err == nil && job.Agent == nil {
		err = errors.New("it is no agent's")
	}
	if err != nil {
		return pawl.Job{}, fmt.Errorf("read the job: %w", err)
	}
	return job, nil
}

func readResume() (*pawl.Resume, error) {
	text := os.Getenv("PAWL_RESUME")
	if text == "" {
		return nil, nil
	}
	var told pawl.Resume
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		return nil, fmt.Errorf("read PAWL_RESUME: %w", err)
	}
	return &told, nil
}

// start is a turn that is about to begin.
type start struct {
	headless.Turn
	prompt string
}

// run takes one turn after the other, until the attempt is over.
func (a *attempt) run(ctx context.Context) (pawl.ResultStatus, error) {
	next := a.first(ctx)
	for {
		stream, ending, err := a.turn(ctx, next)
		if err != nil {
			return a.finish(pawl.Result{Status: pawl.ResultFailed, Summary: err.Error()})
		}
		if ending.How != headless.Finished {
			pause(ctx, signalLag)
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		session := stream.Session()
		move := a.course.After(ending, stream.Usage(), session != nil, time.Now())
		if move.Do == headless.Inform {
			if a.course.Checked = a.checksPass(ctx); a.course.Checked {
				move = a.course.After(ending, pawl.Usage{}, session != nil, time.Now())
			} else {
				move = a.course.Refused(ending)
			}
		}
		if move.Do == headless.End {
			return a.finish(move.Result)
		}
		if next, err = a.next(ctx, move, session); err != nil {
			return "", err
		}
	}
}

// signalLag is how much later than the agent we may get the signal that ends both.
const signalLag = 100 * time.Millisecond

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// first returns the turn with which the attempt begins: it goes on with the session of an earlier one, where there is one
// and the plan does not say otherwise.
func (a *attempt) first(ctx context.Context) start {
	if a.told == nil {
		return a.fresh("")
	}
	if c := a.told.Conversation; c != nil && c.Agent == a.agent.Name && c.ID != "" && a.job.Agent.MayResume() {
		s := start{prompt: a.task.Continue(*a.told)}
		s.Turn = a.resumed(*c)
		return s
	}
	return a.fresh(a.brief(ctx))
}

// fresh returns a turn in a new session.
func (a *attempt) fresh(brief string) start {
	s := start{prompt: a.task.Begin(brief, a.told)}
	s.Turn = headless.Turn{Action: *a.job.Agent, USD: a.course.Left()}
	if a.agent.Chooses {
		s.Session = newSession()
	}
	return s
}

// resumed returns a turn that goes on with a session.
func (a *attempt) resumed(c pawl.Conversation) headless.Turn {
	return headless.Turn{Action: *a.job.Agent, USD: a.course.Left(), Session: c.ID, Resume: true, Before: c.Usage}
}

// next makes ready what a move asks for: nothing of the turn before is left then, and a limit is over.
func (a *attempt) next(ctx context.Context, move headless.Move, session *pawl.Conversation) (start, error) {
	supervise.TerminateDescendants(terminateWait)
	a.lines.progress(pawl.Progress{Text: move.Why, Usage: a.used})
	a.screen.words("[pawl: " + move.Why + "]")
	if err := a.wait(ctx, move.Until); err != nil {
		return start{}, err
	}
	if move.Do == headless.Renew {
		a.lines.tell(pawl.Line{Checkpoint: &pawl.Checkpoint{Why: move.Why}})
	}
	if move.Do != headless.GoOn {
		return a.fresh(a.brief(ctx)), nil
	}
	s := start{prompt: a.task.GoOn(move.Why)}
	s.Turn = a.resumed(*session)
	return s, nil
}

// terminateWait is how long what an agent left behind has to end when it is terminated.
const terminateWait = 3 * time.Second

// brief returns where everything stands. An agent can do without: then it is told so.
func (a *attempt) brief(ctx context.Context) string {
	reader := a.agent.Name
	if reader == pawl.AnyCommand {
		reader = pawl.ClaudeCode
	}
	text, err := a.Brief(ctx, reader)
	if err != nil {
		fmt.Fprintf(a.Err, "pawl: agent: brief: %v\n", err)
		return "There is no brief on where things stand: " + err.Error() + ". Look for yourself."
	}
	return text
}

// wait waits until a time. Meanwhile it says so often enough not to be taken for stalled.
func (a *attempt) wait(ctx context.Context, until time.Time) error {
	for left := time.Until(until); left > 0 && ctx.Err() == nil; left = time.Until(until) {
		if pause(ctx, min(left, a.often())); left > a.often() {
			a.screen.words(fmt.Sprintf("[pawl: waits for %s more]", (left - a.often()).Round(time.Second)))
		}
	}
	return context.Cause(ctx)
}

// often is how often a sign of life is due that keeps the attempt from being taken for stalled.
func (a *attempt) often() time.Duration {
	const most = time.Minute
	if a.job.Stall == 0 {
		return most
	}
	return min(most, max(time.Duration(a.job.Stall)/3, 50*time.Millisecond))
}

// checksPass reports whether the step has acceptance checks, and all pass.
func (a *attempt) checksPass(ctx context.Context) bool {
	for _, command := range a.job.Checks {
		check := exec.CommandContext(ctx, "/bin/sh", "-c", command)
		check.Dir = a.job.Dir
		if check.Run() != nil {
			return false
		}
	}
	return len(a.job.Checks) > 0
}

// newSession returns a random UUID.
func newSession() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, says crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
