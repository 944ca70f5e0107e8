package resume

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/kernel"
	"pawl/internal/kernel/runner"
	"pawl/internal/notebook"
)

// TestRerunCells: the text names the cells that run, and why finished ones run again.
func TestRerunCells(t *testing.T) {
	t.Parallel()
	const seed = "seed"
	for _, c := range []struct {
		name            string
		executed, cells []string
		saved           int // cells whose variables are saved
		seed            string
		all             bool
		want            string
	}{
		{"nothing has run", nil, []string{"a", "b"}, 0, seed, false, ""},
		{"unchanged", []string{"a", "b"}, []string{"a", "b", "c"}, 2, seed, false, "cell 3 of 3 runs"},
		{"all finished", []string{"a", "b"}, []string{"a", "b"}, 2, seed, false, ""},
		{"edited", []string{"a", "b", "c"}, []string{"a", "B", "c", "d"}, 3, seed, false, "cells 2–4 of 4 run again: cell 2 was edited"},
		{"the last was edited", []string{"a", "b"}, []string{"a", "B"}, 2, seed, false, "cell 2 of 2 runs again: cell 2 was edited"},
		{"inserted", []string{"a", "b"}, []string{"a", "x", "b"}, 2, seed, false, "cells 2–3 of 3 run again: cell 2 was inserted"},
		{"removed", []string{"a", "b", "c"}, []string{"a", "c"}, 3, seed, false, "cell 2 of 2 runs again: a cell before cell 2 was removed"},
		{"the last was removed", []string{"a", "b"}, []string{"a"}, 2, seed, false, ""},
		{"moved", []string{"a", "b", "c"}, []string{"a", "c", "b"}, 3, seed, false, "cells 2–3 of 3 run again: cell 2 was moved"},
		{"an input changed", []string{"a", "b"}, []string{"a", "b", "c"}, 2, "other", false, "cells 1–3 of 3 run again: the kernel, the inputs, the environment or an earlier step changed"},
		{"not saved", []string{"a", "b"}, []string{"a", "b", "c"}, 1, seed, false, "cells 2–3 of 3 run again: the kernel is gone, and its variables were not saved"},
		{"a person asked for all", []string{"a", "b"}, []string{"a", "b"}, 2, seed, true, "cells 1–2 of 2 run again"},
	} {
		dir := t.TempDir()
		writeLog(t, dir, seed, c.executed, c.saved)
		x, ok, err := runner.ReadExecuted(dir, nil, "s")
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		var l cellList
		for i, source := range c.cells {
			l.cells, l.numbers = append(l.cells, notebook.Cell{Type: notebook.Code, Source: source}), append(l.numbers, i+1)
		}
		l.total = len(c.cells)
		if got := l.rerun(x, c.seed, c.all); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// writeLog writes the log of a session that executed cells of the step s.
func writeLog(t *testing.T, dir, seed string, sources []string, saved int) {
	t.Helper()
	var text []byte
	write := func(r runner.Record) {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	full, after := seed+":token", runner.Root
	key := string(runner.Root) + "\x00" + full
	for i, source := range sources {
		key = notebook.Key(key, source)
		id := kernel.CellID(key[:8])
		end := runner.End{Cell: id, Key: runner.Key(key), Ending: kernel.Ending{Status: kernel.OK}}
		if i < saved {
			end.Saved = "checkpoint"
		}
		write(runner.Record{Begin: &runner.Begin{Cell: id, Key: runner.Key(key), After: after, Step: pawl.StepID("s"), Seed: full, Code: source}})
		write(runner.Record{End: &end})
		after = runner.Key(key)
	}
	if err := os.WriteFile(filepath.Join(dir, runner.LogFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
