package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// small is the size of segments in these tests: a few events.
const small = 3000

// segmented is a journal of several segments, with its texts.
func segmented(t *testing.T, batches int) (*run, []string) {
	t.Helper()
	r := newRun(t)
	r.Limit(small)
	var texts []string
	for i := range batches {
		a, b := fmt.Sprintf("%d.a", i), fmt.Sprintf("%d.b", i)
		r.add(t, journaltest.Text(t, a), journaltest.Text(t, b))
		texts = append(texts, a, b)
	}
	return r, texts
}

// segments returns the names of the sealed segments' files.
func (r *run) segments(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(r.home(), "journal.[0-9]*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(names, func(a, b string) int { return firstEvent(a) - firstEvent(b) })
	return names
}

func firstEvent(path string) (n int) {
	_, _ = fmt.Sscanf(filepath.Base(path), "journal.%d.jsonl", &n)
	return n
}

// TestSegments reads, folds and looks up events across segments, by the writer's Log and by a new one.
func TestSegments(t *testing.T) {
	t.Parallel()
	r, texts := segmented(t, 40)
	if n := len(r.segments(t)); n < 4 {
		t.Fatalf("%d sealed segments", n)
	}
	for name, log := range map[string]*run{"the writer's": r, "a new one": r.again(t)} {
		equal(t, name, log.texts(t), texts...)
		for _, seq := range []pawl.Seq{1, 2, 7, 40, 80, 81} {
			e, err := log.Event(seq)
			if err != nil || e.Seq != seq || seq > 1 && journaltest.TextOf(t, e) != texts[seq-2] {
				t.Errorf("%s: event %d: %v %v", name, seq, e, err)
			}
		}
		for after := range 82 {
			n := 0
			for e, err := range log.Events(pawl.Seq(after)) {
				if n++; err != nil || int(e.Seq) != after+n {
					t.Fatalf("%s: after %d: %v %v", name, after, e.Seq, err)
				}
			}
			if n != 81-after {
				t.Fatalf("%s: %d events after %d", name, n, after)
			}
		}
		state, err := log.State(t.Context())
		if err != nil || state.Learned != 80 || state.Seq != 81 {
			t.Errorf("%s: state %+v %v", name, state, err)
		}
	}
}

// TestSegmentsOfTwoWriters: each Log goes on in the segments that the other one began, also if it missed several.
func TestSegmentsOfTwoWriters(t *testing.T) {
	t.Parallel()
	r, texts := segmented(t, 1)
	other := r.again(t)
	other.Limit(small)
	equal(t, "news", other.news(t)[1:], texts...)
	for i := range 40 {
		from := []*run{r, other}[i/13%2]
		text := fmt.Sprint("t", i)
		from.add(t, journaltest.Text(t, text+strings.Repeat("x", 500)))
	}
	if err := r.addFromOutside(t, "from outside"); err != nil {
		t.Fatal(err)
	}
	if n := len(r.segments(t)); n < 5 {
		t.Fatalf("%d sealed segments", n)
	}
	if news := other.news(t); len(news) != 41 || news[40] != "from outside" {
		t.Errorf("%d news: %.80q", len(news), news)
	}
	equal(t, "all", other.texts(t), r.again(t).texts(t)...)
}

// TestProcessesAcrossSegments: processes that hold the journal open and others that append as hooks do seal segments
// concurrently, of a size at which Add reads only the end.
func TestProcessesAcrossSegments(t *testing.T) {
	t.Parallel()
	r := long(t)
	r.Limit(400_000) // the others may have ended before the journal has their limit
	before := len(r.texts(t))
	segments := segmentVar + "=300000"
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			env := []string{segments}
			if i%2 == 0 {
				env = append(env, addVar+"=1")
			}
			if said := runActor(t, actor(t, r.folder, fmt.Sprint("w", i), 10, env...)); len(said.done) != 10 || len(said.errors) > 0 {
				t.Errorf("writer %d: %d batches, %q", i, len(said.done), said.errors)
			}
		})
	}
	filler := strings.Repeat("f", 30_000)
	for range 30 {
		r.add(t, journaltest.Text(t, filler))
	}
	all.Wait()
	if got := len(r.again(t).texts(t)) - before; got != 4*10*2+30 {
		t.Errorf("%d events, want %d", got, 4*10*2+30)
	}
	if n := len(r.segments(t)); n < 2 {
		t.Errorf("%d segments", n)
	}
	again := r.again(t)
	state, err := again.State(t.Context())
	if err != nil || int(state.Seq) != int(again.Seq()) || state.Learned != int(state.Seq)-1 {
		t.Errorf("state: %v", err)
	}
}

// TestHeaderForOlderPrograms: a program that knows format 1 only verifies the header as the first event of a run, finds
// a newer format and refuses the journal.
func TestHeaderForOlderPrograms(t *testing.T) {
	t.Parallel()
	r, _ := segmented(t, 40)
	line, _, _ := bytes.Cut(r.bytes(t), []byte{'\n'})
	line = append(line, '\n')
	if sealed := seal(line); !bytes.Equal(sealed, line) || !bytes.HasPrefix(line, []byte(`{"seq":1,"batch":1,"time":"`)) {
		t.Errorf("the header is not a first line: %s", line)
	}
	var event pawl.Event
	var created pawl.RunCreated
	if err := errors.Join(json.Unmarshal(line, &event), json.Unmarshal(event.Data, &created)); err != nil {
		t.Fatal(err)
	}
	if event.Type != created.Event() || created.Format <= 1 || len(line) > 2000 {
		t.Errorf("%d bytes: %s", len(line), line)
	}
}

// TestWatchAcrossSegments: a follower is told of what stands in a segment that it does not know.
func TestWatchAcrossSegments(t *testing.T) {
	t.Parallel()
	r, texts := segmented(t, 1)
	other := r.again(t)
	changed := other.Watch(t.Context())
	got := other.news(t)[1:]
	want := texts
	for i := range 30 {
		text := fmt.Sprint(i, strings.Repeat("y", 400))
		r.add(t, journaltest.Text(t, text))
		want = append(want, text)
		for len(got) < len(want) {
			select {
			case <-changed:
				got = append(got, other.news(t)...)
			case <-time.After(time.Minute):
				t.Fatalf("no notice after event %d", i)
			}
		}
	}
	equal(t, "followed", got, want...)
}

// TestCheckpointOfTheFold: a new Log takes the state from the header and not from the events before, and without a valid
// checkpoint it folds everything.
func TestCheckpointOfTheFold(t *testing.T) {
	t.Parallel()
	r, _ := segmented(t, 40)
	want := stateOf(t, r)
	header, _, _ := strings.Cut(string(r.bytes(t)), "\n")
	var line struct {
		Data struct {
			Segment struct {
				First int64
				Fold  struct{ State string }
			}
		}
	}
	if err := json.Unmarshal([]byte(header), &line); err != nil || line.Data.Segment.First < 2 {
		t.Fatalf("%v: %s", err, header)
	}
	blob := filepath.Join(r.home(), "blobs", line.Data.Segment.Fold.State)
	if _, err := os.Stat(blob); err != nil {
		t.Fatal(err)
	}
	used := r.again(t)
	if _, err := used.State(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(blob)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(blob); err != nil {
		t.Fatal(err)
	}
	if got := stateOf(t, r); got != want {
		t.Errorf("without the checkpoint: %s\nwant %s", got, want)
	}
	if err := os.WriteFile(blob, append(data, ' '), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := stateOf(t, r); got != want {
		t.Errorf("with a damaged checkpoint: %s\nwant %s", got, want)
	}
	if err := os.WriteFile(blob, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestForgedStates: a forged cache and a forged checkpoint are named by Check and by Refold, which does not use them.
func TestForgedStates(t *testing.T) {
	t.Parallel()
	r, _ := segmented(t, 40)
	r.damaged = true
	state, err := r.again(t).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state.Goal, state.Learned = "forged", 0
	if err := r.SaveState(state); err != nil {
		t.Fatal(err)
	}
	bad := badOf(journal.Check(r.home()))
	if len(bad) != 1 || !strings.Contains(bad[0].What, "goal") || !strings.Contains(bad[0].What, "learned") || filepath.Base(bad[0].Where) != "state.json" {
		t.Errorf("check: %v", bad)
	}
	folded, wrong, err := r.again(t).Refold(t.Context())
	if err != nil || folded.Goal != "" || folded.Learned != 80 || len(wrong) != 1 || !slices.Equal(wrong[0].Fields, []string{"goal", "learned"}) {
		t.Errorf("refold: %+v %v %v", folded, wrong, err)
	}
}

// TestDamagedSegments damages sealed segments in each way: it is found, named, and what precedes it can be rebuilt.
func TestDamagedSegments(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"missing": os.Remove,
		"short":   func(path string) error { return os.Truncate(path, 500) },
		"last line": func(path string) error {
			data, err := os.ReadFile(path)
			if err == nil {
				data[len(data)-8] ^= 1
				err = os.WriteFile(path, data, 0o600)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, texts := segmented(t, 40)
			r.damaged = true
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			segments := r.segments(t)
			if err := damage(segments[2]); err != nil {
				t.Fatal(err)
			}
			if _, err := journal.Open(r.folder, runID); pawl.KindOf(err) != pawl.KindDamaged {
				t.Fatalf("open: %v", err)
			}
			if bad := badOf(journal.Check(r.home())); len(bad) == 0 {
				t.Error("check finds nothing")
			}
			if n := readable(t, r.folder); n < firstEvent(segments[2])-1 {
				t.Errorf("only %d events before the damage are readable", n)
			}
			rebuild(t, r, texts, firstEvent(segments[2])-2)
		})
	}
}

// readable returns how many events are read before an error, which there must be.
func readable(t *testing.T, folder string) (n int) {
	t.Helper()
	dir := &journal.Dir{Path: folder}
	defer dir.Close()
	for _, err := range dir.Read(t.Context(), runID, 0) {
		if err != nil {
			return n
		}
		n++
	}
	t.Error("no damage was reported")
	return n
}

// TestFlippedInSegment: damage within a sealed segment is not seen when the journal is opened, but by every reader of it.
func TestFlippedInSegment(t *testing.T) {
	t.Parallel()
	r, texts := segmented(t, 40)
	r.damaged = true
	segments := r.segments(t)
	data, err := os.ReadFile(segments[1])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(segments[1], data, 0o600); err != nil {
		t.Fatal(err)
	}
	log := r.again(t)
	if _, err := log.State(t.Context()); err != nil {
		t.Errorf("state: %v", err)
	}
	if _, _, err := log.Refold(t.Context()); pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), filepath.Base(segments[1])) {
		t.Errorf("refold: %v", err)
	}
	if _, err := log.Event(pawl.Seq(firstEvent(segments[1]))); pawl.KindOf(err) != pawl.KindDamaged {
		t.Errorf("event: %v", err)
	}
	var last error
	n := 0
	for _, err := range log.Events(0) {
		if last = err; err == nil {
			n++
		}
	}
	if pawl.KindOf(last) != pawl.KindDamaged || n < firstEvent(segments[1])-1 || n >= firstEvent(segments[2]) {
		t.Errorf("%d events, %v", n, last)
	}
	if bad := badOf(journal.Check(r.home())); len(bad) != 1 || !strings.Contains(bad[0].Where, filepath.Base(segments[1])) {
		t.Errorf("check: %v", bad)
	}
	if err := errors.Join(log.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	rebuild(t, r, texts, firstEvent(segments[1])-2)
}

// TestLostOpenSegment: without journal.jsonl, the sealed segments are what is left.
func TestLostOpenSegment(t *testing.T) {
	t.Parallel()
	r, texts := segmented(t, 40)
	r.damaged = true
	if err := errors.Join(r.Close(), os.Remove(r.path())); err != nil {
		t.Fatal(err)
	}
	rebuild(t, r, texts, firstEvent(r.segments(t)[1])-2)
}

// rebuild rebuilds a damaged journal, of which at least so many texts are left, and goes on with it through more segments.
func rebuild(t *testing.T, r *run, texts []string, atLeast int) {
	t.Helper()
	left, err := journal.ReadSalvage(r.folder, runID)
	if err != nil {
		t.Fatal(err)
	}
	n := len(left.Events) - 1
	if n < atLeast || n >= len(texts) {
		t.Fatalf("%d texts are left, want at least %d", n, atLeast)
	}
	if _, err := left.Rebuild([]pawl.Event{journaltest.Text(t, "rebuilt")}); err != nil {
		t.Fatal(err)
	}
	again := r.again(t)
	want := append(slices.Clone(texts[:n]), "rebuilt")
	equal(t, "rebuilt", again.texts(t), want...)
	again.Limit(small)
	for i := range 40 {
		text := fmt.Sprint("more", i)
		again.add(t, journaltest.Text(t, text), journaltest.Text(t, text))
		want = append(want, text, text)
	}
	equal(t, "later", r.again(t).texts(t), want...)
	if bad := badOf(journal.Check(r.home())); len(bad) > 0 {
		t.Errorf("check: %v", bad)
	}
}

// TestEndedAcrossSegments: the run's end is found in a segment that was sealed since the last look.
func TestEndedAcrossSegments(t *testing.T) {
	t.Parallel()
	r, _ := segmented(t, 3)
	seen, err := journal.End(r.folder, runID, 0)
	if err != nil {
		t.Fatal(err)
	}
	look := func(want bool) journal.Position {
		t.Helper()
		ended, at, err := journal.Ended(r.folder, runID, seen)
		if err != nil || ended != want {
			t.Errorf("ended: %v %v, want %v", ended, err, want)
		}
		return at
	}
	many := func() {
		for range 20 {
			r.add(t, journaltest.Text(t, strings.Repeat("z", 400)))
		}
	}
	look(false)
	many()
	look(false)
	r.add(t, journaltest.Event(t, pawl.RunEnded{Status: pawl.StatusCompleted}))
	look(true)
	many()
	look(true)
	r.add(t, journaltest.Event(t, pawl.RunReopened{Why: "x"}))
	many()
	seen = look(false)
	look(false)
	if seen.Segment < 10 {
		t.Errorf("it looked up to %v", seen)
	}
}
