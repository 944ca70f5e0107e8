package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/engine/enginetest"
	"pawl/internal/planfile"
	"pawl/internal/runs"
)

// steps are the events that say how a plan went on.
var steps = []pawl.EventType{
	"attempt.started", "attempt.ended", "item.done", "step.listed", "step.done", "step.failed", "step.skipped", "step.reopened", "run.ended",
}

func TestPlanFromStartToDone(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(`name: demo
steps:
  - {id: one, run: "echo one > one.txt", outputs: [one.txt], accept: {right: grep one one.txt}}
  - {id: two, inputs: [one.txt], run: "cat one.txt >> two.txt"}
`))
	p.WantText("two.txt", "one\n")
	p.WantStory("run.created run.planned engine.started attempt.started:one step.done:one attempt.started:two step.done:two run.ended engine.stopped")
	if s := p.State(); s.Status != pawl.StatusCompleted || s.Steps["one"].Outputs["one.txt"].SHA256 == "" {
		t.Errorf("status %s, outputs %v", s.Status, s.Steps["one"].Outputs)
	}
	p.Check(p.GoOn())
	p.WantText("two.txt", "one\n")
}

func TestStepsEnvironment(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(`name: demo
env: {COLOR: red, SHAPE: round}
steps:
  - {id: make, run: mkdir sub}
  - {id: one, env: {COLOR: blue}, dir: sub, run: 'echo "$COLOR $SHAPE $PAWL_STEP $PAWL_ATTEMPT" > ../seen.txt; pwd >> ../seen.txt; [ "$PAWL_PROJECT" = "$(dirname "$PWD")" ] && test -x "$(command -v pawl)"'}
`))
	p.WantText("seen.txt", "blue round one 1\n"+p.Path("sub")+"\n")
}

func TestIndependentStepsRunAtOnce(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Check(p.Do(`name: demo
steps:
  - {id: a, needs: [], run: "touch a; until test -e b; do sleep 0.01; done"}
  - {id: b, needs: [], run: "touch b; until test -e a; do sleep 0.01; done"}
`))
	p.WantStatus(pawl.Done, "a", "b")
}

func TestParallelLimitsAttempts(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Config.Parallel = 0 // the plan's
	p.Check(p.Do(`name: demo
parallel: 1
steps:
  - id: each
    foreach: {items: [a, b, c]}
    run: test ! -e busy && touch busy && echo $PAWL_ITEM >> seen.txt && rm busy
`))
	p.WantText("seen.txt", "a\nb\nc\n")
}

// A step that fails is tried again after its pause, which doubles, until its tries are used up; then its run fails.
func TestRetriesAndBackoff(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	err := p.Do(`name: demo
steps:
  - {id: flaky, run: 'echo x >> tries; test $(wc -l < tries) -ge 3', retry: {attempts: 3, backoff: 200ms}}
  - {id: hopeless, run: 'echo oops >&2; exit 3', retry: {attempts: 2, backoff: 10ms}}
  - {id: after, run: touch after.txt}
  - {id: beside, needs: [], run: "true"}
`)
	p.WantKind(err, pawl.KindRunFailed, "step hopeless failed")
	p.WantStatus(pawl.Done, "flaky")
	p.WantStatus(pawl.FailedForGood, "hopeless")
	if p.Exists("after.txt") {
		t.Error("a step ran whose need had failed")
	}
	for _, end := range enginetest.Payloads[pawl.AttemptEnded](p) {
		if end.Step == "flaky" {
			pause := time.Duration(end.Attempt) * 200 * time.Millisecond
			if at, next := startOf(p, "flaky", end.Attempt), startOf(p, "flaky", end.Attempt+1); end.RetryAt.Sub(at) < pause || next.Before(end.RetryAt) {
				t.Errorf("attempt %d began at %s, the next was due at %s, and began at %s", end.Attempt, at, end.RetryAt, next)
			}
		}
		if end.Step == "hopeless" && (end.Exit == nil || *end.Exit != 3 || end.Final != (end.Attempt == 2)) {
			t.Errorf("attempt %+v", end)
		}
	}
	p.WantKind(p.GoOn(), pawl.KindRunFailed, "step hopeless failed")
}

// startOf returns when the start of an attempt was journaled.
func startOf(p *enginetest.Project, step pawl.StepID, attempt int) time.Time {
	p.Helper()
	for _, e := range p.Events() {
		payload, err := e.Payload()
		p.Check(err)
		if is, ok := payload.(pawl.AttemptStarted); ok && is.Step == step && is.Attempt == attempt {
			return e.Time
		}
	}
	p.Fatalf("no attempt %d of %s", attempt, step)
	return time.Time{}
}

func TestWhatIsNotThereFailsTheStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ plan, why string }{
		"input":  {`{id: a, inputs: [absent.txt], run: "true"}`, "inputs: "},
		"output": {`{id: a, outputs: [absent.txt], run: "true"}`, "absent.txt"},
		"check":  {`{id: a, accept: {right: "echo not right; false"}, run: "true"}`, "right"},
		"list":   {`{id: a, foreach: {lines: absent.txt}, run: "true"}`, "absent.txt"},
		"twice":  {`{id: a, foreach: {lines: plan.yaml}, inputs: [absent.txt], run: "true"}`, "absent.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			p.WantKind(p.Do("name: demo\nsteps:\n  - "+c.plan+"\n"), pawl.KindRunFailed, c.why)
			p.WantStatus(pawl.FailedForGood, "a")
		})
	}
}

func TestCommandRun(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	data := []byte(`{"name":"make","steps":[{"id":"command","name":"make all","run":"echo made > made.txt","idempotent":false}]}`)
	plan, err := planfile.Read("command", data)
	p.Check(err)
	e, err := engine.OpenNew(t.Context(), p.Config, runs.CreateOptions{Kind: pawl.CommandRun, Plan: plan, Data: data})
	p.Check(err)
	if e.Plan().Name != "make" {
		t.Errorf("plan %q", e.Plan().Name)
	}
	p.Check(e.Run(t.Context(), t.Context(), "run"))
	p.Run = e.State().Run
	p.Check(e.Close())
	p.WantText("made.txt", "made\n")
	if s := p.State(); s.Kind != pawl.CommandRun || s.Status != pawl.StatusCompleted {
		t.Errorf("kind %s, status %s", s.Kind, s.Status)
	}
}

func TestNotify(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	var told []string
	p.Config.Notify = func(e pawl.Event) { told = append(told, string(e.Type)) }
	p.Check(p.Do("name: demo\nsteps: [{id: a, run: \"true\"}]\n"))
	if got := strings.Join(told, " "); got != strings.Join(p.Story(), " ")[len("run.created run.planned "):] && !strings.HasPrefix(got, "engine.started attempt.started step.done") {
		t.Errorf("told of %s", got)
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create("name: demo\nsteps: [{id: a, run: \"true\"}, {id: b, needs: [], run: \"true\"}, {id: c, run: \"true\"}]\n")
	r, err := runs.Load(t.Context(), p.Project, p.Run)
	p.Check(err)
	defer r.Log.Close()
	if due := engine.Due(r, time.Now(), 9); len(due) != 2 || due[0] != "a" || due[1] != "b" {
		t.Errorf("due %v, want a and b", due)
	}
}

// TestUnusableStateFolder lets the disk fail where the folder for PATH belongs. The engine stops, no step fails, and the run resumes.
func TestUnusableStateFolder(t *testing.T) {
	state := t.TempDir()
	t.Setenv("PAWL_STATE", state)
	p := enginetest.New(t)
	bin := filepath.Join(state, "bin")
	p.Check(os.WriteFile(bin, nil, 0o600))
	if err := p.Do("name: demo\nsteps: [{id: a, run: 'true'}]\n"); err == nil || !strings.Contains(err.Error(), "prepare PATH") {
		t.Errorf("error %v", err)
	}
	if n := p.Count("step.failed"); n > 0 {
		t.Errorf("%d steps failed", n)
	}
	p.Check(os.Remove(bin))
	p.Check(p.GoOn())
}
