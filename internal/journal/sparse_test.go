package journal_test

import (
	"os"
	"testing"

	"pawl"
	"pawl/internal/journal"
)

// TestSparseJournal: a journal that was made huge by a hole is damage, which readers notice without reading the hole. With this
// size they would not end.
func TestSparseJournal(t *testing.T) {
	t.Parallel()
	const huge = 1 << 43
	r := newRun(t, "one")
	size := int64(len(r.bytes(t)))
	resize := func(size int64) {
		if err := os.Truncate(r.path(), size); err != nil {
			t.Fatal(err)
		}
	}
	resize(huge)
	defer resize(size)
	if _, err := journal.Open(r.folder, runID); pawl.KindOf(err) != pawl.KindDamaged {
		t.Errorf("open: %v", err)
	}
	if findings := journal.Check(r.home()); len(findings) == 0 || findings[0].Level != pawl.Bad {
		t.Errorf("check: %v", findings)
	}
	if ended, _, err := journal.Ended(r.folder, runID, journal.Position{}); ended || err != nil {
		t.Errorf("ended: %v, %v", ended, err)
	}
	if err := journal.Add(t.Context(), r.folder, runID, textEvent("two")); pawl.KindOf(err) != pawl.KindDamaged {
		t.Errorf("add: %v", err)
	}
}
