package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

// copied returns a copy of the project, which is untrusted.
func (p *place) copied() *place {
	p.Helper()
	other := newPlace(p.T)
	if err := os.CopyFS(filepath.Join(other.dir, "copy"), os.DirFS(p.dir)); err != nil {
		p.Fatal(err)
	}
	return &place{T: p.T, dir: filepath.Join(other.dir, "copy")}
}

// suggested returns the words of a text that follow "pawl " in what a person would type.
func suggested(texts ...string) []string {
	var verbs []string
	for line := range strings.Lines(strings.Join(texts, "\n")) {
		words := strings.Fields(strings.NewReplacer("`", " ", ";", " ").Replace(line))
		for i, word := range words {
			if word == "pawl" && i+1 < len(words) {
				verbs = append(verbs, words[i+1])
			}
		}
	}
	return verbs
}

// TestTrustComesFirst reads an untrusted copy of a run that waits and of one that failed. Each command that pawl suggests there is pawl
// trust. Afterwards it is pawl adopt, or one that reads.
func TestTrustComesFirst(t *testing.T) {
	t.Parallel()
	p := atGate(t)
	p.write("fails.yaml", failPlan)
	p.fails(pawl.KindRunFailed, "run", "fails.yaml")
	failed := string(p.newest())
	c := p.copied()
	lines := []string{"status", "why", "gates", "brief", "status " + failed, "explain one --run " + failed, "brief " + failed}
	for _, line := range lines {
		got := c.pawl(strings.Fields(line)...)
		for _, verb := range suggested(got.out, pawl.HintOf(got.err)) {
			if verb != "trust" && verb != "checked" { // "pawl checked everything"
				t.Errorf("pawl %s suggests pawl %s: %s", line, verb, got.out)
			}
		}
	}
	c.wants(c.ok("status"), "pawl trust")
	c.wants(c.ok("brief"), "next: nothing in this run, until a person has seen it and accepted it: `pawl trust`")
	for _, line := range []string{"resume", "approve look", "diff", "restore latest"} {
		want := "pawl trust && pawl adopt " + string(c.run0())
		if line == "diff" {
			want = "pawl trust"
		}
		if hint := pawl.HintOf(c.fails(pawl.KindDamaged, strings.Fields(line)...).err); hint != want {
			t.Errorf("pawl %s: hint %q", line, hint)
		}
	}
	if hint := pawl.HintOf(c.fails(pawl.KindUsage, "output", "nosuch").err); !strings.HasPrefix(hint, "pawl status") {
		t.Errorf("hint %q, although status works here", hint)
	}
	got := c.pawl("trust")
	c.wants(got.out, failed+" (failed, from elsewhere)", "Before you resume one, also adopt it: pawl adopt RUN")
	if got = c.pawl("trust", "--yes"); got.err != nil || !strings.Contains(got.msg, "2 runs found here; before you resume one, adopt it: pawl adopt RUN") {
		t.Errorf("%v %q", got.err, got.msg)
	}
	for _, line := range lines {
		got := c.pawl(strings.Fields(line)...)
		for _, verb := range suggested(got.out, pawl.HintOf(got.err)) {
			if verb != "adopt" && verb != "checked" && verb != "output" && verb != "brief" && verb != "did" { // "your pawl did not make it"
				t.Errorf("pawl %s suggests pawl %s: %s", line, verb, got.out)
			}
		}
	}
	if got := c.fails(pawl.KindDamaged, "resume"); got.out != "" || pawl.HintOf(got.err) != "pawl adopt "+string(c.run0()) {
		t.Errorf("resume printed %q before it refused, hint %q", got.out, pawl.HintOf(got.err))
	}
	c.ok("adopt", "--yes")
	c.wants(c.ok("status"), "pawl approve")
	if out := p.ok("trust"); !strings.Contains(out, "is trusted already") {
		t.Errorf("%q", out)
	}
}

// run0 returns the id of the current run.
func (p *place) run0() pawl.RunID {
	p.Helper()
	return decode[status](p, "status").Run
}

// TestWithheldEvaluator commits an evaluator. Commands that would ask it say that they do not, and how to allow it.
func TestWithheldEvaluator(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	const note = "pawl: note: the evaluator in .pawl/config.yaml is not used: you have not allowed it as it is now; to see and allow it: pawl trust\n"
	if got := p.pawl("run", "--", "true"); strings.Contains(got.msg, note) {
		t.Errorf("%q", got.msg)
	}
	p.write(".pawl/config.yaml", "evaluator: {provider: command, command: cat}\n")
	for _, line := range []string{"run -- true", "resume"} {
		if got := p.pawl(strings.Fields(line)...); strings.Count(got.msg, note) != 1 {
			t.Errorf("pawl %s: %q", line, got.msg)
		}
	}
	p.wants(p.ok("doctor"), "warn  the evaluator in .pawl/config.yaml is not used: you have not allowed it as it is now\n      pawl trust\n")
	got := p.fails(pawl.KindUsage, "trust")
	p.wants(got.out, p.dir+": you trust it, but you have not allowed the evaluator in .pawl/config.yaml as it is now\n", "setting  evaluator.command: cat\n")
	if strings.Contains(got.out, "memory") {
		t.Errorf("it lists what is trusted already: %q", got.out)
	}
	p.ok("trust", "--yes")
	if got := p.pawl("run", "--", "true"); got.err != nil || got.msg != "" {
		t.Errorf("%v %q", got.err, got.msg)
	}
}

// TestFirstThingFirst names what is wrong before it asks for a confirmation, and what makes something that is not there yet.
func TestFirstThingFirst(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	if out := p.ok("init"); !strings.HasPrefix(out, p.dir+" is a project already: ") {
		t.Errorf("init again: %q", out)
	}
	for _, line := range []string{"restore latest", "show latest", "fork latest"} {
		got := p.fails(pawl.KindUsage, strings.Fields(line)...)
		if got.err == nil || got.err.Error() != "no checkpoints yet; pawl saves one after each step of a run, and when you ask" || pawl.HintOf(got.err) != "pawl checkpoint" {
			t.Errorf("pawl %s: %v, hint %q", line, got.err, pawl.HintOf(got.err))
		}
	}
	p.wants(p.ok("memory"), "no notes in MEMORY.md\n")
	p.ok("checkpoint")
	p.wants(p.ok("why"), "has no plan, so there are no steps to run\n")
	p.write("file", "")
	for _, folder := range []string{"nowhere", "file"} {
		p.wants(p.fails(pawl.KindUsage, "-C", p.path(folder), "status").err.Error(), "-C: "+p.path(folder)+" is not a folder")
		p.fails(pawl.KindUsage, "-C", p.path(folder), "init")
	}
	p.write("plan.yaml", "name: demo\nsteps:\n- {id: a, run: 'true'}\n- {id: look, needs: [a], gate: {type: human_verify, ask: Fine?}}\n- {id: which, needs: [a], gate: {type: decision, ask: Which?, options: [a, b]}}\n")
	got := p.fails(pawl.KindAtGate, "run", "plan.yaml")
	if hint := pawl.HintOf(got.err); hint != "" || strings.Count(got.out, "pawl approve ") != 1 {
		t.Errorf("the gate is printed, but the hint is %q: %s", hint, got.out)
	}
	for line, want := range map[string]string{
		"approve nosuch": "no gate nosuch; open gates: ", "approve which": "is a decision; choose one of: a, b", "approve look": "not a terminal: pass --yes to confirm",
		"reject nosuch -m x": "no gate nosuch; open gates: ", "answer nosuch a": "no gate nosuch; open gates: ",
	} {
		p.wants(p.fails(pawl.KindUsage, strings.Fields(line)...).err.Error(), want)
	}
	p.ok("approve", "look", "--yes")
	p.wants(p.fails(pawl.KindUsage, "approve", "look").err.Error(), "is already closed: it was approved")
}
