package cli_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/runs"
)

// threeSteps is a plan with an output, a foreach step and an acceptance check. Each step writes down that it has run.
const threeSteps = `name: demo
goal: three steps
steps:
  - id: draft
    run: echo draft >> ran.txt; echo "first draft"; echo warning >&2; echo one > draft.txt
    outputs: [draft.txt]
    undo: rm -f draft.txt
  - id: convert
    needs: [draft]
    foreach: {items: [a, b]}
    run: echo "convert $PAWL_ITEM" >> ran.txt; echo "made $PAWL_ITEM"; cp draft.txt out-$PAWL_ITEM.txt
    outputs: [out-$PAWL_ITEM.txt]
    undo: rm -f out-$PAWL_ITEM.txt
  - id: publish
    needs: [convert]
    run: echo publish >> ran.txt; cat out-a.txt out-b.txt > all.txt
    outputs: [all.txt]
    accept: {whole: test -s all.txt}
    undo: rm -f all.txt
`

// finished makes a project with a run of threeSteps that is completed.
func finished(t *testing.T) *place {
	t.Helper()
	p := newProject(t)
	p.write("plan.yaml", threeSteps)
	p.ok("run", "plan.yaml")
	return p
}

// ran returns which steps and items have run, sorted.
func (p *place) ran() []string {
	p.Helper()
	if !p.exists("ran.txt") {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(p.read("ran.txt")), "\n")
	slices.Sort(lines)
	return lines
}

// TestRun runs a plan and looks at what is left of it.
func TestRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("plan.yaml", threeSteps)
	out := p.ok("run", "plan.yaml") // it makes the folder a project
	p.wants(out, string(p.run()), "draft", "convert", "publish")
	if diff := cmp.Diff([]string{"convert a", "convert b", "draft", "publish"}, p.ran()); diff != "" {
		t.Error(diff)
	}
	s := p.state()
	if s.Status != pawl.StatusCompleted || s.Kind != pawl.PlanRun || s.Name != "demo" {
		t.Errorf("%s %s %s", s.Status, s.Kind, s.Name)
	}
	if n := len(p.events("step.done")); n != 3 {
		t.Errorf("%d steps are done", n)
	}
	if p.read("all.txt") != "one\none\n" {
		t.Errorf("all.txt: %q", p.read("all.txt"))
	}
	p.fails(pawl.KindNothing, "resume")
	p.write("second.yaml", threeSteps)
	p.ok("run", "--parallel", "1", p.path("second.yaml"))
	if got := decode[[]status](p, "runs"); len(got) != 2 {
		t.Errorf("runs: %+v", got)
	}
}

// TestRunCommand runs one command. What it prints is passed on, and its failure is the run's.
func TestRunCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.wants(p.ok("run", "--", "sh", "-c", "echo 'it works' \"$0\"", "a'b"), "it works a'b\n")
	if s := p.state(); s.Kind != pawl.CommandRun || s.Status != pawl.StatusCompleted {
		t.Errorf("%s %s", s.Kind, s.Status)
	}
	p.fails(pawl.KindRunFailed, "run", "--", "sh", "-c", "exit 3")
	if s := p.state(); s.Status != pawl.StatusFailed {
		t.Errorf("%s", s.Status)
	}
}

// TestLookAtFinished runs every command that only reads on a completed run, as text and as JSON.
func TestLookAtFinished(t *testing.T) {
	t.Parallel()
	p := finished(t)
	s := decode[status](p, "status")
	if s.Run != p.run() || s.Status != pawl.StatusCompleted || s.Percent != 100 || s.Engine != nil || len(s.Gates) != 0 {
		t.Errorf("%+v", s)
	}
	for _, step := range s.Steps {
		want := 1
		if step.ID == "convert" {
			want = 2
		}
		if step.Status != pawl.Done || step.Attempts != want || step.Items.Done != (want-1)*2 {
			t.Errorf("%+v", step)
		}
	}
	size := journalSize(p)
	for line, words := range map[string][]string{
		"status": s.steps(), "why": s.steps(), "stats": s.steps(), "log": {"draft done", "created (plan)"}, "runs": {string(s.Run)}, "checkpoints": s.steps(),
		"brief": {string(s.Run)}, "log --graph": {"publish"}, "explain --run " + string(s.Run): nil, "explain --rules": nil, "gates": nil, "processes": nil,
		"verify": nil, "stats --all": {string(s.Run)}, "checkpoints --all": {"draft"}, "diff": nil, "show latest": {string(s.Run)},
		"show draft --left-out": nil, "prune --dry-run": nil, "restore draft --dry-run": {"all.txt"}, "rollback --to draft --dry-run": {"publish", "convert"},
		"diff draft publish": {"all.txt"}, "diff draft --stat": {"all.txt"}, "diff draft --names": {"all.txt"}, "diff draft -- all.txt": {"all.txt"}, "runs --all": {string(s.Run)},
		"status " + string(s.Run)[:8]: s.steps(), "log -n 2": nil, "watch": {string(s.Run)},
	} {
		p.wants(p.ok(strings.Fields(line)...), words...)
		first := strings.Fields(line)[0]
		if first == "watch" || strings.Contains(line, " -- ") {
			continue
		}
		text := p.ok(append(strings.Fields(line), "--json")...)
		if first == "log" && !strings.Contains(line, "graph") {
			if n := strings.Count(text, "\n"); line == "log -n 2" && n != 2 {
				t.Errorf("%s: %d lines", line, n)
			}
			text, _, _ = strings.Cut(text, "\n")
		}
		decoded[any](p, text)
	}
	if got := journalSize(p); got != size {
		t.Errorf("the journal has grown from %d to %d bytes", size, got)
	}
}

// journalSize returns the size of the current run's journal.
func journalSize(p *place) int64 {
	p.Helper()
	info, err := os.Stat(filepath.Join(p.project().RunDir(p.newest()), "journal.jsonl"))
	if err != nil {
		p.Fatal(err)
	}
	return info.Size()
}

// TestOutput shows what steps and items have printed.
func TestOutput(t *testing.T) {
	t.Parallel()
	p := finished(t)
	for line, want := range map[string]string{
		"output draft": "first draft\n", "output draft --stderr": "warning\n", "output convert --item b": "made b\n",
		"output draft --attempt 1 --follow": "first draft\n", "output convert --follow": "==> convert/a, attempt 1 <==\nmade a\n==> convert/b, attempt 1 <==\nmade b\n",
		"output draft --run " + string(p.run()): "first draft\n",
	} {
		if got := p.ok(strings.Fields(line)...); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
	for _, line := range []string{"output nothing", "output convert", "output convert --item c", "output draft --attempt 7"} {
		p.fails(pawl.KindUsage, strings.Fields(line)...)
	}
	p.fails(pawl.KindNothing, "output", "draft", "--run", "nothing")
}

// TestUnknownRun names runs that there are none of.
func TestUnknownRun(t *testing.T) {
	t.Parallel()
	p := finished(t)
	for _, line := range []string{
		"status nothing", "resume nothing", "pause nothing", "stop nothing", "brief nothing", "watch nothing", "log nothing", "stats nothing", "why nothing",
		"explain draft --run nothing", "gates nothing", "approve a --yes --run nothing", "checkpoints nothing", "processes nothing", "archive nothing",
		"retry draft --run nothing", "log --graph nothing", "export grid --run nothing",
	} {
		p.fails(pawl.KindNothing, strings.Fields(line)...)
	}
}

// TestFailedRun lets a step fail, retries it after the cause is gone, and skips another one.
func TestFailedRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", `name: demo
steps:
  - id: build
    run: echo build >> ran.txt
  - id: test
    needs: [build]
    run: echo test >> ran.txt; test -e fixed
    retry: {attempts: 1}
  - {id: last, needs: [test], run: echo last >> ran.txt}
`)
	p.fails(pawl.KindRunFailed, "run", "plan.yaml")
	s := decode[status](p, "status")
	want := map[pawl.StepID]pawl.StepStatus{"build": pawl.Done, "test": pawl.FailedForGood, "last": pawl.Pending}
	if diff := cmp.Diff(want, s.of()); diff != "" || s.Status != pawl.StatusFailed {
		t.Errorf("%s %s", s.Status, diff)
	}
	p.wants(p.ok("status"), "build", "test", "last", "pawl retry test")
	p.fails(pawl.KindRunFailed, "resume")
	p.fails(pawl.KindRunFailed, "watch")
	p.ok("why")
	p.ok("brief")
	if len(decode[[]any](p, "explain", "test")) == 0 {
		t.Error("nothing explains the failure")
	}
	p.ok("explain", "test")
	p.fails(pawl.KindUsage, "retry", "nothing")
	p.write("fixed", "")
	p.wants(p.ok("retry", "test", "-m", "fixed"), "test")
	if got := last[pawl.StepReopened](p); got.Step != "test" || !strings.Contains(got.Why, "fixed") {
		t.Errorf("%+v", got)
	}
	p.ok("resume")
	if diff := cmp.Diff([]string{"build", "last", "test", "test"}, p.ran()); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(p.path("fixed")); err != nil {
		t.Fatal(err)
	}
	p.fails(pawl.KindRunFailed, "run", "--new", "plan.yaml")
	p.wants(p.ok("skip", "test", "-m", "never mind"), "test")
	p.ok("resume")
	if got := decode[status](p, "status").of()["test"]; got != pawl.Skipped {
		t.Errorf("test is %s", got)
	}
}

// blocking is a plan whose first step waits for a file.
const blocking = `name: demo
steps:
  - id: wait
    run: echo wait >> ran.txt; until test -e go; do sleep 0.02; done
  - {id: after, needs: [wait], run: echo after >> ran.txt}
`

// endWith writes the file that steps wait for when the test ends, and waits until no attempt is left.
func (p *place) endWith(name string) {
	p.Cleanup(func() {
		p.write(name, "")
		p.until("no attempt is left", func() bool {
			left := false
			err := filepath.WalkDir(p.path(".pawl/runs"), func(path string, d os.DirEntry, err error) error {
				left = left || err == nil && d.Name() == pawl.LockFile && runs.AttemptAlive(filepath.Dir(path))
				return nil
			})
			return err == nil && !left
		})
	})
}

// killed creates a project with a run whose engine was killed in the first step. The attempt keeps running.
func killed(t *testing.T) *place {
	t.Helper()
	p := newProject(t)
	p.endWith("go")
	p.write("plan.yaml", blocking)
	p.ok("run", "--background", "plan.yaml")
	p.until("the step starts", func() bool { return len(p.ran()) > 0 })
	holder, alive := p.project().EngineHolder()
	if !alive {
		t.Fatal("no engine is running")
	}
	if err := syscall.Kill(holder.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.until("the engine is gone", func() bool { _, alive := p.project().EngineHolder(); return !alive })
	return p
}

// TestInterrupt interrupts a run and resumes it. The attempt is ended, and reruns.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.endWith("go")
	p.write("plan.yaml", blocking)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan result, 1)
	go func() { ended <- p.within(ctx, "", "run", "plan.yaml") }()
	p.until("the step starts", func() bool { return len(p.ran()) > 0 })
	cancel()
	if got := <-ended; pawl.KindOf(got.err) != pawl.KindInterrupted {
		p.Errorf("%v: %s", got.err, got.msg)
	}
	if s := decode[status](p, "status"); len(s.Steps[0].Live) != 0 || s.Status != pawl.StatusPaused {
		t.Errorf("%+v", s)
	}
	p.write("go", "")
	p.ok("resume")
	if diff := cmp.Diff([]string{"after", "wait", "wait"}, p.ran()); diff != "" {
		t.Error(diff)
	}
}

// TestKilledEngine looks at a run whose engine was killed, and resumes it. The attempt is not repeated.
func TestKilledEngine(t *testing.T) {
	t.Parallel()
	p := killed(t)
	s := decode[status](p, "status")
	if s.Status != pawl.StatusInterrupted || s.of()["wait"] == pawl.Done || len(s.Steps[0].Live) != 1 || s.Engine != nil {
		t.Errorf("%+v", s)
	}
	for line, words := range map[string][]string{"status": {"wait", "after"}, "why": {"wait", "after"}, "resume --dry-run": {"wait", "after"}, "brief": {"wait"}, "processes": nil, "stats": nil} {
		p.wants(p.ok(strings.Fields(line)...), words...)
		decode[any](p, strings.Fields(line)...)
	}
	if got := decode[struct{ Processes []any }](p, "processes"); len(got.Processes) == 0 {
		t.Error("the attempt has no process")
	}
	got := p.fails(pawl.KindUsage, "run", "plan.yaml")
	if hint := pawl.HintOf(got.err); hint != "pawl resume "+string(p.run()) {
		t.Errorf("hint: %q", hint)
	}
	p.write("go", "")
	p.wants(p.ok("resume"), "after")
	if diff := cmp.Diff([]string{"after", "wait"}, p.ran()); diff != "" {
		t.Error(diff)
	}
	if s := p.state(); s.Status != pawl.StatusCompleted || s.Steps["wait"].Attempts != 1 {
		t.Errorf("%s after %d attempts", s.Status, s.Steps["wait"].Attempts)
	}
}

// TestStop ends the attempts of a run that no engine works on. Resumed, the step runs again.
func TestStop(t *testing.T) {
	t.Parallel()
	p := killed(t)
	p.wants(p.ok("stop", "-m", "enough"), string(p.run()))
	if got := last[pawl.RunStopped](p); got.Why != "enough" {
		t.Errorf("%+v", got)
	}
	p.until("no process runs", func() bool { return len(decode[struct{ Processes []any }](p, "processes").Processes) == 0 })
	p.write("go", "")
	p.pawl("resume", "--yes")
	if got := decode[status](p, "status").of()["wait"]; got == pawl.Running {
		t.Errorf("wait is %s", got)
	}
}

// TestEndProcesses ends the processes that an interrupted run has left.
func TestEndProcesses(t *testing.T) {
	t.Parallel()
	p := killed(t)
	got := p.pawl("processes", "--end", "--json")
	if report := decoded[struct{ Processes []any }](p, got.out); len(report.Processes) == 0 {
		t.Errorf("%v %s", got.err, got.out)
	}
}

// TestPause pauses a run while it runs, from another command. The running step is finished, and no other one starts.
func TestPause(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", blocking)
	ended := make(chan result, 1)
	go func() { ended <- p.pawl("run", "plan.yaml") }()
	p.until("the step starts", func() bool { return len(p.ran()) > 0 })
	if s := decode[status](p, "status"); s.Engine == nil || s.Engine.PID != os.Getpid() || s.Status != pawl.StatusActive {
		t.Errorf("%+v", s)
	}
	p.fails(pawl.KindHeld, "resume")
	p.wants(p.ok("pause", "-m", "lunch"), string(p.run()))
	p.write("go", "")
	got := <-ended
	if got.err == nil || p.state().Status == pawl.StatusCompleted {
		t.Errorf("%v: %s", got.err, p.state().Status)
	}
	if diff := cmp.Diff([]string{"wait"}, p.ran()); diff != "" {
		t.Error(diff)
	}
	p.ok("resume")
	if diff := cmp.Diff([]string{"after", "wait"}, p.ran()); diff != "" {
		t.Error(diff)
	}
}

// TestBackground starts a run in the background and watches it.
func TestBackground(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", blocking)
	id := strings.TrimSpace(p.ok("run", "--background", "plan.yaml"))
	if id != string(p.run()) {
		t.Errorf("printed %q", id)
	}
	p.until("the step starts", func() bool { return len(p.ran()) > 0 })
	watched := make(chan result, 1)
	go func() { watched <- p.pawl("watch") }()
	p.write("go", "")
	if got := <-watched; got.err != nil {
		t.Errorf("watch: %v", got.err)
	}
	p.until("the run is completed", func() bool { return p.state().Status == pawl.StatusCompleted })
	p.until("its engine has ended", func() bool { _, alive := p.project().EngineHolder(); return !alive })
}

// TestTakeOver kills the engine of another process and resumes its run. The attempt survives.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.endWith("go")
	p.write("plan.yaml", blocking)
	p.ok("run", "--background", "plan.yaml")
	p.until("the step starts", func() bool { return len(p.ran()) > 0 })
	other, _ := p.project().EngineHolder()
	ended := make(chan result, 1)
	go func() { ended <- p.pawl("resume", "--take-over") }()
	p.until("this process is the engine", func() bool {
		holder, alive := p.project().EngineHolder()
		return alive && holder.PID == os.Getpid() && holder.PID != other.PID
	})
	p.write("go", "")
	if got := <-ended; got.err != nil {
		t.Error(got.err)
	}
	if diff := cmp.Diff([]string{"after", "wait"}, p.ran()); diff != "" {
		t.Error(diff)
	}
}

// TestChangedInput changes an input of a finished step. Nothing runs again before somebody agrees.
func TestChangedInput(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("in.txt", "one\n")
	p.write("plan.yaml", `name: demo
steps:
  - {id: copy, inputs: [in.txt], run: "echo copy >> ran.txt; cp in.txt out.txt", outputs: [out.txt]}
  - {id: look, needs: [copy], gate: {type: human_verify, ask: Good?}}
`)
	p.fails(pawl.KindAtGate, "run", "plan.yaml")
	p.write("in.txt", "two\n")
	why := decode[struct {
		Steps []struct {
			Step pawl.StepID
			Runs bool
		}
	}](p, "why")
	if !why.Steps[0].Runs {
		t.Errorf("%+v", why)
	}
	p.wants(p.ok("resume", "--dry-run"), "copy")
	p.fails(pawl.KindUsage, "resume")
	if n := len(p.ran()); n != 1 {
		t.Errorf("copy ran %d times", n)
	}
	p.fails(pawl.KindAtGate, "resume", "--yes")
	if n := len(p.ran()); n != 2 || p.read("out.txt") != "two\n" {
		t.Errorf("copy ran %d times", n)
	}
}

// TestEditedPlan edits the plan of a failed run. The new definition is used.
func TestEditedPlan(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", "name: demo\nsteps:\n  - {id: a, run: 'false', retry: {attempts: 1}}\n")
	p.fails(pawl.KindRunFailed, "run", "plan.yaml")
	p.write("plan.yaml", "name: demo\nsteps:\n  - {id: a, run: 'true', retry: {attempts: 1}}\n  - {id: b, run: 'true'}\n")
	p.ok("why")
	p.ok("resume", "--yes")
	if got := slices.Sorted(maps.Keys(decode[status](p, "status").of())); !slices.Equal(got, []pawl.StepID{"a", "b"}) {
		t.Errorf("steps: %q", got)
	}
	if n := len(p.events("run.planned")); n != 2 {
		t.Errorf("%d plans", n)
	}
}
