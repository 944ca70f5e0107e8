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

// TestRecall: what was computed from a run is current for a run that was loaded from the same journal, earlier for one that was loaded after
// an event, and unknown for one that was loaded before it, or from another journal.
func TestRecall(t *testing.T) {
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
	decide := func() {
		t.Helper()
		log, err := journal.Open(p.Runs(), run)
		if err != nil {
			t.Fatal(err)
		}
		e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson}, pawl.DecisionMade{Decision: pawl.Decision{Choice: "on"}})
		if err == nil {
			_, err = log.Append(t.Context(), 0, e)
		}
		if err := errors.Join(err, log.Close()); err != nil {
			t.Fatal(err)
		}
	}
	recall := func(r *Run, want Recalled, seq pawl.Seq) (remember func(*pawl.Seq)) {
		t.Helper()
		told := pawl.Seq(-1)
		as, remember := Recall(p, r, "test", &told)
		if as != want || told != seq {
			t.Errorf("recalled %d as %d; want %d as %d", told, as, seq, want)
		}
		return remember
	}
	before := loaded()
	home, was := p.RunDir(run), t.TempDir()
	if err := os.CopyFS(was, os.DirFS(home)); err != nil {
		t.Fatal(err)
	}
	recall(before, Unknown, 0)(&before.State.Seq)
	recall(before, Current, before.State.Seq)
	decide()
	after := loaded()
	recall(after, Earlier, before.State.Seq)(&after.State.Seq)
	recall(before, Unknown, 0)
	for range 2 { // once from the journal, then from the memo of its state
		recall(loaded(), Current, after.State.Seq)
	}
	decide()
	last := recall(loaded(), Earlier, after.State.Seq)
	if err := errors.Join(os.RemoveAll(home), os.CopyFS(home, os.DirFS(was))); err != nil { // as from a backup
		t.Fatal(err)
	}
	for range 3 {
		decide()
	}
	last(&after.State.Seq)
	recall(loaded(), Unknown, 0)
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
