package temporal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/config"
)

func TestDoes(t *testing.T) {
	t.Parallel()
	some := Executor{config.Temporal{Address: "127.0.0.1:7233", Queues: []string{"gpu"}}}
	for queue, want := range map[string]bool{"gpu": true, "cpu": false, "local": false, "": false} {
		if got := some.Does(&pawl.Step{ID: "s", Run: "true", On: pawl.On{Queue: queue}}); got != want {
			t.Errorf("queue %q: %v", queue, got)
		}
	}
	if (Executor{}).Does(&pawl.Step{ID: "s", Run: "true", On: pawl.On{Queue: "gpu"}}) {
		t.Error("does a step without a server")
	}
}

// TestFind: the program next to pawl comes before one in PATH, and one in the working directory never counts.
func TestFind(t *testing.T) {
	beside, path, here := t.TempDir(), t.TempDir(), t.TempDir()
	t.Chdir(here)
	t.Setenv("PATH", path+string(os.PathListSeparator)+".")
	place := func(folder string) string {
		file := filepath.Join(folder, Program)
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return file
	}
	place(here)
	if got, err := find(beside); err == nil {
		t.Errorf("found %s", got)
	}
	if _, err := (Executor{}).Command(&pawl.Step{On: pawl.On{Queue: "gpu"}}); err == nil || !strings.Contains(err.Error(), "queue gpu") {
		t.Errorf("command: %v", err)
	}
	for _, folder := range []string{path, beside} {
		want := place(folder)
		if got, err := find(beside); err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
