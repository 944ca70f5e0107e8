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
	"pawl/internal/agents/headless"
)

// turn starts the agent, follows what it prints, and says how that came out. An error: it could not be started.
func (a *attempt) turn(ctx context.Context, s start) (*headless.Stream, headless.Ending, error) {
	stream := a.agent.Read(s.Turn)
	if c := stream.Session(); c != nil { // known before there is anything to lose
		a.lines.tell(pawl.Line{Conversation: c})
	}
	p, err := a.launch(s)
	if err != nil {
		return nil, headless.Ending{}, err
	}
	a.follow(ctx, p, stream)
	ending := stream.End(p.exit(), time.Now())
	a.screen.flush()
	a.used = a.used.Add(stream.Usage())
	if c := stream.Session(); c != nil && c.Usage != s.Before { // what it counts from there
		a.lines.tell(pawl.Line{Conversation: c})
	}
	return stream, ending, nil
}

// process is an agent that runs.
type process struct {
	cmd    *exec.Cmd
	pipes  [2]*os.File // from its two outputs
	lines  chan line   // what comes out of them; closed behind the last
	exited chan struct{}
}

// line is one that an agent printed.
type line struct {
	data    []byte
	isError bool
}

// launch starts the agent for a turn.
func (a *attempt) launch(s start) (*process, error) {
	argv := a.agent.Argv(s.Turn)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = a.job.Dir
	cmd.Env = headless.Environ(os.Environ())
	if s.Resume {
		cmd.Env = append(cmd.Env, "PAWL_SESSION="+s.Session)
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

// drainWait is how long the pipes of an agent that has ended are read on: what it started may still hold them.
const drainWait = time.Second

// read has both outputs read and the process waited for.
func (p *process) read() {
	var readers sync.WaitGroup
	for i, pipe := range p.pipes {
		readers.Go(func() {
			defer pipe.Close()
			eachLine(pipe, func(data []byte) { p.lines <- line{data, i == 1} })
		})
	}
	go func() {
		p.cmd.Wait() // how it ended stands in ProcessState
		for _, pipe := range p.pipes {
			pipe.SetReadDeadline(time.Now().Add(drainWait))
		}
		close(p.exited)
		readers.Wait()
		close(p.lines)
	}()
}

// follow takes in what the agent prints, until it has ended.
func (a *attempt) follow(ctx context.Context, p *process, stream *headless.Stream) {
	still := time.NewTicker(a.often())
	defer still.Stop()
	ended := ctx.Done()
	for {
		select {
		case l, more := <-p.lines:
			if !more {
				return
			}
			said := stream.Out
			if l.isError {
				a.screen.error(a.Err, l.data)
				said = stream.Err
			}
			for _, s := range said(l.data) {
				a.heard(p, stream, s)
			}
		case <-still.C:
			if tool := stream.Busy(); tool != "" {
				a.screen.words("[pawl: still at " + tool + "]")
			}
		case <-ended:
			ended = nil
			p.killAfter(mercy)
		}
	}
}

// mercy is how long an agent may take to end once its step is being ended. The supervisor, which has signalled it too,
// is less patient.
const mercy = 10 * time.Second

// heard passes on what the agent says.
func (a *attempt) heard(p *process, stream *headless.Stream, s headless.Said) {
	used := a.used.Add(stream.Usage())
	switch {
	case s.Session != "":
		a.lines.tell(pawl.Line{Conversation: stream.Session()})
	case s.Words != "":
		a.screen.words(s.Words)
	case s.Part != "":
		a.screen.part(s.Part)
	case s.Tool != "":
		a.screen.words("> " + s.Tool)
		a.lines.progress(pawl.Progress{Text: s.Tool, Usage: used})
	case s.Tasks != nil:
		s.Tasks.Text, s.Tasks.Usage = strings.TrimSpace(fmt.Sprintf("%.0f/%.0f %s", *s.Tasks.Done, *s.Tasks.Total, s.Tasks.Text)), used
		a.screen.words("> " + s.Tasks.Text)
		a.lines.progress(*s.Tasks)
	case s.Stop:
		p.stop()
	}
}

// Times between the signals by which an agent is ended.
const (
	interruptWait = 5 * time.Second
	killWait      = 8 * time.Second
)

// stop ends the agent in order. It returns at once.
func (p *process) stop() {
	p.signal(syscall.SIGINT)
	time.AfterFunc(interruptWait, func() { p.signal(syscall.SIGTERM) })
	p.killAfter(killWait)
}

func (p *process) killAfter(wait time.Duration) {
	time.AfterFunc(wait, func() { p.signal(syscall.SIGKILL) })
}

// signal signals the agent unless it has ended.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.exited:
	default:
		p.cmd.Process.Signal(sig) // one that has just ended needs none
	}
}

// exit says how a process ended that has.
func (p *process) exit() headless.Exit {
	<-p.exited
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return headless.Exit{Signal: unix.SignalName(status.Signal())}
	}
	return headless.Exit{Code: p.cmd.ProcessState.ExitCode()}
}
