package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/journal"
)

// written creates the journal of a run in a folder, with decisions.
func written(t *testing.T, run pawl.RunID, created pawl.Event, choices ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	log, err := journal.Create(folder, run)
	if err != nil {
		t.Fatal(err)
	}
	events := []pawl.Event{created}
	for _, choice := range choices {
		event, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson}, pawl.DecisionMade{Decision: pawl.Decision{Question: "q", Choice: choice}})
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	if _, err := log.Append(t.Context(), 0, events...); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestExtend: a journal is replaced only by one that continues it.
func TestExtend(t *testing.T) {
	t.Parallel()
	const run = pawl.RunID("demo-20260101-000000-abcd")
	created, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByPerson}, pawl.RunCreated{Format: pawl.Format, Run: run, Kind: pawl.SessionRun, Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	long := written(t, run, created, "a", "b")
	data, err := os.ReadFile(filepath.Join(long, string(run), journal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	copyOf := func(data []byte) string {
		folder := t.TempDir()
		path := filepath.Join(folder, string(run), journal.FileName)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	lines := 0
	for i, b := range data {
		if b == '\n' && lines < 2 {
			lines++
			if lines == 2 {
				data = data[:i+1]
			}
		}
	}
	for name, c := range map[string]struct {
		ours, theirs string
		want         journal.Relation
	}{
		"the same": {long, copyOf(read(t, long, run)), journal.Same},
		"behind":   {copyOf(data), copyOf(read(t, long, run)), journal.Behind},
		"torn":     {copyOf(append(data[:len(data):len(data)], "{\"seq\""...)), copyOf(read(t, long, run)), journal.Behind},
		"ahead":    {copyOf(read(t, long, run)), copyOf(data), journal.Ahead},
		"diverged": {written(t, run, created, "a", "c"), copyOf(read(t, long, run)), journal.Diverged},
	} {
		before := read(t, c.ours, run)
		if got, err := journal.Compare(c.ours, c.theirs, run); got != c.want || err != nil {
			t.Errorf("%s: %d, %v", name, got, err)
		}
		err := journal.Extend(c.ours, c.theirs, run)
		if allowed := c.want == journal.Same || c.want == journal.Behind; (err == nil) != allowed {
			t.Errorf("%s: %v", name, err)
		}
		want := before
		if c.want == journal.Behind {
			want = read(t, long, run)
		}
		if got := read(t, c.ours, run); string(got) != string(want) {
			t.Errorf("%s: %s", name, got)
		}
		aside, err := filepath.Glob(filepath.Join(c.ours, string(run), "journal.torn-*"))
		if err != nil || (len(aside) == 1) != (name == "torn") {
			t.Errorf("%s: set aside: %v, %v", name, aside, err)
		}
	}
}

func read(t *testing.T, folder string, run pawl.RunID) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, string(run), journal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
