package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// write makes the run's journal hold data, as if it had come so from the disk.
func (r *run) write(tb testing.TB, data []byte) {
	tb.Helper()
	r.damaged = true
	if err := os.WriteFile(r.path(), data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// tornFiles returns what was set aside.
func (r *run) tornFiles(tb testing.TB) []string {
	names, err := filepath.Glob(filepath.Join(r.home(), "journal.torn-*"))
	if err != nil {
		tb.Fatal(err)
	}
	var tails []string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		tails = append(tails, string(data))
	}
	return tails
}

// expectTorn opens a journal that ends in a torn tail: the events before it are there, reading changes nothing, and
// a writer sets the tail aside.
func expectTorn(t *testing.T, r *run, data []byte, tail int, texts ...string) {
	t.Helper()
	r.write(t, data)
	other := r.again(t)
	defer other.Close()
	equal(t, "events before the torn tail", other.texts(t), texts...)
	if bad := badOf(journal.Check(r.home())); len(bad) > 0 {
		t.Errorf("fsck calls a torn tail bad: %v", bad)
	}
	if !bytes.Equal(r.bytes(t), data) {
		t.Error("reading changed the journal")
	}
	other.add(t, journaltest.Text(t, "after"))
	equal(t, "events after an append", r.again(t).texts(t), append(slices.Clone(texts), "after")...)
	tails := r.tornFiles(t)
	if want := string(data[len(data)-tail:]); tail > 0 && (len(tails) != 1 || tails[0] != want) {
		t.Errorf("set aside %q, want %q", tails, want)
	}
}

func TestTornTail(t *testing.T) {
	t.Parallel()
	for name, tear := range map[string]func(before, batch []byte) (after []byte, tail int){
		"nothing written":   func(b, _ []byte) ([]byte, int) { return b, 0 },
		"one byte":          func(b, batch []byte) ([]byte, int) { return append(b, batch[:1]...), 1 },
		"newline missing":   func(b, batch []byte) ([]byte, int) { n := line1(batch) - 1; return append(b, batch[:n]...), n },
		"newline is NUL":    func(b, batch []byte) ([]byte, int) { n := line1(batch); return append(append(b, batch[:n-1]...), 0), n },
		"all NUL":           func(b, batch []byte) ([]byte, int) { return append(b, make([]byte, len(batch))...), len(batch) },
		"NUL, then whole":   func(b, batch []byte) ([]byte, int) { return append(b, nul(batch, 0, 10)...), len(batch) },
		"NUL over the seam": func(b, batch []byte) ([]byte, int) { return append(b, nul(batch, line1(batch)-5, 10)...), len(batch) },
		"NUL, then cut": func(b, batch []byte) ([]byte, int) {
			n := len(batch) - 3
			return append(b, nul(batch, 0, 10)[:n]...), n
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, "one")
			before := r.bytes(t)
			r.add(t, journaltest.Text(t, "a"), journaltest.Text(t, "b"), journaltest.Text(t, "c"))
			data, tail := tear(slices.Clone(before), r.bytes(t)[len(before):])
			expectTorn(t, r, data, tail, "one")
		})
	}
}

func line1(data []byte) int { return bytes.IndexByte(data, '\n') + 1 }

func nul(data []byte, at, n int) []byte {
	data = slices.Clone(data)
	clear(data[at : at+n])
	return data
}

// TestPowerCut lets any of the unsynced blocks reach the disk, or none, and the file's length be any of their borders:
// what was acknowledged is there, and of the rest a prefix.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	const block = 512
	r := newRun(t, "one", "two")
	acked := r.bytes(t)
	var batch []pawl.Event
	for i := range 9 {
		batch = append(batch, journaltest.Text(t, strings.Repeat(fmt.Sprint(i), 100+20*i)))
	}
	r.add(t, batch...)
	whole := r.bytes(t)
	texts := r.texts(t)
	first := len(acked) / block * block
	blocks := (len(whole) - first + block - 1) / block
	if blocks < 5 || blocks > 7 {
		t.Fatalf("%d blocks: the test wants about 6", blocks)
	}
	for reached := range 1 << blocks {
		for border := range blocks + 1 {
			data := slices.Clone(whole[:min(first+border*block, len(whole))])
			if len(data) < len(acked) {
				data = slices.Clone(acked)
			}
			for i := range blocks {
				from, to := max(first+i*block, len(acked)), min(first+(i+1)*block, len(data))
				if reached>>i&1 == 0 && from < to {
					clear(data[from:to])
				}
			}
			survives(t, r, data, texts)
		}
	}
}

// survives checks that a journal of data holds the first two of texts and a prefix of the rest, and can be gone on with.
func survives(t *testing.T, r *run, data []byte, texts []string) {
	t.Helper()
	r.write(t, data)
	log, err := journal.Open(r.folder, runID)
	if err != nil {
		t.Fatalf("%v: %q", err, data)
	}
	defer log.Close()
	got := (&run{Log: log}).texts(t)
	if len(got) < 2 || len(got) > len(texts) || !slices.Equal(got, texts[:len(got)]) {
		t.Fatalf("events %q, want at least two and only of %q", got, texts)
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one", "two", "three")
	r.add(t, journaltest.Text(t, "x"), journaltest.Text(t, "y"))
	good := bytes.SplitAfter(r.bytes(t), []byte("\n")) // and an empty one
	good = good[:6]
	swap := func(old, new string) func([][]byte) {
		return func(l [][]byte) { l[2] = bytes.Replace(l[2], []byte(old), []byte(new), 1) }
	}
	for name, c := range map[string]struct {
		harm  func(lines [][]byte)
		where string
		why   string
		bad   int // findings of fsck
	}{
		"a byte of data":        {swap("two", "twa"), "line 3", "checksum is", 1},
		"a byte of the crc":     {func(l [][]byte) { l[2][len(l[2])-5] ^= 1 }, "line 3", "checksum is", 1},
		"the seq":               {swap(`"seq":3`, `"seq":4`), "line 3", "found event 4, want event 3", 1},
		"the layout":            {swap(`,"batch"`, `, "batch"`), "line 3", "not a journal line", 1},
		"a newline in between":  {func(l [][]byte) { l[2][len(l[2])-1] = ' ' }, "line 3", "checksum is", 2},
		"the last newline":      {func(l [][]byte) { l[5][len(l[5])-1] = ' ' }, "line 6", "not a journal line: it has no newline", 1},
		"the last line":         {func(l [][]byte) { l[5][20] ^= 1 }, "line 6", "not a journal line", 1},
		"a line is missing":     {func(l [][]byte) { l[2] = nil }, "line 3", "found event 4, want event 3", 1},
		"the tail twice":        {func(l [][]byte) { l[5] = slices.Concat(l[5], l[2], l[3]) }, "line 7", "found event 3, want event 7", 1},
		"NUL in an old batch":   {func(l [][]byte) { clear(l[2][10:90]) }, "line 3", "NUL", 1},
		"NUL, and a later seam": {func(l [][]byte) { clear(l[2][10:90]); l[5] = l[5][:9] }, "line 3", "NUL", 1},
		"a line too long":       {func(l [][]byte) { l[5] = append(bytes.Repeat([]byte("x"), 70000), '\n') }, "line 6", "longer than", 1},
		"two faults":            {func(l [][]byte) { l[1][99] ^= 1; l[3][99] ^= 1 }, "line 2", "checksum", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t)
			lines := make([][]byte, len(good))
			for i := range good {
				lines[i] = slices.Clone(good[i])
			}
			c.harm(lines)
			expectDamage(t, r, lines, c.where, c.why, c.bad)
		})
	}
}

func expectDamage(t *testing.T, r *run, lines [][]byte, where, why string, bad int) {
	t.Helper()
	data := slices.Concat(lines...)
	r.write(t, data)
	_, err := journal.Open(r.folder, runID)
	if at := r.path() + ": " + where + fmt.Sprintf(", byte %d: ", startOf(data, where)); pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), at) || !strings.Contains(err.Error(), why) {
		t.Errorf("open: %v, want damage at %s: %s", err, where, why)
	}
	d := &journal.Dir{Path: r.folder}
	defer d.Close()
	var seq pawl.Seq
	for e, err := range d.Read(t.Context(), runID, 0) {
		if err != nil {
			if pawl.KindOf(err) != pawl.KindDamaged || pawl.HintOf(err) != "pawl recover "+string(runID) {
				t.Errorf("read: %v", err)
			}
			var n pawl.Seq
			if _, err := fmt.Sscanf(where, "line %d", &n); err != nil || seq != n-1 {
				t.Errorf("read ended after event %d, want all before %s", seq, where)
			}
			break
		}
		seq = e.Seq
	}
	if _, err := d.Append(t.Context(), runID, 0, journaltest.Text(t, "no")); pawl.KindOf(err) != pawl.KindDamaged {
		t.Errorf("append: %v, want damage", err)
	}
	found := badOf(journal.Check(r.home()))
	if len(found) != bad || !strings.Contains(found[0].Where, where+", byte ") {
		t.Errorf("findings %v, want %d, the first at %s", found, bad, where)
	}
	if !bytes.Equal(r.bytes(t), data) || len(r.tornFiles(t)) > 0 {
		t.Error("the damaged journal was changed")
	}
}

// startOf returns where the line begins that where names.
func startOf(data []byte, where string) int {
	var n int
	if _, err := fmt.Sscanf(where, "line %d", &n); err != nil {
		return -1
	}
	return len(bytes.Join(bytes.SplitAfter(data, []byte("\n"))[:n-1], nil))
}

func TestJournalThatShrinks(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one", "two")
	r.write(t, r.bytes(t)[:300])
	if _, err := r.NewEvents(); pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), "byte 300") {
		t.Errorf("news: %v, want damage at byte 300", err)
	}
}

func TestMovedAndNewerJournals(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one")
	r.damaged = true
	moved := pawl.RunID("moved-20260101-000000-abcd")
	if err := os.Rename(r.home(), filepath.Join(r.folder, string(moved))); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(r.folder, moved); pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), "journal of run "+string(runID)) {
		t.Errorf("open under another name: %v", err)
	}
	if bad := badOf(journal.Check(filepath.Join(r.folder, string(moved)))); len(bad) != 1 {
		t.Errorf("findings %v, want one", bad)
	}

	newer := newRun(t)
	newer.write(t, seal(bytes.Replace(newer.bytes(t), []byte(`"format":1`), []byte(`"format":2`), 1)))
	_, err := journal.Open(newer.folder, runID)
	if !errors.Is(err, pawl.ErrNewer) || pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("open format 2: %v, want ErrNewer", err)
	}
}

func TestUnknownTypeIsReadAndNotWritten(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one", "two")
	r.write(t, seal(bytes.Replace(r.bytes(t), []byte("memory.learned"), []byte("memory.dreamed"), 1)))
	other := r.again(t)
	state, err := other.State(t.Context())
	if err != nil || !slices.Equal(state.UnknownTypes, []pawl.EventType{"memory.dreamed"}) || state.Learned != 1 {
		t.Errorf("state %+v %v, want it folded but for the unknown event", state, err)
	}
	if _, err := other.Append(t.Context(), 0, journaltest.Text(t, "x")); !errors.Is(err, pawl.ErrNewer) || !strings.Contains(err.Error(), "memory.dreamed") {
		t.Errorf("append: %v, want ErrNewer", err)
	}
	found := journal.Check(r.home())
	if len(found) != 1 || found[0].Level != pawl.Warn || !strings.Contains(found[0].What, "memory.dreamed") {
		t.Errorf("findings %v, want a warning", found)
	}
}

func TestEpochGoesBack(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	if _, err := r.Append(t.Context(), 7, journaltest.Event(t, pawl.EngineStarted{Epoch: 7})); err != nil {
		t.Fatal(err)
	}
	r.add(t, journaltest.Text(t, "x"))
	data := r.bytes(t)
	at := bytes.LastIndex(data, []byte(`"epoch":7`))
	data[at+len(`"epoch":`)] = '6'
	r.write(t, seal(data))
	if _, err := journal.Open(r.folder, runID); pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), "epoch 6 follows epoch 7") {
		t.Errorf("open: %v, want damage", err)
	}
}

func TestDirOpensAMendedJournalAnew(t *testing.T) {
	t.Parallel()
	r := newRun(t, "one", "two")
	good := r.bytes(t)
	r.write(t, bytes.Replace(good, []byte("two"), []byte("six"), 1))
	d := &journal.Dir{Path: r.folder}
	defer d.Close()
	if _, err := d.Append(t.Context(), runID, 0, journaltest.Text(t, "no")); pawl.KindOf(err) != pawl.KindDamaged {
		t.Errorf("append: %v, want damage", err)
	}
	r.write(t, good)
	if seq, err := d.Append(t.Context(), runID, 0, journaltest.Text(t, "yes")); seq != 4 || err != nil {
		t.Errorf("append to the mended journal: %d %v", seq, err)
	}
}
