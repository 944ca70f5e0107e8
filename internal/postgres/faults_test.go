package postgres_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/disk/disktest"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// begin appends the first event of the run.
func begin(t testing.TB, folder string) {
	t.Helper()
	if _, err := journalIn(t, folder).Append(t.Context(), runID, 0, journaltest.Created(t, runID)); err != nil {
		t.Fatal(err)
	}
}

// textsIn returns the texts of the run's events after the first, as a host with this copy reads them.
func textsIn(t testing.TB, folder string) []string {
	t.Helper()
	var texts []string
	for e, err := range journalIn(t, folder).Read(t.Context(), runID, 1) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, journaltest.TextOf(t, e))
	}
	return texts
}

func fileIn(t testing.TB, folder string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, string(runID), journal.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEveryFaultOnTheWay kills a writer, or makes calls fail, before, at and after each commit in the database and each write of the copy. What was
// acknowledged is there on every host, once and in order, and another host continues.
func TestEveryFaultOnTheWay(t *testing.T) {
	t.Parallel()
	const batches = 3
	s, dsn := database(t)
	stored(t, s, runID, keyOf(0))
	first := copyOf(t, s, runID, keyOf(0))
	begin(t, first)
	log := filepath.Join(t.TempDir(), "calls")
	said := runActor(t, actor(t, first, "w", batches, dsn, disktest.FaultVar+"=count", disktest.FaultLog+"="+log))
	if len(said.done) != batches {
		t.Fatalf("undisturbed: %+v", said)
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	count := bytes.Count(calls, []byte("\n"))
	if bytes.Count(calls, []byte("after the commit")) != batches || count < 3*batches {
		t.Fatalf("calls:\n%s", calls)
	}
	run := 0
	faults := []string{"die:%d", "EIO:%d", "ENOSPC:%d"}
	for _, fault := range faults {
		for n := 1; n <= count; n++ {
			spec := fmt.Sprintf(fault, n)
			run++
			stored(t, s, runID, keyOf(run))
			here := copyOf(t, s, runID, keyOf(run))
			begin(t, here)
			said := runActor(t, actor(t, here, "w", batches, dsn, disktest.FaultVar+"="+spec))
			if said.killed != strings.HasPrefix(spec, "die") || !said.killed && len(said.done) != batches {
				t.Errorf("%s: %+v", spec, said)
			}
			there := copyOf(t, s, runID, keyOf(run))
			next := runActor(t, actor(t, there, "v", 2, dsn))
			if len(next.done) != 2 {
				t.Errorf("%s: the other host did %+v", spec, next)
			}
			verify(t, spec, here, there, said, next)
		}
	}
}

// verify checks that both hosts have the same journal, with all that was acknowledged, once and in order.
func verify(t testing.TB, spec, here, there string, said ...report) {
	t.Helper()
	texts := textsIn(t, here)
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			t.Errorf("%s: %s is there twice", spec, text)
		}
		seen[text] = true
	}
	for _, r := range said {
		for text, seq := range r.done {
			if at := int(seq) - 2; at >= len(texts) || texts[at] != text+".b" || texts[at-1] != text+".a" {
				t.Errorf("%s: lost %s, acknowledged as event %d", spec, text, seq)
			}
		}
	}
	_ = textsIn(t, there)
	if !bytes.Equal(fileIn(t, here), fileIn(t, there)) {
		t.Errorf("%s: the hosts have different journals", spec)
	}
	for _, f := range journal.Check(filepath.Join(here, string(runID))) {
		if f.Level == pawl.Bad {
			t.Errorf("%s: %s: %s", spec, f.Where, f.What)
		}
	}
}
