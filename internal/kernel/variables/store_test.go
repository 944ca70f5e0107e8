package variables_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/kernel/variables"
	"pawl/internal/kernel/variablestest"
)

// A checkpoint survives in a store that is opened again, and files and folders are those of this user alone.
func TestCommit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".pawl", "v")
	s, err := variables.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	k := variablestest.Start(t)
	k.Run("x = bytes(100000); y = 2")
	pending := k.Accept(s, "one", variables.Limits{})
	s, err = variables.Open(dir) // after a crash
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].SHA256 != pending.SHA256 || list[0].Key != "one" || !list[0].Verified.IsZero() {
		t.Fatalf("pending: %+v, %v", list, err)
	}
	m := variablestest.Verified(t, s, list[0])
	again := variablestest.Verified(t, s, list[0])
	if m.SHA256 != again.SHA256 || m.Verified.IsZero() {
		t.Errorf("verified twice: %s and %s", m.SHA256, again.SHA256)
	}
	if list, err := s.List(); err != nil || len(list) != 1 || list[0].SHA256 != m.SHA256 || list[0].Verified.IsZero() {
		t.Errorf("committed: %+v, %v", list, err)
	}
	if err := variablestest.CheckContent(dir, m); err != nil {
		t.Error(err)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		info, infoErr := d.Info()
		if err = errors.Join(err, infoErr); err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Content that did not change is not written again, and each variable names the cell that it comes from.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	s, k := variablestest.NewStore(t), variablestest.Start(t)
	k.Run("import socket; sock = socket.socket(); x = bytes(100000); y = [1]")
	first := k.Save(s, "one")
	k.Run("y.append(2); z = 3")
	second := k.Save(s, "two")
	if a, b := variablestest.Variable(t, first, "x").Place, variablestest.Variable(t, second, "x").Place; a.Object != b.Object {
		t.Errorf("x is in %s and %s", a.Object, b.Object)
	}
	for name, want := range map[string]variables.Key{"x": "one", "y": "two", "z": "two"} {
		if got := variablestest.Variable(t, second, name).Since; got != want {
			t.Errorf("%s is of cell %s; want %s", name, got, want)
		}
	}
	if u := second.Unsaved; len(u) != 1 || u[0].Name != "sock" || u[0].Since != "one" {
		t.Errorf("unsaved: %+v", u)
	}
}

// Whatever is damaged, nothing of the checkpoint is assigned, and the error says what.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]struct {
		do   func(t *testing.T, dir string, m variables.Manifest)
		want string
	}{
		"content": {func(t *testing.T, dir string, m variables.Manifest) {
			change(t, filepath.Join(dir, "objects", variablestest.Variable(t, m, "large").Place.Object))
		}, "large: its file is damaged"},
		"missing file": {func(t *testing.T, dir string, m variables.Manifest) {
			if err := os.Remove(filepath.Join(dir, "objects", variablestest.Variable(t, m, "large").Place.Object)); err != nil {
				t.Fatal(err)
			}
		}, "large: its file cannot be read"},
		"manifest": {func(t *testing.T, dir string, m variables.Manifest) {
			path := filepath.Join(dir, "manifests", string(m.ID)+".json")
			data, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, []byte(strings.Replace(string(data), `"small"`, `"other"`, 1)), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), ".pawl", "v")
			s, err := variables.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			k, fresh := variablestest.Start(t), variablestest.Start(t)
			k.Run("small = 1\ndef f(): return 1\nlarge = bytes(100000)")
			m := k.Save(s, "one")
			fresh.Run("small = 'before'")
			loading, err := s.LoadCell(m.ID, false)
			if err != nil {
				t.Fatal(err)
			}
			damage.do(t, dir, m)
			_, _, err = loading.Result(fresh.Run(loading.Code))
			if err == nil || !strings.Contains(err.Error(), damage.want) {
				t.Errorf("load: %v; want %s", err, damage.want)
			}
			if got := fresh.Print("print(small, [n for n in vars() if n in ('f', 'large')])"); got != "before []" {
				t.Errorf("after a failed loading: %s", got)
			}
			if name == "manifest" {
				if _, err := s.LoadCell(m.ID, false); !errors.Is(err, variables.ErrDamaged) {
					t.Errorf("the damaged manifest: %v", err)
				}
			}
		})
	}
}

func change(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A changed environment is named, and strict loads nothing then.
func TestDrift(t *testing.T) {
	t.Parallel()
	s, k, fresh := variablestest.NewStore(t), variablestest.Start(t), variablestest.Start(t)
	k.Run("x = 1\nimport sys\nsys.modules['_pawl_variables'].packages.extend(['nonesuch==1.0'])\nimport platform\nplatform.python_version = lambda: '3.0.1'\ndel sys, platform")
	m := k.Save(s, "one")
	for _, strict := range []bool{true, false} {
		loading, err := s.LoadCell(m.ID, strict)
		if err != nil {
			t.Fatal(err)
		}
		loaded, warnings, err := loading.Result(fresh.Run(loading.Code))
		if strict {
			if err == nil || !strings.Contains(err.Error(), "Python was 3.0.1 and is") || fresh.Print("print('x' in vars())") != "False" {
				t.Errorf("strict: %v", err)
			}
			continue
		}
		if err != nil || len(loaded) != 1 || len(warnings) != 2 || warnings[1] != "package nonesuch was 1.0 and is missing" {
			t.Errorf("loaded %q; warnings %q, %v", loaded, warnings, err)
		}
	}
}

// Prune keeps the newest checkpoints and pinned ones, and removes only objects that nobody needs.
func TestPrune(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".pawl", "v")
	s, err := variables.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	k := variablestest.Start(t)
	var all []variables.Manifest
	for _, cell := range []string{"shared = bytes(100000); own = b'1' * 100000", "own = b'2' * 100000", "own = b'3' * 100000", "own = b'4' * 100000"} {
		k.Run(cell)
		all = append(all, k.Save(s, variables.Key(cell)))
	}
	k.Run("own = b'5' * 100000")
	pending := k.Accept(s, "five", variables.Limits{})
	pruned, err := s.Prune(variables.Retention{Keep: 2, Pinned: []variables.ID{all[0].ID}})
	if err != nil || len(pruned.Manifests) != 2 || pruned.Manifests[0] != all[1].ID || pruned.Manifests[1] != all[2].ID || pruned.Bytes < 200000 {
		t.Fatalf("pruned %+v, %v", pruned, err)
	}
	pruned, err = s.Prune(variables.Retention{Quota: 1})
	if err != nil || len(pruned.Manifests) != 1 || pruned.Why[all[0].ID] != variables.OverQuota {
		t.Fatalf("pruned by quota: %+v, %v", pruned, err)
	}
	for _, m := range []variables.Manifest{all[3], variablestest.Verified(t, s, pending)} {
		if err := variablestest.CheckContent(dir, m); err != nil {
			t.Error(err)
		}
		variablestest.Start(t).Load(s, m)
	}
}

// The listing names all variables and what the newest checkpoint has of them.
func TestList(t *testing.T) {
	t.Parallel()
	s, k := variablestest.NewStore(t), variablestest.Start(t)
	k.Run("import json, socket\nx = [1, 2]\nsock = socket.socket()\ndef f(): pass")
	k.Save(s, "one")
	k.Run("x.append(3); new = 1.5")
	listing, err := variables.ListCell("l1")
	if err != nil {
		t.Fatal(err)
	}
	list, more, err := listing.Result(k.Run(listing.Code))
	if err != nil || more != 0 || len(list) != 6 {
		t.Fatalf("%+v, %d more, %v", list, more, err)
	}
	for i, want := range []variables.Listed{{Name: "json", Type: "module", Saved: true}, {Name: "socket", Type: "module", Saved: true}, {Name: "x", Type: "list"},
		{Name: "sock", Type: "socket.socket", Why: "cannot pickle 'socket' object"}, {Name: "f", Type: "function", Saved: true}, {Name: "new", Type: "float"}} {
		got := list[i]
		if got.Name != want.Name || got.Type != want.Type || got.Saved != want.Saved || got.Why != want.Why {
			t.Errorf("%+v; want %+v", got, want)
		}
	}
	if list[2].Hash == "" || list[2].Shape[0] != 3 || list[2].Bytes == 0 {
		t.Errorf("x: %+v", list[2])
	}
}

// A kernel without the program, and a kernel that did not answer, are told apart from one that failed.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	s := variablestest.NewStore(t)
	saving, err := s.SaveCell("one", variables.Limits{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(t.Context(), saving, nil); !errors.Is(err, variables.ErrNoAnswer) {
		t.Error(err)
	}
	if err := s.Abandon(saving); err != nil {
		t.Error(err)
	}
}

// Many variables are saved within the limits.
func TestMany(t *testing.T) {
	t.Parallel()
	s, k, fresh := variablestest.NewStore(t), variablestest.Start(t), variablestest.Start(t)
	k.Run("globals().update({'v%d' % i: [i] for i in range(20000)})")
	m := k.Save(s, "one")
	if len(m.Variables) != 20000 {
		t.Fatalf("%d variables; unsaved: %d", len(m.Variables), len(m.Unsaved))
	}
	if loaded := fresh.Load(s, m); len(loaded) != 20000 || fresh.Print("print(v19999)") != "[19999]" {
		t.Errorf("%d loaded", len(loaded))
	}
}

// Checkpoints that were never verified are removed with the verified ones of their age; those after the newest verified one are kept.
func TestPrunePending(t *testing.T) {
	t.Parallel()
	s, k := variablestest.NewStore(t), variablestest.Start(t)
	for i := range 6 {
		k.Run(fmt.Sprint("x = ", i))
		m := k.Accept(s, variables.Key(fmt.Sprint(i)), variables.Limits{})
		if i == 3 {
			variablestest.Verified(t, s, m)
		}
	}
	if _, err := s.Prune(variables.Retention{Keep: 2}); err != nil {
		t.Fatal(err)
	}
	list, err := s.List()
	var keys []string
	for _, m := range list {
		keys = append(keys, string(m.Key))
	}
	if got := strings.Join(keys, " "); err != nil || got != "2 3 4 5" {
		t.Errorf("kept: %s, %v", got, err)
	}
}
