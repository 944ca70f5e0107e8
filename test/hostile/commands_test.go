//go:build linux

package hostile

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pawl/internal/cli/permission"
)

// class is what a command does in an untrusted project.
type class int

const (
	refuses class = iota // it ends with code 5 and the hint to trust the project
	reads                // it prints what it reads, quoted
	free                 // it is not about the project
	usage                // it works only inside a step
	asks                 // it shows what trust would mean, and needs a yes
)

// commands has every command that "pawl help all" lists, with its class and the command lines that are tried.
var commands = map[string]struct {
	class class
	lines []string
}{
	"init":   {refuses, []string{"init"}},
	"pause":  {refuses, []string{"pause", "pause planted"}},
	"plan":   {free, []string{"plan check plan.yaml", "plan schema", "plan convert --from dagu plan.yaml"}},
	"resume": {refuses, []string{"resume", "resume planted", "resume lost", "resume --yes", "resume --dry-run", "resume --take-over", "resume --pull"}},
	"retry":  {refuses, []string{"retry first", "retry charge"}},
	"run": {refuses, []string{"run plan.yaml", "run -- true", "run --new plan.yaml", "run --background plan.yaml", "run --mirror grid plan.yaml",
		"run --update plan.yaml", "run --update --dry-run plan.yaml", "run --resume plan.yaml", "run --schedule @daily plan.yaml", "run --schedule @daily --install plan.yaml", "run --uninstall plan.yaml"}},
	"skip":        {refuses, []string{"skip charge -m why"}},
	"done":        {refuses, []string{"done charge -m why", "done first"}},
	"stop":        {refuses, []string{"stop", "stop lost"}},
	"brief":       {reads, []string{"brief", "brief planted", "brief --for claude"}},
	"explain":     {reads, []string{"explain charge"}},
	"log":         {reads, []string{"log", "log planted"}},
	"output":      {reads, []string{"output first --run planted", "output charge"}},
	"runs":        {reads, []string{"runs"}},
	"stats":       {reads, []string{"stats", "stats planted"}},
	"status":      {reads, []string{"status", "status planted"}},
	"watch":       {refuses, []string{"watch"}},
	"why":         {reads, []string{"why", "why planted"}},
	"answer":      {refuses, []string{"answer more yes"}},
	"approve":     {refuses, []string{"approve more", "approve --yes more"}},
	"ask":         {refuses, []string{"ask what"}},
	"gates":       {reads, []string{"gates", "gates planted"}},
	"reject":      {refuses, []string{"reject more -m why"}},
	"review":      {refuses, []string{"review first --by me --score 50"}},
	"checkpoint":  {refuses, []string{"checkpoint", "checkpoint -m why"}},
	"checkpoints": {reads, []string{"checkpoints", "checkpoints planted"}},
	"diff":        {refuses, []string{"diff", "diff first"}},
	"fork":        {refuses, []string{"fork first"}},
	"restore":     {refuses, []string{"restore", "restore --undo --yes", "restore first", "restore first --dry-run", "restore first --to ../elsewhere"}},
	"rollback":    {refuses, []string{"rollback --to first", "rollback --yes"}},
	"show":        {reads, []string{"show first"}},
	"block":       {refuses, []string{"block text"}},
	"decide":      {refuses, []string{"decide choice"}},
	"learn":       {refuses, []string{"learn text"}},
	"memory":      {reads, []string{"memory"}},
	"progress":    {usage, []string{"progress 1/2"}},
	"unblock":     {refuses, []string{"unblock 1"}},
	"settle":      {refuses, []string{"settle 1"}},
	"attach":      {refuses, []string{"attach claude", "attach codex --yes", "attach gemini --dry-run", "attach opencode", "attach copilot"}},
	"detach":      {refuses, []string{"detach claude", "detach codex --yes", "detach gemini --dry-run"}},
	"mcp":         {refuses, []string{"mcp", "mcp --http"}},
	"export":      {refuses, []string{"export grid", "export grid ../elsewhere"}},
	"import":      {refuses, []string{"import grid", "import grid --dry-run", "import grid --fresh", "import dotagent --yes", "import grid " + "other"}},
	"adopt":       {refuses, []string{"adopt", "adopt --yes planted"}},
	"trust":       {asks, []string{"trust"}},
	"archive":     {refuses, []string{"archive", "archive planted"}},
	"store":       {refuses, []string{"store", "store move postgres", "store move files", "store pull planted-20260101-000000-abcd"}},
	"remote":      {refuses, []string{"remote list", "remote add origin file:///tmp", "remote remove origin", "remote runs", "remote verify", "remote prune", "remote delete planted --yes"}},
	"push":        {refuses, []string{"push", "push planted"}},
	"pull":        {refuses, []string{"pull planted"}},
	"clone":       {refuses, []string{"clone planted ../elsewhere"}},
	"kernel":      {refuses, []string{"kernel list", "kernel start --driver python", "kernel execute 1", "kernel execute -s planted/main 1", "kernel restart", "kernel variables", "kernel stop"}},
	"notebook":    {refuses, []string{"notebook run fit.ipynb", "notebook run fit.ipynb --driver python"}},
	"worker":      {free, []string{"worker --help"}}, // it uses no project
	"serve":       {free, []string{"serve --help"}},  // hostile projects meet a server in TestServed
	"completion":  {free, []string{"completion bash"}},
	"doctor":      {reads, []string{"doctor"}},
	"help":        {free, []string{"help", "help run"}},
	"processes":   {reads, []string{"processes", "processes lost"}},
	"prune":       {refuses, []string{"prune", "prune --dry-run", "prune latest", "prune --keep-last 0", "prune --keep-within 1h"}},
	"recover":     {refuses, []string{"recover", "recover planted", "recover --accept planted"}},
	"verify":      {reads, []string{"verify", "verify --as grid", "verify --as sitebuilder"}},
	"schema":      {free, []string{"schema", "schema status"}},
	"version":     {free, []string{"version"}},
}

// changing are command lines of reading commands with a flag that makes them change something.
var changing = []string{"processes --end lost", "verify --repair", "why --update plan.yaml"}

// listed returns the names that "pawl help all" lists.
func listed(w *world) []string {
	_, text, _ := strings.Cut(w.succeed("help", "all"), "Usage:")
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`).FindAllStringSubmatch(text, -1) {
		if m[1] != "pawl" { // the usage itself
			names = append(names, m[1])
		}
	}
	return names
}

// TestAllCommandsAreClassified fails for a new command: say above what it does in an untrusted project.
func TestAllCommandsAreClassified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(mkdir(w.root))
	names := listed(w)
	for _, name := range names {
		if len(commands[name].lines) == 0 {
			t.Errorf("%s is not classified", name)
		}
	}
	for _, name := range names {
		if _, known := permission.Of(name, false, func(string) bool { return false }); !known && name != "help" && name != "completion" {
			t.Errorf("say in package permission who may use %s", name)
		}
	}
	for name := range commands {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not a command", name)
		}
	}
	if len(names) < 50 {
		t.Errorf("only %d commands are listed", len(names))
	}
}

// TestCommands runs each command line as the first one in a clone of the attacker's project.
func TestCommands(t *testing.T) {
	t.Parallel()
	for name, c := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHostile(t)
			w.plantForeign()
			for _, line := range c.lines {
				w.unharmed(true, func() { w.try(c.class, line) })
			}
		})
	}
	t.Run("changing flags", func(t *testing.T) {
		t.Parallel()
		w := newHostile(t)
		for _, line := range changing {
			w.unharmed(true, func() { w.try(refuses, line) })
		}
	})
}

// try runs a command line and checks what its class promises.
func (w *world) try(c class, line string) {
	w.Helper()
	args := strings.Fields(line)
	r := w.pawl(args...)
	w.clean(r)
	switch c {
	case refuses:
		w.refused(r, "pawl trust")
	case reads:
		w.quoted(r)
		w.completeJSON(args)
	case asks:
		if r.code != 2 || !strings.Contains(r.errOut, "pass --yes") {
			w.Errorf("%s: %+v", line, r)
		}
	case usage:
		if r.code != 2 {
			w.Errorf("%s: %+v", line, r)
		}
	case free:
		if r.code != 0 {
			w.Errorf("%s: %+v", line, r)
		}
	}
}

// completeJSON runs a reading command with --json, which marks its output on standard error.
func (w *world) completeJSON(args []string) {
	w.Helper()
	if slices.Contains([]string{"brief", "output", "show"}, args[0]) {
		return
	}
	r := w.pawl(append(args, "--json")...)
	if r.code == 2 || !strings.Contains(r.errOut, "is not trusted") {
		w.Errorf("%s: exit code %d, %s", r.what, r.code, clip(r.errOut))
	}
	w.clean(r)
}

// TestSubfolderAndDirectory runs commands from a folder of the project, and from outside with -C.
func TestSubfolderAndDirectory(t *testing.T) {
	t.Parallel()
	w := newHostile(t)
	w.must(mkdir(w.path("work", "a", "b")))
	w.unharmed(true, func() {
		for _, line := range []string{"resume", "run -- true", "learn x"} {
			args := strings.Fields(line)
			w.refused(w.runIn(w.path("work", "a", "b"), "", w.program(), args...), "pawl trust")
			w.refused(w.runIn(w.dir, "", w.program(), append([]string{"-C", "work"}, args...)...), "pawl trust")
		}
		w.quoted(w.runIn(w.dir, "", w.program(), "-C", w.root, "status"))
	})
}

// TestCompletion completes the names of runs and steps. A shell does so when the user presses a key.
func TestCompletion(t *testing.T) {
	t.Parallel()
	w := newHostile(t)
	w.unharmed(true, func() {
		for _, args := range [][]string{{"resume", ""}, {"output", ""}, {"approve", ""}, {"restore", ""}, {"import", ""}, {"status", ""}} {
			r := w.pawl(append([]string{"__complete"}, args...)...)
			w.clean(r)
			if r.code != 0 || strings.Contains(r.out, "planted-") || strings.Contains(r.out, marker) {
				t.Errorf("%s: %+v", r.what, r)
			}
		}
	})
}
