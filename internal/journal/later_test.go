package journal_test

import (
	"context"
	"slices"
	"testing"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// batches returns the batch of each event of a run.
func (r *run) batches(t *testing.T) (all []pawl.Seq) {
	t.Helper()
	for event, err := range r.Events(0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, event.Batch)
	}
	return all
}

func (r *run) later(t *testing.T, text string) {
	t.Helper()
	if _, err := r.AppendLater(context.Background(), 0, journaltest.Text(t, text)); err != nil {
		t.Fatal(err)
	}
}

// The events that are synced together are one batch. A second AppendLater syncs, so that at most one batch is not durable. What another
// writer appends in between is a batch of its own.
func TestAppendLater(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one")
	r.later(t, "two")
	r.add(t, journaltest.Text(t, "three"))
	r.later(t, "four")
	r.later(t, "five")
	r.later(t, "six")
	other := r.again(t)
	equal(t, "events that another process sees", other.texts(t), "one", "two", "three", "four", "five", "six")
	other.add(t, journaltest.Text(t, "seven"))
	r.add(t, journaltest.Text(t, "eight"))
	if err := r.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.later(t, "nine")
	if err := r.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.add(t, journaltest.Text(t, "ten"))
	got := r.again(t).batches(t)
	if want := []pawl.Seq{2, 3, 3, 5, 5, 7, 8, 9, 10, 11}; !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("batches %v, want %v", got, want)
	}
	for _, f := range badOf(journal.Check(r.home())) {
		t.Errorf("%s: %s", f.Where, f.What)
	}
}

// A process that dies before the sync leaves a complete batch. A power failure can leave a part of it, which is a torn tail even if later
// lines of the batch are on the disk.
func TestTornBatchOfLater(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one")
	durable := len(r.bytes(t))
	r.later(t, "two")
	half := len(r.bytes(t))
	r.add(t, journaltest.Text(t, "three"))
	data := r.bytes(t)
	clear(data[half-20 : half-1]) // the first half is not on the disk, the second one is
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	expectTorn(t, r, data, len(data)-durable, "one")
}

// After an append, Appended returns what was in the journal at that time; what others append later comes with the next call.
func TestAppended(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one")
	other := r.again(t)
	if _, err := r.NewEvents(); err != nil {
		t.Fatal(err)
	}
	texts := func(events []pawl.Event, err error) (all []string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			all = append(all, journaltest.TextOf(t, e))
		}
		return all
	}
	other.add(t, journaltest.Text(t, "two"))
	r.later(t, "three")
	other.add(t, journaltest.Text(t, "four"))
	equal(t, "after AppendLater", texts(r.Appended()), "two", "three")
	equal(t, "without an append", texts(r.Appended()), "four")
	r.add(t, journaltest.Text(t, "five"))
	other.add(t, journaltest.Text(t, "six"))
	equal(t, "after Append", texts(r.Appended()), "five")
	equal(t, "new events", texts(r.NewEvents()), "six")
}
