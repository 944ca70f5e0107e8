package journal_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"pawl/internal/journal/journaltest"
)

func TestProcessesAppendSideBySide(t *testing.T) {
	t.Parallel()
	const writers, batches = 4, 15
	r := newRun(t)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			said := runActor(t, actor(t, r.folder, fmt.Sprint("w", w), batches))
			if len(said.done) != batches || len(said.errors) > 0 {
				t.Errorf("writer %d: %d batches done, errors %v", w, len(said.done), said.errors)
			}
		})
	}
	for i := range batches {
		r.add(t, journaltest.Text(t, fmt.Sprintf("us.%d.a", i)), journaltest.Text(t, fmt.Sprintf("us.%d.b", i)))
	}
	all.Wait()
	texts := r.texts(t)
	next := map[string]int{}
	for i := 0; i+1 < len(texts); i += 2 {
		writer, _, _ := strings.Cut(texts[i], ".")
		want := fmt.Sprintf("%s.%d", writer, next[writer])
		if texts[i] != want+".a" || texts[i+1] != want+".b" {
			t.Fatalf("%q and %q, want the batch %s", texts[i], texts[i+1], want)
		}
		next[writer]++
	}
	if len(texts) != 2*batches*(writers+1) {
		t.Errorf("%d events, want %d", len(texts), 2*batches*(writers+1))
	}
}

// TestShortWrite has another process hit a limit in the middle of a batch: it takes the part back that was written,
// fails again and again, and whoever has space goes on.
func TestShortWrite(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	const batches = 6
	limit := len(r.bytes(t)) + 1300
	said := runActor(t, actor(t, r.folder, "w", batches, fmt.Sprintf("%s=%d", limitVar, limit)))
	if len(said.done) == 0 || len(said.errors) == 0 || len(said.done)+len(said.errors) != batches || !strings.Contains(said.errors[0], "file too large") {
		t.Fatalf("%d batches done, errors %q: want some of both", len(said.done), said.errors)
	}
	if got := len(r.bytes(t)); got >= limit || !strings.HasSuffix(string(r.bytes(t)), "\n") {
		t.Errorf("the journal has %d bytes of %d: want the last batch taken back", got, limit)
	}
	r.add(t, journaltest.Text(t, "after"))
	if texts := r.texts(t); len(texts) != 2*len(said.done)+1 || len(r.tornFiles(t)) > 0 {
		t.Errorf("%d events, want %d; set aside %q", len(texts), 2*len(said.done)+1, r.tornFiles(t))
	}
}
