//go:build linux

// Package temporal_test runs plans whose steps are on a queue of a Temporal server, with the real programs, each machine with folders of its
// own.
package temporal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/remote/remotetest/servers"
	"pawl/temporal/internal/servertest"
)

// built is the folder with pawl, pawl-hook and pawl-temporal, which the Makefile sets.
func built(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PAWL_BUILT")
	if dir == "" {
		t.Fatal("PAWL_BUILT is not set: run make -C temporal test")
	}
	return dir
}

// site is a server, a remote, and a machine with a project.
type site struct {
	*testing.T
	server  *servertest.Server
	remote  string // URL
	project string
	machine
}

// machine has folders of its own, and processes.
type machine struct {
	t    *testing.T
	home string
	env  []string
}

func newMachine(t *testing.T, server *servertest.Server) machine {
	t.Helper()
	home := t.TempDir()
	m := machine{t: t, home: home, env: []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "PAWL_STATE=" + filepath.Join(home, "state"),
		"PATH=" + built(t) + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
	}}
	for _, v := range os.Environ() { // of the object store
		if strings.HasPrefix(v, "AWS_") {
			m.env = append(m.env, v)
		}
	}
	m.write(filepath.Join(home, "pawl/config.yaml"), server.SettingsFile())
	return m
}

func (m machine) write(path, content string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// command returns a command on the machine. Everything that it starts is killed when the test ends.
func (m machine) command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(built(m.t), program), args...)
	cmd.Dir, cmd.Env = dir, m.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// newSite returns a site whose remote is a folder.
func newSite(t *testing.T) *site {
	t.Helper()
	return newSiteWith(t, "file://"+t.TempDir())
}

// newStoreSite returns a site whose remote is in an object store of its own.
func newStoreSite(t *testing.T) (*site, *servers.Server) {
	t.Helper()
	store, err := servers.S3()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Remove(); err != nil {
			t.Error(err)
		}
	})
	bucket, err := store.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range store.Environ() {
		t.Setenv(name, value)
	}
	return newSiteWith(t, "s3://"+bucket), store
}

func newSiteWith(t *testing.T, remote string) *site {
	t.Helper()
	server := servertest.Start(t)
	s := &site{T: t, server: server, remote: remote, project: t.TempDir(), machine: newMachine(t, server)}
	s.pawl(0, "init")
	s.pawl(0, "remote", "add", "origin", s.remote)
	return s
}

// pawl runs a command of pawl in the project, and returns its output.
func (s *site) pawl(code int, args ...string) string {
	s.Helper()
	cmd := s.command(s.project, "pawl", args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		s.Fatalf("pawl %s: %v, exit code %v; want %d\n%s\n%s", args, err, cmd.ProcessState, code, out, s.log())
	}
	return string(out)
}

// start starts a command of pawl in the project.
func (s *site) start(args ...string) *process {
	s.Helper()
	return begin(s.T, s.command(s.project, "pawl", args...))
}

// log is everything that happened in the run, for messages.
func (s *site) log() string {
	out, _ := s.command(s.project, "pawl", "log").CombinedOutput()
	return string(out)
}

// process is a running command.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	said bytes.Buffer
	over chan struct{}
}

func begin(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, over: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.said, &p.said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(p.over)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s: %s", cmd, p.said.String())
		}
	})
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.over
}

// wait waits for the end, and compares the exit code.
func (p *process) wait(code int) {
	p.t.Helper()
	select {
	case <-p.over:
	case <-time.After(4 * time.Minute):
		p.t.Fatalf("%s has not ended", p.cmd)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("%s: exit code %d; want %d\n%s", p.cmd, got, code, p.said.String())
	}
}

// worker is a machine that performs steps.
type worker struct {
	machine machine
	remote  string
	*process
}

func (s *site) worker(flags ...string) *worker {
	s.Helper()
	w := &worker{machine: newMachine(s.T, s.server), remote: s.remote}
	w.start(flags...)
	return w
}

// start starts the process of the worker, perhaps again.
func (w *worker) start(flags ...string) {
	w.machine.t.Helper()
	args := append([]string{"worker", "--queue", "gpu", "--remote", w.remote, "--parallel", "4"}, flags...)
	w.process = begin(w.machine.t, w.machine.command(w.machine.home, "pawl-temporal", args...))
	w.machine.t.Cleanup(w.end)
}

// end kills what is left of the worker's steps.
func (w *worker) end() {
	for _, pid := range processesWith(w.machine.home) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// processesWith returns the processes whose environment names a folder.
func processesWith(folder string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		var pid int
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte("HOME="+folder+"\x00")) {
			if _, err := fmt.Sscanf(path, "/proc/%d/environ", &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// machineDies kills everything of the machine at once.
func (s *site) machineDies() {
	for range 3 { // also what was started meanwhile
		for _, pid := range processesWith(s.home) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(3 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("timeout: %s", what)
		case <-tick.C:
		}
	}
}

// lines returns how many lines a file has.
func lines(path string) int {
	data, _ := os.ReadFile(path)
	return bytes.Count(data, []byte("\n"))
}

func (s *site) read(name string) string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.project, name))
	if err != nil {
		s.Fatal(err)
	}
	return string(data)
}

// attempts returns the tokens of the attempts at a step that the journal has.
func (s *site) attempts(step string) (tokens []string) {
	s.Helper()
	for line := range strings.Lines(s.pawl(0, "log", "--json")) {
		var e struct {
			Type string `json:"type"`
			Data struct{ Step, Token string }
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == "attempt.started" && e.Data.Step == step {
			tokens = append(tokens, e.Data.Token)
		}
	}
	return tokens
}
