// Package servertest starts Temporal servers for tests.
package servertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"pawl/internal/config"
	"pawl/internal/dispatch"
	"pawl/temporal/internal/carrier"
)

// Program is the variable with the path of the test server, which `make -C temporal test` sets.
const Program = "PAWL_TEMPORAL_SERVER"

// Server is a Temporal server of its own, on a port that stays the same. Its state is in a file.
type Server struct {
	Settings config.Temporal
	t        *testing.T
	args     []string
	log      string
	cmd      *exec.Cmd
}

// Start starts a server, with more flags than the address and the file. It ends with the test.
func Start(t *testing.T, flags ...string) *Server {
	t.Helper()
	if os.Getenv(Program) == "" {
		t.Fatalf("%s is not set: run make -C temporal test", Program)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	dir := t.TempDir()
	s := &Server{Settings: config.Temporal{Address: address}, t: t, log: filepath.Join(dir, "log")}
	s.args = append([]string{"-address", address, "-file", filepath.Join(dir, "temporal.db")}, flags...)
	t.Cleanup(func() {
		s.Kill()
		if said, err := os.ReadFile(s.log); err == nil && t.Failed() {
			t.Logf("server: %s", said)
		}
	})
	s.Restart()
	return s
}

// Kill kills the server, if it runs.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGKILL)
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// Restart starts the server again, after Kill, and returns when it answers.
func (s *Server) Restart() {
	s.t.Helper()
	out, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	s.cmd = exec.Command(os.Getenv(Program), s.args...)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	c := s.Client()
	for deadline := time.Now().Add(time.Minute); ; {
		err := carrier.Check(context.Background(), c, s.Settings)
		if !errors.Is(err, dispatch.ErrUnreachable) {
			return // also without what pawl needs, which some tests want
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the server does not answer: %v", err)
		}
	}
}

// Client returns a client of the server.
func (s *Server) Client() client.Client {
	s.t.Helper()
	c, err := carrier.Connect(s.Settings, "test")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// SettingsFile returns the text of user settings with which pawl uses the server.
func (s *Server) SettingsFile() string {
	return fmt.Sprintf("temporal: {address: %q}\n", s.Settings.Address)
}
