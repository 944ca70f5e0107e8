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

// begin starts an agent in a place.
func begin(a agent, p place, cache, url, prompt string) (*session, error) {
	heard, err := os.CreateTemp(p.dir, a.name+"-*.out")
	if err != nil {
		return nil, err
	}
	defer heard.Close()
	s := &session{agent: a.name, heard: heard.Name(), ended: make(chan struct{})}
	s.cmd = p.command(a.environ(p, url), append(a.program(a.from.folder(cache)), a.arguments(prompt)...)...)
	s.cmd.Stdout, s.cmd.Stderr = heard, heard // files: what outlives the agent keeps no pipe open for us to wait on
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", a.name, err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

// finish waits until the agent has ended by itself.
func (s *session) finish() error {
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.kill()
		return s.wrong(fmt.Errorf("still at work after %s", patience))
	}
	if s.err != nil {
		return s.wrong(s.err)
	}
	return nil
}

// kill ends the agent's process as the kernel does when memory is short. What the agent has started is left alone.
func (s *session) kill() {
	s.cmd.Process.Kill() // an error would say that it has ended
	<-s.ended
}

// killAt kills the agent once a file is there.
func (s *session) killAt(path string) error {
	if err := s.until(func() bool { return exists(path) }); err != nil {
		return s.wrong(fmt.Errorf("%s never came: %w", filepath.Base(path), err))
	}
	s.kill()
	if signal := s.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); signal != syscall.SIGKILL {
		return s.wrong(errors.New("it ended before it was killed"))
	}
	return nil
}

// until waits for a condition while the agent works.
func (s *session) until(holds func() bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		if holds() {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.ended:
			if !holds() {
				return errors.New("the agent ended")
			}
			return nil
		case <-ctx.Done():
			s.kill()
			return ctx.Err()
		}
	}
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
