//go:build linux

package hostile

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"pawl/test/stories/storytest"
)

// TestServed has a server look at a trusted project after a pull, and at a project that the user has never trusted. It resumes only runs
// of the user's.
func TestServed(t *testing.T) {
	t.Parallel()
	for _, pull := range pulls {
		t.Run(pull.name, func(t *testing.T) {
			t.Parallel()
			w := newOwn(t)
			pull.make(w)
			w.unharmed(false, func() { w.served() })
		})
	}
	t.Run("untrusted", func(t *testing.T) {
		t.Parallel()
		w := newHostile(t)
		w.succeed("serve", "token", "create", "client") // the state folder then has all that a server keeps there
		w.unharmed(true, func() { w.served() })
	})
}

// served runs a server until it has looked at all projects.
func (w *world) served() {
	w.Helper()
	w.write(w.path("token"), strings.Repeat("x", 32))
	cmd := exec.Command(storytest.Pawl(w.T), "serve", "--token-file", w.path("token"))
	cmd.Dir, cmd.Env = w.root, w.env
	said, err := cmd.StderrPipe()
	w.must(err)
	w.must(cmd.Start())
	var text strings.Builder
	for buffer := make([]byte, 4096); !strings.Contains(text.String(), "recovery complete"); {
		n, err := said.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			w.Errorf("the server ended: %v", err)
			break
		}
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
		w.Error(err)
	}
	w.clean(result{"pawl serve", 0, "", text.String()})
}
