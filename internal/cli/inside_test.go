package cli_test

import (
	"os"
	"strings"
	"testing"

	"pawl"
)

// insidePlan has a step that writes down its environment and waits for a file.
const insidePlan = `name: demo
steps:
  - id: work
    run: |
      echo work >> ran.txt
      test "$PAWL_ATTEMPT" = 2 && exit 0
      env | grep ^PAWL_ > env.part; mv env.part env.txt
      until test -e go; do sleep 0.02; done
`

// TestInsideStep runs commands as a step does. What they say reaches the journal through the engine.
//
// It sets variables of the process, so it runs alone.
func TestInsideStep(t *testing.T) {
	p := newProject(t)
	p.endWith("go")
	p.write("plan.yaml", insidePlan)
	ended := make(chan result, 1)
	go func() { ended <- p.pawl("run", "plan.yaml") }()
	p.until("the step starts", func() bool { return p.exists("env.txt") })
	for line := range strings.Lines(p.read("env.txt")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		t.Setenv(name, value)
	}
	for _, args := range [][]string{
		{"progress", "1/4"}, {"progress", "50%"}, {"progress", "nearly there"}, {"progress", "The beginning", "--item", "intro", "--status", "running"},
		{"learn", "the disk is slow"}, {"decide", "B", "-m", "cheaper"}, {"block", "no ink"}, {"checkpoint", "-m", "half way"}, {"brief"},
	} {
		p.ok(args...)
	}
	gate := strings.TrimSpace(p.ok("ask", "Which?", "--option", "red,blue"))
	for line := range strings.Lines(p.read("env.txt")) {
		name, _, _ := strings.Cut(line, "=")
		os.Unsetenv(name)
	}
	p.write("go", "")
	if got := <-ended; pawl.KindOf(got.err) != pawl.KindAtGate {
		t.Errorf("%v: %s", got.err, got.msg)
	}
	for kind, want := range map[pawl.EventType]int{"item.named": 1, "memory.learned": 1, "decision.made": 1, "blocker.opened": 1, "checkpoint.saved": 1, "gate.opened": 1} {
		if got := len(p.events(kind)); got < want {
			t.Errorf("%d events %s", got, kind)
		}
	}
	if s := p.state(); s.Gate(pawl.GateID(gate)) == nil || s.Gate(pawl.GateID(gate)).Step != "work" {
		t.Errorf("no gate %s of the step", gate)
	}
	if progress := last[pawl.Progressed](p); progress.Text != "nearly there" {
		t.Errorf("%+v", progress)
	}
	p.ok("answer", gate, "blue")
	p.ok("unblock", "1")
	p.ok("resume")
	if s := p.state(); s.Status != pawl.StatusCompleted {
		t.Errorf("%s", s.Status)
	}
}

// TestStepCallsPawl has steps call pawl themselves.
func TestStepCallsPawl(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", "name: demo\nsteps:\n  - {id: a, run: 'pawl progress 1/2 && pawl learn \"it is called\"'}\n")
	p.ok("run", "plan.yaml")
	if got := last[pawl.MemoryLearned](p); got.Text != "it is called" {
		t.Errorf("%+v", got)
	}
}
