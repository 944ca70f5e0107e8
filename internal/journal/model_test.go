package journal_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// TestAgainstASlice does random things to a journal by two writers, and compares with a slice.
func TestAgainstASlice(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	rapid.Check(t, func(rt *rapid.T) {
		if err := os.RemoveAll(r.home()); err != nil {
			rt.Fatal(err)
		}
		m := &model{folder: r.folder}
		log, err := journal.Create(r.folder, runID)
		if err != nil {
			rt.Fatal(err)
		}
		m.logs[0], m.told[0] = log.Limit(2000), 0
		m.logs[1] = m.open(rt)
		m.add(rt, 0, journaltest.Created(t, runID))
		defer func() {
			for _, log := range m.logs {
				log.Close()
			}
		}()
		defer m.check(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"append": m.append,
			"news":   m.news,
			"event":  m.event,
			"events": m.events,
			"reopen": m.reopen,
			"state":  m.state,
			"tear":   m.tear,
		})
	})
}

type model struct {
	folder string
	texts  []string // what the journal should hold
	logs   [2]*journal.Log
	told   [2]int // how many events a log has returned by State and News
}

func (m *model) which(t *rapid.T) int { return rapid.IntRange(0, 1).Draw(t, "log") }

func (m *model) open(t *rapid.T) *journal.Log {
	log, err := journal.Open(m.folder, runID)
	if err != nil {
		t.Fatal(err)
	}
	return log.Limit(2000)
}

func (m *model) add(t *rapid.T, i int, events ...pawl.Event) {
	for _, e := range events {
		m.texts = append(m.texts, journaltest.TextOf(t, e))
	}
	seq, err := m.logs[i].Append(t.Context(), 0, events...)
	if err != nil || int(seq) != len(m.texts) {
		t.Fatalf("append: %d %v, want %d", seq, err, len(m.texts))
	}
}

func (m *model) append(t *rapid.T) {
	size := rapid.SampledFrom([]int{0, 1, 300, 6000})
	var events []pawl.Event
	for range rapid.IntRange(1, 5).Draw(t, "n") {
		events = append(events, journaltest.Text(t, fmt.Sprint(len(m.texts), strings.Repeat("<\"\n", size.Draw(t, "size")/6))))
	}
	m.add(t, m.which(t), events...)
}

func (m *model) news(t *rapid.T) {
	i := m.which(t)
	news, err := m.logs[i].NewEvents()
	if err != nil {
		t.Fatal(err)
	}
	m.compare(t, news, m.told[i])
	m.told[i] = len(m.texts)
}

// compare checks that events are all that follow the first n.
func (m *model) compare(t *rapid.T, events []pawl.Event, n int) {
	var texts []string
	for i, e := range events {
		texts = append(texts, journaltest.TextOf(t, e))
		if int(e.Seq) != n+i+1 {
			t.Fatalf("event %d where %d should be", e.Seq, n+i+1)
		}
	}
	if !slices.Equal(texts, m.texts[n:]) {
		t.Fatalf("events after %d: %.200q, want %.200q", n, texts, m.texts[n:])
	}
}

func (m *model) event(t *rapid.T) {
	log := m.logs[m.which(t)]
	if log.Seq() == 0 {
		return
	}
	seq := rapid.IntRange(1, int(log.Seq())).Draw(t, "seq")
	e, err := log.Event(pawl.Seq(seq))
	if err != nil || int(e.Seq) != seq || journaltest.TextOf(t, e) != m.texts[seq-1] {
		t.Fatalf("event %d: %v %v", seq, e, err)
	}
}

func (m *model) events(t *rapid.T) {
	after := rapid.IntRange(0, len(m.texts)).Draw(t, "after")
	var events []pawl.Event
	for e, err := range m.logs[m.which(t)].Events(pawl.Seq(after)) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	m.compare(t, events, after)
}

func (m *model) reopen(t *rapid.T) {
	i := m.which(t)
	if err := m.logs[i].Close(); err != nil {
		t.Fatal(err)
	}
	m.logs[i], m.told[i] = m.open(t), 0
}

func (m *model) state(t *rapid.T) {
	i := m.which(t)
	state, err := m.logs[i].State(t.Context())
	if err != nil || int(state.Seq) != len(m.texts) || state.Learned != len(m.texts)-1 || state.RejectedCount > 0 {
		t.Fatalf("state %+v %v, want %d events", state, err, len(m.texts))
	}
	m.told[i] = len(m.texts)
	if rapid.Bool().Draw(t, "save") {
		if err := m.logs[i].SaveState(state); err != nil {
			t.Fatal(err)
		}
	}
}

// tear does what a writer does that dies.
func (m *model) tear(t *rapid.T) {
	f, err := os.OpenFile(m.folder+"/"+string(runID)+"/"+journal.FileName, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tail := rapid.SampledFrom([]string{"{", "\x00\x00\x00", `{"seq":3,"batch":3,"time":"2026` + "\x00\n"}).Draw(t, "tail")
	if _, err := f.WriteString(tail); err != nil {
		t.Fatal(err)
	}
}

func (m *model) check(t *rapid.T) {
	for _, f := range badOf(journal.Check(m.folder + "/" + string(runID))) {
		t.Fatalf("%s: %s", f.Where, f.What)
	}
}
