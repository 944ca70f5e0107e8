package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/project"
	"pawl/internal/server/client"
)

// TestRests reads a project's run again only after its files have changed. What the server knows of it outlives the server.
func TestRests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": "name: demo\nsteps:\n  - {id: a, run: 'true'}\n"})
	w.pawl(0, "run", "plan.yaml")
	w.look()
	remembered := func() bool {
		r := w.api.rests.known[w.id]
		r.Project.Name = "remembered"
		w.api.rests.known[w.id] = r
		w.look()
		return w.api.known[w.id].Name == "remembered"
	}
	if !remembered() {
		t.Error("a run without a change was read")
	}
	p, err := project.Find(w.root)
	if err != nil {
		t.Fatal(err)
	}
	marks := filepath.Join(p.Trust.Folder, "runs")
	for _, change := range []struct {
		name  string
		do    func() error
		error bool // the project then is not at rest
	}{
		{name: "an event", do: func() error { w.pawl(0, "decide", "we keep it"); return nil }},
		{name: "a new run", do: func() error { w.pawl(0, "run", "plan.yaml"); return nil }},
		{name: "other marks", do: func() error { return os.Rename(marks, marks+"-away") }, error: true},
		{name: "the marks again", do: func() error { return os.Rename(marks+"-away", marks) }},
		{name: "no trust", do: p.Trust.Revoke, error: true},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		if remembered() {
			t.Errorf("after %s the run was not read", change.name)
		}
		if s := w.api.known[w.id]; (s.Error != "") != change.error {
			t.Errorf("%s: %+v", change.name, s)
		}
		if w.look(); !change.error && !remembered() {
			t.Errorf("after %s the run was read twice", change.name)
		}
	}
}

// TestGateExpires: a run that waits for an answer is not read again until its gate has expired. Then it continues with the default.
func TestGateExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": "name: demo\nsteps:\n  - {id: where, gate: {type: decision, ask: Where to?, options: [here, there], default: there, expires: 3s}}\n" +
		"  - {id: go, run: 'true', needs: [where]}\n"})
	w.pawl(3, "run", "plan.yaml")
	for w.look(); w.api.known[w.id].Status != pawl.StatusCompleted; w.look() {
		s := w.api.known[w.id]
		if waits := time.Now().Before(s.expires); s.expires.IsZero() == (s.Status == pawl.StatusWaiting) || waits && s.resume {
			t.Fatalf("%+v", s)
		}
		if t.Context().Err() != nil {
			t.Fatal("the run still waits")
		}
	}
	if log := w.pawl(0, "log"); !strings.Contains(log, "there") {
		t.Error(log)
	}
}

// TestRestFile: only a file of the same version that is whole is used.
func TestRestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rests.json")
	r := openRests(path, "1")
	r.record(&watched{Project: client.Project{ID: "a", Run: "demo", Gates: 1}}, "print")
	r.record(&watched{Project: client.Project{ID: "b", Run: "demo"}, resume: true}, "print")
	r.record(&watched{Project: client.Project{ID: "c", Run: "demo"}, engine: true}, "print")
	r.record(&watched{Project: client.Project{ID: "d", Run: "demo", Error: "damaged"}}, "print")
	r.record(&watched{Project: client.Project{ID: "e", Run: "demo"}}, "")
	r.record(&watched{Project: client.Project{ID: "f", Run: "demo"}}, "print")
	if err := r.keep(map[string]bool{"a": true, "b": true}); err != nil {
		t.Fatal(err)
	}
	if again := openRests(path, "1").known; len(again) != 1 || again["a"].Project.Gates != 1 || again["a"].Fingerprint != "print" {
		t.Errorf("%+v", again)
	}
	if other := openRests(path, "2").known; len(other) > 0 {
		t.Errorf("of another version: %+v", other)
	}
	data, err := os.ReadFile(path)
	if err = errors.Join(err, os.WriteFile(path, data[:len(data)/2], 0o600)); err != nil {
		t.Fatal(err)
	}
	if torn := openRests(path, "1").known; len(torn) > 0 {
		t.Errorf("of a torn file: %+v", torn)
	}
}
