package evaluator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// command asks any program: evidence on its standard input, the opinion on its output. The prompt for language models is
// in PAWL_PROMPT.
type command struct {
	text    string
	dir     string
	environ []string
}

// lingering is how long those of the command's processes that left its group may keep its output open.
const lingering = time.Second

func (c command) ask(ctx context.Context, evidence []byte) (answer, error) {
	cmd := exec.Command("/bin/sh", "-c", c.text)
	cmd.Dir, cmd.Env = c.dir, append(c.environ[:len(c.environ):len(c.environ)], "PAWL_PROMPT="+Prompt)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = lingering
	g := &group{}
	out, complaints := &capped{limit: maxAnswer, full: g.kill}, &tail{limit: maxReason}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(evidence, '\n')), out, complaints
	if err := cmd.Start(); err != nil {
		return answer{}, fmt.Errorf("start the command: %w", err)
	}
	g.lead(cmd.Process.Pid)
	stop := context.AfterFunc(ctx, g.kill)
	defer stop()
	awaitEnd(cmd.Process.Pid)
	g.end()
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case out.overflow:
		return answer{}, fmt.Errorf("the command printed more than %d bytes", maxAnswer)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return answer{}, complaint(err, complaints.kept)
	}
	return answer{text: out.kept.String()}, nil
}

// complaint is why a command failed, with the end of what it said.
func complaint(err error, said string) error {
	if said = oneLine(said, maxReason); said != "" {
		return fmt.Errorf("the command failed: %w: %s", err, said)
	}
	return fmt.Errorf("the command failed: %w", err)
}

// group is a command's process group. It is signalled only while its leader is there, running or not yet waited for: then
// its number cannot be that of another.
type group struct {
	mu     sync.Mutex // guards the rest
	leader int        // 0: not started yet, or ended
	killed bool
}

func (g *group) lead(pid int) {
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

// end ends what the leader left behind. After it the leader may be waited for.
func (g *group) end() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leader = 0
}

func (g *group) signal() {
	if g.leader != 0 {
		_ = syscall.Kill(-g.leader, syscall.SIGKILL) // where nobody is left, there is nothing to do
	}
}

// capped keeps what is written, and calls full once it is too much.
type capped struct {
	kept     bytes.Buffer // not embedded: its ReadFrom would go past the limit
	limit    int
	full     func()
	overflow bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.kept.Len()+len(p) > c.limit {
		c.overflow = true
		c.full()
		return 0, errors.New("too much")
	}
	return c.kept.Write(p)
}

// tail keeps the end of what is written.
type tail struct {
	kept  string
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept += string(p[max(0, len(p)-t.limit):])
	t.kept = t.kept[max(0, len(t.kept)-t.limit):]
	return len(p), nil
}
