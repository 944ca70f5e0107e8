package command_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/command"
)

func sh(dir, script string) command.Command {
	return command.Command{Args: []string{"/bin/sh", "-c", script}, Dir: dir, Environ: os.Environ(), Input: []byte("in"), MaxOutput: 1000, MaxError: 50}
}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := command.Run(t.Context(), sh(dir, "cat; pwd > here; echo noise >&2")); err != nil || out != "in" {
		t.Errorf("%q, %v", out, err)
	}
	if here, err := os.ReadFile(filepath.Join(dir, "here")); err != nil || !strings.Contains(string(here), filepath.Base(dir)) {
		t.Errorf("it ran in %q, %v", here, err)
	}
	for script, want := range map[string]string{
		"echo no quota >&2; exit 3":      "the command failed: exit status 3: no quota",
		"printf '\\033[1mx' >&2; exit 1": "the command failed: exit status 1: [1mx",
		"kill -9 $$":                     "signal: killed",
		"head -c 2000 /dev/zero":         "the command printed more than 1000 bytes",
	} {
		if _, err := command.Run(t.Context(), sh(dir, script)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
	if _, err := command.Run(t.Context(), command.Command{Args: []string{filepath.Join(dir, "missing")}}); err == nil || !strings.Contains(err.Error(), "start the command") {
		t.Errorf("a missing program: %v", err)
	}
}

// TestNothingIsLeft ends the context of a command while it and a child run. A pipe that they hold open shows when both are gone.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "alive")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	alive, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := command.Run(ctx, sh(dir, "exec 9>alive; trap '' TERM INT HUP; echo x >&9; sleep 1000 & sleep 1000")); err != context.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	if err := alive.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(alive); err != nil {
		t.Errorf("something is left: %q, %v", data, err)
	}
}
