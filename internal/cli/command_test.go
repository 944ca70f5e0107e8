package cli_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli"
)

// commands are all commands but help and completion, with those below them.
var commands = strings.Fields(`init run resume pause stop retry skip status brief watch runs output log stats plan why explain
	gates approve reject answer ask review checkpoint checkpoints show diff restore fork rollback progress learn decide block
	unblock settle memory attach detach mcp hook import export processes verify recover prune archive doctor schema version`)

// TestHelp asks each command for help. All print their usage, and change nothing.
func TestHelp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, c := range append([]string{"plan check", "plan convert", "plan schema"}, commands...) {
		help := p.ok(append(strings.Fields(c), "--help")...)
		p.wants(help, "pawl "+c, "--help")
		if c != "hook" && p.ok(append([]string{"help"}, strings.Fields(c)...)...) != help {
			t.Errorf("pawl help %s prints something else than pawl %[1]s --help", c)
		}
		if strings.Contains(help, "      --yes ") {
			t.Errorf("pawl %s has --yes without -y", c)
		}
	}
	all := p.ok("help", "all")
	p.wants(all, "  pawl COMMAND\n", "\n  RUN ", "\n  CHECKPOINT ", "\n  GATE ")
	for _, c := range commands {
		if listed := strings.Contains(all, "\n  "+c+" "); listed != (c != "hook") { // agents call hook, people do not
			t.Errorf("pawl help all lists %s: %v", c, listed)
		}
	}
	root := p.ok("--help")
	_, everyday, _ := strings.Cut(root, "Everyday commands:\n")
	everyday, _, _ = strings.Cut(everyday, "\n\n")
	if lines := strings.Split(everyday, "\n"); len(lines) != 12 || !strings.HasPrefix(lines[0], "  run ") {
		t.Errorf("everyday commands:\n%s", everyday)
	}
	p.wants(p.ok("help", "prune"), "Delete old snapshots", "pawl prune")
	p.fails(pawl.KindUsage, "help", "nothing")
	if p.ok() != root {
		t.Error("without arguments it prints something else")
	}
	p.wants(p.ok("--version"), "pawl")
	if p.exists(".pawl") {
		t.Error("help makes a project")
	}
}

// TestWrongArguments calls commands in ways that none of them takes. Each is a usage error with a hint.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("broken.yaml", "name: x\nsteps: [{id: a}, {id: a, run: b, colour: red}]\n")
	p.write("folder/x", "")
	for _, line := range []string{
		"nothing", "statsu", "plan nothing", "init x", "run", "run a b", "run nothing.yaml", "run folder", "run broken.yaml", "resume a b", "resume --parallel x",
		"resume --dry-run --take-over", "pause a b", "stop a b", "retry", "skip", "done", "status a b", "status --nothing", "brief a b", "brief --for nobody", "brief --budget 1",
		"watch a b", "runs a", "output", "log a b", "log --all", "log -n x", "stats a b", "stats --all x", "plan check", "plan check " + p.path("broken.yaml"),
		"plan check " + p.path("nothing"), "plan schema x", "plan convert", "plan convert nothing", "plan convert " + p.path("broken.yaml") + " --from make", "why a b", "explain a b", "gates a b", "approve", "approve a b", "reject", "reject a", "answer a", "ask",
		"review", "review a", "review a --by x", "checkpoint x", "checkpoints a b", "show", "show a b c", "restore", "fork", "rollback x", "rollback",
		"learn", "learn x --kind hunch", "decide", "block", "unblock", "unblock x", "memory x", "progress 1/2", "attach", "attach nobody", "attach claude --scope world",
		"detach", "detach nobody", "mcp a b", "mcp 127.0.0.1:0", "mcp --no-token", "mcp --http --no-token --token-file x", "mcp --http 0.0.0.0:0", "import",
		"import nothing", "import grid nothing", "import grid --agent nobody", "import grid --project x", "export", "export nothing", "processes a b",
		"verify x", "verify --as nothing", "verify --repair --as grid", "recover a b", "recover --trust nothing", "prune --keep -1", "prune --as nothing", "archive --keep -1", "doctor x", "version x",
		"run --mirror nothing broken.yaml", "-C", "--nothing",
	} {
		got := p.fails(pawl.KindUsage, strings.Fields(line)...)
		if got.out != "" {
			t.Errorf("pawl %s prints %q", line, got.out)
		}
	}
	if entries, err := json.Marshal(decode[[]json.RawMessage](p, "runs")); err != nil || string(entries) != "[]" {
		t.Errorf("runs: %s %v", entries, err)
	}
}

// TestSuggestion mistypes a command, or uses the word of another tool. The hint is the whole command line; a bad guess is none.
func TestSuggestion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	in := "pawl -C " + p.dir + " "
	for typed, want := range map[string]string{
		"resum": in + "resume", "gate": in + "gates", "stauts": in + "status", "statsu latest --json": in + "status latest --json",
		"--json stauts": in + "--json status", "ls --all": in + "runs --all", "start plan.yaml": in + "run plan.yaml",
		"ps": in + "status", "describe": in + "status", "undo --to 3f": in + "rollback --to 3f", "lint plan.yaml": in + "plan check plan.yaml",
		"aprove look -m it's": in + `approve look -m 'it'\''s'`, "checkp": in + "checkpoint", "proc": in + "processes", "hok": "pawl help all",
		"zzzzzz": "pawl help all", "xy": "pawl help all", "stat": in + "stats", "plan chekc a.yaml": in + "plan check a.yaml", "plan nothing": "pawl plan --help",
		"completion tcsh": "pawl completion --help", "completion bahs": in + "completion bash", "help stauts": "pawl help status", "help ls": "pawl help runs",
		"help nothing": "pawl help all",
	} {
		got := p.fails(pawl.KindUsage, strings.Fields(typed)...)
		if hint := pawl.HintOf(got.err); hint != want || got.out != "" || !strings.HasPrefix(got.err.Error(), "unknown command ") {
			t.Errorf("pawl %s: %v, hint %q, want %q", typed, got.err, hint, want)
		}
	}
	p.wants(p.ok("completion", "bash"), "pawl")
}

// TestExitCodes maps each kind of error to its exit code. Scripts rely on them.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for kind, want := range map[pawl.Kind]int{
		pawl.KindInternal: 1, pawl.KindUsage: 2, pawl.KindAtGate: 3, pawl.KindRunFailed: 4, pawl.KindDamaged: 5, pawl.KindHeld: 6,
		pawl.KindNothing: 7, pawl.KindInterrupted: 130,
	} {
		var out safeBuffer
		err := &pawl.Error{Kind: kind, Err: errors.New("first\nsecond\n"), Hint: "pawl do"}
		if got := cli.Report(&out, err); got != want {
			t.Errorf("%s: %d, want %d", kind, got, want)
		}
		lines := strings.Split(out.String(), "\n")
		if len(lines) != 4 || !strings.HasSuffix(lines[0], "first") || !strings.HasSuffix(lines[1], "second") || lines[2] != "pawl: hint: pawl do" {
			t.Errorf("%s: %q", kind, lines)
		}
	}
	var out safeBuffer
	if cli.Report(&out, nil) != 0 || out.String() != "" {
		t.Errorf("no error: %q", out.String())
	}
	if cli.Report(&out, errors.New("plain")) != 1 {
		t.Error("an error without a kind has another code than 1")
	}
}

// TestNoProject runs commands where no project is. They say so and make none.
func TestNoProject(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, line := range []string{
		"resume", "pause", "stop", "retry a", "skip a", "done a", "status", "brief", "watch", "runs", "output a", "log", "log --graph", "stats", "stats --all",
		"why", "explain", "gates", "approve a --yes", "reject a -m b", "answer a b", "ask a", "review a --by b --score 1", "checkpoints", "show a", "diff", "restore a",
		"fork a", "rollback --to a", "learn a", "decide a", "block a", "unblock 1", "settle 1", "memory", "export grid", "processes", "verify", "recover", "prune", "archive",
		"import grid", "import grid --json",
	} {
		p.fails(pawl.KindNothing, strings.Fields(line)...)
	}
	if p.exists(".pawl") {
		t.Error("one of them makes a project")
	}
	decode[[]json.RawMessage](p, "runs", "--all")
	if findings := decode[[]pawl.Finding](p, "doctor"); len(findings) == 0 {
		t.Error("doctor finds nothing")
	}
}

// TestEmptyProject runs commands in a project without a run.
func TestEmptyProject(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, line := range []string{
		"resume", "pause", "stop", "retry a", "skip a", "done a", "status", "watch", "output a", "log", "stats", "why", "explain", "gates", "approve a --yes",
		"reject a -m b", "answer a b", "decide a", "block a", "unblock 1", "settle 1", "processes", "export grid",
		"review a --by b --score 1", "log --graph",
	} {
		p.fails(pawl.KindNothing, strings.Fields(line)...)
	}
	if got := decode[[]json.RawMessage](p, "runs"); len(got) != 0 {
		t.Errorf("runs: %s", got)
	}
	for _, line := range []string{"brief", "memory", "verify", "checkpoints --all", "archive", "prune", "stats --all", "log --graph --all", "runs --archived", "doctor"} {
		decode[any](p, strings.Fields(line)...)
		p.ok(strings.Fields(line)...)
	}
	p.ok("learn", "the disk is slow")
	if got := decode[[]pawl.Memory](p, "memory"); len(got) != 1 || got[0].Text != "the disk is slow" {
		t.Errorf("memory: %+v", got)
	}
	p.wants(p.ok("memory"), "the disk is slow")
	p.wants(p.read(".pawl/MEMORY.md"), "the disk is slow")
}

// TestVersion prints the version, and the one of the format.
func TestVersion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.wants(p.ok("version"), "pawl")
	if got := decode[map[string]any](p, "version"); len(got) < 2 {
		t.Errorf("%v", got)
	}
}

// TestPlanCheck checks a plan that is valid.
func TestPlanCheck(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("plan.yaml", threeSteps)
	checked := decode[struct {
		Plan     pawl.Plan `json:"plan"`
		Warnings []any     `json:"warnings"`
	}](p, "plan", "check", p.path("plan.yaml"))
	if len(checked.Plan.Steps()) != 3 || checked.Warnings == nil || len(checked.Warnings) > 0 {
		t.Errorf("%+v", checked)
	}
	p.wants(p.ok("plan", "check", p.path("plan.yaml")), "draft", "convert", "publish")
	if schema := decoded[map[string]any](p, p.ok("plan", "schema")); schema["properties"] == nil {
		t.Errorf("schema: %v", schema)
	}
}

// TestControlCharacters prints texts of a plan, a memory and a gate that would redraw a terminal or reorder a line.
func TestControlCharacters(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", `version: 1
name: tricks
goal: "calm\e[2J\u009b1A\u202Egoal"
steps:
  - {id: look, gate: {type: human_verify, ask: "fine?\e]0;title\a"}}
`)
	p.fails(pawl.KindAtGate, "run", p.path("plan.yaml"))
	p.ok("learn", "be \x1b[8m careful \u2066")
	for _, line := range []string{"status", "gates", "memory", "brief", "log", "why", "status --json", "gates --json"} {
		if out := p.ok(strings.Fields(line)...); strings.ContainsAny(out, "\x1b\a\u009b\u202e\u2066") {
			t.Errorf("pawl %s printed %q", line, out)
		}
	}
	p.wants(p.ok("gates"), `fine?\u001b]0;title\u0007`)
}
