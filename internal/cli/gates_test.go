package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"pawl"
)

// gatePlan has a gate that shows a file, and a step behind it.
const gatePlan = `name: demo
steps:
  - {id: draft, run: "echo draft >> ran.txt; echo $(cat ran.txt | wc -l) > page.txt", outputs: [page.txt]}
  - {id: look, needs: [draft], gate: {type: human_verify, ask: Is the page right?, expect: a number}}
  - {id: publish, needs: [look], run: echo publish >> ran.txt}
`

// atGate makes a project with a run that waits at the gate of gatePlan.
func atGate(t *testing.T) *place {
	t.Helper()
	p := newProject(t)
	p.write("plan.yaml", gatePlan)
	p.fails(pawl.KindAtGate, "run", "plan.yaml")
	return p
}

// gate returns the only open gate.
func (p *place) gate() pawl.GateID {
	p.Helper()
	gates := decode[[]struct {
		ID       pawl.GateID `json:"id"`
		Commands []string    `json:"commands"`
	}](p, "gates")
	if len(gates) != 1 || len(gates[0].Commands) == 0 {
		p.Fatalf("gates: %+v", gates)
	}
	return gates[0].ID
}

// TestApprove approves a gate by the beginning of its id. The run continues.
func TestApprove(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	id := p.gate()
	p.wants(p.ok("gates"), string(id), "look", "Is the page right?", "page.txt", "pawl approve")
	p.wants(p.ok("status"), string(id), "look")
	if s := decode[status](p, "status"); s.Status != pawl.StatusWaiting || len(s.Gates) != 1 || s.Gates[0].Step != "look" {
		t.Errorf("%+v", s)
	}
	p.wants(p.ok("why"), "look")
	p.ok("brief", "--for", "claude")
	p.fails(pawl.KindAtGate, "watch")
	p.fails(pawl.KindAtGate, "resume")
	p.fails(pawl.KindUsage, "approve", "--yes", "nothing")
	p.fails(pawl.KindUsage, "answer", string(id), "red")
	got := p.pawl("approve", "--yes", string(id)[:5], "-m", "fine")
	if got.err != nil || !strings.Contains(got.msg, "pawl resume "+string(p.run())) {
		t.Errorf("%v %q", got.err, got.msg)
	}
	answer := last[pawl.GateAnswered](p)
	if answer.Gate != id || answer.Answer != pawl.Approved || answer.Why != "fine" {
		t.Errorf("%+v", answer)
	}
	if by := p.events("gate.answered")[0].By; by != (pawl.Author{Kind: pawl.ByPerson, Name: "tester"}) {
		t.Errorf("by %+v", by)
	}
	p.fails(pawl.KindUsage, "approve", "--yes", string(id))
	p.ok("resume")
	if s := p.state(); s.Status != pawl.StatusCompleted || s.Gate(id).Answer == nil {
		t.Errorf("%s", s.Status)
	}
	p.ok("gates")
}

// TestApproveChanged changes what a gate shows before it is approved. The approval is refused and the gate withdrawn; resume
// opens one that shows the new content.
func TestApproveChanged(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	id := p.gate()
	p.write("page.txt", "another\n")
	p.fails(pawl.KindUsage, "approve", "--yes", "look")
	if g := p.state().Gate(id); g.Answer != nil || g.Open() {
		t.Errorf("%+v", g)
	}
	p.fails(pawl.KindAtGate, "resume")
	p.ok("approve", "--yes", string(p.gate()))
	p.ok("resume")
	if s := p.state(); s.Status != pawl.StatusCompleted {
		t.Errorf("%s", s.Status)
	}
}

// TestReject rejects a gate. The steps before it run again; with --stop the run fails.
func TestReject(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	p.ok("reject", "look", "-m", "another number")
	if got := last[pawl.GateAnswered](p); got.Answer != pawl.Rejected || got.Why != "another number" {
		t.Errorf("%+v", got)
	}
	p.fails(pawl.KindAtGate, "resume")
	if n := len(p.ran()); n != 2 || strings.TrimSpace(p.read("page.txt")) != "2" {
		t.Errorf("draft ran %d times: %q", n, p.read("page.txt"))
	}
	p.ok("reject", "look", "--stop", "-m", "never")
	p.fails(pawl.KindRunFailed, "resume")
	if s := p.state(); s.Status != pawl.StatusFailed {
		t.Errorf("%s", s.Status)
	}
}

// TestAskAndAnswer opens gates by command: one that is approved and one with options.
func TestAskAndAnswer(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	asked := p.pawl("ask", "Is there ink?", "--expect", "a bottle")
	first := strings.Fields(asked.out)[1]
	if want := fmt.Sprintf("gate %s opened (run %s)\n", first, p.run()); asked.out != want || asked.msg != "pawl: hint: pawl gates\n" {
		t.Errorf("%q, %q, want %q", asked.out, asked.msg, want)
	}
	p.wants(p.fails(pawl.KindUsage, "ask", " ").err.Error(), "the question is empty")
	if got := decode[[]any](p, "gates"); len(got) != 2 {
		t.Errorf("%d gates", len(got))
	}
	p.ok("approve", "--yes", first)
	second := decode[struct{ Gate string }](p, "ask", "Which?", "--option", "red,blue").Gate
	p.wants(p.ok("gates"), second, "pawl answer")
	p.fails(pawl.KindUsage, "answer", second, "green")
	p.fails(pawl.KindUsage, "approve", "--yes", second)
	p.ok("answer", second, "blue", "-m", "sky")
	if got := last[pawl.GateAnswered](p); string(got.Gate) != second || got.Option != "blue" || got.Answer != pawl.Chosen {
		t.Errorf("%+v", got)
	}
}

// TestReview scores a step that waits for reviewers.
func TestReview(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", `name: demo
steps:
  - {id: write, run: echo write >> ran.txt, review: {ann: 60, bob: 80}}
`)
	p.fails(pawl.KindAtGate, "run", "plan.yaml")
	p.wants(p.ok("gates"), "write", "ann", "bob")
	p.fails(pawl.KindUsage, "review", "write", "--by", "ann", "--score", "101")
	p.fails(pawl.KindUsage, "review", "nothing", "--by", "ann", "--score", "80")
	got := p.fails(pawl.KindUsage, "review", "write", "--by", "carl", "--score", "80")
	if got.err == nil || got.err.Error() != "carl is not a reviewer of step write; reviewers: ann, bob" || pawl.HintOf(got.err) != "pawl review write --by ann --score 80" {
		t.Errorf("%v, hint %q", got.err, pawl.HintOf(got.err))
	}
	low := p.pawl("review", "write", "--by", "ann", "--score", "50")
	p.wants(low.out, "step write: score 50 by ann, below the minimum of 60: the step will rerun (run ")
	p.wants(low.msg, "pawl: hint: pawl resume ")
	p.wants(p.ok("review", "write", "--by", "ann", "--score", "80", "-m", "good"), "score 80 by ann (minimum: 60); the step still needs a score from: bob (run ")
	p.wants(p.ok("review", "write", "--by", "bob", "--score", "90"), "score 90 by bob (minimum: 80); the step is done (run ")
	if review := last[pawl.StepReviewed](p); review.Step != "write" || review.Score != 90 {
		t.Errorf("%+v", review)
	}
	p.ok("resume")
	if s := p.state(); s.Status != pawl.StatusCompleted {
		t.Errorf("%s", s.Status)
	}
}

// TestNotes records what was learned, decided and what blocks, and looks at it.
func TestNotes(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	p.ok("learn", "the disk is slow", "--kind", "gotcha")
	if m := last[pawl.MemoryLearned](p); m.Text != "the disk is slow" || m.Kind != pawl.MemoryKind("gotcha") {
		t.Errorf("%+v", m)
	}
	p.wants(p.ok("memory"), "gotcha", "the disk is slow")
	p.ok("decide", "B", "--question", "A or B?", "--option", "A,B", "-m", "cheaper")
	if d := last[pawl.DecisionMade](p); d.Choice != "B" || d.Why != "cheaper" || len(d.Options) != 2 || d.By != "tester" {
		t.Errorf("%+v", d)
	}
	p.ok("block", "no ink", "--needs", "a shop", "--step", "publish")
	p.fails(pawl.KindUsage, "block", "no ink", "--step", "nothing")
	if s := decode[status](p, "status"); len(s.Blockers) != 1 || s.Blockers[0].Needs != "a shop" {
		t.Errorf("%+v", s.Blockers)
	}
	p.wants(p.ok("status"), "no ink")
	p.ok("approve", "--yes", "look")
	p.pawl("resume")
	if n := len(p.ran()); n != 1 {
		t.Errorf("a blocked step ran: %q", p.ran())
	}
	p.fails(pawl.KindUsage, "unblock", "7")
	p.ok("unblock", "1", "-m", "bought")
	if c := last[pawl.BlockerCleared](p); c.ID != 1 || c.How != "bought" {
		t.Errorf("%+v", c)
	}
	p.ok("resume")
	if s := p.state(); s.Status != pawl.StatusCompleted {
		t.Errorf("%s", s.Status)
	}
	p.fails(pawl.KindUsage, "progress", "1/2")
}

// TestMissingArguments calls commands without their arguments. Each error names the first missing one, and lists candidates.
func TestMissingArguments(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	for line, want := range map[string]string{
		"approve": "approve needs a GATE; open gates: " + string(p.gate()) + " (step look)", "retry": "retry needs a STEP; steps: draft, look, publish",
		"restore": "restore needs a CHECKPOINT; newest checkpoints: ", "attach": "attach needs an AGENT; agents: claude, ",
		"import": "import needs a SYSTEM; systems: grid, ", "answer look": "answer needs an OPTION", "reject look": "reject needs --message TEXT",
		"review draft": "review needs --by NAME and --score N",
	} {
		p.wants(p.fails(pawl.KindUsage, strings.Fields(line)...).err.Error(), want)
	}
	p.ok("approve", "--yes", "look")
	p.wants(p.fails(pawl.KindUsage, "approve").err.Error(), "no gate of run "+string(p.run())+" is open")
}
