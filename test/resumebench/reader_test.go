package main

import (
	"slices"
	"strings"
	"testing"
)

// TestReader says how the reader understands texts, whoever wrote them. To dispute a score, add a case.
func TestReader(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []class // of each place that names heron
	}{
		"words before the mark":            {"in doubt: `make heron`, started at noon", []class{saysDoubt}},
		"words behind the mark":            {"`make heron` was interrupted", []class{saysDoubt}},
		"nothing is said":                  {"The heron is a bird", []class{""}},
		"case does not matter":             {"NEXT: build Heron", []class{saysNext}},
		"a heading":                        {"## What to do next\n- heron", []class{saysNext}},
		"a heading ends at the next":       {"## To do\n- ibis\n\n## Files\n- heron", []class{""}},
		"own words beat the heading":       {"## To do\n- heron: done", []class{saysDone}},
		"a line with a colon is a heading": {"Still to do:\n- heron", []class{saysNext}},
		"it ends at an empty line":         {"Still to do:\n- ibis\n\n- heron", []class{""}},
		"indented lines continue":          {"call Bash `heron`\n  no result", []class{saysDoubt}},
		"a clause is by itself":            {"3 finished calls; in doubt: heron", []class{saysDoubt}},
		"the clause decides":               {"in doubt: ibis; finished: heron", []class{saysDone}},
		"a sentence is a clause":           {"I finished ibis. Next: heron.", []class{saysNext}},
		"parentheses hold a clause":        {`next: go on with ibis (the first prompt was: "heron")`, []class{saysQuote}},
		"the label beats other clauses":    {"in doubt: a call; heron; the build failed", []class{saysDoubt}},
		"quoted words count for nothing":   {"ran `echo in doubt heron`", []class{""}},
		"nor do words in a prompt":         {`last prompt: "continue with heron"`, []class{saysQuote}},
		"a prompt to continue with":        {`next: continue with the last prompt: "heron"`, []class{saysNext}},
		"doubt first, then next":           {"next: first resolve what is in doubt above, then continue with heron", []class{saysNext}},
		"failed beats finished":            {"1 of 3 finished calls failed: heron", []class{saysFailed}},
		"a refusal":                        {"the user refused `git push heron`", []class{saysRefused}},
		"a rejected call of a client":      {"call Bash `heron`\n  error: The user doesn't want to proceed with this tool use. It was rejected.", []class{saysRefused}},
		"a failed call of a client":        {"call Bash `heron`\n  error: Exit code 4", []class{saysFailed}},
		"exit code 0 is no failure":        {"call Bash `heron`\n  result: Exit code: 0\n  Output: none", []class{saysDone}},
		"a finished call of a client":      {"call Write `heron.md`\n  result: File created successfully", []class{saysDone}},
		"task lists":                       {"- [x] heron\n- [ ] heron", []class{saysDone, saysNext}},
		"a process":                        {"pid 12 of `heron-server` is still running", []class{saysRunning}},
		"whole words only":                 {"the redone heron", []class{""}},
		"several places":                   {"finished: heron\nnext: heron", []class{saysDone, saysNext}},
		"Claude Code's interrupted call": {
			"call Bash `heron`\n  error: [Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown.]", []class{saysDoubt},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []class
			for _, place := range about(c.text, "heron") {
				got = append(got, place.class)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the reader says %q, not %q, of\n%s", got, c.want, c.text)
			}
		})
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]verdict{
		"in doubt: `make` has no outcome; verdict: done":                    verdictDone,
		"in doubt; verdict: not done (none of its effects exists)":          verdictNotDone,
		"in doubt; verdict: partly done (nothing proves that all are done)": verdictPartly,
		"the outcome is unknown. Check whether it took effect":              verdictUnknown,
		"interrupted; it did not run":                                       verdictNotDone,
		"it is unknown to us; verdict: done":                                verdictDone,
		"in doubt: `echo done`":                                             "",
		"no result":                                                         "",
	} {
		if got := verdictIn(text); got != want {
			t.Errorf("%q: verdict %q, not %q", text, got, want)
		}
	}
}

// TestRate counts each kind of point once.
func TestRate(t *testing.T) {
	t.Parallel()
	truth := []fact{
		{Mark: "ibis", State: inDoubt, Verdict: []verdict{verdictPartly}, Running: true}, {Mark: "kestrel", State: finished}, {Mark: "heron", State: refused},
		{Mark: "osprey", State: failed}, {Mark: "pelican", State: open}, {Mark: "puffin", State: elsewhere}, {Mark: "stork", State: never},
	}
	right := rate(strings.Join([]string{
		"in doubt: ibis; verdict: partly done; still running: process 12", "finished: kestrel", "refused: heron", "failed: osprey", "next: pelican", "puffin", "stork",
	}, "\n"), truth)
	if len(right.Wrong) > 0 || right.Invented > 0 || right.Doubts != (share{1, 1}) || right.Verdicts != (share{1, 1}) || right.Running != (share{1, 1}) ||
		right.Open != (share{1, 1}) || right.Failures != (share{1, 1}) || right.Refusals != (share{1, 1}) || right.Again != (share{2, 0}) || right.Lost != (share{4, 0}) {
		t.Errorf("a right text loses points: %+v", right)
	}
	wrong := rate(strings.Join([]string{
		"finished: ibis", "next: kestrel", "in doubt: heron", "next: heron", "finished: osprey", "finished: pelican", "next: puffin", "next: stork",
	}, "\n"), truth)
	if wrong.Invented != 2 || wrong.Doubts != (share{1, 0}) || wrong.Verdicts != (share{1, 0}) || wrong.Running != (share{1, 0}) || wrong.Open != (share{1, 0}) ||
		wrong.Failures != (share{1, 0}) || wrong.Refusals != (share{1, 0}) || wrong.Again != (share{2, 2}) || wrong.Refused != (share{1, 1}) || wrong.Lost != (share{4, 3}) {
		t.Errorf("a wrong text does not lose what it should: %+v", wrong)
	}
}

// TestMarks checks that no mark of a scenario is a word that the reader knows.
func TestMarks(t *testing.T) {
	t.Parallel()
	all, err := readScenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, f := range s.Truth {
			if c := classOf(f.Mark); c != "" {
				t.Errorf("%s: the mark %q says %s", s.Name, f.Mark, c)
			}
		}
	}
}

// TestMatchers checks which tools a hook is run for.
func TestMatchers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		matcher, tool string
		want          bool
	}{
		{"", "Bash", true}, {"*", "Bash", true}, {"Bash|Edit", "Edit", true}, {"Bash|Edit", "EditX", false},
		{"^(?!(Read|Grep)$)", "Bash", true}, {"^(?!(Read|Grep)$)", "Grep", false}, {"^(?!(Read|Grep)$)", "Grepper", true},
	} {
		if matches(c.matcher, c.tool) != c.want {
			t.Errorf("%q for %s: not %t", c.matcher, c.tool, c.want)
		}
	}
}
