package variablestest

import (
	"strings"
	"testing"
	"time"

	"pawl/internal/kernel/variables"
)

// Kernels starts two kernels for a test.
type Kernels func(t *testing.T) (first, second *Kernel)

// Plain starts kernels without IPython.
func Plain(t *testing.T) (first, second *Kernel) { return Start(t), Start(t) }

// IPython returns kernels that start at once and are emptied for each test. Their tests do not run in parallel.
func IPython(t *testing.T) Kernels {
	first, second := Start(t, "ipykernel"), Start(t, "ipykernel")
	first.Run("_fresh = frozenset(vars()) | {'_fresh'}")
	second.Run("_fresh = frozenset(vars()) | {'_fresh'}")
	return func(t *testing.T) (*Kernel, *Kernel) { return first.emptied(t), second.emptied(t) }
}

// emptied removes the variables of an earlier test.
func (k *Kernel) emptied(t *testing.T) *Kernel {
	one := *k
	one.t = t
	one.Run("import builtins as _b\nfor _name in _b.set(_b.globals()) - _fresh - {'_b'}: del _b.globals()[_name]")
	return &one
}

// RunExact saves the variables of a cell, loads them into a fresh kernel, and compares what both kernels print.
func RunExact(t *testing.T, start Kernels, c Case) {
	s := NewStore(t)
	k, fresh := start(t)
	k.Run(c.Prepare)
	m := k.Save(s, "one")
	if len(m.Unsaved) > 0 || len(m.Notes) > 0 {
		t.Errorf("unsaved: %+v; notes: %q", m.Unsaved, m.Notes)
	}
	if c.Format != "" && Variable(t, m, "x").Format != c.Format {
		t.Errorf("x has the format %s; want %s", Variable(t, m, "x").Format, c.Format)
	}
	fresh.Load(s, m)
	compare(t, fresh.Save(s, "one"), m)
	if got, want := fresh.Print(c.Check), k.Print(c.Check); got != want || want == "" {
		t.Errorf("after loading: %s; want %s", got, want)
	}
	if names := fresh.Print("print([n for n in vars() if 'pawl' in n])"); names != "[]" {
		t.Errorf("names of pawl: %s", names)
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

// RunUnsaveable saves the variables of a cell, and checks that x is named with the reason and that all others are loaded.
func RunUnsaveable(t *testing.T, start Kernels, c Case) {
	s := NewStore(t)
	k, fresh := start(t)
	k.Run("good = [1]\n" + c.Prepare + "\nbetter = {'a': 2}\nimport sys; sys.setrecursionlimit(10 ** 6)")
	limits := variables.Limits{Variable: 2 << 20}
	if strings.Contains(c.Why, "took longer") {
		limits.Each = 500 * time.Millisecond
	}
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
	fresh.Load(s, m)
	if got := fresh.Print("print(good, better, 'x' in globals())"); got != "[1] {'a': 2} False" {
		t.Errorf("loaded: %s", got)
	}
	if got := k.Print("print(sys.getrecursionlimit(), __import__('signal').getitimer(0))"); got != "1000000 (0.0, 0.0)" {
		t.Errorf("the kernel's settings: %s", got)
	}
}
