// Package background starts the engine of a run as a process of its own.
package background

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/stepenv"
)

// Start starts "pawl resume" for a run, with arguments, and returns once an engine works on the run or its process has ended. The
// process gets the secrets of the run in its environment.
func Start(ctx context.Context, p *project.Project, run pawl.RunID, secrets stepenv.Secrets, args ...string) (pid int, err error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, err
	}
	log, err := disk.OpenAppend(filepath.Join(p.RunDir(run), "engine.log"))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	c := exec.Command(exe, append(append([]string{"-C", p.Root, "resume"}, args...), string(run))...)
	c.Args[0] = "pawl"
	c.Stdout, c.Stderr = log, log
	c.Env = stepenv.Overlay(os.Environ(), secrets.Passed())
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return 0, err
	}
	wait(ctx, p, run, c)
	return c.Process.Pid, nil
}

// startTime is how long an engine may take to start before the command returns without it.
const startTime = 10 * time.Second

// wait waits until an engine works on the run, or its process has ended, so that the next command sees it.
func wait(ctx context.Context, p *project.Project, run pawl.RunID, engine *exec.Cmd) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- engine.Wait() }()
	for {
		if holder, alive := p.EngineHolder(); alive && holder.Run == run {
			return
		}
		select {
		case <-ended: // pawl status and the run's engine.log say how
			return
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}
