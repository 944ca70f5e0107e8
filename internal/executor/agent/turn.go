package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/account"
	"pawl/internal/agents"
	"pawl/internal/agents/headless"
)

// turn starts the agent, follows its output, and returns the outcome. An error means that the agent could not be started.
func (a *attempt) turn(ctx context.Context, s start) (*headless.Stream, headless.Ending, error) {
	stream := a.agent.Read(s.Turn)
	if c := stream.Session(); c != nil { // journaled before the agent starts
		a.events.Write(pawl.Line{Conversation: c})
	}
	p, err := a.launch(s)
	if err != nil {
		return nil, headless.Ending{}, err
	}
	a.follow(ctx, p, stream)
	ending := stream.End(p.exit(), time.Now())
	a.screen.flush()
	a.used = a.used.Add(stream.Usage())
	if c := stream.Session(); c != nil && c.Usage != s.Before { // the base for the next turn's usage
		a.events.Write(pawl.Line{Conversation: c})
	}
	return stream, ending, nil
}

// process is a running agent.
type process struct {
	cmd    *exec.Cmd
	pipes  [2]*os.File // of stdout and stderr
	lines  chan line   // their lines; closed after the last
	exited chan struct{}
}

// line is a line of an agent's output.
type line struct {
	data    []byte
	isError bool
}

// launch starts the agent for a turn.
func (a *attempt) launch(s start) (*process, error) {
	argv := a.agent.Argv(s.Turn)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = a.job.Dir
	cmd.Env = account.Environ(a.job.RunAs, headless.Environ(os.Environ()), a.job.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account.Credential(a.job.RunAs)}
	switch {
	case s.Resume:
		cmd.Env = append(cmd.Env, "PAWL_SESSION="+s.Session)
	case a.briefed:
		cmd.Env = append(cmd.Env, agents.BriefedVar+"=1")
	}
	cmd.Stdin = strings.NewReader(s.prompt)
	cmd.WaitDelay = drainWait
	p := &process{cmd: cmd, lines: make(chan line), exited: make(chan struct{})}
	out, outEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer outEnd.Close()
	errs, errsEnd, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	defer errsEnd.Close()
	p.pipes = [2]*os.File{out, errs}
	cmd.Stdout, cmd.Stderr = outEnd, errsEnd
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", a.agent.Name, err), out.Close(), errs.Close())
	}
	p.read()
	return p, nil
}

// drainWait is how long pipes are read after the agent has exited: its child processes may still hold them.
const drainWait = time.Second

// read starts reading both outputs and waiting for the process.
func (p *process) read() {
	var readers sync.WaitGroup
	for i, pipe := range p.pipes {
		readers.Go(func() {
			defer pipe.Close()
			eachLine(pipe, func(data []byte) { p.lines <- line{data, i == 1} })
		})
	}
	go func() {
		p.cmd.Wait() // the outcome is in ProcessState
		for _, pipe := range p.pipes {
			pipe.SetReadDeadline(time.Now().Add(drainWait))
		}
		close(p.exited)
		readers.Wait()
		close(p.lines)
	}()
}

// follow handles the agent's output until it has exited.
func (a *attempt) follow(ctx context.Context, p *process, stream *headless.Stream) {
	still := time.NewTicker(a.heartbeat())
	defer still.Stop()
	ended := ctx.Done()
	for {
		select {
		case l, more := <-p.lines:
			if !more {
				return
			}
			read := stream.Out
			if l.isError {
				a.screen.error(a.Err, l.data)
				read = stream.Err
			}
			for _, s := range read(l.data) {
				a.handle(p, stream, s)
			}
		case <-still.C:
			if tool := stream.Busy(); tool != "" {
				a.screen.print("[pawl: still running " + tool + "]")
			}
		case <-ended:
			ended = nil
			p.killAfter(gracePeriod)
		}
	}
}

// gracePeriod is how long an agent may take to exit when its step is being stopped. The supervisor, which signals it too, waits
// less long.
const gracePeriod = 10 * time.Second

// handle records and prints an update.
func (a *attempt) handle(p *process, stream *headless.Stream, s headless.Update) {
	used := a.used.Add(stream.Usage())
	switch {
	case s.Session != "":
		a.events.Write(pawl.Line{Conversation: stream.Session()})
	case s.Text != "":
		a.screen.print(s.Text)
	case s.Part != "":
		a.screen.part(s.Part)
	case s.Tool != "":
		a.screen.print("> " + s.Tool)
		a.events.Progress(pawl.Progress{Text: s.Tool, Usage: used})
	case s.Tasks != nil:
		s.Tasks.Text, s.Tasks.Usage = strings.TrimSpace(fmt.Sprintf("%.0f/%.0f %s", *s.Tasks.Done, *s.Tasks.Total, s.Tasks.Text)), used
		a.screen.print("> " + s.Tasks.Text)
		a.events.Progress(*s.Tasks)
	case s.Stop:
		p.stop()
	}
}

// Delays before the next signal when an agent is stopped.
const (
	interruptWait = 5 * time.Second
	killWait      = 8 * time.Second
)

// stop stops the agent with SIGINT, then SIGTERM, then SIGKILL. It returns immediately.
func (p *process) stop() {
	p.signal(syscall.SIGINT)
	time.AfterFunc(interruptWait, func() { p.signal(syscall.SIGTERM) })
	p.killAfter(killWait)
}

func (p *process) killAfter(wait time.Duration) {
	time.AfterFunc(wait, func() { p.signal(syscall.SIGKILL) })
}

// signal signals the agent unless it has exited.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.exited:
	default:
		p.cmd.Process.Signal(sig) // the process may just have exited
	}
}

// exit waits for the process and returns its exit status.
func (p *process) exit() headless.Exit {
	<-p.exited
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return headless.Exit{Signal: unix.SignalName(status.Signal())}
	}
	return headless.Exit{Code: p.cmd.ProcessState.ExitCode()}
}
