//go:build linux

package temporal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRefused: what is wrong is said, with what to do.
func TestRefused(t *testing.T) {
	s := newSite(t)
	worker := []string{"worker", "--queue", "gpu", "--remote", s.remote}
	fails := func(name string, m machine, code int, want string, args ...string) {
		t.Helper()
		p := begin(t, m.command(m.home, "pawl-temporal", args...))
		select {
		case <-p.over:
		case <-time.After(30 * time.Second): // a worker that works
			p.kill()
		}
		if got := p.cmd.ProcessState.ExitCode(); got != code || !strings.Contains(p.said.String(), want) {
			t.Errorf("%s: exit code %d: %s; want %d and %q", name, got, p.said.String(), code, want)
		}
	}
	fails("no queue", s.machine, 2, "--queue", "worker", "--remote", s.remote)
	fails("no remote", s.machine, 2, "--remote", "worker", "--queue", "gpu")
	fails("no such remote", s.machine, 2, "is not a remote of pawl", "worker", "--queue", "gpu", "--remote", "file://"+t.TempDir())
	fails("no attempt", s.machine, 1, "only pawl itself starts couriers", "dispatch")

	inStep := s.machine
	inStep.env = append(inStep.env, "PAWL_STEP=s", "PAWL_RUN=r", "PAWL_TOKEN=t")
	fails("in a step", inStep, 5, "is for a person", worker...)

	bare := newMachine(t, s.server)
	bare.write(filepath.Join(bare.home, "pawl/config.yaml"), "")
	fails("no server", bare, 2, "your own settings have no server", worker...)

	old := s.server.Settings
	bare.write(filepath.Join(bare.home, "pawl/config.yaml"), "temporal: {address: \""+old.Address+"\", namespace: nobody}\n")
	fails("no namespace", bare, 2, "temporal operator namespace create --namespace nobody", worker...)
}

// TestProjectSettings: the files of a project do not say where its steps go.
func TestProjectSettings(t *testing.T) {
	s := newSite(t)
	s.write(filepath.Join(s.project, ".pawl/config.yaml"), s.server.SettingsFile())
	if out := s.pawl(2, "run", "--", "true"); !strings.Contains(out, `"temporal" counts only in your own settings`) {
		t.Errorf("%s", out)
	}
	if err := os.Remove(filepath.Join(s.project, ".pawl/config.yaml")); err != nil {
		t.Fatal(err)
	}
	s.pawl(0, "run", "--", "true")
}

// TestUnreachableServer: before a run begins, pawl asks whether the server can take its steps. A refusal names the step, and leaves no run.
func TestUnreachableServer(t *testing.T) {
	s := newSite(t)
	s.write(filepath.Join(s.project, "plan.yaml"), "name: demo\nsteps:\n  - id: train\n    on: {queue: gpu}\n    run: 'true'\n")
	s.write(filepath.Join(s.home, "pawl/config.yaml"), "temporal: {address: \"127.0.0.1:1\"}\n")
	if out := s.pawl(2, "run", "plan.yaml"); !strings.Contains(out, "plan.yaml:4:5: step train on queue gpu needs its server: the Temporal server at 127.0.0.1:1: ") {
		t.Errorf("no server: %s", out)
	}
	s.write(filepath.Join(s.home, "pawl/config.yaml"), "temporal: {address: \""+s.server.Settings.Address+"\", namespace: nobody}\n")
	if out := s.pawl(2, "run", "plan.yaml"); !strings.Contains(out, "hint: temporal operator namespace create --namespace nobody") {
		t.Errorf("no namespace: %s", out)
	}
	s.pawl(7, "status")
}
