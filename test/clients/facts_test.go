package main

import (
	"slices"
	"strings"
	"testing"
)

const toldOfEverything = "# Brief of run `session-1`\n" +
	"\n## 2. What is in doubt or failed, and the evidence\n" +
	"- in doubt: `Bash` `echo $$ > pid; echo one > step1.txt; until test -e go; do sleep 0.1; done` in `db`, started by `codex:1` 2026-01-23 14:02:11 UTC; verdict: partly done; still running: process 4711; `db/step1.txt` changed\n" +
	"- still running: process 4712: `while ! test -e stop; do sleep 0.1; done`\n" +
	"- denied: `git push origin main`\n" +
	"\n## 3. What to do next, and how to know that it is done\n" +
	"- next: first resolve what is in doubt\n" +
	"\n## 4. What is finished\n" +
	"- done: notes.md, sub.md; failed with exit code 4: `sh -c \"echo tried > tried.txt; exit 4\"`\n"

func everything() facts {
	is := facts{truth: theTruth, folder: "db", bg: process{pid: 4712, before: true, after: true}}
	is.command = "echo $$ > pid; echo one > step1.txt; until test -e go; do sleep 0.1; done"
	return is
}

func red(list []check) (names []string) {
	for _, c := range list {
		if c.err != nil {
			names = append(names, c.name)
		}
	}
	return names
}

func TestEachCheckCanFail(t *testing.T) {
	t.Parallel()
	if got := red((brief{toldOfEverything}).facts(everything())); got != nil {
		t.Errorf("a true brief: %v", got)
	}
	for name, lie := range map[string][2]string{
		"doubt":      {"partly", "not done"},
		"whole":      {"; do sleep 0.1; done` in", "…` in"},
		"denial":     {"; still", "; no denial was recorded; still"},
		"folder":     {" in `db`", ""},
		"refused":    {"denied: ", "in doubt, no decision known: "},
		"background": {"process 4712", "a process"},
		"sub-agent":  {", sub.md", ""},
		"failure":    {"failed with exit code 4: ", ""},
		"finished":   {"- next:", "- next: write notes.md,"},
		"own prompt": {"- next:", "- next: " + goOn},
	} {
		told := brief{strings.Replace(toldOfEverything, lie[0], lie[1], 1)}
		if got := red(told.facts(everything())); !slices.Equal(got, []string{name}) {
			t.Errorf("%s: the checks that failed are %v", name, got)
		}
	}
}

func TestRefusedIsNotNext(t *testing.T) {
	t.Parallel()
	told := brief{strings.Replace(toldOfEverything, "resolve", "`"+pushing+"`, which was refused, then resolve", 1)}
	if told.refused(pushing, true) == nil {
		t.Error("what was refused is next: nobody noticed")
	}
}

func TestWhatNobodyCanKnowIsUnknown(t *testing.T) {
	t.Parallel()
	for line, wrong := range map[string]bool{"verdict: unknown": false, "verdict: partly done": true} {
		told := brief{strings.Replace(toldOfEverything, "denied: `"+pushing+"`", "in doubt: `"+pushing+"`; "+line, 1)}
		if err := told.refused(pushing, true); (err != nil) != wrong {
			t.Errorf("%s: %v", line, err)
		}
		if told.refused(pushing, false) == nil {
			t.Errorf("%s, where it can be known: nobody noticed", line)
		}
	}
}

func TestADeadProcessIsNotNamed(t *testing.T) {
	t.Parallel()
	if (brief{toldOfEverything}).background(process{pid: 4712}) == nil {
		t.Error("a dead process is named: nobody noticed")
	}
}
