package planfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"pawl"
	"pawl/internal/expression"
	"pawl/internal/planfile"
	"pawl/internal/stepenv"
	"pawl/internal/strictyaml"
)

func TestMain(m *testing.M) {
	planfile.Register(expression.Language{})
	os.Exit(m.Run())
}

var update = flag.Bool("update", false, "rewrite the golden files of the plan reader")

// read returns the plan in text.
func read(t *testing.T, text string) *pawl.Plan {
	t.Helper()
	plan, err := planfile.Read("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// golden compares got with a file, which the flag -update rewrites.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: -want +got\n%s", path, diff)
	}
}

// each runs a test for each plan of a folder below testdata/plan.
func each(t *testing.T, folder string, test func(t *testing.T, path string, data []byte)) {
	paths, err := filepath.Glob("testdata/" + folder + "/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no plans in %s: %v", folder, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			test(t, path, data)
		})
	}
}

func TestBadPlans(t *testing.T) {
	t.Parallel()
	each(t, "bad", func(t *testing.T, path string, data []byte) {
		plan, err := planfile.Read("plan.yaml", data)
		if err == nil {
			t.Fatalf("accepted: %+v", plan)
		}
		list, ok := errors.AsType[*planfile.Errors](err)
		if pawl.KindOf(err) != pawl.KindUsage || pawl.HintOf(err) != "edit plan.yaml" || list.Syntax != strings.Contains(err.Error(), "invalid YAML") {
			t.Errorf("kind %s, hint %q", pawl.KindOf(err), pawl.HintOf(err))
		}
		if !ok || !slices.IsSortedFunc(list.Faults, func(a, b strictyaml.Fault) int {
			return 1000*(a.Line-b.Line) + a.Column - b.Column
		}) {
			t.Errorf("not a sorted list of errors: %v", err)
		}
		golden(t, strings.TrimSuffix(path, "yaml")+"golden", []byte(err.Error()+"\n"))
	})
}

func TestGoodPlans(t *testing.T) {
	t.Parallel()
	each(t, "good", func(t *testing.T, path string, data []byte) {
		plan, err := planfile.Read("plan.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.MarshalIndent(plan, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, strings.TrimSuffix(path, "yaml")+"golden", append(got, '\n'))
	})
}

// TestEncodings reads the same plan with other line ends and a byte order mark, and finds errors at the same places.
func TestEncodings(t *testing.T) {
	t.Parallel()
	good := "name: x\nsteps:\n- id: a\n  run: |\n    one\n    two\n"
	want := read(t, good)
	for _, other := range []string{"\uFEFF" + good, strings.ReplaceAll(good, "\n", "\r\n"), strings.TrimSuffix(good, "\n") + "\n..."} {
		if diff := cmp.Diff(want, read(t, other)); diff != "" {
			t.Errorf("%q: -want +got\n%s", other, diff)
		}
	}
	_, err := planfile.Read("p", []byte("\uFEFFnmae: x\r\nsteps:\r\n- {id: a, run: x, é: 1, rnu: x}\r\n"))
	want1, want2 := `p:1:1: unknown key "nmae"`, `p:3:25: unknown key "rnu" in step; did you mean "run"?`
	if err == nil || !strings.HasPrefix(err.Error(), want1) || !strings.Contains(err.Error(), want2) {
		t.Errorf("got %v, want %s and %s", err, want1, want2)
	}
}

// TestHintNamesTheFile asks for a hint that a shell takes as it is.
func TestHintNamesTheFile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"dir/plan.yaml": "edit dir/plan.yaml",
		"it's mine":     `edit 'it'\''s mine'`,
		"":              "edit ''",
	} {
		_, err := planfile.Read(name, nil)
		if got := pawl.HintOf(err); got != want {
			t.Errorf("hint for %q: %s, want %s", name, got, want)
		}
	}
}

// hostile are plans made to take long or much. The YAML library reads a line of flow collections whole.
var hostile = map[string]func() string{
	"100 MB":         func() string { return strings.Repeat("- a\n", 25<<20) },
	"binary":         func() string { return strings.Repeat("\x7fELF\x00", 1<<20) },
	"flow":           func() string { return "name: [" + strings.Repeat("a,", 1<<20) },
	"flow at limit":  func() string { return "name: {" + strings.Repeat("a,", 199_000) + "}" },
	"quotes":         func() string { return strings.Repeat(`"a"`, 66_000) },
	"anchors":        func() string { return strings.Repeat("&a ", 199_000) },
	"deep":           func() string { return strings.Repeat("[", 199_000) },
	"deep in block":  func() string { return strings.Repeat(strings.Repeat("- ", 9_000)+"a\n", 20) },
	"long text":      func() string { return "name: " + strings.Repeat("a ", 1<<20) },
	"unknown keys":   func() string { return manyKeys(90_000) },
	"many bad needs": func() string { return manySteps(15_000, "needs: [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]") },
	"one alias bomb": func() string {
		return "name: x\nx: &x {id: a, run: x, inputs: [" + strings.Repeat("a,", 50_000) + "]}\nsteps: [" +
			strings.Repeat("*x,", 30_000) + "]"
	},
	"steps of aliases": func() string {
		return "name: x\nphases: [{name: y, steps: &s [" + strings.Repeat("{},", 20_000) + "]}, " +
			strings.Repeat("{name: y, steps: *s},", 10_000) + "]"
	},
	"keys at limit":  func() string { return manyKeys(299_000) },
	"steps at limit": func() string { return "steps:\n" + strings.Repeat("- id: x\n", 199_000) },
	"tags at limit":  func() string { return strings.Repeat("! ", 599_000) },
	"flow in the middle": func() string {
		return "name: []\nsteps:\n" + strings.Repeat("- id: {a}\n", 60_000)
	},
	"own alias": func() string { return "name: x\nsteps: &s [*s, {id: a, env: &e {x: *e}}]" },
}

func manyKeys(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString("k" + strings.Repeat("x", i%40) + string(rune('a'+i%26)) + ": 1\n")
	}
	return text.String()
}

func manySteps(n int, rest string) string {
	var text strings.Builder
	text.WriteString("name: x\nsteps:\n")
	for i := range n {
		text.WriteString("- id: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" + string([]rune{rune('a' + i%26), rune('a' + i/26%26), rune('a' + i/676)}) +
			"\n  " + rest + "\n  run: x\n")
	}
	return text.String()
}

// TestHostilePlans: what is refused is refused with little memory, however it is made. Work that grows with the square of
// the input would run into the test's own limit.
func TestHostilePlans(t *testing.T) {
	for name, make := range hostile {
		t.Run(name, func(t *testing.T) {
			data := []byte(make())
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := planfile.Read("p", data)
			runtime.ReadMemStats(&after)
			if err == nil || len(err.Error()) > 1<<20 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			if allocated > 1000 {
				t.Errorf("allocated %d MiB", allocated)
			}
			first, _, _ := strings.Cut(err.Error(), "\n")
			t.Logf("%d MiB allocated: %.120s", allocated, first)
		})
	}
}

// TestTenThousandSteps: so many an import may make, each with a prompt of several lines.
func TestTenThousandSteps(t *testing.T) {
	plan := &pawl.Plan{Version: 1, Name: "x", Phases: []pawl.Phase{{Name: "y"}}}
	for i := range 10_000 {
		prompt := fmt.Sprintf("Task %d: it\n\nAlready done, do not repeat:\n- a\n- b\n\nRemaining:\n- c\n- d, e\n\nHow to continue: take c\n", i)
		plan.Phases[0].Steps = append(plan.Phases[0].Steps, pawl.Step{ID: pawl.StepID(fmt.Sprintf("T%05d", i)), Needs: []pawl.StepID{}, Agent: &pawl.AgentAction{Use: "claude", Prompt: prompt}})
	}
	data, err := planfile.Write(plan)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := planfile.Read("x", data); err != nil || len(again.Steps()) != 10_000 {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, folder := range []string{"good", "bad"} {
		paths, err := filepath.Glob("testdata/" + folder + "/*.yaml")
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		plan, err := planfile.Read("p", data)
		if err != nil {
			if list, ok := errors.AsType[*planfile.Errors](err); !ok || len(list.Faults) == 0 {
				t.Fatalf("an error that names nothing: %v", err)
			}
			return
		}
		checkInvariants(t, plan)
		again, err := yaml.Dump(plan)
		if err != nil {
			t.Fatal(err)
		}
		if plan, err := planfile.Read("p", again); err == nil {
			checkInvariants(t, plan)
		}
	})
}

// checkInvariants checks that ids are unique and that every step is in a wave of its phase.
func checkInvariants(t *testing.T, plan *pawl.Plan) {
	ids := map[string]bool{}
	for _, s := range plan.Steps() {
		if ids[strings.ToLower(string(s.ID))] {
			t.Fatalf("id %q is there twice", s.ID)
		}
		ids[strings.ToLower(string(s.ID))] = true
		if s.Name == "" && s.ID == "" || s.Service == nil && s.Kernel == nil && (s.Timeout <= 0 || s.Stall <= 0) || s.Retry.Attempts < 1 {
			t.Fatalf("defaults are missing: %+v", s)
		}
	}
	for i := range plan.Phases {
		if in := len(slices.Concat(plan.Waves(i)...)); in != len(plan.Phases[i].Steps) {
			t.Fatalf("%d of %d steps of phase %d are in a wave", in, len(plan.Phases[i].Steps), i)
		}
	}
	if len(plan.Order()) != len(ids) || bytes.Contains([]byte(plan.Name), []byte{0}) {
		t.Fatalf("order of %d steps, want %d", len(plan.Order()), len(ids))
	}
}

// TestDocs reads the plans that docs/plan.md shows, and looks up the messages in the golden files.
func TestDocs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	var told string
	for _, name := range []string{"several_at_once", "other_systems", "cycle", "conditions"} {
		text, err := os.ReadFile("testdata/bad/" + name + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		told += string(text)
	}
	plans := 0
	for i, block := range strings.Split(string(data), "```") {
		language, text, _ := strings.Cut(block, "\n")
		switch {
		case i%2 == 0:
		case language == "console" || strings.HasPrefix(language, "yaml "): // test/docs follows them
		case language == "yaml":
			plans++
			if _, err := planfile.Read("docs/plan.md", []byte(text)); err != nil {
				t.Errorf("block %d: %v", i/2, err)
			}
		case language == "dotenv":
			if _, err := stepenv.ParseDotenv([]byte(text)); err != nil {
				t.Errorf("block %d: %v", i/2, err)
			}
		case !strings.Contains(told, text):
			t.Errorf("block %d is not what is printed now:\n%s", i/2, text)
		}
	}
	if plans == 0 {
		t.Error("no plans in docs/plan.md")
	}
}

// TestDocsNameEveryKey keeps the tables of docs/plan.md complete.
func TestDocsNameEveryKey(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	_, err = planfile.Read("p", []byte("x: y\nsteps: [{x: y, gate: {x: y}, agent: {x: y}, kernel: {x: y}, foreach: {x: y}, retry: {x: y}}]\nbudget: {x: y}\ndefaults: {x: y}\non_failure: {x: y}\nnotify: [{x: y}]\n"))
	for line := range strings.SplitSeq(err.Error(), "\n") {
		_, keys, ok := strings.Cut(line, "; expected ")
		for key := range strings.SplitSeq(strings.Replace(keys, " or ", ", ", 1), ", ") {
			if ok && !strings.Contains(string(data), "`"+key+"`") {
				t.Errorf("docs/plan.md does not explain %q", key)
			}
		}
	}
}
