// Package command runs one short command of the user's: a script in a process group of its own, with limits of time and output. When
// Run returns, no process of the group is alive.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/account"
	"pawl/internal/oneline"
)

// Command is a command to run.
type Command struct {
	Args      []string // program and arguments
	Dir       string
	Environ   []string
	Input     []byte        // standard input
	MaxOutput int           // bytes of standard output; more is an error
	RunAs     *pawl.Account // who runs it. Defaults to the user of this process.
	MaxError  int           // bytes at the end of standard error that errors contain
}

// drainTimeout is how long processes that left the command's group may keep its output open.
const drainTimeout = time.Second

// Run runs the command until it ends, or kills it when ctx ends. It returns the standard output.
func Run(ctx context.Context, c Command) (string, error) {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = account.Environ(c.RunAs, c.Environ, nil)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: account.Credential(c.RunAs)}
	cmd.WaitDelay = drainTimeout
	g := &group{}
	out, stderr := &capped{limit: c.MaxOutput, full: g.kill}, &tail{limit: c.MaxError}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.Input), out, stderr
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start the command: %w", err)
	}
	g.setLeader(cmd.Process.Pid)
	stop := context.AfterFunc(ctx, g.kill)
	defer stop()
	AwaitEnd(cmd.Process.Pid)
	g.end()
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case out.overflow:
		return "", fmt.Errorf("the command printed more than %d bytes", c.MaxOutput)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", failure(err, stderr.text)
	}
	return out.data.String(), nil
}

// failure is the error of a failed command with the end of its error output, without control characters.
func failure(err error, stderr string) error {
	if stderr = oneline.Printable(stderr); stderr != "" {
		return fmt.Errorf("the command failed: %w: %s", err, stderr)
	}
	return fmt.Errorf("the command failed: %w", err)
}

// group is a command's process group. It is signalled only while its leader runs or has not been waited for: until then the
// system cannot reuse its id.
type group struct {
	mu     sync.Mutex // guards the rest
	leader int        // 0: not started or already waited for
	killed bool
}

func (g *group) setLeader(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leader = pid; g.killed {
		g.signal()
	}
}

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.killed = true
	g.signal()
}

// end kills the processes that the leader left behind. After it, the leader may be waited for.
func (g *group) end() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leader = 0
}

func (g *group) signal() {
	if g.leader != 0 {
		_ = syscall.Kill(-g.leader, syscall.SIGKILL) // the group may be empty
	}
}

// capped buffers writes up to a limit and calls full when they exceed it.
type capped struct {
	data     bytes.Buffer // not embedded: its ReadFrom would exceed the limit
	limit    int
	full     func()
	overflow bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.data.Len()+len(p) > c.limit {
		c.overflow = true
		c.full()
		return 0, errors.New("output too large")
	}
	return c.data.Write(p)
}

// tail keeps the end of the written data.
type tail struct {
	text  string
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	t.text += string(p[max(0, len(p)-t.limit):])
	t.text = t.text[max(0, len(t.text)-t.limit):]
	return len(p), nil
}
