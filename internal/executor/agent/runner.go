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
	"syscall"
	"time"

	"pawl"
	"pawl/internal/account"
	"pawl/internal/agents/headless"
	"pawl/internal/brief"
	"pawl/internal/disk"
	"pawl/internal/executor/events"
	"pawl/internal/redact"
	"pawl/internal/supervise"
)

// Runner runs one attempt at an agent step, as its environment specifies.
type Runner struct {
	Out, Err io.Writer
	Brief    func(ctx context.Context, reader pawl.AgentName) (brief.Brief, error) // returns the brief for a new session
}

// Run runs the attempt and returns the status of its result. It stops when ctx ends; whoever ends ctx also signals the agent.
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
	dir     string // of the attempt
	job     pawl.Job
	agent   headless.Agent
	task    headless.Task
	earlier *pawl.Resume // outcome of earlier attempts; nil: none
	policy  headless.TurnPolicy
	screen  *screen
	events  events.Writer
	used    pawl.Usage // by finished turns
	briefed bool       // the prompt of a new session has the brief
}

func (r Runner) attempt() (*attempt, error) {
	dir := os.Getenv("PAWL_ATTEMPT_DIR")
	job, err := readJob(dir)
	if err != nil {
		return nil, err
	}
	agent, ok := headless.Find(job.Agent.Use)
	if !ok {
		return nil, fmt.Errorf("unknown agent %q", job.Agent.Use)
	}
	task, earlier, err := headless.TaskOf(job, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	clean := redact.New(os.Environ()).Text
	a := &attempt{
		Runner: r, dir: dir, job: job, agent: agent, earlier: earlier,
		task:   task,
		policy: headless.TurnPolicy{Action: *job.Agent, Deadline: time.Now().Add(noDeadline)},
		screen: &screen{to: r.Out, clean: clean},
		events: events.Writer{Path: os.Getenv("PAWL_EVENTS"), Clean: clean, Errors: r.Err},
	}
	if job.Timeout > 0 {
		a.policy.Deadline = time.Now().Add(time.Duration(job.Timeout))
	}
	return a, nil
}

// noDeadline is longer than any attempt.
const noDeadline = 365 * 24 * time.Hour

// readJob reads the job of the attempt.
func readJob(dir string) (pawl.Job, error) {
	data, err := disk.ReadFile(filepath.Join(dir, pawl.JobFile), disk.RecordLimit)
	if err != nil {
		return pawl.Job{}, fmt.Errorf("read the job: %w", err)
	}
	return parseJob(data)
}

func parseJob(data []byte) (pawl.Job, error) {
	var job pawl.Job
	err := json.Unmarshal(data, &job)
	if err == nil && job.Agent == nil {
		err = errors.New("not a job of an agent step")
	}
	if err != nil {
		return pawl.Job{}, fmt.Errorf("read the job: %w", err)
	}
	return job, nil
}

// start is a turn with its prompt.
type start struct {
	headless.Turn
	prompt string
}

// run runs turns until the attempt is over.
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
		move := a.policy.After(ending, stream.Usage(), session != nil, time.Now())
		if move.Do == headless.Check {
			if a.policy.Checked = a.checksPass(ctx); a.policy.Checked {
				move = a.policy.After(ending, pawl.Usage{}, session != nil, time.Now())
			} else {
				move = a.policy.Blocked(ending)
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

// signalLag is how much later than the agent the runner may receive the signal that stops both.
const signalLag = 100 * time.Millisecond

// pause waits for a duration or until ctx ends.
func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// first returns the first turn of the attempt. It continues the session of an earlier attempt, if there is one and the plan
// allows it.
func (a *attempt) first(ctx context.Context) start {
	prompt, continued := a.task.First(*a.job.Agent, a.earlier, func(first bool) string { return a.brief(ctx, first) })
	if continued == nil {
		return a.fresh(prompt)
	}
	return start{a.resumed(*continued), prompt}
}

// fresh returns a turn in a new session.
func (a *attempt) fresh(prompt string) start {
	s := start{headless.Turn{Action: *a.job.Agent, USD: a.policy.Left()}, prompt}
	if a.agent.Chooses {
		s.Session = newSession()
	}
	return s
}

// resumed returns a turn that resumes a session.
func (a *attempt) resumed(c pawl.Conversation) headless.Turn {
	return headless.Turn{Action: *a.job.Agent, USD: a.policy.Left(), Session: c.ID, Resume: true, Before: c.Usage}
}

// next ends leftover processes of the last turn, waits for a usage limit, and returns the next turn.
func (a *attempt) next(ctx context.Context, move headless.Move, session *pawl.Conversation) (start, error) {
	supervise.TerminateDescendants(terminateWait)
	a.events.Progress(pawl.Progress{Text: move.Why, Usage: a.used})
	a.screen.print("[pawl: " + move.Why + "]")
	if err := a.wait(ctx, move.Until); err != nil {
		return start{}, err
	}
	if move.Do == headless.Renew {
		a.events.Write(pawl.Line{Checkpoint: &pawl.Checkpoint{Why: move.Why}})
	}
	if move.Do != headless.Continue {
		return a.fresh(a.task.Begin(a.brief(ctx, false), a.earlier)), nil
	}
	s := start{prompt: a.task.ContinueAfter(move.Why)}
	s.Turn = a.resumed(*session)
	return s, nil
}

// terminateWait is how long leftover processes of an agent have to exit after SIGTERM.
const terminateWait = 3 * time.Second

// brief returns the brief for a new session: for the first attempt, only if it hands anything over. If there is none, the text says so.
func (a *attempt) brief(ctx context.Context, first bool) string {
	a.briefed = false
	b, err := a.Brief(ctx, headless.Reader(a.agent.Name))
	switch {
	case err != nil:
		fmt.Fprintf(a.Err, "pawl: agent: brief: %v\n", err)
		return "The brief is not available: " + err.Error() + ". Check the state of the work yourself."
	case first && !b.HandsOver():
		return ""
	}
	a.briefed = true
	return b.Text
}

// wait waits until a time. It prints often enough that the watchdog does not consider the attempt stalled.
func (a *attempt) wait(ctx context.Context, until time.Time) error {
	for left := time.Until(until); left > 0 && ctx.Err() == nil; left = time.Until(until) {
		if pause(ctx, min(left, a.heartbeat())); left > a.heartbeat() {
			a.screen.print(fmt.Sprintf("[pawl: waiting, %s left]", (left - a.heartbeat()).Round(time.Second)))
		}
	}
	return context.Cause(ctx)
}

// heartbeat is the interval for signs of life that keeps the attempt from counting as stalled.
func (a *attempt) heartbeat() time.Duration {
	const most = time.Minute
	if a.job.Stall == 0 {
		return most
	}
	return min(most, max(time.Duration(a.job.Stall)/3, 50*time.Millisecond))
}

// checksPass reports whether the step has acceptance checks, and all pass.
func (a *attempt) checksPass(ctx context.Context) bool {
	for _, script := range a.job.Checks {
		file := filepath.Join(a.dir, "check-"+pawl.ScriptFile)
		command, err := supervise.ScriptCommand(&a.job, script, file)
		if err != nil || supervise.ShareScript(&a.job, file) != nil {
			return false
		}
		check := exec.CommandContext(ctx, command[0], command[1:]...)
		check.Dir = a.job.Dir
		check.Env = account.Environ(a.job.RunAs, os.Environ(), a.job.Env)
		check.SysProcAttr = &syscall.SysProcAttr{Credential: account.Credential(a.job.RunAs)}
		if check.Run() != nil {
			return false
		}
	}
	return len(a.job.Checks) > 0
}

// newSession returns a random UUID.
func newSession() string {
	var b [16]byte
	rand.Read(b[:]) // never returns an error
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
