package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// The judge of the campaign has to see what must not be: each story here is one that it must call wrong, or must not.
func TestJudge(t *testing.T) {
	const key, other = "k", "k2"
	begin := func(work, token, key string) line { return line{work: work, token: token, key: key} }
	end := func(work, token, key string) line { return line{ended: true, work: work, token: token, key: key} }
	for name, c := range map[string]struct {
		lines []line
		mark  int // of them were there before the damage
		stops []stop
		edit  func(c *trial, after *history)
		wrong string // empty: nothing is
	}{
		"finished once": {lines: []line{begin("list", "a", key), end("list", "a", key)}, mark: 2},
		"finished work again": {
			lines: []line{begin("list", "a", key), end("list", "a", key), begin("list", "b", key)}, mark: 2, wrong: "with the same key",
		},
		"and somebody said so": {
			lines: []line{begin("list", "a", key), end("list", "a", key), begin("list", "b", key)}, mark: 2,
			stops: []stop{{kind: "repeat", work: "list"}},
		},
		"with another key, unasked": {
			lines: []line{begin("list", "a", key), end("list", "a", key), begin("list", "b", other)}, mark: 2, wrong: "nobody was asked",
		},
		"with another key, agreed": {
			lines: []line{begin("list", "a", key), end("list", "a", key), begin("list", "b", other)}, mark: 2, stops: []stop{{kind: "rerun"}},
		},
		"unfinished work again": {lines: []line{begin("list", "x", key), begin("list", "b", key)}, mark: 1},
		"what must not be repeated": {
			lines: []line{begin("once", "x", key), begin("once", "y", key)}, mark: 1, wrong: "is not idempotent",
		},
		"what must not be repeated, with another key": {
			lines: []line{begin("once", "x", key), begin("once", "y", other)}, mark: 1, stops: []stop{{kind: "rerun"}}, wrong: "is not idempotent",
		},
		"what must not be repeated, approved": {
			lines: []line{begin("once", "x", key), begin("once", "y", key)}, mark: 1, stops: []stop{{kind: "repeat", work: "once"}},
		},
		"called done without an end": {
			lines: []line{begin("plain", "p", key)}, mark: 1,
			edit: func(_ *trial, after *history) { after.done["plain"] = done{token: "p"} }, wrong: "called done, and never ended",
		},
		"completed without all": {
			lines: []line{begin("list", "a", key), end("list", "a", key)}, mark: 2,
			edit: func(c *trial, _ *history) { c.ended = true }, wrong: "plain never ended",
		},
	} {
		t.Run(name, func(t *testing.T) {
			trial := &trial{story: &story{dir: t.TempDir()}, mark: c.mark, stops: c.stops, before: newHistory()}
			trial.before.ever["a"], trial.before.started["a"] = true, "list"
			after := newHistory()
			if c.edit != nil {
				c.edit(trial, after)
			}
			trial.redone(c.lines, after)
			trial.repeated(c.lines, after)
			trial.unfinished(c.lines, after)
			if said := strings.Join(trial.wrongs, "\n"); c.wrong == "" && said != "" || !strings.Contains(said, c.wrong) {
				t.Errorf("%q, want %q", said, c.wrong)
			}
		})
	}
}

// A file of the person's that is gone, changed, or lacks a line of MEMORY.md is seen.
func TestJudgeOfFiles(t *testing.T) {
	for name, c := range map[string]struct {
		path, now string
		wrong     bool
	}{
		"unchanged": {"notes.txt", "mine", false}, "changed": {"notes.txt", "other", true},
		"learned": {".pawl/MEMORY.md", "one\ntwo\n", false}, "forgotten": {".pawl/MEMORY.md", "two\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			trial := &trial{story: &story{dir: t.TempDir(), folder: "project"}}
			if err := os.MkdirAll(trial.project(pawlFolder), 0o700); err != nil {
				t.Fatal(err)
			}
			write := func(path, text string) {
				if err := os.WriteFile(trial.project(path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("notes.txt", "mine")
			write(".pawl/MEMORY.md", "one\n")
			var err error
			if trial.atLast, err = trial.users(); err != nil {
				t.Fatal(err)
			}
			write(c.path, c.now)
			if err := trial.lostFiles(); err != nil || len(trial.wrongs) > 0 != c.wrong {
				t.Errorf("%v, %v", trial.wrongs, err)
			}
		})
	}
}

// A question is right only where the ledger cannot tell either, or the records that could were damaged.
func TestNeedlessQuestions(t *testing.T) {
	began, ended := line{work: "once", token: "a"}, line{ended: true, work: "once", token: "a"}
	records := damage{kind: "deleted exit.json", hit: []string{filepath.Join("runs", "r", "steps", "once", "1", "exit.json")}}
	for name, c := range map[string]struct {
		lines   []line
		damages []damage
		needed  bool
	}{
		"half done": {[]line{began}, nil, true}, "done": {[]line{began, ended}, nil, false}, "never begun": {nil, nil, false},
		"done, and its record is gone":         {[]line{began, ended}, []damage{records}, true},
		"done, and something else was damaged": {[]line{began, ended}, []damage{{kind: "flipped stat"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			trial := &trial{story: &story{}, damages: c.damages, before: newHistory()}
			trial.before.run, trial.before.started["a"] = pawl.RunID("r"), "once"
			if why := trial.pointless(stop{kind: "repeat", work: "once"}, c.lines); (why == "") != c.needed {
				t.Errorf("%q", why)
			}
		})
	}
	if trial := (&trial{story: &story{}, before: newHistory()}); trial.pointless(stop{kind: "recover"}, nil) == "" {
		t.Error("nothing is damaged, and to recover is not needless")
	}
	if !slices.Contains(unrepeatable, "once") {
		t.Error("once may be repeated")
	}
}
