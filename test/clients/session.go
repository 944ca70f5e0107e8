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
	agent  string
	cmd    *exec.Cmd
	output string        // the file with its output
	ended  chan struct{} // closed when its process has ended
	err    error         // how it ended; valid then
}

// patience is the time limit of a session. An agent reaches it only if it waits for a network.
const patience = 3 * time.Minute

// start starts an agent, or the program that starts it. It is killed after patience, and when ctx ends.
func start(ctx context.Context, name string, p place, cmd *exec.Cmd) (*session, error) {
	output, err := os.CreateTemp(p.dir, name+"-*.out")
	if err != nil {
		return nil, err
	}
	defer output.Close()
	s := &session{agent: name, cmd: cmd, output: output.Name(), ended: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = output, output // files: surviving processes would keep a pipe open
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go s.wait(ctx)
	return s, nil
}

// wait waits for the end, and kills the agent after patience.
func (s *session) wait(ctx context.Context) {
	defer close(s.ended)
	tired := time.AfterFunc(patience, func() { s.cmd.Process.Kill() }) // it may have ended meanwhile
	s.err = s.cmd.Wait()
	switch {
	case ctx.Err() != nil:
		s.err = context.Cause(ctx)
	case !tired.Stop():
		s.err = fmt.Errorf("still running after %s", patience)
	}
}

// finish waits until the agent has ended by itself.
func (s *session) finish() error {
	<-s.ended
	if s.err != nil {
		return s.wrong(s.err)
	}
	return nil
}

// until waits for a non-empty file.
func (s *session) until(path string) error {
	for tick := time.NewTicker(10 * time.Millisecond); !written(path); {
		select {
		case <-tick.C:
		case <-s.ended:
			return s.wrong(fmt.Errorf("it ended before %s existed (%v)", filepath.Base(path), s.err))
		}
	}
	return nil
}

// killAt kills the agent once a file exists, as the kernel does when memory is short. Its child processes continue.
func (s *session) killAt(path string) error {
	if err := s.until(path); err != nil {
		return err
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

// said is the output of the agent.
func (s *session) said() string {
	data, err := os.ReadFile(s.output)
	if err != nil {
		return err.Error()
	}
	return strings.TrimRight(string(data), "\n") + "\n"
}

func (s *session) wrong(err error) error {
	return fmt.Errorf("%s: %w; output:\n%s", s.agent, err, s.said())
}

func written(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Size() > 0
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
