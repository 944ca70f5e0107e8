package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/disk/disktest"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

const runID pawl.RunID = "test-20260101-000000-abcd"

func TestMain(m *testing.M) {
	disktest.Inject()
	if os.Getenv(actVar) != "" {
		os.Exit(act())
	}
	goleak.VerifyTestMain(m)
}

func TestPromises(t *testing.T) {
	t.Parallel()
	journaltest.Suite(t, func(t *testing.T) func() pawl.Journal {
		folder := filepath.Join(t.TempDir(), "runs")
		log, err := journal.Create(folder, journaltest.Run)
		if err != nil {
			t.Fatal(err)
		}
		log.Close()
		return func() pawl.Journal {
			d := &journal.Dir{Path: folder}
			t.Cleanup(func() { d.Close() })
			return d
		}
	})
}

// run is a journal with its first event. When the test ends, fsck must find nothing bad.
type run struct {
	*journal.Log
	folder  string
	damaged bool // on purpose
}

func newRun(tb testing.TB, texts ...string) *run {
	tb.Helper()
	folder := filepath.Join(tb.TempDir(), "runs")
	log, err := journal.Create(folder, runID)
	if err != nil {
		tb.Fatal(err)
	}
	r := &run{Log: log, folder: folder}
	tb.Cleanup(func() {
		log.Close()
		for _, f := range journal.Check(r.home()) {
			if f.Level == pawl.Bad && !r.damaged {
				tb.Errorf("%s: %s", f.Where, f.What)
			}
		}
	})
	r.add(tb, journaltest.Created(tb, runID))
	for _, text := range texts {
		r.add(tb, journaltest.Text(tb, text))
	}
	return r
}

func (r *run) home() string { return filepath.Join(r.folder, string(runID)) }
func (r *run) path() string { return filepath.Join(r.home(), journal.FileName) }

func (r *run) bytes(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile(r.path())
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func (r *run) add(tb testing.TB, events ...pawl.Event) pawl.Seq {
	tb.Helper()
	seq, err := r.Append(tb.Context(), 0, events...)
	if err != nil {
		tb.Fatal(err)
	}
	return seq
}

// again opens the run a second time, as another process would.
func (r *run) again(tb testing.TB) *run {
	tb.Helper()
	log, err := journal.Open(r.folder, runID)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { log.Close() })
	return &run{Log: log, folder: r.folder}
}

func (r *run) texts(tb testing.TB) []string {
	tb.Helper()
	var texts []string
	for e, err := range r.Events(1) {
		if err != nil {
			tb.Fatal(err)
		}
		texts = append(texts, journaltest.TextOf(tb, e))
	}
	return texts
}

func (r *run) news(tb testing.TB) []string {
	tb.Helper()
	events, err := r.NewEvents()
	if err != nil {
		tb.Fatal(err)
	}
	var texts []string
	for _, e := range events {
		texts = append(texts, journaltest.TextOf(tb, e))
	}
	return texts
}

func equal(tb testing.TB, what string, got []string, want ...string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: %.60q, want %.60q", what, got, want)
	}
}

func TestRunsAndCutOffMaking(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	cutOff, err := journal.Create(r.folder, "cut-20260101-000000-abcd")
	if err != nil {
		t.Fatal(err)
	}
	defer cutOff.Close()
	for _, name := range []string{"nojournal-20260101-000000-abcd", "lost+found"} {
		if err := os.Mkdir(filepath.Join(r.folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := journal.Runs(r.folder)
	if err != nil || !slices.Equal(runs, []pawl.RunID{runID}) {
		t.Errorf("runs %v %v, want just %s", runs, err, runID)
	}
	if runs, err := journal.Runs(filepath.Join(r.folder, "none")); err != nil || runs != nil {
		t.Errorf("runs of a missing folder: %v %v", runs, err)
	}
	if _, err := cutOff.State(t.Context()); !errors.Is(err, journal.ErrEmpty) || pawl.KindOf(err) != pawl.KindNothing {
		t.Errorf("state of an empty journal: %v, want ErrEmpty", err)
	}
	for _, name := range []string{"cut-20260101-000000-abcd", "nojournal-20260101-000000-abcd"} {
		findings := journal.Check(filepath.Join(r.folder, name))
		if len(findings) != 1 || findings[0].Level != pawl.Warn || !strings.Contains(findings[0].What, "interrupted") {
			t.Errorf("%s: %v, want one warning", name, findings)
		}
	}
	if _, err := journal.Open(r.folder, "nojournal-20260101-000000-abcd"); !errors.Is(err, pawl.ErrNoRun) {
		t.Errorf("open without a journal: %v, want ErrNoRun", err)
	}
}

func TestNewsOfAllWritersInOrder(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one")
	if _, err := r.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := r.again(t)
	equal(t, "news of a fresh Log", other.news(t), "", "one")
	other.add(t, journaltest.Text(t, "theirs"))
	r.add(t, journaltest.Text(t, "ours"))
	other.add(t, journaltest.Text(t, "theirs again"))
	equal(t, "our news", r.news(t), "theirs", "ours", "theirs again")
	equal(t, "our news again", r.news(t))
	equal(t, "their news", other.news(t), "theirs", "ours", "theirs again")
	e, err := r.Event(3)
	if err != nil || journaltest.TextOf(t, e) != "theirs" {
		t.Errorf("event 3: %v %v", e, err)
	}
	for _, seq := range []pawl.Seq{0, -1, 6} {
		if _, err := r.Event(seq); err == nil {
			t.Errorf("there is an event %d", seq)
		}
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.news(t)
	other := r.again(t)
	changed := r.Watch(t.Context())
	r.add(t, journaltest.Text(t, "ours"))
	r.news(t)
	other.add(t, journaltest.Text(t, "theirs"))
	<-changed
	equal(t, "news", r.news(t), "theirs")

	other.add(t, journaltest.Text(t, "theirs"))
	r.add(t, journaltest.Text(t, "ours")) // takes in theirs, without a word about it
	<-changed
	equal(t, "news", r.news(t), "theirs", "ours")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for range changed { // a last word may be waiting; then it is closed
	}
}

func TestBlob(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	name, err := r.PutBlob([]byte("big"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.PutBlob([]byte("big")); again != name || err != nil {
		t.Errorf("kept twice: %s %v", again, err)
	}
	if data, err := r.Blob(name); string(data) != "big" || err != nil {
		t.Errorf("blob: %q %v", data, err)
	}
	for _, bad := range []string{"../journal.jsonl", "", strings.Repeat("0", 64)} {
		if _, err := r.Blob(bad); err == nil {
			t.Errorf("there is a blob %q", bad)
		}
	}
	if err := os.WriteFile(filepath.Join(r.home(), "blobs", name), []byte("bag"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Blob(name); pawl.KindOf(err) != pawl.KindDamaged {
		t.Errorf("changed blob: %v, want damage", err)
	}
	r.damaged = true
	if bad := badOf(journal.Check(r.home())); len(bad) != 1 || !strings.Contains(bad[0].Where, name) {
		t.Errorf("findings %v, want one that names the blob", bad)
	}
}

func badOf(findings []pawl.Finding) []pawl.Finding {
	return slices.DeleteFunc(findings, func(f pawl.Finding) bool { return f.Level != pawl.Bad })
}

func TestLongJournalIsCheckedInParts(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.add(t, slices.Repeat([]pawl.Event{journaltest.Text(t, strings.Repeat("x", 60000))}, 240)...)
	other := r.again(t)
	if other.Seq() != 241 {
		t.Fatalf("%d events, want 241", other.Seq())
	}
	other.add(t, journaltest.Text(t, "behind the parts"))
	data := r.bytes(t)
	r.damaged = true
	for _, at := range []int{1 << 20, len(data) / 2, len(data) - 1<<20} {
		data[at]++
		if err := os.WriteFile(r.path(), data, 0o600); err != nil {
			t.Fatal(err)
		}
		line := strings.Count(string(data[:at]), "\n") + 1
		_, err := journal.Open(r.folder, runID)
		if want := fmt.Sprintf("line %d, ", line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("byte %d changed: %v, want %q", at, err, want)
		}
		if bad := badOf(journal.Check(r.home())); len(bad) != 1 || !strings.Contains(bad[0].Where, fmt.Sprintf("line %d, ", line)) {
			t.Errorf("byte %d changed: findings %v", at, bad)
		}
		data[at]--
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one")
	forbidWriting(t, r.path())
	other := r.again(t)
	equal(t, "events", other.texts(t), "one")
	if _, err := other.State(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := other.Append(t.Context(), 0, journaltest.Text(t, "x")); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("append: %v, want a word about reading only", err)
	}
}

// forbidWriting makes a file one that cannot be opened for writing. Root is stopped by nothing less than chattr.
func forbidWriting(t *testing.T, path string) {
	t.Helper()
	if os.Getuid() != 0 {
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		return
	}
	if out, err := exec.CommandContext(t.Context(), "chattr", "+i", path).CombinedOutput(); err != nil {
		t.Skipf("chattr: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("chattr", "-i", path).CombinedOutput(); err != nil {
			t.Errorf("chattr: %v %s", err, out)
		}
	})
}
