package cli_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
)

var update = flag.Bool("update", false, "rewrite docs/schemas")

// outputNames returns the outputs that pawl schema lists.
func outputNames(p *place) []string {
	var names []string
	for i, line := range strings.Split(strings.TrimSpace(p.ok("schema")), "\n") {
		if name, _, _ := strings.Cut(line, " "); i > 0 {
			names = append(names, name)
		}
	}
	return names
}

// TestSchemasAreDocumented compares the schemas with the files in docs/schemas: a change of an output shows there.
func TestSchemasAreDocumented(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const folder = "../../docs/schemas"
	names := outputNames(p)
	for _, name := range names {
		got, path := p.ok("schema", name), filepath.Join(folder, name+".json")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: -want +got\n%s\nIf programs that read this output still work, run: go test ./internal/cli -run TestSchemasAreDocumented -update", path, diff)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != len(names) {
		t.Errorf("%d files in %s for %d outputs: %v", len(files), folder, len(names), err)
	}
	p.fails(pawl.KindUsage, "schema", "nothing")
}

// strict forbids keys that the schema does not name, so that the schema is complete.
func strict(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, has := v["properties"]; has && v["if"] == nil && v["allOf"] == nil {
			if _, other := v["additionalProperties"]; !other {
				v["additionalProperties"] = false
			}
		}
		for key, part := range v {
			if key != "if" && key != "then" {
				strict(part)
			}
		}
		if then, ok := v["then"].(map[string]any); ok {
			strict(then["properties"].(map[string]any)["data"])
		}
	case []any:
		for _, part := range v {
			strict(part)
		}
	}
}

// validator returns a function that validates a value with a schema that allows only the keys that it names.
func validator(p *place, name string) func(value any) error {
	p.Helper()
	loose := decoded[any](p, p.ok("schema", name))
	strict(loose)
	data, err := json.Marshal(loose)
	if err != nil {
		p.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		p.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		p.Fatal(err)
	}
	return resolved.Validate
}

// jsonPlan has most of what outputs can show.
const jsonPlan = `name: shown
goal: Show everything
params: {city: {default: Oslo}}
steps:
  - {id: make, run: "echo hi; echo made > made.txt", outputs: [made.txt], undo: rm made.txt}
  - {id: each, foreach: {items: [one, two]}, run: 'pawl=$PAWL_ITEM; echo $pawl > $PAWL_ITEM.txt', outputs: ['$PAWL_ITEM.txt'], needs: [make]}
  - {id: look, gate: {type: human_verify, ask: Right?}, needs: [each]}
  - {id: bad, run: exit 3, needs: [look]}
`

// TestOutputsFollowTheirSchemas runs every command that has --json, and validates what it prints.
func TestOutputsFollowTheirSchemas(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	seen := map[string]bool{}
	check := func(name string, args ...string) {
		t.Helper()
		got := p.pawl(append(args, "--json")...)
		validate := validator(p, name)
		seen[name] = true
		values := 0
		for dec := json.NewDecoder(strings.NewReader(got.out)); dec.More(); values++ {
			var v any
			if err := dec.Decode(&v); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, got.out)
			}
			if err := validate(v); err != nil {
				t.Errorf("%v: %v\n%s", args, err, got.out)
			}
		}
		if values == 0 {
			t.Errorf("%v printed nothing: %v\n%s", args, got.err, got.msg)
		}
	}
	p.write("plan.yaml", jsonPlan)
	check("plan-check", "plan", "check", p.path("plan.yaml"))
	check("run", "run", "plan.yaml")
	for _, c := range [][]string{
		{"status", "status"}, {"gates", "gates"}, {"brief", "brief"}, {"runs", "runs"}, {"log", "log"}, {"log-graph", "log", "--graph"},
		{"stats", "stats"}, {"stats-all", "stats", "--all"}, {"why", "why"}, {"explain", "explain", "make"}, {"explain-rules", "explain", "--rules"},
		{"ask", "ask", "More?"}, {"checkpoint", "checkpoint", "-m", "by hand"}, {"checkpoints", "checkpoints"}, {"show", "show", "latest"},
		{"show", "show", "latest", "--left-out"}, {"processes", "processes"}, {"findings", "doctor"}, {"findings", "verify"}, {"version", "version"},
		{"resume-dry-run", "resume", "--dry-run"}, {"trust-list", "trust", "--list"}, {"trust", "trust", "--yes"}, {"recover", "recover"},
		{"prune", "prune", "--dry-run"},
	} {
		check(c[0], c[1:]...)
	}
	share := t.TempDir()
	check("remote", "remote", "add", "origin", "file://"+share)
	for _, c := range [][]string{
		{"remote-list", "remote", "list"}, {"push", "push"}, {"remote-runs", "remote", "runs"}, {"findings", "remote", "verify"},
		{"remote-prune", "remote", "prune"}, {"pull", "pull", string(p.newest())},
		{"clone", "clone", string(p.newest()), p.path("../clone-of-" + filepath.Base(p.dir))},
	} {
		check(c[0], c[1:]...)
	}
	check("remote-delete", "remote", "delete", string(p.newest()), "--yes")
	p.ok("learn", "Oslo is north")
	check("memory", "memory")
	p.write("made.txt", "changed\n")
	check("diff", "diff", "make")
	check("restore", "restore", "make", "--dry-run")
	check("attach", "attach", "claude", "--dry-run")
	check("fork", "fork", "make", "--to", p.path("../fork-of-"+filepath.Base(p.dir)))
	check("names", "export", "grid")
	check("import-dry-run", "import", "grid", "--dry-run")
	check("rollback", "rollback", "--to", "make", "--dry-run")
	p.ok("approve", "--yes", string(decode[status](p, "status").Gates[0].ID))
	check("run", "resume")
	check("why-update", "why", "--update", "plan.yaml")
	check("adopt", "adopt", string(p.newest()))
	check("background", "run", "--background", "--new", "plan.yaml")
	p.until("the engine has ended", func() bool { _, alive := p.project().EngineHolder(); return !alive })
	check("archive", "archive", string(p.newest()))

	other := newPlace(t)
	p, imported := other, p
	if err := os.CopyFS(p.path(".grid"), os.DirFS(imported.path(".grid"))); err != nil {
		t.Fatal(err)
	}
	check("import", "import", "grid", "--yes")
	for _, step := range decode[status](p, "status").Steps {
		if step.Status == pawl.Pending {
			check("brief-prompt", "brief", "--prompt", string(step.ID))
		}
	}

	validate := validator(p, "error")
	for _, args := range [][]string{{"status", "nothing"}, {"run", "--nothing"}, {"run", "nothing.yaml"}, {"plan", "check", p.path("bad.yaml")}, {"nothing"}} {
		p.write("bad.yaml", "name: bad\nsteps:\n  - {id: a, colour: red}\n")
		got := p.pawl(append(args, "--json")...)
		if got.out != "" {
			t.Errorf("%v printed %s", args, got.out)
		}
		if err := validate(decoded[any](p, reported(got.err))); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	seen["error"] = true
	for _, name := range outputNames(p) {
		if !seen[name] {
			t.Errorf("no output was validated with schema %s", name)
		}
	}
	if slices.Contains(outputNames(p), "") {
		t.Error("an output has no name")
	}
}
