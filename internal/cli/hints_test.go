package cli_test

import (
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/runs"
)

// failPlan fails at once.
const failPlan = "name: fails\nsteps: [{id: one, run: exit 5}]\n"

// TestHintsNameTheRun has a failed run beside an unfinished one, which is the current one.
func TestHintsNameTheRun(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	waiting := string(p.run())
	p.write("fails.yaml", failPlan)
	got := p.fails(pawl.KindRunFailed, "run", "fails.yaml")
	failed := string(p.newest())
	if hint := pawl.HintOf(got.err); hint != "pawl retry one --run "+failed {
		t.Errorf("hint %q", hint)
	}
	p.wants(p.ok("status", failed), "\n  pawl retry one --run "+failed+"\n  pawl skip one --run "+failed+"\n  pawl output one --stderr --run "+failed+"\n",
		"pawl brief "+failed+"\n")
	p.ok("output", "one", "--stderr", "--run", failed)
	for _, args := range [][]string{{"resume", failed}, {"watch", failed}, {"skip", "none", "--run", failed}, {"output", "none", "--run", failed}, {"explain", "none", "--run", failed}} {
		if hint := pawl.HintOf(p.pawl(args...).err); !strings.HasSuffix(hint, failed) {
			t.Errorf("%v: hint %q", args, hint)
		}
	}
	p.wants(p.ok("explain", "one", "--run", failed), "human_review: the step fails: no attempts are left (rule: no-tries)\n  next     pawl retry one --run "+failed+"\n")
	if out := p.ok("status") + p.ok("gates"); strings.Contains(out, "--run") {
		t.Errorf("the current run is named: %s", out)
	}
	p.ok("approve", "--yes", "look")
	p.ok("resume")
	if hint := pawl.HintOf(p.fails(pawl.KindRunFailed, "resume", failed).err); hint != "pawl retry one" {
		t.Errorf("hint %q although the failed run is the current one", hint)
	}
	p.wants(p.ok("status", waiting), "completed")
	p.ok("retry", "one")
}

// TestFailedItems suggests the output of the first item that failed.
func TestFailedItems(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", "name: demo\nsteps: [{id: each, foreach: {items: [fine, 'not fine']}, run: 'test $PAWL_ITEM = fine'}]\n")
	p.fails(pawl.KindRunFailed, "run", "plan.yaml")
	offers := decode[status](p, "status").Steps[0].Offers
	if len(offers) < 3 || !strings.HasPrefix(offers[2], "pawl output each --item ") {
		t.Fatalf("offers %q", offers)
	}
	if !strings.Contains(offers[2], "--item 'not fine'") {
		t.Errorf("%q does not name the value", offers[2])
	}
	p.ok("output", "each", "--item", "not fine", "--stderr")
}

// TestGatesOfAnotherRun answers a gate with the command that is listed.
func TestGatesOfAnotherRun(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	other := string(p.run())
	p.write("second.yaml", "name: second\nsteps: [{id: other, gate: {type: human_verify, ask: Right?}}]\n")
	p.fails(pawl.KindAtGate, "run", "second.yaml")
	command := decode[status](p, "status", other).Gates[0].Commands[0]
	if !strings.HasSuffix(command, " --run "+other) || !strings.Contains(p.ok("gates", other), command) {
		t.Fatalf("command %q", command)
	}
	p.ok(append(strings.Fields(command)[1:], "--yes")...)
	p.wants(p.ok("status", other), "ready to resume: gate ")
}

// TestRestoreAfterTheEnd saves the checkpoint of a restore in a session run, which is not the current run.
func TestRestoreAfterTheEnd(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", "name: demo\nsteps: [{id: one, run: echo 1 > a.txt}, {id: two, needs: [one], run: echo 2 > a.txt}]\n")
	p.ok("run", "plan.yaml")
	run := string(p.run())
	p.until("the next second, so that the next run's id is newer", func() bool {
		return time.Now().UTC().Format("20060102-150405") > runs.RunStamp(pawl.RunID(run))
	})
	p.write("a.txt", "3")
	p.ok("restore", "one", "--yes")
	if all := decode[[]status](p, "runs"); len(all) != 2 {
		t.Fatalf("no run was created for the checkpoint: %+v", all)
	}
	if got := decode[status](p, "status"); string(got.Run) != run || string(decode[status](p, "status", "latest").Run) != run {
		t.Errorf("the current run is %s, want %s", got.Run, run)
	}
	p.wants(p.ok("stats"), run)
	p.wants(p.ok("checkpoints"), "before_restore", "("+run+")")
	p.ok("output", "one")
	p.ok("retry", "two")
	p.ok("resume")
}

// TestPlanIsRunning starts a plan while an engine works on it.
func TestPlanIsRunning(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", "name: demo\nsteps: [{id: a, run: 'touch begun; until test -e go; do sleep 0.02; done'}]\n")
	ended := make(chan result)
	go func() { ended <- p.pawl("run", "plan.yaml") }()
	p.until("the step has begun", func() bool { return p.exists("begun") })
	got := p.fails(pawl.KindHeld, "run", "plan.yaml")
	if run := string(p.run()); got.err == nil || !strings.HasPrefix(got.err.Error(), "run "+run+" of this plan is already running (pid ") || pawl.HintOf(got.err) != "pawl watch "+run {
		t.Errorf("%v, hint %q", got.err, pawl.HintOf(got.err))
	}
	p.write("go", "")
	if got := <-ended; got.err != nil {
		t.Error(got.err)
	}
}

// TestAnsweredGate says that a resume continues, in status, why and brief.
func TestAnsweredGate(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	gate := string(decode[status](p, "status").Gates[0].ID)
	p.wants(p.ok("why"), "ask      look                 waiting for gate "+gate+": Is the page right?\n")
	p.ok("approve", "--yes", "look")
	p.wants(p.ok("status"), "ready to resume: gate "+gate+" approved", "gate "+gate+" approved; pawl resume continues")
	p.wants(p.ok("why"), "run      look                 gate "+gate+" approved; pawl resume continues\n")
	brief := p.ok("brief")
	p.wants(brief, "gate "+gate+" approved; `pawl resume "+string(p.run())+"` continues")
	if strings.Contains(brief, "asks a person") {
		t.Errorf("the brief asks a person: %s", brief)
	}
	if got := decode[status](p, "status"); got.Status != pawl.StatusInterrupted {
		t.Errorf("status %s", got.Status)
	}
	p.ok("resume")
	p.wants(p.ok("why"), "skip     look                 up to date\n")
}

// TestAnsweredGateOfTheRun opens a gate that belongs to no step.
func TestAnsweredGateOfTheRun(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	gate := decode[struct{ Gate string }](p, "ask", "Ready?").Gate
	p.ok("approve", "--yes", gate)
	p.wants(p.ok("status"), "waiting: 1 open gate  ")
	p.ok("approve", "--yes", "look")
	gate = decode[struct{ Gate string }](p, "ask", "Really?").Gate
	p.ok("approve", "--yes", gate)
	p.wants(p.ok("status"), "ready to resume: gate "+gate+" approved")
}

// TestBlockers says what is blocked, how to clear it and how to continue.
func TestBlockers(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", "name: demo\nsteps: [{id: a, run: 'pawl() { :; }; exit 0', accept: {there: test -e there}, retries: 0}]\n")
	p.write("hold.yaml", gatePlan)
	p.fails(pawl.KindAtGate, "run", "hold.yaml")
	run := string(p.run())
	for _, args := range [][]string{{"block", " "}, {"decide", " "}, {"ask", "\t"}} {
		p.wants(p.fails(pawl.KindUsage, args...).err.Error(), "is empty")
	}
	p.wants(p.ok("block", "no ink", "--step", "publish"), "blocker 1 recorded: step publish of run "+run+" is blocked until pawl unblock 1\n")
	p.wants(p.ok("block", "no paper", "--run", run), "blocker 2 recorded: run "+run+" is blocked until pawl unblock 2\n")
	if got := p.pawl("unblock", "2"); got.out != "blocker 2 cleared (run "+run+")\n" || got.msg != "" {
		t.Errorf("%q, %q: no hint while others must act", got.out, got.msg)
	}
	p.ok("approve", "--yes", "look")
	if got := p.pawl("unblock", "1", "--run", run); got.msg != "pawl: hint: pawl resume "+run+"\n" {
		t.Errorf("hint %q", got.msg)
	}
}

// TestNumbers gives flags wrong numbers.
func TestNumbers(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("run", "--", "true")
	for args, want := range map[string]string{
		"log -n x": `--last must be a number, not "x"`, "log --last=0": "--last must be 1 or more", "run --parallel 0 p": "--parallel must be 1 or more",
		"resume --parallel -2": "--parallel must be 1 or more", "prune --keep -1": "--keep must be 0 or more", "archive --keep 1.5": `--keep must be a number, not "1.5"`,
		"output command --attempt 0": "--attempt must be 1 or more", "review a --by b --score high": `--score must be a number, not "high"`,
		"brief --budget 9k": `--budget must be a number, not "9k"`, "log -n 99999999999999999999": "--last 99999999999999999999 is out of range",
	} {
		if got := p.fails(pawl.KindUsage, strings.Fields(args)...); got.err == nil || got.err.Error() != want {
			t.Errorf("pawl %s: %v, want %s", args, got.err, want)
		}
	}
	p.wants(p.ok("prune", "--help"), "--keep N", "(default 5)")
}

// TestPlanCheckInFolder resolves the file against -C.
func TestPlanCheckInFolder(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", gatePlan)
	p.wants(p.ok("plan", "check", "plan.yaml"), "plan demo is valid")
	p.wants(p.ok("plan", "check", p.path("plan.yaml")), "plan demo is valid")
	p.write("open.yaml", "name: [\n")
	got := p.fails(pawl.KindUsage, "run", "open.yaml")
	p.wants(got.err.Error(), p.path("open.yaml")+":2:1: invalid YAML: a bracket, brace or quote is not closed")
	p.write("wrong.yaml", "name: x\nsteps: [{id: a, rnu: b}]\n")
	for _, command := range []string{"run open.yaml", "run wrong.yaml", "plan check wrong.yaml"} { // plan check would only repeat the errors
		words := strings.Fields(command)
		if hint := pawl.HintOf(p.fails(pawl.KindUsage, words...).err); hint != "edit "+p.path(words[len(words)-1]) {
			t.Errorf("%s: hint %q", command, hint)
		}
	}
}

// TestNothingToStop says so.
func TestNothingToStop(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	run := string(p.run())
	p.wants(p.ok("pause"), "run "+run+" paused; no attempt is running\n")
	p.wants(p.ok("stop"), "run "+run+" stopped; no attempt was running\n")
	p.write("page.txt", "other")
	p.wants(p.fails(pawl.KindUsage, "rollback", "--to", "draft").err.Error(), "rolling back changes 1 path; it runs no undo command; not a terminal")
	p.wants(p.ok("detach", "claude"), "claude is not attached (scope project)\n")
	p.wants(p.ok("explain", "draft"), "step draft was not interrupted and did not fail")
	p.wants(p.fails(pawl.KindUsage, "brief", "--for", "bob").err.Error(), `unknown reader "bob"; use claude, codex, gemini, opencode, copilot, kernel or human`)
	p.wants(p.ok("verify"), " snapshots verified, ")
}

// TestFlagErrors gives flags that need other ones, or values that do not exist.
func TestFlagErrors(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	for _, test := range []struct{ args, want string }{
		{"import grid --prompt", "--prompt needs --dry-run"},
		{"ask Which? --option a --option b --default c", `--default "c" is not one of the options: a, b`},
		{"ask Which? --default c", "--default needs --option"},
		{"verify --criterion x", "--criterion needs --step STEP"},
		{"verify --step x", "--step needs --as SYSTEM"},
		{"rollback --stop", "there is no interrupted rollback"},
		{"run --crontab plan.yaml", "--crontab needs --schedule"},
		{"run --install plan.yaml", "--install needs --schedule"},
		{"run --schedule @daily --background plan.yaml", "--schedule cannot be combined with --background"},
		{"run --update -- echo x", "--update needs a PLAN"},
		{"run --resume --crontab -- echo x", "--resume and --crontab need a PLAN"},
		{"why --param x=1", `unknown parameter "x": the plan has no parameters`},
		{"why --params nofile", "no parameter file " + p.path("nofile")},
	} {
		if got := p.fails(pawl.KindUsage, strings.Fields(test.args)...); got.err == nil || !strings.HasPrefix(got.err.Error(), test.want) {
			t.Errorf("pawl %s: %v, want %s", test.args, got.err, test.want)
		}
	}
	p.ok("why")
}
