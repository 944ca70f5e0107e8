package saver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/kernel/saver"
	"pawl/internal/kernel/variablestest"
)

func open(t *testing.T, dir string) *saver.Saver {
	t.Helper()
	s, err := saver.New(saver.Config{Dir: dir, Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func acceptAll(runner.Checkpoint) error { return nil }

// evaluator executes code in a kernel that has no set-up cell.
func evaluator(k *variablestest.Kernel) runner.Evaluator {
	info := kernel.Info{Language: "python", Interpreter: kernel.Interpreter{Path: variablestest.Python()}}
	return runner.Evaluator{Info: info, Run: func(_ context.Context, code string) ([]kernel.Message, error) {
		messages, _, failure := k.Try(code)
		if failure != "" {
			return nil, errors.New(failure)
		}
		return messages, nil
	}}
}

// A checkpoint that a crash left unverified is verified before it is loaded, and names what it lost.
func TestSaver(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".pawl", "variables")
	k, fresh := variablestest.StartBare(t), variablestest.StartBare(t)
	first := open(t, dir)
	var last string
	for _, cell := range []string{"x = 1", "import socket; sock = socket.socket()", "x = [2, 3]"} {
		k.Run(cell)
		id, note, err := first.Save(t.Context(), evaluator(k), runner.Key(cell))
		if err != nil {
			t.Fatal(err)
		}
		if named := strings.Contains(note, "not saved: sock (cannot pickle 'socket' object)"); named != (cell != "x = 1") {
			t.Errorf("%s: note %q", cell, note)
		}
		last = id
	}
	first.Close()
	again := open(t, dir)
	list, notes := again.Checkpoints()
	if len(notes) > 0 || len(list) == 0 || list[0].ID != last {
		t.Fatalf("%+v, %q", list, notes)
	}
	refusal := errors.New("no")
	if _, err := again.Load(t.Context(), evaluator(fresh), last, false, func(runner.Checkpoint) error { return refusal }); !errors.Is(err, refusal) {
		t.Errorf("refused: %v", err)
	}
	warnings, err := again.Load(t.Context(), evaluator(fresh), last, false, func(c runner.Checkpoint) error {
		if c.ID != last || c.At != "x = [2, 3]" || len(c.Lost) != 1 || c.Lost[0] != "sock" {
			t.Errorf("newest: %+v", c)
		}
		return nil
	})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("load: %q, %v", warnings, err)
	}
	found, err := again.List(t.Context(), evaluator(fresh))
	if err != nil || len(found) != 2 || found[0].Name != "x" || found[0].Shape != "2" || found[0].Type != "list" || !found[0].Saved || !found[1].Saved {
		t.Errorf("listed: %+v, %v", found, err)
	}
	if got := fresh.Print("print(x, socket.__name__)"); got != "[2, 3] socket" {
		t.Errorf("loaded: %s", got)
	}
}

// TestQuota: a checkpoint that the quota has no room for is deleted, and the note of the next one names it. The newest stays.
func TestQuota(t *testing.T) {
	t.Parallel()
	k := variablestest.StartBare(t)
	s, err := saver.New(saver.Config{Dir: filepath.Join(t.TempDir(), ".pawl", "variables"), Environ: os.Environ(), Quota: func() int64 { return -5 }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	save := func(code string) (id, note string) {
		k.Run(code)
		id, note, err := s.Save(t.Context(), evaluator(k), runner.Key(code))
		if err != nil {
			t.Fatal(err)
		}
		return id, note
	}
	first, _ := save("x = list(range(100_000))")
	second, note := save("x = list(range(200_000))")
	limit := time.Now().Add(time.Minute)
	for ids := []string{}; len(ids) != 1 || ids[0] != second; {
		list, _ := s.Checkpoints()
		ids = ids[:0]
		for _, c := range list {
			ids = append(ids, c.ID)
		}
		if time.Now().After(limit) {
			t.Fatal("the first checkpoint stays")
		}
	}
	if note != "" {
		t.Errorf("note before the first is deleted: %q", note)
	}
	if _, note = save("x = 1"); note != "deleted from the saved variables, over the quota of snapshots: checkpoint "+first {
		t.Errorf("note %q", note)
	}
	if _, note = save("x = 2"); strings.Contains(note, first) {
		t.Errorf("named again: %q", note)
	}
}

// If the process that verifies checkpoints is killed, another one verifies them. A kill says nothing about a checkpoint.
func TestVerifierKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k, s := variablestest.StartBare(t), open(t, filepath.Join(dir, ".pawl", "variables"))
	for _, kills := range []int{1, 2} {
		k.Run(fmt.Sprint("x = ", kills))
		python := filepath.Join(dir, fmt.Sprint("python", kills))
		script := fmt.Sprintf("#!/bin/sh\necho >> %[1]s.starts\n[ $(wc -l < %[1]s.starts) -gt %[2]d ] || kill -KILL $$\nexec %[3]s \"$@\"\n", python, kills, variablestest.Python())
		if err := os.WriteFile(python, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		in := evaluator(k)
		in.Info.Interpreter.Path = python // the background verifies with it, too
		id, _, err := s.Save(t.Context(), in, "x")
		if err != nil {
			t.Fatal(err)
		}
		in = evaluator(variablestest.StartBare(t))
		in.Info.Interpreter.Path = python
		for range 2 { // the first may be killed
			_, err = s.Load(t.Context(), in, id, false, acceptAll)
		}
		if err != nil {
			t.Errorf("killed %d times: %v", kills, err)
		}
	}
}
