package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"pawl"
)

// actVar makes the test binary another process that works on snapshots: "<root> <deed>…", see actor.do.
const actVar = "PAWL_TEST_ACT"

func TestMain(m *testing.M) {
	for name, value := range map[string]string{ // far from the settings of whoever runs the tests
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "XDG_CONFIG_HOME": os.DevNull,
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if os.Getenv(actVar) != "" {
		os.Exit(act(strings.Fields(os.Getenv(actVar))))
	}
	goleak.VerifyTestMain(m)
}

// act does its deeds in order, says a line of each on standard output, and stops at the first that fails.
func act(words []string) int {
	ctx := context.Background()
	store, err := Open(ctx, Config{Root: words[0], Dir: filepath.Join(words[0], ".pawl", "snapshots")})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	for i, deed := range words[1:] {
		if err := (actor{store}).do(ctx, deed, i); err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
	if err := store.Close(); err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

type actor struct{ *Store }

// do takes a snapshot at the word "take", else restores the newest one for a checkpoint of that name.
func (a actor) do(ctx context.Context, deed string, i int) error {
	stamp := Stamp{Checkpoint: pawl.CheckpointID(fmt.Sprintf("%04x%04x", os.Getpid()&0xffff, i)), Kind: pawl.CheckpointStep, Run: "run"}
	if deed == "take" {
		r, err := a.Take(ctx, stamp)
		fmt.Println("took", r.ID)
		return err
	}
	records, err := a.Records()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(records, func(r Record) bool { return string(r.Checkpoint) == deed })
	if at < 0 {
		return fmt.Errorf("no checkpoint %s", deed)
	}
	restoration, err := a.Prepare(ctx, records[at], nil)
	if err != nil {
		return err
	}
	stamp.Kind = pawl.CheckpointBeforeRestore
	before, err := restoration.Save(ctx, stamp)
	if err == nil {
		fmt.Println("saved", before.ID)
		err = restoration.Apply(ctx)
	}
	return errors.Join(err, restoration.Close())
}

// actor is another process that does the deeds in the workspace.
func (w *workspace) actor(env []string, deeds ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), actVar+"="+w.root+" "+strings.Join(deeds, " ")), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// said is how an actor ended.
type said struct {
	ids    []string // of the snapshots that it took
	err    string
	killed bool
}

func (w *workspace) run(cmd *exec.Cmd) said {
	w.t.Helper()
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	s := said{}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		s.killed = exit.Sys().(syscall.WaitStatus).Signaled()
	} else if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "took", "saved":
			s.ids = append(s.ids, rest)
		case "error":
			s.err = rest
		}
	}
	return s
}
