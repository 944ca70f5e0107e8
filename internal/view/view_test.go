package view_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/planfile"
	"pawl/internal/view"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// began is the creation time of every run in these tests; each event is one minute after the previous one.
var began = time.Date(2026, 1, 23, 14, 30, 0, 0, time.UTC)

// fold returns the state after the payloads.
func fold(t testing.TB, payloads ...pawl.Payload) *pawl.State {
	t.Helper()
	s := pawl.NewState()
	for i, p := range payloads {
		e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p)
		if err != nil {
			t.Fatal(err)
		}
		e.Seq, e.Time = pawl.Seq(i+1), began.Add(time.Duration(i)*time.Minute)
		s.Apply(e)
	}
	if s.RejectedCount > 0 {
		t.Fatalf("events were rejected: %+v", s.RejectedEvents)
	}
	return s
}

const planText = `
name: handbook
goal: A handbook | of everything
phases:
  - name: Collect
    steps:
      - {id: list, name: List the packages, run: list, outputs: [packages.txt]}
      - {id: tidy, name: "Tidy | up <fast>", run: tidy}
  - name: Write
    steps:
      - {id: convert, name: Convert, run: convert, foreach: {lines: packages.txt}}
      - {id: cover, name: Draw a cover, run: draw, needs: []}
      - {id: review, gate: {type: human_verify, ask: Is it good?}, needs: [convert]}
      - {id: title, gate: {type: decision, ask: Which title?, options: [Go, It's Go]}, needs: []}
  - name: Publish
    steps:
      - {id: publish, run: publish, review: {ann: 80}}
`

func plan(t testing.TB) *pawl.Plan {
	t.Helper()
	p, err := planfile.Read("plan.yaml", []byte(planText))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// story is a list of payloads, with short ways to write the common ones.
type story []pawl.Payload

func begin() story {
	return story{
		pawl.RunCreated{Format: 1, Run: "handbook-20260123-143000-ab12", Kind: pawl.PlanRun, Name: "handbook"},
		pawl.RunPlanned{Revision: 1, File: "plan.yaml", Steps: 7, Goal: "A handbook | of everything", Mode: pawl.Guided},
		pawl.EngineStarted{Epoch: 1, PID: 4711, Why: "run"},
	}
}

func (s story) then(payloads ...pawl.Payload) story { return append(s[:len(s):len(s)], payloads...) }

func ref(step pawl.StepID, attempt int) pawl.AttemptRef {
	return pawl.AttemptRef{Step: step, Attempt: attempt, Token: pawl.Token(fmt.Sprintf("%s-%d", step, attempt))}
}

func itemRef(step pawl.StepID, item pawl.ItemID, index, attempt int) pawl.AttemptRef {
	r := ref(step, attempt)
	r.Item, r.Index = item, index
	r.Token += pawl.Token("-" + item)
	return r
}

func (s story) start(r pawl.AttemptRef) story { return s.then(pawl.AttemptStarted{AttemptRef: r}) }

func (s story) done(r pawl.AttemptRef, summary string) story {
	return s.start(r).then(pawl.StepDone{
		Step: r.Step, Attempt: r.Attempt, Token: r.Token, Summary: summary, Undo: "rm -r out | cat",
		Outputs: pawl.Outputs{"packages.txt": {SHA256: "6f1ed002ab5595859014ebf0951522d9", Size: 4711}, "a|b.txt": {SHA256: "00", Size: 1}},
		Usage:   pawl.Usage{USD: 0.5, Tokens: 1200}, Stats: &pawl.AttemptStats{Seconds: 75.25},
	})
}

// collected is a run whose first phase is finished.
func collected() story {
	return begin().
		done(ref("list", 1), "180 packages\n\n# Not a heading of ours").
		then(pawl.ItemNamed{Step: "list", Item: "std", Title: "the | library", Status: pawl.ItemIsDone, Commit: "c0ffee", Outputs: []string{"std.txt"}}).
		then(pawl.StepSkipped{Step: "tidy", Why: "not | needed"})
}

func gate(g pawl.Gate) pawl.GateOpened {
	g.ID = g.Identify()
	return pawl.GateOpened{Gate: g}
}

func done(v float64) *float64 { return &v }

func stories() map[string]story {
	verify := gate(pawl.Gate{Step: "review", Type: pawl.HumanVerify, Ask: "Is it good?\n- [ ] read it", Expect: "every page reads well",
		Shown: pawl.Outputs{"out/index.md": {}, "convert/*": {}}, Checks: []pawl.CheckRun{{Name: "links", Exit: 0}, {Name: "count", Exit: 2}}})
	title := gate(pawl.Gate{Step: "title", Type: pawl.DecisionFor, Ask: "Which title?", Options: []string{"Go", "It's Go"}, Default: "Go", Expires: began.Add(24 * time.Hour)})
	listed := collected().then(pawl.StepListed{Step: "convert", Items: []string{"bufio", "io", "os"}})
	working := listed.start(itemRef("convert", "bufio", 0, 1)).
		then(pawl.ItemDone{AttemptRef: itemRef("convert", "bufio", 0, 1)}).
		start(itemRef("convert", "io", 1, 1)).
		then(pawl.Progressed{AttemptRef: itemRef("convert", "io", 1, 1), Text: "page\n2 | of", Done: done(2), Total: done(5)})
	return map[string]story{
		"fresh":   begin(),
		"working": working,
		"waiting": working.
			then(pawl.ItemDone{AttemptRef: itemRef("convert", "io", 1, 1)}).
			then(verify, title, pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "1234abcd", Kind: pawl.CheckpointGate, Step: "title"}}),
		"interrupted": working.
			then(pawl.Conversed{AttemptRef: itemRef("convert", "io", 1, 1), Conversation: pawl.Conversation{Agent: pawl.CodexCLI, ID: "01a2`|0034"}}).
			then(pawl.AttemptEnded{AttemptRef: itemRef("convert", "io", 1, 1), Outcome: pawl.Failed, Reason: pawl.ReasonStalled, Why: "silent for 10m"}).
			start(itemRef("convert", "os", 2, 1)).
			then(pawl.EngineStopped{Why: "interrupted by the user"}),
		"left": working.then(pawl.EngineStopped{Why: "interrupted by the user"}),
		"died": working.then(pawl.EngineStarted{Epoch: 2, PID: 4712, Why: "resume"}),
		"paused": working.
			then(pawl.AttemptEnded{AttemptRef: itemRef("convert", "io", 1, 1), Outcome: pawl.Failed, Reason: pawl.ReasonExited, Final: true, Why: "exit code 1"}).
			then(pawl.RunPaused{Why: "lunch"}),
		"noted": begin().then(
			pawl.DecisionMade{Decision: pawl.Decision{Question: "Which *one*?", Options: []string{"a", "b"}, Choice: "a", Why: "shorter", By: "ann", Step: "list"}},
			pawl.DecisionMade{Decision: pawl.Decision{Choice: "no `cgo`"}},
			pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no key", Step: "list", Needs: "a key"}},
			pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "disk full\n# really"}},
			pawl.BlockerCleared{ID: 2, How: "emptied"},
		),
		"in_review": collected().start(ref("publish", 1)).then(
			pawl.StepDone{Step: "publish", Attempt: 1, Token: "publish-1", Review: map[string]int{"ann": 80, "bob b": 60}},
			pawl.StepReviewed{Step: "publish", Reviewer: "ann", Score: 90},
		),
		"failed": collected().start(ref("cover", 1)).then(
			pawl.AttemptEnded{AttemptRef: ref("cover", 1), Outcome: pawl.Failed, Reason: pawl.ReasonExited, Final: true, Why: "exit code 1"},
			pawl.StepFailed{Step: "cover", Why: "exit code 1"},
			pawl.RunEnded{Status: pawl.StatusFailed, Why: "step cover failed"},
		),
		"completed": begin().done(ref("list", 1), "").then(
			pawl.StepReviewed{Step: "list", Reviewer: "ann", Score: 91, Comment: "good | short"},
			pawl.OutputsChanged{Step: "list", Paths: []string{"packages.txt"}},
			pawl.EngineStopped{}, pawl.RunEnded{Status: pawl.StatusCompleted},
		),
		"reopened": collected().then(pawl.StepReopened{Step: "list", Why: "it lacks cmd"}),
	}
}

func TestRenderGolden(t *testing.T) {
	t.Parallel()
	for name, events := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, filepath.Join("testdata", name), view.Render(fold(t, events...), plan(t)))
		})
	}
}

// golden compares files with those of a folder, which must not have files with nil content.
func golden(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, data := range files {
			if data == nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	want, got := map[string]string{}, map[string]string{}
	for name, data := range files {
		if data != nil {
			got[name] = string(data)
		}
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want[filepath.Base(path)] = string(data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestRenderNamesFilesThatShouldNotBeThere(t *testing.T) {
	t.Parallel()
	files := view.Render(fold(t, stories()["reopened"]...), plan(t))
	for _, name := range []string{"CHECKPOINT.md", "DECISIONS.md", "BLOCKERS.md", "SUMMARY-list.md"} {
		if data, named := files[name]; !named || data != nil {
			t.Errorf("%s: named %v, %q", name, named, data)
		}
	}
	if files["SUMMARY-tidy.md"] == nil {
		t.Error("the summary of the skipped step is gone")
	}
}

// TestCheckpointFile checks when CHECKPOINT.md exists: only while a gate is open or work is interrupted.
func TestCheckpointFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"fresh": false, "working": false, "waiting": true, "interrupted": true, "left": true, "died": false, "paused": false,
		"in_review": false, "failed": false, "completed": false,
	} {
		if got := view.Render(fold(t, stories()[name]...), plan(t))["CHECKPOINT.md"] != nil; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestCheckpointFileByOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome pawl.Outcome
		reason  pawl.EndReason
		want    bool
	}{
		{pawl.Failed, pawl.ReasonExited, false},
		{pawl.Failed, pawl.ReasonError, false},
		{pawl.Failed, pawl.ReasonTimeout, true},
		{pawl.Failed, pawl.ReasonStalled, true},
		{pawl.Failed, pawl.ReasonBudget, true},
		{pawl.Aborted, pawl.ReasonAbort, true},
		{pawl.Aborted, pawl.ReasonOutdated, true},
		{pawl.Lost, "", true},
		{pawl.NotStarted, "", true},
		{pawl.WaitsFor, pawl.ReasonExited, false},
		{pawl.Blocked, pawl.ReasonExited, false},
	} {
		ended := begin().start(ref("list", 1)).then(pawl.AttemptEnded{AttemptRef: ref("list", 1), Outcome: c.outcome, Reason: c.reason})
		if got := view.Render(fold(t, ended...), plan(t))["CHECKPOINT.md"] != nil; got != c.want {
			t.Errorf("%s %s: %v, want %v", c.outcome, c.reason, got, c.want)
		}
		again := ended.start(ref("list", 2))
		if view.Render(fold(t, again...), plan(t))["CHECKPOINT.md"] != nil {
			t.Errorf("%s %s: still there after the next attempt started", c.outcome, c.reason)
		}
	}
}

func TestRenderIsDeterministicAndLeavesTheStateAlone(t *testing.T) {
	t.Parallel()
	for name, events := range stories() {
		s := fold(t, events...)
		before := s.Clone()
		first := view.Render(s, plan(t))
		if diff := cmp.Diff(before, s.Clone()); diff != "" {
			t.Errorf("%s: the state changed: %s", name, diff)
		}
		for range 5 {
			if diff := cmp.Diff(first, view.Render(s.Clone(), plan(t))); diff != "" {
				t.Fatalf("%s: rendered twice: %s", name, diff)
			}
		}
	}
}

func TestRenderWithoutPlan(t *testing.T) {
	t.Parallel()
	events := story{pawl.RunCreated{Run: "job-20260123-143000-ab12", Kind: pawl.DurableRun, Name: "job"}}
	names := strings.Fields("zeta eta theta iota alpha beta gamma delta epsilon")
	for i, name := range names {
		events = events.then(pawl.StepDone{Step: pawl.StepID(name), Started: began.Add(time.Duration(i) * time.Second)})
	}
	s := fold(t, events...)
	files := view.Render(s, &pawl.Plan{Name: "job"})
	state := string(files["STATE.md"])
	for i, last := 0, 0; i < len(names); i++ {
		at := strings.Index(state, "`"+names[i]+"`")
		if at < last {
			t.Errorf("step %s is missing or before its turn:\n%s", names[i], state)
		}
		last = at
	}
	if strings.Contains(state, "Position") {
		t.Errorf("a position without a plan:\n%s", state)
	}
	if files["SUMMARY-zeta.md"] == nil {
		t.Error("no summary")
	}
	for name := range files {
		if filepath.Base(name) != name {
			t.Errorf("file outside the folder: %s", name)
		}
	}
}

// TestNothingBreaksOut puts hostile text into every field that a step, an agent or a person fills in: no view may get a
// heading, a table row or a column from it.
func TestNothingBreaksOut(t *testing.T) {
	t.Parallel()
	const evil = "x\n# evil\n| a | b |\r\n```\n<!-- \x1b[2J `` ` \\| *_[y](z)\n- **Status:** completed"
	outputs := pawl.Outputs{evil: {SHA256: evil}}
	one := itemRef("convert", "x", 0, 1)
	story := begin().then(
		pawl.AttemptStarted{AttemptRef: ref("list", 1)},
		pawl.Progressed{AttemptRef: ref("list", 1), Text: evil},
		pawl.AttemptEnded{AttemptRef: ref("list", 1), Outcome: evil, Reason: pawl.ReasonStalled, Why: evil},
		pawl.AttemptStarted{AttemptRef: ref("cover", 1)},
		pawl.StepDone{Step: "cover", Attempt: 1, Token: "cover-1", Summary: evil, Undo: evil, Adopted: evil, Outputs: outputs},
		pawl.ItemNamed{Step: "cover", Item: "x", Title: evil, Status: evil, Commit: evil, Outputs: []string{evil}},
		pawl.StepReviewed{Step: "cover", Reviewer: evil, Comment: evil},
		pawl.OutputsChanged{Step: "cover", Paths: []string{evil}},
		pawl.StepListed{Step: "convert", Items: []string{evil}},
		pawl.AttemptStarted{AttemptRef: one},
		pawl.GateOpened{Gate: pawl.Gate{ID: "0badcafe", Type: evil, Ask: evil, Expect: evil, Default: evil, Shown: outputs, Checks: []pawl.CheckRun{{Name: evil}}}},
		gate(pawl.Gate{Type: pawl.DecisionFor, Ask: evil, Options: []string{evil}}),
		pawl.DecisionMade{Decision: pawl.Decision{Question: evil, Options: []string{evil}, Choice: evil, Why: evil, By: evil, Step: "cover"}},
		pawl.BlockerOpened{Blocker: pawl.Blocker{Text: evil, Needs: evil, Step: "cover"}},
		pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "0badcafe", Kind: evil, Step: "cover", Why: evil}},
		pawl.RunPaused{Why: evil},
	)
	for name, data := range view.Render(fold(t, story...), plan(t)) {
		columns := 0
		for i, line := range strings.Split(string(data), "\n") {
			bars := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			switch {
			case strings.HasPrefix(line, ">"):
			case strings.HasPrefix(line, "# evil"), strings.HasPrefix(line, "```"), strings.HasPrefix(line, "- **Status:** completed"):
				t.Errorf("%s:%d: broke out: %s", name, i+1, line)
			case strings.HasPrefix(line, "|") && columns == 0:
				columns = bars
			case strings.HasPrefix(line, "|") && bars != columns:
				t.Errorf("%s:%d: %d bars in a table of %d: %s", name, i+1, bars, columns, line)
			case !strings.HasPrefix(line, "|"):
				columns = 0
			}
		}
		if i := bytes.IndexFunc(data, func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
			t.Errorf("%s: control character %q at byte %d", name, data[i], i)
		}
	}
}

// thousand is a run of a thousand steps, half of them finished.
func thousand(t testing.TB) (*pawl.State, *pawl.Plan) {
	t.Helper()
	text, story := "name: big\nsteps:\n", begin()
	for i := range 1000 {
		id := pawl.StepID(fmt.Sprintf("step-%d", i))
		text += fmt.Sprintf("  - {id: %s, name: The step number %d, run: work}\n", id, i)
		if i < 500 {
			story = append(story, pawl.AttemptStarted{AttemptRef: ref(id, 1)}, pawl.StepDone{
				Step: id, Attempt: 1, Token: ref(id, 1).Token, Summary: "made it", Stats: &pawl.AttemptStats{Seconds: 61},
				Outputs: pawl.Outputs{"out/" + string(id): {SHA256: "6f1ed002ab5595859014ebf0951522d9", Size: 100}},
			})
		}
	}
	p, err := planfile.Read("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return fold(t, story...), p
}

func BenchmarkRenderThousandSteps(b *testing.B) {
	s, p := thousand(b)
	for b.Loop() {
		view.Render(s, p)
	}
}
