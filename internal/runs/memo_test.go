package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/memo"
	"pawl/internal/project"
)

// settle waits until a run's files have been as they are for a while.
func settle(t *testing.T, p *project.Project, run pawl.RunID) {
	t.Helper()
	for {
		files, local := journalFiles(p.Runs(), run, markPath(p, run), p.PlanFile(run, 1), p.RunDir(run))
		if !local {
			t.Fatal("the run is not in files")
		}
		if files.Settled() {
			return
		}
	}
}

// load returns the state of a run as a command that looks gets it, and whether that read the journal.
func load(t *testing.T, p *project.Project, run pawl.RunID) (state []byte, read bool) {
	t.Helper()
	r, err := Load(t.Context(), p, run)
	if err != nil {
		t.Fatal(err)
	}
	read = r.Log.Seq() > 0
	if news, err := r.Log.NewEvents(); err != nil || len(news) > 0 {
		t.Errorf("%d new events, %v", len(news), err)
	}
	state, err = json.Marshal(r.State)
	if err := errors.Join(err, r.Log.Close()); err != nil {
		t.Fatal(err)
	}
	return state, read
}

// TestMemoOfState: a journal that has not changed is not read again, and the state is the one that a fold gives.
func TestMemoOfState(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, run := longRun(t, pawl.MemoryLearned{Memory: pawl.Memory{Text: "x"}})
	folded := func() []byte {
		t.Helper()
		log, err := journal.Open(p.Runs(), run)
		if err != nil {
			t.Fatal(err)
		}
		state, _, err := log.Refold(t.Context())
		if err := errors.Join(err, log.Close()); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	settle(t, p, run)
	for i, want := range []bool{true, false, false} {
		if state, read := load(t, p, run); read != want || !bytes.Equal(state, folded()) {
			t.Errorf("load %d: read %v, state %s", i, read, state)
		}
	}
	r, err := Perform(t.Context(), p, run, pawl.Author{Kind: pawl.ByPerson}, func(*project.Project, *Run) ([]pawl.Payload, error) {
		return []pawl.Payload{pawl.DecisionMade{Decision: pawl.Decision{Choice: "on"}}}, nil
	})
	if err := errors.Join(err, r.Log.Close()); err != nil {
		t.Fatal(err)
	}
	settle(t, p, run)
	for i, want := range []bool{true, false} {
		if state, read := load(t, p, run); read != want || !bytes.Equal(state, folded()) {
			t.Errorf("load %d after an event: read %v, state %s", i, read, state)
		}
	}
	for name, damage := range map[string]func(path string, data []byte) error{
		"flipped": func(path string, data []byte) error {
			data[len(data)/2] ^= 1
			return os.WriteFile(path, data, 0o600)
		},
		"cut": func(path string, data []byte) error { return os.WriteFile(path, data[:len(data)/3], 0o600) },
	} {
		path := filepath.Join(p.RunDir(run), journal.FileName)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := damage(path, bytes.Clone(data)); err != nil {
			t.Fatal(err)
		}
		if r, err := Load(t.Context(), p, run); err == nil && r.State.Seq == pawl.Seq(bytes.Count(data, []byte("\n"))) {
			t.Errorf("%s: the memo hides the damage", name)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMemoOfForgedCache: a cached state that somebody else wrote never gets into a memo, and neither does one that is not the last that pawl
// wrote, as after a crash between the cached state and its hash.
func TestMemoOfForgedCache(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, run := longRun(t, pawl.MemoryLearned{Memory: pawl.Memory{Text: "x"}})
	remembered := func() bool {
		t.Helper()
		settle(t, p, run)
		if err := disk.Remove(memoPath(p, p.Runs(), run, "state")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		load(t, p, run)
		_, read := load(t, p, run)
		return !read
	}
	forge(t, p, run)
	if remembered() {
		t.Error("the forged state is in a memo")
	}
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		t.Fatal(err)
	}
	state, _, err := log.Refold(t.Context())
	if err == nil {
		err = SaveState(p, log, state)
	}
	if err != nil {
		t.Fatal(err)
	}
	sum := memoPath(p, p.Runs(), run, "cache")
	if err := disk.Remove(sum); err != nil {
		t.Fatal(err)
	}
	if remembered() {
		t.Error("a state of unknown origin is in a memo")
	}
	if err := errors.Join(SaveState(p, log, state), log.Close()); err != nil {
		t.Fatal(err)
	}
	if !remembered() {
		t.Error("pawl's own cached state is in no memo")
	}
}

// TestRecallOfAnotherLoad: what was computed from a journal counts for a run that was loaded from the same journal, not for one that was
// loaded before or after an event.
func TestRecallOfAnotherLoad(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, run := longRun(t, pawl.MemoryLearned{Memory: pawl.Memory{Text: "x"}})
	loaded := func() *Run {
		t.Helper()
		settle(t, p, run)
		r, err := Load(t.Context(), p, run)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Log.Close() })
		return r
	}
	recalled := func(r *Run) (ok bool, seq pawl.Seq, remember func(*pawl.Seq)) {
		ok, remember = Recall(p, r, "test", &seq)
		return ok, seq, remember
	}
	before := loaded()
	ok, _, rememberBefore := recalled(before)
	if ok {
		t.Fatal("there is a memo at first")
	}
	r, err := Perform(t.Context(), p, run, pawl.Author{Kind: pawl.ByPerson}, func(*project.Project, *Run) ([]pawl.Payload, error) {
		return []pawl.Payload{pawl.DecisionMade{Decision: pawl.Decision{Choice: "on"}}}, nil
	})
	if err := errors.Join(err, r.Log.Close()); err != nil {
		t.Fatal(err)
	}
	after := loaded()
	rememberBefore(&before.State.Seq)
	ok, seq, rememberAfter := recalled(after)
	if ok || seq != 0 {
		t.Errorf("the run as it is now gets %d of the run before its last event", seq)
	}
	rememberAfter(&after.State.Seq)
	if ok, seq, _ := recalled(before); ok || seq != 0 {
		t.Errorf("the run before its last event gets %d of the run as it is now", seq)
	}
	for range 2 { // once from the journal, then from the memo of its state
		if ok, seq, _ := recalled(loaded()); !ok || seq != after.State.Seq {
			t.Errorf("remembered: %v, %d", ok, seq)
		}
	}
}

// TestMemoOfOwnRun: a run stays the user's own only as long as nobody adds a word, and an untrusted project has no memos.
func TestMemoOfOwnRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, run := longRun(t, pawl.GateOpened{Gate: pawl.Gate{ID: "g", Type: pawl.HumanVerify, Ask: "?"}})
	settle(t, p, run)
	for range 2 {
		if reason, err := Elsewhere(p, run); reason != "" || err != nil {
			t.Fatalf("elsewhere: %q, %v", reason, err)
		}
	}
	if !knownOwn(p, run) {
		t.Error("it is not remembered")
	}
	log, err := journal.Open(p.Runs(), run)
	if err != nil {
		t.Fatal(err)
	}
	e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson}, pawl.GateAnswered{Gate: "g", Answer: pawl.Approved})
	if err == nil {
		_, err = log.Append(t.Context(), 0, e)
	}
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		settle(t, p, run)
		if reason, err := Elsewhere(p, run); reason != foreignWord || err != nil {
			t.Errorf("elsewhere: %q, %v; want a foreign word", reason, err)
		}
	}
	var own ownMemo
	if memo.Load(memoPath(p, p.Runs(), run, "own"), &own) {
		t.Error("the memo counts")
	}
}

// TestMemoOfViews: a view that was removed or changed is written again.
func TestMemoOfViews(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, run := longRun(t, pawl.MemoryLearned{Memory: pawl.Memory{Text: "x"}})
	r, err := Load(t.Context(), p, run)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Log.Close()
	view := filepath.Join(p.RunDir(run), "STATE.md")
	for name, change := range map[string]func() error{
		"removed": func() error { return os.Remove(view) },
		"changed": func() error { return os.WriteFile(view, []byte("x"), 0o600) },
		"replaced": func() error {
			return errors.Join(os.WriteFile(view+"2", []byte("x"), 0o600), os.Rename(view+"2", view))
		},
	} {
		for range 2 {
			settle(t, p, run)
			if err := WriteViews(p, r); err != nil {
				t.Fatal(err)
			}
		}
		if !viewsWritten(p, r) {
			t.Fatal("no memo")
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := WriteViews(p, r); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(view); err != nil || len(text) < 100 {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestRecall: what was computed from a run counts as long as its journal is the one from which it was computed.
func TestRecall(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p, run := longRun(t, pawl.MemoryLearned{Memory: pawl.Memory{Text: "x"}})
	recall := func(computed string) (told string, ok bool) {
		t.Helper()
		settle(t, p, run)
		r, err := Load(t.Context(), p, run)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Log.Close()
		ok, remember := Recall(p, r, "test", &told)
		if computed != "" {
			remember(&computed)
		}
		return told, ok
	}
	if told, ok := recall("first"); ok || told != "" {
		t.Errorf("before anything was remembered: %q", told)
	}
	if told, ok := recall(""); !ok || told != "first" {
		t.Errorf("%q, %v", told, ok)
	}
	r, err := Perform(t.Context(), p, run, pawl.Author{Kind: pawl.ByPerson}, func(*project.Project, *Run) ([]pawl.Payload, error) {
		return []pawl.Payload{pawl.DecisionMade{Decision: pawl.Decision{Choice: "on"}}}, nil
	})
	if err := errors.Join(err, r.Log.Close()); err != nil {
		t.Fatal(err)
	}
	if told, ok := recall(""); ok || told != "" {
		t.Errorf("after an event: %q", told)
	}
	recall("second")
	if told, ok := recall(""); !ok || told != "second" {
		t.Errorf("%q, %v", told, ok)
	}
}
