package journal_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// TestGlance looks at a journal that another process has locked. It waits for nobody, sees what is complete, and cannot write.
func TestGlance(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one", "two")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(r.path(), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := unix.Flock(int(writer.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.WriteString(`{"seq":4,"batch":4,"ti`); err != nil { // in the middle of a batch
		t.Fatal(err)
	}
	log, err := journal.Glance(r.folder, runID)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	look := &run{Log: log, folder: r.folder}
	equal(t, "events", look.texts(t), "one", "two")
	if state, err := log.State(t.Context()); err != nil || state.Seq != 3 {
		t.Errorf("%+v, %v", state, err)
	}
	if _, err := log.Append(t.Context(), 0, journaltest.Text(t, "three")); err == nil {
		t.Error("it writes")
	}
	if _, err := journal.Glance(r.folder, "nothing-20260101-000000-0000"); err == nil {
		t.Error("a run without a journal is opened")
	}
}
