package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// session is one call of an agent, from its prompt to its end.
type session struct {
	agent string
	cmd   *exec.Cmd
	heard string        // the file with what it said
	ended chan struct{} // closed when its process has ended
	err   error         // how it ended; valid then
}

// patience is how long a session may take. An agent without a network comes near it only when it waits for one.
const patience = 3 * time.Minute

// begin starts an agent in a place. It is killed when it tries our patience, and when ctx ends.
func begin(ctx context.Context, a agent, p place, cache, url, prompt string) (*session, error) {
	heard, err := os.CreateTemp(p.dir, a.name+"-*.out")
	if err != nil {
		return nil, err
	}
	defer heard.Close()
	s := &session{agent: a.name, heard: heard.Name(), ended: make(chan struct{})}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("still at work after %s", patience))
	s.cmd = p.command(ctx, a.environ(p, url), append(a.program(a.from.folder(cache)), a.arguments(prompt)...)...)
	s.cmd.Stdout, s.cmd.Stderr = heard, heard // files: what outlives the agent keeps no pipe open for us to wait on
	if err := s.cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w", a.name, err)
	}
	go func() {
		defer close(s.ended)
		defer cancel()
		if s.err = s.cmd.Wait(); ctx.Err() != nil {
			s.err = context.Cause(ctx)
		}
	}()
	return s, nil
}

// finish waits until the agent has ended by itself.
func (s *session) finish() error {
	<-s.ended
	if s.err != nil {
		return s.wrong(s.err)
	}
	return nil
}

// killAt kills the agent once a file is there, as the kernel does when memory is short. What it has started is left alone.
func (s *session) killAt(path string) error {
	for tick := time.NewTicker(10 * time.Millisecond); !exists(path); {
		select {
		case <-tick.C:
		case <-s.ended:
			return s.wrong(fmt.Errorf("it ended before %s came (%v)", filepath.Base(path), s.err))
		}
	}
	if err := s.cmd.Process.Kill(); err != nil {
		return s.wrong(fmt.Errorf("kill it in its command: %w", err))
	}
	<-s.ended
	if end, known := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !known || end.Signal() != syscall.SIGKILL {
		return s.wrong(errors.New("it ended before it was killed"))
	}
	return nil
}

// said is what a person would have read.
func (s *session) said() string {
	data, err := os.ReadFile(s.heard)
	if err != nil {
		return err.Error()
	}
	return strings.TrimRight(string(data), "\n") + "\n"
}

func (s *session) wrong(err error) error {
	return fmt.Errorf("%s: %w; it said:\n%s", s.agent, err, s.said())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
