package sessions

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/config"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/memo"
	"pawl/internal/outputs"
	"pawl/internal/planfile"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// told is a run that the test creates event by event, in its own project.
type told struct {
	*testing.T
	p   *project.Project
	run pawl.RunID
}

func newTold(t *testing.T, plan string) *told {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	p, err := project.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	read, err := planfile.Read("plan.yaml", []byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	run, err := runs.Create(t.Context(), p, runs.CreateOptions{Kind: pawl.PlanRun, Plan: read, Data: []byte(plan)})
	if err != nil {
		t.Fatal(err)
	}
	w := &told{t, p, run}
	w.say(pawl.EngineStarted{Epoch: 1, PID: 1, Why: "run"})
	return w
}

func (w *told) say(payloads ...pawl.Payload) {
	w.Helper()
	log, err := journal.Open(w.p.Runs(), w.run)
	if err != nil {
		w.Fatal(err)
	}
	events := make([]pawl.Event, len(payloads))
	for i, p := range payloads {
		if events[i], err = pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p); err != nil {
			w.Fatal(err)
		}
	}
	_, err = log.Append(w.Context(), 1, events...)
	if err := errors.Join(err, log.Close()); err != nil {
		w.Fatal(err)
	}
}

func (w *told) write(path string, data []byte) {
	w.Helper()
	full := filepath.Join(w.p.Root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(full, data, 0o600); err != nil {
		w.Fatal(err)
	}
}

// step finishes a step with the outputs that are there.
func (w *told) step(id pawl.StepID, paths ...string) {
	w.Helper()
	recorded, err := outputs.Hash(w.p.Root, paths)
	if err != nil {
		w.Fatal(err)
	}
	ref := pawl.AttemptRef{Step: id, Attempt: 1, Token: pawl.Token(id)}
	w.say(pawl.AttemptStarted{AttemptRef: ref}, pawl.StepDone{Step: id, Attempt: 1, Token: ref.Token, Outputs: recorded})
}

func (w *told) checkpoint() {
	w.Helper()
	if _, err := history.SaveNow(w.Context(), w.p, w.run, config.Snapshots{}, pawl.Author{Kind: pawl.ByPerson}, "test"); err != nil {
		w.Fatal(err)
	}
}

// facts gathers what a brief tells.
func (w *told) facts(b Briefing) brief.Facts {
	w.Helper()
	r, err := runs.Load(w.Context(), w.p, w.run)
	if err != nil {
		w.Fatal(err)
	}
	if b.Timeout == 0 {
		b.Timeout = time.Minute
	}
	g := &briefer{project: w.p, Briefing: b, run: r}
	defer g.begin(w.Context())()
	g.facts = brief.Facts{Now: time.Now(), State: r.State, Plan: r.Plan}
	if err := errors.Join(g.gather(w.Context()), r.Log.Close()); err != nil {
		w.Fatal(err)
	}
	if r.State.RejectedCount > 0 {
		w.Fatalf("the story does not fit: %+v", r.State.RejectedEvents)
	}
	return g.facts
}

const threeSteps = "name: demo\nsteps: [{id: one, run: ':'}, {id: two, run: ':'}, {id: three, run: ':'}]\n"

// Whether or not a snapshot helps, what is found is the same: also of large files, of folders, of what a later step wrote
// again, and of what this run changed after it was recorded.
func TestProofs(t *testing.T) {
	for _, kept := range []bool{true, false} {
		name := map[bool]string{true: "with a snapshot", false: "without"}[kept]
		t.Run(name, func(t *testing.T) {
			w := newTold(t, threeSteps)
			large := make([]byte, 9<<20)
			w.write("large.bin", large)
			w.write("made/a/one.txt", []byte("one"))
			w.write("again.txt", []byte("first"))
			w.write("gone.txt", []byte("gone"))
			w.step("one", "large.bin", "made", "again.txt", "gone.txt")
			w.write("again.txt", []byte("second"))
			w.step("two", "again.txt")
			if kept {
				w.checkpoint()
			}
			var gone []string // deleted, not edited
			check := func(when string, same int, differ ...string) {
				t.Helper()
				proof := w.facts(Briefing{}).Proofs["one"]
				if proof.Same != same || !slices.Equal(proof.Differ, differ) || !slices.Equal(proof.Missing, gone) || proof.Unchecked > 0 {
					t.Errorf("%s: %d are the same, %v differ, %v missing, %d unchecked; want %d, %v and %v", when, proof.Same, proof.Differ, proof.Missing, proof.Unchecked, same, differ, gone)
				}
			}
			check("as they were left", 4)
			large[1<<20]++
			w.write("large.bin", large)
			check("one byte of the large file changed", 3, "large.bin")
			w.write("made/a/two.txt", nil)
			check("a file more in the folder", 2, "large.bin", "made")
			if err := os.Remove(filepath.Join(w.p.Root, "gone.txt")); err != nil {
				t.Fatal(err)
			}
			gone = []string{"gone.txt"}
			check("a file gone", 1, "large.bin", "made")
			w.write("again.txt", []byte("secone"))
			check("what was written twice changed", 0, "again.txt", "large.bin", "made")
		})
	}
}

// What a later checkpoint has need not be what the step wrote: a person may have edited it before. So the brief reports it, as verify does.
func TestProofOfWhatAnotherStepChanged(t *testing.T) {
	w := newTold(t, threeSteps)
	w.write("log.txt", []byte("one"))
	w.step("one", "log.txt")
	w.write("log.txt", []byte("one, two"))
	w.step("two")
	if proof := w.facts(Briefing{}).Proofs["one"]; !slices.Equal(proof.Differ, []string{"log.txt"}) {
		t.Errorf("without a checkpoint: %+v", proof)
	}
	w.checkpoint()
	if proof := w.facts(Briefing{}).Proofs["one"]; !slices.Equal(proof.Differ, []string{"log.txt"}) {
		t.Errorf("with a checkpoint: %+v", proof)
	}
}

// What there is no time to look at is said not to be checked, never that it is right or wrong.
func TestImpatientBrief(t *testing.T) {
	w := newTold(t, threeSteps)
	w.write("out.txt", []byte("one"))
	w.step("one", "out.txt")
	w.checkpoint()
	w.write("out.txt", []byte("two"))
	f := w.facts(Briefing{Timeout: 1})
	if proof := f.Proofs["one"]; proof.Same > 0 || len(proof.Differ) > 0 || proof.Unchecked != 1 {
		t.Errorf("proof: %+v", proof)
	}
	if f.Since != nil {
		t.Errorf("since: %+v", f.Since)
	}
	if text := strings.Join(f.Unchecked, "\n"); !strings.Contains(text, "which files changed") || !strings.Contains(text, "outputs not verified: 1") {
		t.Errorf("unchecked: %s", text)
	}
}

// The brief reports journaled verdicts, and judges tool calls without one by the rules.
func TestVerdictsOfDoubts(t *testing.T) {
	w := newTold(t, threeSteps)
	ref := pawl.AttemptRef{Step: "one", Attempt: 1, Token: "one"}
	w.say(pawl.AttemptStarted{AttemptRef: ref})
	if d := w.facts(Briefing{}).Doubts; len(d) != 1 || d[0].Found != brief.Lost {
		t.Errorf("its folder is gone, so that nobody knows whether it began: %+v", d)
	}
	lock, err := supervise.Prepare(w.p.AttemptDir(ref, w.run))
	if err == nil {
		err = lock.Release()
	}
	if err != nil {
		t.Fatal(err)
	}
	d := w.facts(Briefing{}).Doubts
	if len(d) != 1 || d[0].Found != brief.NotBegun || d[0].Verdict == nil || d[0].Verdict.Rule != "not-begun" {
		t.Fatalf("doubts: %+v", d)
	}
	given := pawl.Verdict{Word: pawl.HumanReview, Rule: "asked", By: "claude"}
	d = w.facts(Briefing{Verdicts: map[pawl.Token]pawl.Verdict{"one": given}}).Doubts
	if len(d) != 1 || d[0].Verdict.By != "claude" {
		t.Fatalf("doubts: %+v", d)
	}
}

// A folder of which a snapshot leaves something out is not proven by it.
func TestProofOfWhatIsIgnored(t *testing.T) {
	w := newTold(t, threeSteps)
	w.write(".pawlignore", []byte("*.tmp\n"))
	w.write("made/kept.txt", nil)
	w.write("made/deep/left-out.tmp", []byte("one"))
	w.step("one", "made")
	w.checkpoint()
	if proof := w.facts(Briefing{}).Proofs["one"]; proof.Same != 1 {
		t.Errorf("as it was left: %+v", proof)
	}
	w.write("made/deep/left-out.tmp", []byte("two"))
	if proof := w.facts(Briefing{}).Proofs["one"]; !slices.Equal(proof.Differ, []string{"made"}) {
		t.Errorf("changed: %+v", proof)
	}
}

// TestBriefAgain: a brief of a run whose journal has not changed says the same without reading it, and sees what changed in the files.
func TestBriefAgain(t *testing.T) {
	w := newTold(t, "name: demo\nsteps: [{id: a, run: ':', outputs: [out.txt]}, {id: b, run: ':', foreach: {items: [x, y]}}]\n")
	w.write("out.txt", []byte("first"))
	w.step("a", "out.txt")
	long := []pawl.Payload{pawl.StepListed{Step: "b", Items: []string{"x", "y"}}}
	for range 600 {
		long = append(long, pawl.MemoryLearned{Memory: pawl.Memory{Text: strings.Repeat("long ", 20)}})
	}
	w.say(long...)
	w.checkpoint()

	tell := func() string {
		t.Helper()
		for !memo.At(filepath.Join(w.p.RunDir(w.run), journal.FileName)).Settled() {
		}
		b, err := Brief(t.Context(), w.p, w.run, Briefing{Options: brief.Options{For: brief.Claude}, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return b.Text
	}
	first := tell()
	r, err := runs.Load(t.Context(), w.p, w.run)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Log.Close()
	var known fromJournal
	if as, _ := runs.Recall(w.p, r, "brief", &known); as != runs.Current || len(known.Proofs) != 1 || len(known.Left["b"].First) != 2 {
		t.Fatalf("remembered: %v, %+v", as, known)
	}
	clock := regexp.MustCompile(`\d\d:\d\d:\d\d UTC|\d+s ago|just now`)
	if again := tell(); clock.ReplaceAllString(again, "") != clock.ReplaceAllString(first, "") {
		t.Errorf("then: %s\nfirst: %s", again, first)
	}
	w.write("out.txt", []byte("second"))
	if again := tell(); !strings.Contains(again, "outputs of this finished step were edited: out.txt") {
		t.Errorf("edited: %s", again)
	}
	if err := os.Remove(filepath.Join(w.p.Root, "out.txt")); err != nil {
		t.Fatal(err)
	}
	if again := tell(); !strings.Contains(again, "outputs of this finished step were deleted: out.txt") {
		t.Errorf("deleted: %s", again)
	}
	w.write("out.txt", []byte("first"))
	w.say(pawl.ItemsSkipped{Step: "b", Items: []int{0}, Why: "test"})
	if again := tell(); strings.Contains(again, "edited: out.txt") || again == first {
		t.Errorf("an event later: %s", again)
	}
}

// TestBriefAfterEvents: events that say nothing of outputs and items leave what an earlier brief has read in the journal as it was. All others
// make a brief read again.
func TestBriefAfterEvents(t *testing.T) {
	w := newTold(t, "name: demo\nsteps: [{id: a, run: ':', outputs: [out.txt]}, {id: b, run: ':', foreach: {items: [x, y]}}]\n")
	w.write("out.txt", []byte("first"))
	w.write("x.txt", []byte("of an item"))
	w.step("a", "out.txt")
	w.say(pawl.StepListed{Step: "b", Items: []string{"x", "y"}})
	for range 6 { // as long as a memo is worth its file
		long := make([]pawl.Payload, 100)
		for i := range long {
			long[i] = pawl.MemoryLearned{Memory: pawl.Memory{Text: strings.Repeat("long ", 20)}}
		}
		w.say(long...)
	}
	w.checkpoint()
	read := func() (learned bool, facts brief.Facts) {
		t.Helper()
		for !memo.At(filepath.Join(w.p.RunDir(w.run), journal.FileName)).Settled() {
		}
		g := &briefer{project: w.p, Briefing: Briefing{Timeout: time.Minute}}
		g.facts.Now = time.Now()
		defer g.begin(t.Context())()
		if err := g.look(t.Context(), w.run); err != nil {
			t.Fatal(err)
		}
		return g.learned, g.facts
	}
	say := func(p pawl.Payload) func() { return func() { w.say(p) } }
	item := pawl.AttemptRef{Step: "b", Item: pawl.ItemIDOf("x"), Index: 0, Attempt: 1, Token: "0123456789abcdef"}
	var made pawl.Outputs
	for _, c := range []struct {
		what    string
		do      func()
		learns  bool
		same, x int // unchanged outputs of a and of b
		left    int
	}{
		{"at first", func() {}, true, 1, 0, 2},
		{"again", func() {}, false, 1, 0, 2},
		{"a decision", say(pawl.DecisionMade{Decision: pawl.Decision{Choice: "on"}}), false, 1, 0, 2},
		{"a note", say(pawl.MemoryLearned{Memory: pawl.Memory{Text: "x"}}), false, 1, 0, 2},
		{"a file changed that no step made", func() { w.write("other.txt", []byte("new")) }, false, 1, 0, 2},
		{"an item done", func() {
			var err error
			if made, err = outputs.Hash(w.p.Root, []string{"x.txt"}); err != nil {
				t.Fatal(err)
			}
			w.say(pawl.AttemptStarted{AttemptRef: item}, pawl.ItemDone{AttemptRef: item, Outputs: made})
		}, true, 1, 1, 1},
		{"an output edited", func() { w.write("x.txt", []byte("edited")) }, false, 1, 0, 1},
		{"as it was", func() { w.write("x.txt", []byte("of an item")) }, false, 1, 1, 1},
		{"an item skipped", say(pawl.ItemsSkipped{Step: "b", Items: []int{1}, Why: "test"}), true, 1, 1, 0},
		{"a step done again, with other outputs", func() {
			w.say(pawl.StepReopened{Step: "a", Why: "test"}, pawl.AttemptStarted{AttemptRef: pawl.AttemptRef{Step: "a", Attempt: 2, Token: "1123456789abcdef"}},
				pawl.StepDone{Step: "a", Attempt: 2, Token: "1123456789abcdef", Outputs: pawl.Outputs{"out.txt": made["x.txt"]}})
		}, true, 0, 1, 0},
	} {
		c.do()
		learned, facts := read()
		if learned != c.learns || facts.Proofs["a"].Same != c.same || facts.Proofs["b"].Same != c.x || facts.Left["b"].Count != c.left {
			t.Errorf("%s: read %v, a %+v, b %+v, left %+v", c.what, learned, facts.Proofs["a"], facts.Proofs["b"], facts.Left["b"])
		}
	}
}

// TestWalkBegunTooEarly: what a checkpoint saved after the walk of the files began is not reported as changed since.
func TestWalkBegunTooEarly(t *testing.T) {
	w := newTold(t, threeSteps)
	w.write("a.txt", []byte("first"))
	w.checkpoint()
	g := &briefer{project: w.p, Briefing: Briefing{Timeout: time.Minute}}
	g.facts.Now = time.Now()
	defer g.begin(t.Context())()
	g.workspace.wait()
	w.write("a.txt", []byte("second"))
	w.checkpoint()
	if err := g.look(t.Context(), w.run); err != nil {
		t.Fatal(err)
	}
	if since := g.facts.Since; since == nil || since.Files > 0 || since.Checkpoint.ID != g.facts.State.LastGood.ID {
		t.Errorf("since checkpoint %s: %+v", g.facts.State.LastGood.ID, since)
	}
}
