package brief_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/brief"
)

// sound returns which promise a brief breaks, empty if none.
func sound(b brief.Brief, limit int) string {
	switch {
	case len(b.Text) > limit:
		return "longer than its budget"
	case !utf8.ValidString(b.Text):
		return "invalid UTF-8"
	case strings.ContainsFunc(b.Text, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }):
		return "a control character"
	case !strings.Contains(b.Text, "## 1. Where we are\n"), !strings.Contains(b.Text, "- now: "):
		return "does not begin with the status"
	case b.For != brief.Human && !strings.HasSuffix(b.Text, "end of brief\n"):
		return "has no last line"
	case b.Cut != strings.Contains(b.Text, "- cut: this brief was shortened"):
		return "Cut does not match the text"
	case strings.Contains(b.Text, "</"):
		return "could close the element around it"
	}
	for line := range strings.SplitSeq(b.Text, "\n") {
		if b.For == brief.Kernel && line != "" && !strings.HasPrefix(line, "#") {
			return "not a comment: " + line
		}
		line = strings.TrimPrefix(line, "# ")
		if strings.HasPrefix(line, "- ") && !labeled.MatchString(line) {
			return "has no label: " + line
		}
	}
	return ""
}

// labeled matches the label that each line begins with, so that it is true without the lines around it.
var labeled = regexp.MustCompile(`^- (now|begin|goal|position|last event|last checkpoint|git|so far|wrong|warning|in doubt|not started|` +
	`ended meanwhile|still running|interrupted|blocked|failed|not checked|next|failed step|unfinished step|then step|your step|rejected|` +
	`item|compared with|added|changed|removed|mode|type|gate|review|blocker \d+|decided|answered|learned \([^)]*\)|skipped|done|` +
	`done, awaiting review|marked done by its agent, not checked|artifact|not shown|cut|more|files): `)

// FuzzBudget makes briefs with any budget and unusual text for each audience.
func FuzzBudget(f *testing.F) {
	for _, budget := range []int{-1, 0, 1, brief.MinBudget, 2001, 2500, 9000, 1 << 30} {
		f.Add(budget, 7, "words of somebody", uint8(0))
	}
	f.Add(3000, 900, "a\xff\xfe\n## 1. A heading\x1b[31m </hook_context> \"`\u202e→", uint8(5))
	f.Fuzz(func(t *testing.T, budget, n int, text string, who uint8) {
		audience := brief.Audiences[int(who)%len(brief.Audiences)]
		text = text[:min(len(text), 400)] // it is repeated n times
		b := brief.Make(crowded(t, n%20, text), brief.Options{For: audience, Budget: budget})
		if why := sound(b, b.Budget); why != "" {
			t.Fatalf("%s, %d: %s\n%s", audience, budget, why, b.Text)
		}
		if budget > 0 && b.Budget > max(budget, brief.MinBudget) {
			t.Fatalf("asked for %d, took %d", budget, b.Budget)
		}
	})
}

// crowded is a run with n of everything, with this text.
func crowded(t failer, n int, text string) brief.Facts {
	n = max(n, -n)
	s := working.then(pawl.RunPaused{Why: text})
	for range min(n, 50) {
		s = s.then(
			pawl.DecisionMade{Decision: pawl.Decision{Question: text, Choice: text, Why: text, By: text}},
			pawl.BlockerOpened{Blocker: pawl.Blocker{Text: text, Needs: text}},
		)
	}
	s = s.then(gate(pawl.Gate{Step: "title", Type: pawl.HumanVerify, Ask: text, Expect: text, Options: []string{text}}))
	f := brief.Facts{Now: began.Add(48 * time.Hour), State: fold(t, s...), Plan: plan(t), Git: text}
	f.State.Goal = text
	f.Since = &brief.Since{Checkpoint: *f.State.LastGood, Files: 2 * n}
	f.Proofs = map[pawl.StepID]brief.Proof{"list": {}}
	f.Left = map[pawl.StepID]brief.Left{"convert": {Count: n + 1, First: []string{text}}}
	proof := brief.Proof{}
	doubtful := itemRef("convert", "io", 1)
	doubtful.Item = pawl.ItemID(text)
	for range n {
		f.Findings = append(f.Findings, pawl.Finding{Level: pawl.Warn, What: text, Where: text, Evidence: text, Hint: text})
		f.Doubts = append(f.Doubts, brief.Doubt{AttemptRef: doubtful, Found: brief.Lost, Evidence: []string{text, text},
			Verdict: &pawl.Verdict{Word: pawl.VerdictWord(text), Reasons: []string{text}}, Folder: text})
		f.Since.Changes = append(f.Since.Changes, brief.Change{Path: text, What: "added"})
		f.Memories = append(f.Memories, brief.Memory{Memory: pawl.Memory{Kind: pawl.Pattern, Text: text}})
		f.Unchecked = append(f.Unchecked, text)
		proof.Differ, proof.Paths = append(proof.Differ, text), append(proof.Paths, brief.Path{Name: text, Is: brief.Gone})
	}
	f.Proofs["list"] = proof
	return f
}

func TestAnyBriefIsSound(t *testing.T) {
	t.Parallel()
	known := situations()
	rapid.Check(t, func(t *rapid.T) {
		audience := rapid.SampledFrom(brief.Audiences).Draw(t, "for")
		budget := rapid.IntRange(-1, 20_000).Draw(t, "budget")
		var f brief.Facts
		if name := rapid.SampledFrom([]string{"interrupted", "gate", "session", "nothing", "failed", "crowded"}).Draw(t, "situation"); name == "crowded" {
			f = crowded(t, rapid.IntRange(0, 200).Draw(t, "n"), rapid.String().Draw(t, "text"))
		} else {
			f = known[name].facts(t)
		}
		b := brief.Make(f, brief.Options{For: audience, Budget: budget})
		if why := sound(b, b.Budget); why != "" {
			t.Fatalf("%s\n%s", why, b.Text)
		}
	})
}

// TestMoreRoomTellsMore checks that a larger budget never shows less.
func TestMoreRoomTellsMore(t *testing.T) {
	t.Parallel()
	f := crowded(t, 40, "some words that take room")
	before := 0
	for budget := brief.MinBudget; budget < 60_000; budget += 500 {
		lines := strings.Count(brief.Make(f, brief.Options{For: brief.Human, Budget: budget}).Text, "\n- ")
		if lines < before-2 { // a heading and its rest may come for a line
			t.Fatalf("%d bytes: %d lines, and %d with fewer bytes", budget, lines, before)
		}
		before = max(before, lines)
	}
}

// TestBudgetIsExact checks that a brief is cut only if it is longer than its budget.
func TestBudgetIsExact(t *testing.T) {
	t.Parallel()
	for _, audience := range brief.Audiences {
		f := situations()["interrupted"].facts(t)
		make := func(budget int) brief.Brief { return brief.Make(f, brief.Options{For: audience, Budget: budget}) }
		whole := make(1 << 20)
		if whole.Cut {
			t.Fatalf("%s: cut at any budget", audience)
		}
		if b := make(len(whole.Text)); b.Cut || b.Text != whole.Text {
			t.Errorf("%s: cut, although %d bytes suffice", audience, len(whole.Text))
		}
	}
}

// TestManyFinishedSteps checks that the steps that a brief does not list are counted, and that what it lists is short.
func TestManyFinishedSteps(t *testing.T) {
	t.Parallel()
	const steps = 1000
	p := &pawl.Plan{Phases: []pawl.Phase{{}}}
	s := fold(t, working...)
	for i := range steps {
		id := pawl.StepID(fmt.Sprintf("step-%d", i))
		p.Phases[0].Steps = append(p.Phases[0].Steps, pawl.Step{ID: id})
		s.Steps[id] = &pawl.StepState{Status: pawl.Done, Summary: strings.Repeat("long ", 500), Ended: began.Add(time.Duration(i) * time.Second)}
	}
	b := brief.Make(brief.Facts{Now: began.Add(time.Hour), State: s, Plan: p}, brief.Options{For: brief.Claude, Budget: 20_000})
	last := b.Sections[len(b.Sections)-1]
	if len(last.Lines)+last.More < steps || len(last.Lines) == 0 || !strings.Contains(last.Lines[0], "step-999") {
		t.Errorf("%s: %d lines and %d more of %d steps", last.Title, len(last.Lines), last.More, steps)
	}
	for _, line := range last.Lines {
		if len(line) > 600 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
}
