package journal_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/journal"
	"pawl/internal/journal/journaltest"
)

// FuzzReader opens anything as a journal, as it is and with its checksums made right. Whatever opens can be read, by
// encoding/json too and alike, and unless a newer pawl wrote it can be gone on with; fsck agrees.
func FuzzReader(f *testing.F) {
	r := newRun(f, "one")
	r.add(f, journaltest.Text(f, "two"), journaltest.Event(f, pawl.EngineStopped{Why: "x"}))
	good := r.bytes(f)
	f.Add(good, false)
	f.Add(good[:len(good)-9], false)
	f.Add(append(bytes.Clone(good), 0, 0, 0), false)
	f.Add(bytes.Replace(good, []byte("two"), []byte("\x00\x00\x00"), 1), false)
	f.Add(bytes.Replace(good, []byte("engine"), []byte("e}ine"), 1), true)
	f.Add(bytes.Replace(good, []byte("memory.learned"), []byte("memory.other"), 1), true)
	f.Add([]byte("\n"), false)
	f.Add([]byte{}, false)
	folder := f.TempDir()
	home := filepath.Join(folder, string(runID))
	f.Fuzz(func(t *testing.T, data []byte, resealed bool) {
		if resealed {
			data = seal(data)
		}
		if err := os.RemoveAll(home); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, journal.FileName), data, 0o600); err != nil {
			t.Fatal(err)
		}
		bad := badOf(journal.Check(home))
		log, err := journal.Open(folder, runID)
		if err != nil {
			if pawl.KindOf(err) != pawl.KindDamaged || len(bad) == 0 {
				t.Fatalf("open: %v; fsck: %v", err, bad)
			}
			return
		}
		defer log.Close()
		if !readsAlike(t, log, data, resealed) {
			return
		}
		if len(bad) > 0 && !resealed {
			t.Fatalf("it opens, but fsck says %v", bad)
		}
		before := log.Seq()
		first := journaltest.Created(t, runID)
		if before > 0 {
			first = journaltest.Text(t, "more")
		}
		state, err := log.State(t.Context())
		if seq, again := log.Append(t.Context(), 0, first); again == nil && seq != before+1 || again != nil && (state == nil || len(state.UnknownTypes) == 0) {
			t.Fatalf("append: %d %v; state %v", seq, again, err)
		}
	})
}

// readsAlike reads all events, and by encoding/json too. It is false where an event cannot be decoded, as can be where
// checksums were made right over anything.
func readsAlike(t *testing.T, log *journal.Log, data []byte, resealed bool) bool {
	t.Helper()
	for e, err := range log.Events(0) {
		if err != nil {
			if !resealed {
				t.Fatal(err)
			}
			return false
		}
		line := data[:bytes.IndexByte(data, '\n')]
		data = data[len(line)+1:]
		var want pawl.Event
		if err := json.Unmarshal(line, &want); err != nil {
			if !resealed {
				t.Fatal(err)
			}
			return false
		}
		if !resealed && (want.Seq != e.Seq || want.Type != e.Type || !bytes.Equal(want.Data, e.Data) || want.By != e.By || !want.Time.Equal(e.Time)) {
			t.Fatalf("read %+v, encoding/json reads %+v", e, want)
		}
	}
	return true
}
