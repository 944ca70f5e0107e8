package planfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/planfile"
)

// archive returns the files in a text: each begins with a line "-- name --".
func archive(text string) map[string]string {
	files := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if inner, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(inner, " --\n") {
			name = strings.TrimSuffix(inner, " --\n")
			files[name] = ""
			continue
		}
		files[name] += line
	}
	return files
}

// opener reads files from memory.
func opener(files map[string]string) planfile.Opener {
	return func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("no file %s in the project", path)
	}
}

func load(t *testing.T, files map[string]string) *planfile.Loaded {
	t.Helper()
	l, err := planfile.Load("plan.yaml", []byte(files["plan.yaml"]), opener(files))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestIncludes compares plans with the plan files that runs store, and with the errors of those that are wrong. Each is a file
// of files in testdata/include.
func TestIncludes(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/include/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := archive(string(data))
			l, err := planfile.Load("plan.yaml", []byte(files["plan.yaml"]), opener(files))
			if bad := strings.HasPrefix(filepath.Base(path), "bad_"); bad != (err != nil) {
				t.Fatalf("error: %v", err)
			}
			if err != nil {
				if _, ok := errors.AsType[*planfile.Errors](err); !ok {
					t.Errorf("no list of errors: %v", err)
				}
				golden(t, strings.TrimSuffix(path, "txt")+"golden", []byte(err.Error()+"\nhint: "+pawl.HintOf(err)+"\n"))
				return
			}
			golden(t, strings.TrimSuffix(path, "txt")+"golden", l.Data)
			again, err := planfile.Read("copy", l.Data)
			if err != nil {
				t.Fatalf("the stored plan: %v", err)
			}
			if diff := cmp.Diff(l.Plan, again); diff != "" {
				t.Errorf("-plan +stored plan\n%s", diff)
			}
		})
	}
}

// TestWithoutIncludes: the bytes of a plan that includes nothing stay as they are, and so does its hash.
func TestWithoutIncludes(t *testing.T) {
	t.Parallel()
	const text = "# include\nname: x # ü\nsteps:\n- &a {id: a, run: include}\n"
	l := load(t, map[string]string{"plan.yaml": text})
	if string(l.Data) != text || l.Files != nil {
		t.Errorf("%q, %v", l.Data, l.Files)
	}
	_, err := planfile.Read("copy", []byte("name: x\nsteps: [{include: a.yaml}]"))
	if want := `copy:1:1: `; err == nil || strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), `cannot include "a.yaml"`) {
		t.Errorf("a plan that must be complete: %v", err)
	}
}

// TestSameIncludesSameBytes: the hash of a plan is that of its expanded text, so it must be the same every time.
func TestSameIncludesSameBytes(t *testing.T) {
	t.Parallel()
	files := map[string]string{"plan.yaml": "name: x\nsteps: [{include: a, prefix: a-}, {include: a, prefix: b-}]\n",
		"a": "env: {C: c, A: a, B: b}\ndefaults: {env: {D: d, E: e}, timeout: 5m}\nparams: {x: {}, y: {default: 1}}\nsteps: [{id: s, run: s}]\n"}
	first := load(t, files).Data
	for range 20 {
		if again := load(t, files).Data; !bytes.Equal(first, again) {
			t.Fatalf("%s\nand then\n%s", first, again)
		}
	}
	files["a"] = strings.Replace(files["a"], "run: s", "run: t", 1)
	if bytes.Equal(first, load(t, files).Data) {
		t.Error("an edited include has the same bytes")
	}
}

// TestIncludedFile checks files that are only included.
func TestIncludedFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"steps: [{id: a, run: a, needs: [elsewhere]}]":  "",
		"phases: [{name: p, steps: [{id: a, run: a}]}]": "",
		"name: whole\nsteps: [{include: other.yaml}]":   "",
		"steps: [{include: me.yaml}]":                   "me.yaml:1:19: include cycle: me.yaml → me.yaml; remove one of these includes",
		"steps: [{id: a, rnu: a}]":                      `me.yaml:1:17: unknown key "rnu" in step; did you mean "run"?`,
		"budget: {usd: 5}\nsteps: [{id: a, run: a}]":    `me.yaml:1:1: an included file cannot set "budget", which is for the whole plan; set it in the plan`,
		"steps: []": `me.yaml:1:8: "steps" is empty; add one`,
		"":          `me.yaml is empty; an included file needs "steps"`,
		"steps: [{id: a, run: a, needs: [b]}, {id: b, needs: [a], run: b}]": "me.yaml:1:14: dependency cycle: a (line 1) → b (line 1) → a; remove one of these needs",
	} {
		_, err := planfile.LoadIncluded("me.yaml", []byte(text), opener(map[string]string{"other.yaml": "steps: [{id: o, run: o}]", "me.yaml": text}))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestHostileIncludes: what is refused is refused with little memory and time.
func TestHostileIncludes(t *testing.T) {
	big := "steps:\n" + strings.Repeat("- {id: a, run: b}\n", 40_000)
	for name, files := range map[string]map[string]string{
		"exponential": {"plan.yaml": "name: x\nsteps: [" + strings.Repeat("{include: a1},", 100) + "]",
			"a1": "steps: [" + strings.Repeat("{include: a2},", 100) + "]", "a2": "steps: [" + strings.Repeat("{include: a3},", 100) + "]",
			"a3": "steps: [" + strings.Repeat("{include: a4},", 100) + "]", "a4": "steps: [{id: a, run: a}]"},
		"large files": {"plan.yaml": "name: x\nsteps: [" + strings.Repeat("{include: a},", 900) + "]", "a": big},
		"alias bomb": {"plan.yaml": "name: x\nsteps: [{include: a}]\nenv: &e {a: &a [x,x,x,x,x,x,x,x,x,x], b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b], d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c], e: &f [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d], g: [*f,*f,*f,*f,*f,*f,*f,*f]}",
			"a": "steps: [{id: a, run: a}]"},
		"own alias":     {"plan.yaml": "name: x\nsteps: &s [{include: a}, *s]", "a": "steps: &s [{id: a, run: a, env: &e {x: *e}}, *s]"},
		"large by env":  {"plan.yaml": "name: x\nsteps: [{include: a}]", "a": "env:\n" + strings.Repeat("  E: x\n", 1) + manyEnv(300) + "steps:\n" + strings.Repeat("- {id: a, run: b}\n", 10_000)},
		"not text":      {"plan.yaml": "name: x\nsteps: [{include: a}]", "a": strings.Repeat("\x00\x7f", 1<<19)},
		"two documents": {"plan.yaml": "name: x\nsteps: [{include: a}]", "a": "steps: []\n---\nsteps: []"},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := planfile.Load("p", []byte(files["plan.yaml"]), opener(files))
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			if err == nil || len(err.Error()) > 1<<20 || allocated > 2500 {
				t.Errorf("%d MiB allocated, error %.200v", allocated, err)
			}
			t.Logf("%d MiB allocated: %.200v", allocated, err)
		})
	}
}

func manyEnv(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "  V%d: x\n", i)
	}
	return text.String()
}

// TestOpenerErrors passes on what the reader of files says.
func TestOpenerErrors(t *testing.T) {
	t.Parallel()
	_, err := planfile.Load("plan.yaml", []byte("name: x\nsteps:\n- {id: a, run: a, needs: [gone]}\n- include: a.yaml\n"), func(string) ([]byte, error) {
		return nil, &fs.PathError{Op: "open", Path: "a.yaml", Err: errors.New("a symbolic link")}
	})
	if want := "plan.yaml:4:12: include: open a.yaml: a symbolic link"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzInclude(f *testing.F) {
	paths, err := filepath.Glob("testdata/include/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := archive(text)
		l, err := planfile.Load("plan.yaml", []byte(files["plan.yaml"]), opener(files))
		if err != nil {
			return
		}
		checkInvariants(t, l.Plan)
		if len(l.Files) == 0 {
			return
		}
		again, err := planfile.Read("copy", l.Data)
		if err != nil || cmp.Diff(l.Plan, again) != "" {
			t.Fatalf("%v\n%s\n%s", err, cmp.Diff(l.Plan, again), l.Data)
		}
	})
}
