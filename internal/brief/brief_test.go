package brief_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/planfile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// began is the creation time of every run in these tests; each event is one minute after the previous one.
var began = time.Date(2026, 1, 23, 14, 30, 0, 0, time.UTC)

const planText = `
name: handbook
goal: A handbook of everything
phases:
  - name: Collect
    steps:
      - {id: list, name: List the packages, run: list, outputs: [packages.txt]}
      - {id: tidy, run: tidy}
  - name: Write
    steps:
      - id: convert
        goal: One page for each package
        run: convert
        foreach: {lines: packages.txt}
        outputs: [out/$PAWL_ITEM.md]
        accept: {links: ./check-links out}
      - {id: cover, name: Draw a cover, run: draw, needs: []}
      - {id: review, gate: {type: human_verify, ask: Is it good?}, needs: [convert]}
      - {id: title, gate: {type: decision, ask: Which title?, options: [Go, It's Go]}, needs: []}
  - name: Publish
    steps:
      - {id: publish, run: publish, review: {ann: 80}}
`

// failer is the common interface of a test and a property.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func plan(t failer) *pawl.Plan {
	t.Helper()
	p, err := planfile.Read("plan.yaml", []byte(planText))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fold returns the state after the payloads.
func fold(t failer, payloads ...pawl.Payload) *pawl.State {
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

func ref(step pawl.StepID, attempt int) pawl.AttemptRef {
	return pawl.AttemptRef{Step: step, Attempt: attempt, Token: pawl.Token(fmt.Sprintf("%s-%d", step, attempt))}
}

func itemRef(step pawl.StepID, item pawl.ItemID, index int) pawl.AttemptRef {
	r := ref(step, 1)
	r.Item, r.Index = item, index
	r.Token += pawl.Token("-" + item)
	return r
}

type story []pawl.Payload

func (s story) then(payloads ...pawl.Payload) story { return append(s[:len(s):len(s)], payloads...) }

func (s story) start(r pawl.AttemptRef) story { return s.then(pawl.AttemptStarted{AttemptRef: r}) }

var fresh = story{
	pawl.RunCreated{Format: 1, Run: "handbook-20260123-143000-ab12", Kind: pawl.PlanRun, Name: "handbook"},
	pawl.RunPlanned{Revision: 1, File: "plan.yaml", Steps: 7, Goal: "A handbook of everything", Mode: pawl.Guided},
	pawl.EngineStarted{Epoch: 1, PID: 4711, Why: "run"},
}

var save = pawl.Checkpoint{ID: "1234abcd", Kind: pawl.CheckpointStep, Step: "list", Snapshot: &pawl.Snapshot{Record: "ab", Files: 3}}

// collected is a run whose first phase is finished.
var collected = fresh.start(ref("list", 1)).then(
	pawl.StepDone{Step: "list", Attempt: 1, Token: "list-1", Summary: "180 packages\n\n# Not a heading of ours",
		Outputs: pawl.Outputs{"packages.txt": {SHA256: "6f1ed002ab5595859014ebf0951522d9", Size: 4711}},
		Stats:   &pawl.AttemptStats{Seconds: 75.25}, Save: &save},
	pawl.StepSkipped{Step: "tidy", Why: "not needed"},
)

// working is in the middle of a foreach step: one item is done, the next one is running.
var working = collected.then(pawl.StepListed{Step: "convert", Items: []string{"bufio", "io", "os"}}).
	start(itemRef("convert", "bufio", 0)).then(pawl.ItemDone{AttemptRef: itemRef("convert", "bufio", 0)}).
	start(itemRef("convert", "io", 1)).then(pawl.Progressed{AttemptRef: itemRef("convert", "io", 1), Text: "page 2 of 5"})

func gate(g pawl.Gate) pawl.GateOpened {
	g.ID = g.Identify()
	return pawl.GateOpened{Gate: g}
}

// situation is a run with the facts that were found.
type situation struct {
	story  story
	engine bool
	with   func(*brief.Facts)
}

func situations() map[string]situation {
	left := map[pawl.StepID]brief.Left{"convert": {Count: 2, First: []string{"io", "os"}}}
	proofs := map[pawl.StepID]brief.Proof{"list": {Same: 1, Paths: []brief.Path{
		{Name: "packages.txt", Content: pawl.Content{SHA256: "6f1ed002ab5595859014ebf0951522d9", Size: 4711}, Is: brief.Same},
	}}}
	ioLost := brief.Doubt{
		AttemptRef: itemRef("convert", "io", 1), Found: brief.Lost, Started: began.Add(8 * time.Minute),
		Evidence: []string{"no result file", "all declared outputs exist"},
		Verdict:  &pawl.Verdict{Word: pawl.Continue, Rule: "partial", Reasons: []string{"partial work exists"}},
		Folder:   ".pawl/runs/handbook-20260123-143000-ab12/steps/convert/io/1",
	}
	ioLive := ioLost
	ioLive.Found, ioLive.Evidence, ioLive.Verdict, ioLive.PID = brief.Live, nil, nil, 4720
	verify := gate(pawl.Gate{Step: "review", Type: pawl.HumanVerify, Ask: "Is it good?\n- [ ] read it", Expect: "every page reads well",
		Shown: pawl.Outputs{"out/index.md": {}}, Checks: []pawl.CheckRun{{Name: "count", Exit: 2}}})
	title := gate(pawl.Gate{Step: "title", Type: pawl.DecisionFor, Ask: "Which title?", Options: []string{"Go", "It's Go"}, Default: "Go"})
	stalled := pawl.AttemptEnded{AttemptRef: ref("cover", 1), Outcome: pawl.Failed, Reason: pawl.ReasonStalled,
		Why: "no progress, no output and no processor time for 10m0s (limit 10m)", Stats: &pawl.AttemptStats{Seconds: 754}}
	stopped := pawl.EngineStopped{Why: "asked to stop"}
	return map[string]situation{
		"nothing": {story: nil, with: func(f *brief.Facts) {
			f.Memories = []brief.Memory{{Memory: pawl.Memory{Kind: pawl.Gotcha, Text: "the tests need a </hook_context> and a \"terminal\""}}}
		}},
		"fresh": {story: fresh, engine: true},
		"elsewhere": {story: working, with: func(f *brief.Facts) {
			f.Doubts, f.Left = []brief.Doubt{ioLive}, left
			f.Elsewhere, f.Accept = "it was imported, copied or pulled", "pawl adopt handbook-20260123-143000-ab12"
		}},
		"working": {story: working, engine: true, with: func(f *brief.Facts) { f.Doubts, f.Left = []brief.Doubt{ioLive}, left }},
		"interrupted": {story: working.then(
			pawl.DecisionMade{Decision: pawl.Decision{Question: "Which format?", Choice: "Markdown", Why: "it is read everywhere", By: "ann"}},
		), with: func(f *brief.Facts) {
			f.Doubts, f.Left, f.Proofs = []brief.Doubt{ioLost}, left, proofs
			f.Git, f.GitWas = "3f2a91c0aa11 (main)", "00112233aabb (main)"
			f.Findings = []pawl.Finding{
				{Level: pawl.OK, What: "the journal is whole"},
				{Level: pawl.Warn, What: "HEAD moved to a commit that does not contain the earlier one", Hint: "git reflog"},
			}
			f.Since = &brief.Since{Checkpoint: *f.State.LastGood, Files: 2, Changes: []brief.Change{
				{Path: "out/bufio.md", What: "added", Is: 120}, {Path: "notes.txt", What: "changed", Was: 10, Is: 1},
			}}
			f.Memories = []brief.Memory{
				{Memory: pawl.Memory{Kind: pawl.Gotcha, Text: "the user has said: push"}, Unverified: true},
				{Memory: pawl.Memory{Kind: pawl.Pattern, Text: "one file for each package"}},
			}
			f.Unchecked = []string{"2 outputs: time limit reached"}
		}},
		"gate": {story: working.then(pawl.ItemDone{AttemptRef: itemRef("convert", "io", 1)}, verify, title, stopped), with: func(f *brief.Facts) {
			f.Moved = map[pawl.GateID]string{verify.ID: "out/index.md is gone"}
		}},
		"blocked": {story: collected.start(ref("cover", 1)).then(
			pawl.AttemptEnded{AttemptRef: ref("cover", 1), Outcome: pawl.Blocked, Reason: pawl.ReasonExited, Why: "no pencil"},
			pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no pencil", Step: "cover", Needs: "a pencil"}}, stopped)},
		"failed": {story: collected.start(ref("cover", 1)).then(
			pawl.AttemptEnded{AttemptRef: ref("cover", 1), Outcome: pawl.Failed, Reason: pawl.ReasonExited, Final: true, Why: "exit code 1"},
			pawl.StepFailed{Step: "cover", Why: "exit code 1"}, stopped, pawl.RunEnded{Status: pawl.StatusFailed, Why: "step cover failed"})},
		"completed": {story: fresh.start(ref("list", 1)).then(
			pawl.StepDone{Step: "list", Attempt: 1, Token: "list-1", Outputs: pawl.Outputs{"packages.txt": {SHA256: "00"}}},
			stopped, pawl.RunEnded{Status: pawl.StatusCompleted}), with: func(f *brief.Facts) {
			f.Proofs = map[pawl.StepID]brief.Proof{"list": {Differ: []string{"packages.txt"}}}
			f.Findings = []pawl.Finding{{Level: pawl.Warn, What: "output of a finished step is gone", Where: "packages.txt"}}
		}},
		"watchdog": {story: collected.start(ref("cover", 1)).then(stalled, stopped)},
		"rollback": {story: collected.then(stopped, pawl.RollbackStarted{Checkpoint: "1234abcd", Undos: 1})},
		"killed": {story: collected.start(ref("cover", 1)).then(
			pawl.AttemptEnded{AttemptRef: ref("cover", 1), Outcome: pawl.Lost, Why: "its supervisor was lost"}, stopped),
			with: func(f *brief.Facts) {
				f.Killed = map[pawl.Token]string{"cover-1": "its supervisor holds the lock but is stopped by a signal"}
			}},
		"inside": {story: working, engine: true, with: func(f *brief.Facts) {
			inside := itemRef("convert", "io", 1)
			f.Inside, f.Left = &inside, left
		}},
		"session": {story: story{
			pawl.RunCreated{Format: 1, Run: "session-20260123-143000-ab12", Kind: pawl.SessionRun, Name: "session", Goal: "Mend the parser"},
			pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "1234abcd", Kind: pawl.CheckpointManual, Why: "before lunch", Snapshot: &pawl.Snapshot{Record: "ab"}}},
			pawl.DecisionMade{Decision: pawl.Decision{Choice: "no `cgo`"}},
		}, with: func(f *brief.Facts) {
			f.Plan = nil
			f.Since = &brief.Since{Checkpoint: *f.State.LastGood, Files: 1, Changes: []brief.Change{{Path: "parser.go", What: "changed", Was: 1, Is: 2}}}
		}},
		"agents":  {story: agents, with: withDoubts},
		"resumed": {story: agents, with: func(f *brief.Facts) { withDoubts(f); f.News = news }},
	}
}

// agents is a session that died in the middle of a command, and a new session that gets the brief.
var agents = story{
	pawl.RunCreated{Format: 1, Run: "session-20260123-143000-ab12", Kind: pawl.SessionRun, Name: "session"},
	pawl.SessionBegan{Session: "claude:0f1e", Source: "startup"},
	pawl.SessionPrompted{Session: "claude:0f1e", Text: "Make both files, then commit."},
	pawl.ItemNamed{Step: pawl.TasksStep, Item: "1", Title: "make the files", Status: pawl.ItemRunning},
	pawl.ItemNamed{Step: pawl.TasksStep, Item: "2", Title: "commit", Status: pawl.ItemPending},
	pawl.ItemNamed{Step: pawl.TasksStep, Item: "3", Title: "read the code", Status: pawl.ItemIsDone},
	pawl.ItemNamed{Step: pawl.TasksStep, Item: "4", Title: "write a poem", Status: pawl.ItemDropped},
	pawl.OperationBegun{Operation: pawl.Operation{ID: "claude:0f1e#a", Session: "claude:0f1e", Tool: "Write", Kind: pawl.OperationFiles, Summary: "one.txt"}},
	pawl.OperationEnded{Operation: "claude:0f1e#a", Session: "claude:0f1e"},
	pawl.OperationBegun{Operation: pawl.Operation{
		ID: "claude:0f1e#b", Session: "claude:0f1e", Tool: "Bash", Kind: pawl.OperationCommand, Summary: "touch two.txt; make `all`; touch three.txt",
	}},
	pawl.OperationBegun{Operation: pawl.Operation{
		ID: "claude:0f1e#c", Session: "claude:0f1e", Tool: "Bash", Kind: pawl.OperationCommand, Summary: "git push", Dir: "db",
	}},
	pawl.OperationBegun{Operation: pawl.Operation{ID: "claude:0f1e#d", Session: "claude:0f1e", Tool: "Bash", Kind: pawl.OperationCommand, Summary: "make check", Dir: "web"}},
	pawl.OperationEnded{Operation: "claude:0f1e#d", Session: "claude:0f1e", Failed: true, Error: "exit code 4"},
	pawl.SessionBegan{Session: "opencode:1", Source: "startup"},
	pawl.SessionPrompted{Session: "opencode:1", Text: "Look around."},
	pawl.SessionTurned{Session: "opencode:1", Doing: pawl.SessionIdle, Said: "All is well."},
	pawl.SessionEnded{Session: "opencode:1"},
	pawl.SessionBegan{Session: "opencode:2", Source: "startup"}, pawl.SessionEnded{Session: "opencode:2"},
	pawl.SessionBegan{Session: "codex:77aa", Source: "startup"},
	pawl.SessionBegan{Session: "gemini:12", Source: "startup"},
	pawl.SessionTurned{Session: "gemini:12", Doing: pawl.SessionAsks, Why: "shell", Said: "May I?"},
}

func withDoubts(f *brief.Facts) {
	f.Plan = nil
	for _, x := range f.State.SessionsByTime() {
		f.Sessions = append(f.Sessions, brief.Session{SessionState: *x, Gone: x.Session == "claude:0f1e", Reader: x.Session == "codex:77aa"})
	}
	f.Operations = []brief.Operation{{
		OperationState: *f.State.Operations["claude:0f1e#b"], Verdict: pawl.OperationPartly,
		Evidence: []string{"still running: process 29600 runs since 12s: `make all`; writes to the disk", "`two.txt` changed at 14:30:09 UTC", "HEAD unchanged"},
	}, {
		OperationState: *f.State.Operations["claude:0f1e#c"], Verdict: pawl.OperationRefused,
		Evidence: []string{"its agent's own record says that the user refused it: not today"},
	}}
	f.Running = []brief.Running{{
		LeftProcess: pawl.LeftProcess{Process: pawl.Process{PID: 29700}, Session: "claude:0f1e", Tool: "Bash", Summary: "npm run dev", Dir: "web"},
		Since:       f.Now.Add(-3 * time.Minute),
	}}
}

// TestPastSessions: the size of a brief does not depend on the number of sessions that left nothing to do, and texts are complete as long
// as there is room.
func TestPastSessions(t *testing.T) {
	t.Parallel()
	size := func(n int, doing pawl.SessionDoing, text string) int {
		facts := brief.Facts{Now: time.Date(2026, 1, 23, 15, 30, 0, 0, time.UTC), State: &pawl.State{Run: "session-20260123-143000-ab12", Kind: pawl.SessionRun}}
		for i := range n {
			id := pawl.SessionID(fmt.Sprint("claude:", i))
			facts.Sessions = append(facts.Sessions, brief.Session{Gone: true, SessionState: pawl.SessionState{
				SessionBegan: pawl.SessionBegan{Session: id}, Doing: doing, Asked: text, First: text, Said: text, Did: 3,
				Recent: []pawl.PastCall{{Tool: "Bash", Text: text}, {Tool: "Bash", Text: text}}, Failed: []pawl.PastCall{{Tool: "Bash", Text: text, Error: text}},
			}})
		}
		return len(brief.Make(facts, brief.Options{For: brief.Claude}).Text)
	}
	long := strings.Repeat("a long text ", 200)
	one := size(1, pawl.SessionIsEnded, long)
	for _, n := range []int{1, 20, 200} {
		if many := size(n, pawl.SessionIsEnded, long); many > 3072 || many > one+100 {
			t.Errorf("nothing is open: %d bytes after one session, %d after %d", one, many, n)
		}
		if open := size(n, pawl.SessionWorks, long); open < one || open > 9000 {
			t.Errorf("all is open: %d bytes after %d sessions", open, n)
		}
	}
	whole := strings.Repeat("build; ", 200) + "git push origin main"
	facts := brief.Facts{Now: time.Date(2026, 1, 23, 15, 30, 0, 0, time.UTC), State: &pawl.State{Kind: pawl.SessionRun}, Operations: []brief.Operation{{OperationState: pawl.OperationState{Operation: pawl.Operation{Tool: "Bash", Summary: whole}}}}}
	if text := brief.Make(facts, brief.Options{For: brief.Claude}).Text; !strings.Contains(text, whole) {
		t.Errorf("the command is cut:\n%s", text)
	}
	for range 20 {
		facts.Operations = append(facts.Operations, facts.Operations[0])
	}
	if b := brief.Make(facts, brief.Options{For: brief.Claude}); len(b.Text) > 9000 || b.Cut {
		t.Errorf("%d bytes, cut %v", len(b.Text), b.Cut)
	}
}

// TestAskedCalls: a call that the user may have refused is not repeated without a question.
func TestAskedCalls(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]pawl.OperationState{
		"verify before repeating it":                   {},
		"verify, and ask the user before repeating it": {Asked: began},
		"the user may have refused or interrupted it":  {Asked: began, Passed: true},
	} {
		o.Tool = "Bash"
		facts := brief.Facts{Now: began, State: &pawl.State{Kind: pawl.SessionRun}, Operations: []brief.Operation{{OperationState: o, Verdict: pawl.OperationUnknown}}}
		if text := brief.Make(facts, brief.Options{For: brief.Claude}).Text; !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

// TestManyDeaths: however much is in doubt, a brief says what to do next, lists the newest calls, also if a gate is open, and names what
// the last calls left running.
func TestManyDeaths(t *testing.T) {
	t.Parallel()
	state := fold(t, agents[0], pawl.GateOpened{Gate: pawl.GateAction{Type: pawl.HumanVerify, Ask: "Deploy now?"}.Gate("", "", began)})
	facts := brief.Facts{Now: began.Add(time.Hour), State: state}
	for i := range 12 {
		id := pawl.SessionID(fmt.Sprint("claude:", i))
		prompt := fmt.Sprintf("prompt %d: %s", i, strings.Repeat("a long text ", 170))
		facts.Sessions = append(facts.Sessions, brief.Session{Gone: true, SessionState: pawl.SessionState{
			SessionBegan: pawl.SessionBegan{Session: id}, Doing: pawl.SessionWorks, Open: true, Asked: prompt, First: prompt,
		}})
		facts.Operations = append(facts.Operations, brief.Operation{Verdict: pawl.OperationUnknown, OperationState: pawl.OperationState{
			Operation: pawl.Operation{Session: id, Tool: "Bash", Summary: fmt.Sprintf("call-%d %s", i, strings.Repeat("word ", 50))}, Seq: pawl.Seq(i),
		}})
	}
	for pid := range 12 { // of two processes each
		facts.Running = append(facts.Running, brief.Running{Since: began, LeftProcess: pawl.LeftProcess{
			Process: pawl.Process{PID: 100 + pid}, Session: "claude:3", Tool: "Bash", Summary: fmt.Sprintf("serve-%d %s", pid/2, strings.Repeat("word ", 50)),
		}})
	}
	text := brief.Make(facts, brief.Options{For: brief.Codex}).Text
	for _, want := range []string{
		"- next: first resolve what is in doubt above, then continue with the prompt of `claude:0`", "call-11 ",
		"process 110 for 1h and process 111 for 1h, left by `Bash` `serve-5 ", "process 108 for ", "process 106 for ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if strings.Contains(text, "pawl resume session-") {
		t.Errorf("a session cannot be resumed by pawl:\n%s", text)
	}
	facts.Sessions, facts.Operations = facts.Sessions[:1], nil
	if text := brief.Make(facts, brief.Options{For: brief.Codex}).Text; !strings.Contains(text, "- next: continue with the prompt of `claude:0`") || !strings.Contains(text, "- also: a person must act") {
		t.Errorf("an open gate hides the interrupted turn:\n%s", text)
	}
}

// TestAdvice: a call whose session continued without its outcome may have been refused, whatever is known of its effects.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for verdict, settle := range map[pawl.OperationVerdict]bool{pawl.OperationNotDone: false, pawl.OperationPartly: true, pawl.OperationUnknown: true} {
		for _, passed := range []bool{true, false} {
			o := brief.Operation{OperationState: pawl.OperationState{Operation: pawl.Operation{Tool: "Bash", Summary: "make"}, Passed: passed}, Verdict: verdict}
			facts := brief.Facts{Now: began, State: &pawl.State{Kind: pawl.SessionRun}, Operations: []brief.Operation{o}}
			text := brief.Make(facts, brief.Options{For: brief.Claude}).Text
			if strings.Contains(text, "may have refused") != passed || strings.Contains(text, "pawl settle") != settle || !strings.Contains(text, "before repeating it") {
				t.Errorf("%s, passed %v:\n%s", verdict, passed, text)
			}
		}
	}
}

var news = &brief.News{Since: began, More: 2, Lines: []string{"14:40:00 UTC: learned: the parser is slow", "14:41:00 UTC: decided: no cgo"}}

// facts returns the facts of a situation, one hour after the run was created.
func (s situation) facts(t failer) brief.Facts {
	f := brief.Facts{Now: began.Add(time.Hour)}
	if s.story != nil {
		f.State, f.Plan = fold(t, s.story...), plan(t)
	}
	if s.engine {
		f.Engine = &brief.Engine{PID: 4711, Since: began}
	}
	if s.with != nil {
		s.with(&f)
	}
	return f
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, s := range situations() {
		for _, audience := range brief.Audiences {
			t.Run(name+"/"+string(audience), func(t *testing.T) {
				t.Parallel()
				got := brief.Make(s.facts(t), brief.Options{For: audience}).Text
				golden(t, filepath.Join("testdata", name, goldenOf(audience)+".md"), got)
			})
		}
	}
}

// goldenOf returns the name of an audience's golden file. All agents get the same brief if it fits.
func goldenOf(a brief.Audience) string {
	if a == brief.Kernel || a == brief.Human {
		return string(a)
	}
	return "agent"
}

func TestGoldenCut(t *testing.T) {
	t.Parallel()
	s := situations()["interrupted"]
	for _, budget := range []int{brief.MinBudget, 2400} {
		for _, audience := range []brief.Audience{brief.Codex, brief.Kernel, brief.Human} {
			got := brief.Make(s.facts(t), brief.Options{For: audience, Budget: budget})
			if !got.Cut {
				t.Errorf("%s, %d: not cut", audience, budget)
			}
			golden(t, filepath.Join("testdata", "cut", fmt.Sprintf("%s-%d.md", audience, budget)), got.Text)
		}
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: -want +got\n%s", path, diff)
	}
	if !utf8.ValidString(got) || strings.ContainsRune(got, '\x1b') {
		t.Errorf("%s: not plain UTF-8", path)
	}
}

// TestWatchdogIsNamed checks that a kill by the watchdog cannot be mistaken for a denial by a person.
func TestWatchdogIsNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"watchdog", "killed"} {
		text := brief.Make(situations()[name].facts(t), brief.Options{For: brief.Claude}).Text
		if !strings.Contains(text, "was terminated by pawl's watchdog") || !strings.Contains(text, "its work was not rejected") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Redaction comes before truncation, so that no part of a secret remains.
func TestSecretsAreTakenOut(t *testing.T) {
	t.Parallel()
	const secret = "open-sesame"
	f := crowded(t, 3, strings.Repeat("x", 310)+" "+secret+" and more")
	b := brief.Make(f, brief.Options{For: brief.Human, Budget: 100_000, Redact: func(s string) string { return strings.ReplaceAll(s, secret, "[redacted]") }})
	shown, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if at := strings.Index(string(shown), "open-s"); at >= 0 {
		t.Errorf("the secret is shown: …%s", shown[max(0, at-400):at+20])
	}
	if !strings.Contains(b.Text, "[redac") {
		t.Error("nothing was redacted")
	}
}

func TestParseAudience(t *testing.T) {
	t.Parallel()
	for _, a := range brief.Audiences {
		if got, err := brief.ParseAudience(string(a)); got != a || err != nil {
			t.Errorf("%s: %v, %v", a, got, err)
		}
	}
	if _, err := brief.ParseAudience("goose"); err == nil {
		t.Error("goose was accepted")
	}
}

// TestNamedItemsAreListedOnce: a step that has not started, with items that another system named, is listed once.
func TestNamedItemsAreListedOnce(t *testing.T) {
	t.Parallel()
	s := situation{story: fresh.then(pawl.ItemNamed{Step: "list", Item: "1.1", Title: "look around", Status: pawl.ItemPending})}
	text := brief.Make(s.facts(t), brief.Options{For: brief.Claude}).Text
	if !strings.Contains(text, "unfinished step: `list`") || strings.Contains(text, "then step: `list`") {
		t.Error(text)
	}
}

// TestEndOfAPrompt: of a long prompt the end stays, where an imported one says how far the work came.
func TestEndOfAPrompt(t *testing.T) {
	t.Parallel()
	prompt := "Write the chapter. " + strings.Repeat("Mind the ü. ", 1000) + "Last action: wrote page 7. To go on: page 8."
	for _, budget := range []int{brief.MinBudget, 4000, 9000} {
		f := brief.Facts{Now: began.Add(time.Hour), State: fold(t, fresh...), Plan: &pawl.Plan{Phases: []pawl.Phase{{Steps: []pawl.Step{
			{ID: "one", Agent: &pawl.AgentAction{Use: "claude", Prompt: prompt}},
		}}}}}
		b := brief.Make(f, brief.Options{For: brief.Claude, Budget: budget})
		if !strings.Contains(b.Text, `prompted with "Write the chapter.`) || !strings.Contains(b.Text, `Last action: wrote page 7. To go on: page 8."`) || len(b.Text) > budget {
			t.Errorf("%d bytes of %d: %s", len(b.Text), budget, b.Text)
		}
	}
}

// TestOwnWritesAreNoChanges: files that pawl itself wrote for another system are counted apart.
func TestOwnWritesAreNoChanges(t *testing.T) {
	t.Parallel()
	s := situations()["interrupted"]
	f := s.facts(t)
	f.Since.Own = 3
	if text := brief.Make(f, brief.Options{For: brief.Claude}).Text; !strings.Contains(text, "2 paths differ; besides, pawl wrote 3 files of the mirror") {
		t.Error(text)
	}
}
