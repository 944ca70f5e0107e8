package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/disk/disktest"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// TestEveryFault kills another process, or makes calls fail once or from then on, at the calls that change the disk. Each time the
// process first moves a torn tail aside.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	everyFault(t)
}

// TestEveryFaultOfLater is TestEveryFault for batches whose first half does not wait for the sync.
func TestEveryFaultOfLater(t *testing.T) {
	t.Parallel()
	const batches = 3
	syncs := func(env ...string) (n int) {
		for _, word := range calls(t, batches, env...) {
			if word == "sync" {
				n++
			}
		}
		return n
	}
	if at, later := syncs(), syncs(laterVar+"=1"); later != at+1 { // the first half syncs what it finds
		t.Errorf("%d syncs, %d if the halves are appended one after the other", at, later)
	}
	everyFault(t, laterVar+"=1")
}

func everyFault(t *testing.T, env ...string) {
	const batches = 3
	count := len(calls(t, batches, env...))
	if count < 5*batches {
		t.Fatalf("only %d calls", count)
	}
	faults := []string{"die:%d", "ENOSPC:%d", "EIO:%d", "ENOSPC:%d-", "EIO:%d-"}
	for kind, fault := range faults {
		t.Run(strings.ReplaceAll(fault, ":%d", ""), func(t *testing.T) {
			t.Parallel()
			for n := range disktest.FaultPoints(kind, len(faults), count) {
				spec := fmt.Sprintf(fault, n)
				r := tornRun(t)
				said := runActor(t, actor(t, r.folder, "w", batches, append(env, disktest.FaultVar+"="+spec)...))
				if said.killed != strings.HasPrefix(spec, "die") {
					t.Fatalf("%s: killed %v, errors %q", spec, said.killed, said.errors)
				}
				if strings.HasSuffix(spec, "O:1") && len(said.errors) == 0 {
					t.Errorf("%s: nobody noticed", spec)
				}
				if strings.HasSuffix(spec, fmt.Sprint(":", n)) && !said.killed && len(said.done) < batches-1 {
					t.Errorf("%s: only %d batches after one failure: %q", spec, len(said.done), said.errors)
				}
				verifyAfter(t, spec, r, said, batches)
			}
		})
	}
}

// TestEveryFaultOfSegments kills another process, or makes its calls fail, while it begins segments. Nothing acknowledged is lost, and
// the next process continues and begins further segments.
func TestEveryFaultOfSegments(t *testing.T) {
	t.Parallel()
	const batches = 4
	segments := fmt.Sprint(segmentVar, "=", 1000)
	count, sealed := 0, 0
	r := tornRun(t)
	log := filepath.Join(t.TempDir(), "calls")
	runActor(t, actor(t, r.folder, "w", batches, segments, disktest.FaultVar+"=count", disktest.FaultLog+"="+log))
	if data, err := os.ReadFile(log); err == nil {
		count, sealed = strings.Count(string(data), "\n"), strings.Count(string(data), " link\n")
	}
	if sealed < 2 || len(r.segments(t)) != sealed {
		t.Fatalf("%d segments, %d calls", sealed, count)
	}
	faults := []string{"die:%d", "ENOSPC:%d", "EIO:%d", "EIO:%d-"}
	for kind, fault := range faults {
		t.Run(strings.ReplaceAll(fault, ":%d", ""), func(t *testing.T) {
			t.Parallel()
			for n := range disktest.FaultPoints(kind, len(faults), count) {
				spec := fmt.Sprintf(fault, n)
				r := tornRun(t)
				said := runActor(t, actor(t, r.folder, "w", batches, segments, disktest.FaultVar+"="+spec))
				if len(said.errors) > 0 && strings.HasPrefix(spec, "die") {
					t.Fatalf("%s: errors %q", spec, said.errors)
				}
				next := runActor(t, actor(t, r.folder, "v", 3, segments))
				if len(next.done) != 3 || len(next.errors) > 0 {
					t.Fatalf("%s: the next process did %d batches: %q", spec, len(next.done), next.errors)
				}
				if open := len(r.bytes(t)); open > 1700 { // a batch more than a segment, and the header
					t.Errorf("%s: the open segment was not sealed at %d bytes", spec, open)
				}
				verifySegments(t, spec, r, said, next)
			}
		})
	}
}

// verifySegments checks that what two processes were acknowledged is there, once and in order.
func verifySegments(t *testing.T, spec string, r *run, said ...report) {
	t.Helper()
	texts := r.again(t).texts(t)
	for _, s := range said {
		for text, seq := range s.done {
			if at := int(seq) - 2; at >= len(texts) || texts[at] != text+".b" || texts[at-1] != text+".a" {
				t.Errorf("%s: lost %s, acknowledged as event %d: %q", spec, text, seq, texts)
			}
		}
	}
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			t.Errorf("%s: %s is there twice: %q", spec, text, texts)
		}
		seen[text] = true
	}
	for _, f := range badOf(journal.Check(r.home())) {
		t.Errorf("%s: %s: %s", spec, f.Where, f.What)
	}
}

// tornRun makes a run whose journal ends in a torn tail.
func tornRun(t *testing.T) *run {
	r := newRun(t, "before")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(r.path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"seq":3,"batch":3,"time":"2026`); err != nil {
		t.Fatal(err)
	}
	return r
}

// calls returns the words of an undisturbed actor's calls.
func calls(t *testing.T, batches int, env ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls")
	said := runActor(t, actor(t, tornRun(t).folder, "w", batches, append(env, disktest.FaultVar+"=count", disktest.FaultLog+"="+path)...))
	if len(said.done) != batches || len(said.errors) > 0 {
		t.Fatalf("undisturbed: %v", said)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		words = append(words, fields[len(fields)-1])
	}
	return words
}

// TestFailedSync fails the sync of each batch: once, and the batch is written again in a reopened file; for good, and
// the journal gives up.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	const batches = 3
	words := calls(t, batches)
	tried := 0
	for i := 1; i+2 < len(words); i++ {
		if !slices.Equal(words[i-1:i+3], []string{"write", "sync", "write", "rename"}) {
			continue // it is not the journal's sync, before the state is cached
		}
		tried++
		spec := fmt.Sprintf("EIO:%d", i+1)
		r := tornRun(t)
		said := runActor(t, actor(t, r.folder, "w", batches, disktest.FaultVar+"="+spec))
		if len(said.done) != batches || len(said.errors) > 0 {
			t.Errorf("%s: %d batches done, errors %q: want the sync made good", spec, len(said.done), said.errors)
		}
		verifyAfter(t, spec, r, said, batches)
		r = tornRun(t)
		said = runActor(t, actor(t, r.folder, "w", batches, disktest.FaultVar+"="+spec+"-"))
		if len(said.errors) == 0 || !strings.Contains(said.errors[0], journal.ErrDead.Error()) {
			t.Errorf("%s-: errors %q: want it to give up", spec, said.errors)
		}
		verifyAfter(t, spec+"-", r, said, batches)
	}
	if tried != batches {
		t.Errorf("%d syncs of the journal, want %d", tried, batches)
	}
}

// verifyAfter checks that what was acknowledged is there, that nothing else is but what was tried, each once and in
// order, and that work goes on.
func verifyAfter(t *testing.T, spec string, r *run, said report, batches int) {
	t.Helper()
	other := r.again(t)
	defer other.Close()
	want := map[string]bool{}
	texts := other.texts(t)
	last := -1
	for i, text := range texts[1:] {
		var b int
		var part string
		if _, err := fmt.Sscanf(text, "w.%d.%1s", &b, &part); err != nil {
			t.Fatalf("%s: invented %q", spec, text)
		}
		at := 2*b + int(part[0]-'a')
		if at <= last {
			t.Errorf("%s: %q stands behind a later one, or twice: %q", spec, text, texts)
		}
		last = at
		want[fmt.Sprintf("w.%d at %d", b, i+3)] = part == "b"
	}
	for text, seq := range said.done {
		if !want[fmt.Sprintf("%s at %d", text, seq)] {
			t.Errorf("%s: lost %s, acknowledged as event %d: %q", spec, text, seq, texts)
		}
	}
	for _, sha := range said.blobs {
		if _, err := other.Blob(sha); err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
	other.add(t, journaltest.Text(t, "after"))
	state, err := other.State(t.Context())
	if err != nil || state.Learned != len(texts)+1 || state.RejectedCount > 0 {
		t.Errorf("%s: state %+v %v", spec, state, err)
	}
	for _, f := range badOf(journal.Check(r.home())) {
		t.Errorf("%s: %s: %s", spec, f.Where, f.What)
	}
}
