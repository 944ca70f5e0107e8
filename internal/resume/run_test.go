package resume_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/engine/enginetest"
	"pawl/internal/recovery"
	"pawl/internal/resume"
	"pawl/internal/runs"
	"pawl/internal/supervise"
)

// load opens the run until the test ends.
func load(p *enginetest.Project) *runs.Run {
	p.Helper()
	r, err := runs.Load(p.Context(), p.Project, p.Run)
	p.Check(err)
	p.Cleanup(func() { r.Log.Close() })
	return r
}

func diff(p *enginetest.Project) *resume.PlanDiff {
	p.Helper()
	d, err := resume.DiffPlan(p.Project, load(p), pawl.GivenValues{})
	p.Check(err)
	return d
}

const plan = `name: demo
steps:
  - {id: one, inputs: [in.txt], run: cat in.txt > one.txt, outputs: [one.txt]}
  - {id: two, inputs: [one.txt], run: cat one.txt > two.txt, outputs: [two.txt], accept: {right: test -s two.txt}}
  - {id: each, foreach: {lines: list.txt}, inputs: [in/$PAWL_ITEM], run: cat in/$PAWL_ITEM > $PAWL_ITEM.out, outputs: [$PAWL_ITEM.out]}
`

// finished makes a run of the plan that is completed.
func finished(t *testing.T) *enginetest.Project {
	t.Helper()
	p := enginetest.New(t)
	for name, text := range map[string]string{"in.txt": "in", "list.txt": "a\nb\n", "in/a": "a", "in/b": "b", "in/c": "c"} {
		p.Write(name, text)
	}
	p.Check(p.Do(plan))
	return p
}

// What a changed plan and changed files mean for a run.
func TestDiffPlan(t *testing.T) {
	t.Parallel()
	edit := func(old, with string) func(*enginetest.Project) {
		return func(p *enginetest.Project) { p.Write("plan.yaml", strings.Replace(plan, old, with, 1)) }
	}
	for name, c := range map[string]struct {
		change func(*enginetest.Project)
		want   func(*resume.PlanDiff) bool
	}{
		"nothing": {func(*enginetest.Project) {}, func(d *resume.PlanDiff) bool {
			return !d.Edited && !d.Reopens() && !d.HasReruns() && d.OutputEdits == nil
		}},
		"an input": {func(p *enginetest.Project) { p.Write("in.txt", "new") }, func(d *resume.PlanDiff) bool {
			return !d.Edited && len(d.Rerun) == 1 && d.Rerun[0].Step == "one" && strings.Contains(d.Rerun[0].Why[0], "in.txt") && d.HasReruns()
		}},
		"an output": {func(p *enginetest.Project) { p.Write("two.txt", "mine") }, func(d *resume.PlanDiff) bool {
			return !d.HasReruns() && len(d.OutputEdits) == 1 && d.OutputEdits[0].Step == "two" && d.OutputEdits[0].Paths[0] == "two.txt"
		}},
		"an output that is an input too": {func(p *enginetest.Project) { p.Write("one.txt", "mine") }, func(d *resume.PlanDiff) bool {
			return !d.HasReruns() && len(d.OutputEdits) == 1 && d.OutputEdits[0].Step == "one"
		}},
		"a definition": {edit("cat in.txt", "cat  in.txt"), func(d *resume.PlanDiff) bool {
			return d.Edited && len(d.Rerun) == 1 && d.Rerun[0].Step == "one"
		}},
		"a check": {edit("test -s", "test -e"), func(d *resume.PlanDiff) bool {
			return d.Edited && !d.HasReruns() && slices.Equal(d.Recheck, []pawl.StepID{"two"}) && d.Reopens()
		}},
		"an item's input": {func(p *enginetest.Project) { p.Write("in/b", "new") }, func(d *resume.PlanDiff) bool {
			return len(d.Rerun) == 1 && slices.Equal(d.Rerun[0].Items, []pawl.ItemID{"b"}) && slices.Equal(d.Rerun[0].Index, []int{1})
		}},
		"more items": {func(p *enginetest.Project) { p.Write("list.txt", "c\na\nb\n") }, func(d *resume.PlanDiff) bool {
			return !d.HasReruns() && slices.Equal(d.NewItems["each"], []string{"c"}) && d.ListLength["each"] == 2 && d.Reopens()
		}},
		"the items' definition": {edit("cat in/$PAWL_ITEM >", "cat  in/$PAWL_ITEM >"), func(d *resume.PlanDiff) bool {
			return len(d.Rerun) == 1 && d.Rerun[0].Step == "each" && d.Rerun[0].Items == nil
		}},
		"a step more": {func(p *enginetest.Project) { p.Write("plan.yaml", plan+"  - {id: more, run: \"true\"}\n") }, func(d *resume.PlanDiff) bool {
			return slices.Equal(d.Added, []pawl.StepID{"more"}) && d.Reopens() && d.Plan().Step("more") != nil
		}},
		"a step less": {func(p *enginetest.Project) { p.Write("plan.yaml", plan[:strings.Index(plan, "  - {id: each")]) }, func(d *resume.PlanDiff) bool {
			return slices.Equal(d.Removed, []pawl.StepID{"each"}) && !d.HasReruns()
		}},
		"no plan": {func(p *enginetest.Project) { p.Check(os.Remove(p.Path("plan.yaml"))) }, func(d *resume.PlanDiff) bool { return !d.Edited && !d.Reopens() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := finished(t)
			c.change(p)
			if d := diff(p); !c.want(d) {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestDiffPlanOfABadPlan(t *testing.T) {
	t.Parallel()
	p := finished(t)
	p.Write("plan.yaml", "name: demo\nsteps: nonsense\n")
	if _, err := resume.DiffPlan(p.Project, load(p), pawl.GivenValues{}); err == nil {
		t.Error("a bad plan was taken")
	}
}

// A failed step whose definition changed starts again with all its retries, and so does a foreach step with few finished items.
func TestDiffPlanOfFailedSteps(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	failing := "name: demo\nsteps:\n  - {id: a, run: \"false\"}\n  - {id: each, needs: [], foreach: {items: [x]}, run: \"false\"}\n"
	p.WantKind(p.Do(failing), pawl.KindRunFailed)
	if d := diff(p); d.Reopens() {
		t.Errorf("unchanged: %+v", d)
	}
	p.Write("plan.yaml", strings.ReplaceAll(failing, "false", "true"))
	if d := diff(p); len(d.Reset) == 0 || !d.Reopens() || d.HasReruns() {
		t.Errorf("edited: %+v", d)
	}
}

// hold begins a run of which one attempt is under way and kills its engine.
func hold(p *enginetest.Project, step string) string {
	p.Helper()
	p.Create("name: demo\nsteps: [{id: a, " + step + ", run: 'echo part > a.txt; touch begun; until test -e go; do sleep 0.02; done'}]\n")
	gone := make(chan bool)
	go func() { gone <- p.KilledAt("attempt.heartbeat", 1) }()
	p.Until("the step has begun", func() bool { return p.Exists("begun") && p.Count("attempt.started") == 1 })
	holder, _ := p.EngineHolder()
	p.Check(syscall.Kill(holder.PID, syscall.SIGKILL))
	<-gone
	return p.AttemptDir(p.State().Live()[0].AttemptRef, p.Run)
}

func examine(p *enginetest.Project) *resume.Examination {
	p.Helper()
	r := load(p)
	d, err := resume.DiffPlan(p.Project, r, pawl.GivenValues{})
	p.Check(err)
	x, err := resume.Examine(p.Context(), p.Project, r, d, p.Config.Snapshots, nil, false)
	p.Check(err)
	return x
}

// What is in doubt is judged without touching it.
func TestExamineJudgesAttempts(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	dir := hold(p, "outputs: [a.txt]")
	x := examine(p)
	if len(x.Verdicts) != 1 || x.Verdicts[0].Case.Attempt != recovery.Live || x.Verdicts[0].Verdict.Word != pawl.Continue {
		t.Errorf("it runs: %+v", x.Verdicts)
	}
	p.Write("plan.yaml", strings.Replace(p.Text("plan.yaml"), "echo part", "echo other", 1))
	if x := examine(p); x.Verdicts[0].Verdict.Rule != "live-outdated" {
		t.Errorf("it runs by an old definition: %+v", x.Verdicts)
	}
	p.Write("plan.yaml", strings.Replace(p.Text("plan.yaml"), "echo other", "echo part", 1))
	p.Check(supervise.Kill(dir))
	p.Check(supervise.Attach(dir).Wait(t.Context()))
	x = examine(p)
	if v := x.Verdicts[0]; v.Case.Attempt != recovery.Lost || v.Case.Outputs != recovery.AllOutputs || v.Verdict.Rule != "partial" {
		t.Errorf("it was lost: %+v", x.Verdicts)
	}
	if len(p.State().Live()) != 1 {
		t.Error("to examine changed the run")
	}
}

// An intent of which nothing came.
func TestExamineWhatNeverBegan(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create("name: demo\nsteps: [{id: a, run: \"true\"}]\n")
	p.KilledAt("attempt.started", 1)
	if x := examine(p); len(x.Verdicts) != 1 || x.Verdicts[0].Verdict.Rule != "not-begun" {
		t.Errorf("%+v", x.Verdicts)
	}
}

func git(p *enginetest.Project, args ...string) string {
	p.Helper()
	cmd := exec.Command("git", append([]string{"-C", p.Root, "-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Commits that items name are looked for; where git stands is compared with where it stood.
func TestExamineGit(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	git(p, "init", "-q")
	p.Write(".gitignore", ".pawl\n")
	git(p, "add", ".gitignore")
	git(p, "commit", "-qm", "first")
	first := git(p, "rev-parse", "HEAD")
	p.Check(p.Do("name: demo\nsteps:\n  - {id: a, run: 'echo \"{\\\"item\\\":{\\\"item\\\":\\\"one\\\",\\\"status\\\":\\\"done\\\",\\\"commit\\\":\\\"" + first + "\\\"}}\" >> $PAWL_EVENTS'}\n"))
	if c := resume.CommitClaims(t.Context(), p.Project, p.State()); len(c) != 1 || !c[0].Reachable {
		t.Errorf("commits %+v", c)
	}
	snapshots := runs.SnapshotsOf(p.Project, p.Config.Snapshots)
	record, lost, _ := resume.NewestSnapshot(t.Context(), p.Project, p.State(), snapshots)
	if record == nil || lost != "" {
		t.Fatalf("no record: %s", lost)
	}
	if g := resume.GitFacts(t.Context(), p.Project, record); g.CommitThen != first || g.CommitNow != first || g.Rewritten {
		t.Errorf("git %+v", g)
	}
	git(p, "commit", "-q", "--amend", "-m", "rewritten")
	if g := resume.GitFacts(t.Context(), p.Project, record); !g.Rewritten || g.CommitNow == first {
		t.Errorf("rewritten: %+v", g)
	}
	if c := resume.CommitClaims(t.Context(), p.Project, p.State()); c[0].Reachable || resume.CommitReachable(t.Context(), p.Root, "no commit") {
		t.Errorf("a commit that was amended away is there: %+v", c)
	}
	p.Check(errors.Join(snapshots.Close(), os.RemoveAll(p.Snapshots())))
	if _, lost, _ = resume.NewestSnapshot(t.Context(), p.Project, p.State(), snapshots); lost == "" {
		t.Error("a snapshot that is gone is not missed")
	}
}

// Outputs of finished steps that are not as recorded are found.
func TestExamineClaims(t *testing.T) {
	t.Parallel()
	p := finished(t)
	p.Write("one.txt", "mine")
	p.Check(os.Remove(p.Path("two.txt")))
	var warned []string
	for _, f := range examine(p).Findings {
		if f.Level == pawl.Warn {
			warned = append(warned, f.Where)
		}
	}
	slices.Sort(warned)
	if !slices.Equal(warned, []string{"one.txt", "two.txt"}) {
		t.Errorf("warned of %v", warned)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	p := finished(t)
	has := func(level pawl.Level, text string) bool {
		found, err := resume.Verify(t.Context(), p.Project)
		p.Check(err)
		return slices.ContainsFunc(found, func(f pawl.Finding) bool { return f.Level == level && strings.Contains(f.Where+f.What, text) })
	}
	if !has(pawl.OK, "all outputs of finished steps (4) are unchanged") || has(pawl.Warn, "") || has(pawl.Bad, "") {
		t.Error("a good run has faults")
	}
	p.Write("a.out", "changed")
	p.Check(os.Remove(p.Path("two.txt")))
	if !has(pawl.Warn, "a.outoutput of a finished step is changed") || !has(pawl.Warn, "two.txtoutput of a finished step is gone") {
		t.Error("changed outputs are not found")
	}
	p.Write(".pawl/runs/"+string(p.Run)+"/plan.yaml", "damaged")
	if !has(pawl.Warn, "its copy of the plan is damaged or missing; the next resume restores it from plan.yaml, which has the same hash") {
		t.Error("a damaged plan is not found")
	}
	lock, err := supervise.Prepare(filepath.Join(p.RunDir(p.Run), "steps", "one", "9"))
	p.Check(err)
	if !has(pawl.Bad, "a supervisor is running, but the journal has no live attempt") {
		t.Error("a supervisor that nobody knows is not found")
	}
	p.Check(lock.Release())
	p.Check(os.WriteFile(filepath.Join(p.RunDir(p.Run), "journal.jsonl"), []byte("damaged\nlines\n"), 0o600))
	if !has(pawl.Bad, "") {
		t.Error("a damaged journal is not found")
	}
}

// Explain returns each verdict with its outcome.
func TestExplain(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	dir := hold(p, "outputs: [a.txt]")
	p.Check(supervise.Kill(dir))
	p.Check(supervise.Attach(dir).Wait(t.Context()))
	p.Write("go", "")
	p.Check(p.GoOn())
	list, err := resume.Explain(load(p), "a")
	p.Check(err)
	if len(list) != 1 || list[0].Outcome != string(pawl.Lost) || list[0].Verdict.Rule != "partial" || list[0].Attempt != 1 {
		t.Errorf("%+v", list)
	}
	if none, err := resume.Explain(load(p), "other"); err != nil || none != nil {
		t.Errorf("another step: %+v, %v", none, err)
	}
}

func TestContentHash(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if hash, err := resume.ContentHash(path, info); err != nil || hash != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("%s, %v", hash, err)
	}
	folder, err := os.Lstat(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resume.ContentHash(filepath.Dir(path), folder); err == nil {
		t.Error("a folder has a hash")
	}
}
