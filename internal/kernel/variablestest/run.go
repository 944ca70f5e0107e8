package variablestest

import (
	"strings"
	"testing"
	"time"

	"pawl/internal/kernel/variables"
)

// RunExact saves the variables of cells, loads them into a fresh kernel, and compares what both kernels print. args are those of Start.
func RunExact(t *testing.T, cases []Case, args ...string) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s, k, fresh := NewStore(t), Start(t, args...), Start(t, args...)
			before := k.Print("print(sorted(globals()))")
			k.Run(c.Prepare)
			m := k.Save(s, "one")
			if len(m.Unsaved) > 0 || len(m.Notes) > 0 {
				t.Errorf("unsaved: %+v; notes: %q", m.Unsaved, m.Notes)
			}
			if c.Format != "" && Variable(t, m, "x").Format != c.Format {
				t.Errorf("x has the format %s; want %s", Variable(t, m, "x").Format, c.Format)
			}
			if got := fresh.Print("print(sorted(globals()))"); got != before && len(args) == 0 {
				t.Errorf("names of a fresh kernel: %s; want %s", got, before)
			}
			fresh.Load(s, m)
			compare(t, fresh.Save(s, "one"), m)
			if got, want := fresh.Print(c.Check), k.Print(c.Check); got != want || want == "" {
				t.Errorf("after loading: %s; want %s", got, want)
			}
			if names := fresh.Print("print([n for n in vars() if 'pawl' in n])"); names != "[]" {
				t.Errorf("names of pawl: %s", names)
			}
		})
	}
}

// compare checks that two checkpoints have the same variables, by hash.
func compare(t *testing.T, got, want variables.Manifest) {
	t.Helper()
	if len(got.Variables) != len(want.Variables) {
		t.Fatalf("saved again without: %+v", got.Unsaved)
	}
	for i, v := range got.Variables {
		if v.Name != want.Variables[i].Name || v.Hash != want.Variables[i].Hash {
			t.Errorf("saved again: %+v; want %+v", v, want.Variables[i])
		}
	}
}

// RunUnsaveable saves the variables of cells, and checks that x is named with the reason and that all others are loaded.
func RunUnsaveable(t *testing.T, cases []Case, args ...string) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s, k := NewStore(t), Start(t, args...)
			k.Run("good = [1]\n" + c.Prepare + "\nbetter = {'a': 2}\nimport sys; sys.setrecursionlimit(10 ** 6)")
			limits := variables.Limits{Variable: 2 << 20, Each: 500 * time.Millisecond}
			pending := k.Accept(s, "one", limits)
			v := &variables.Verifier{Python: Python(), Limits: limits}
			defer v.Close()
			m, err := s.Verify(t.Context(), pending.ID, v, pending.Created)
			if err != nil {
				t.Fatal(err)
			}
			why, named := Lost(m)["x"]
			if !named || !strings.Contains(why, c.Why) {
				t.Errorf("x: %q; want %q", why, c.Why)
			}
			fresh := Start(t, args...)
			fresh.Load(s, m)
			if got := fresh.Print("print(good, better, 'x' in globals())"); got != "[1] {'a': 2} False" {
				t.Errorf("loaded: %s", got)
			}
			if got := k.Print("print(sys.getrecursionlimit(), __import__('signal').getitimer(0))"); got != "1000000 (0.0, 0.0)" {
				t.Errorf("the kernel's settings: %s", got)
			}
		})
	}
}
