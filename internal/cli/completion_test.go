package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// completed returns the words that the shell offers after a command line.
func completed(p *place, args ...string) []string {
	p.Helper()
	lines := strings.Split(p.ok(append([]string{"__complete"}, args...)...), "\n")
	var words []string
	for _, line := range lines {
		if word, _, _ := strings.Cut(line, "\t"); word != "" && !strings.HasPrefix(word, ":") {
			words = append(words, word)
		}
	}
	return words
}

// TestEveryArgumentIsCompleted reads the usage of each command, and completes what it names.
func TestEveryArgumentIsCompleted(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", "name: demo\nsteps:\n  - {id: make, run: echo x > made, outputs: [made]}\n"+
		"  - {id: each, foreach: {items: [one, two]}, run: 'true'}\n  - {id: pick, gate: {type: decision, ask: Which?, options: [red, blue]}}\n")
	p.pawl("run", "plan.yaml")
	p.ok("block", "no disk")
	run, status := string(p.run()), decode[status](p, "status")
	want := map[string]string{"RUN": run, "STEP": "make", "GATE": string(status.Gates[0].ID), "CHECKPOINT": "latest", "AGENT": "claude", "SYSTEM": "grid", "NUMBER": "1", "OUTPUT": "status"}
	argument, tested := regexp.MustCompile(`^  pawl ([a-z]+) \[?([A-Z]+)`), map[string]bool{}
	for _, command := range commands {
		help := p.ok(command, "--help")
		_, usage, _ := strings.Cut(help, "Usage:\n")
		m := argument.FindStringSubmatch(usage)
		if m == nil || want[m[2]] == "" || m[1] == "hook" || m[1] == "settle" {
			continue // the number of settle is that of a tool call, and there is none here
		}
		tested[m[2]] = true
		if got := completed(p, command, ""); !slices.Contains(got, want[m[2]]) {
			t.Errorf("pawl %s %s: completed with %q", command, m[2], got)
		}
		if strings.Contains(help, "--run RUN") && !slices.Contains(completed(p, command, "--run", ""), run) {
			t.Errorf("pawl %s --run is not completed", command)
		}
		if strings.Contains(help, "--item VALUE") && m[2] == "STEP" && !slices.Contains(completed(p, command, "each", "--item", ""), "two") {
			t.Errorf("pawl %s --item is not completed", command)
		}
	}
	if len(tested) != len(want) {
		t.Errorf("tested %v", tested)
	}
	for line, word := range map[string]string{
		"answer pick ": "red", "diff latest ": "latest", "rollback --to ": "latest", "archive x ": run, "prune latest ": "latest", "brief --for ": "codex",
		"run --mirror ": "grid", "learn x --kind ": "gotcha", "verify --as ": "grid", "retry p": "pick",
	} {
		if args := strings.Split(line, " "); !slices.Contains(completed(p, args...), word) {
			t.Errorf("%q: %q", line, completed(p, args...))
		}
	}
}
