package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/kernel"
)

// TestTornLine: a line that a dying runner did not finish is not part of the log, and the next one begins in its place.
func TestTornLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), LogFile)
	log, err := openLog(path, func(int64, Record) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.append(Record{Begin: &Begin{Cell: "c1", Key: "k1", After: Root, Code: "x"}}); err != nil {
		t.Fatal(err)
	}
	whole := log.size
	if err := os.WriteFile(path, append(read(t, path), `{"end":{"cell":"c1","ke`...), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHistory()
	log, err = openLog(path, h.add)
	if err != nil {
		t.Fatal(err)
	}
	if log.size != whole || h.open == nil || h.open.Cell != "c1" {
		t.Fatalf("%d bytes, want %d; open: %+v", log.size, whole, h.open)
	}
	if _, err := log.append(Record{End: &End{Cell: "c1", Key: "k1", Ending: kernel.Ending{Status: kernel.OK}}}); err != nil {
		t.Fatal(err)
	}
	h = newHistory()
	if _, err := openLog(path, h.add); err != nil || h.open != nil || h.at["k1"].end == nil {
		t.Fatalf("%v; %+v", err, h)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzLog reads anything as a log. What is read is whole lines.
func FuzzLog(f *testing.F) {
	f.Add([]byte(`{"begin":{"cell":"c1","key":"k","after":"root","code":"x"}}` + "\n" + `{"end":{"cell":"c1","key":"k","status":"ok"}}` + "\n"))
	f.Add([]byte(`{"end":{"cell":"c9"}}` + "\n{"))
	f.Add([]byte("null\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), LogFile)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		h := newHistory()
		end, _ := readLog(path, 0, func(at int64, r Record) bool {
			h.add(at, r)
			return true
		})
		if end > int64(len(data)) || end > 0 && data[end-1] != '\n' {
			t.Fatalf("read up to %d of %d", end, len(data))
		}
		for key := range h.at {
			_, _ = h.lineage(key)
		}
	})
}

// TestTornMessages: of what was not synced when the machine died, any part may be missing. That were only messages. Damage before a record
// that was synced is an error.
func TestTornMessages(t *testing.T) {
	t.Parallel()
	const begin, message, end = `{"begin":{"cell":"c1","key":"k1","after":"root","code":"x"}}` + "\n", `{"message":{"cell":"c1","kind":"stream","text":"y"}}` + "\n", `{"end":{"cell":"c1","key":"k1","status":"ok"}}` + "\n"
	hole := strings.Repeat("\x00", 60)
	for _, c := range []struct {
		text, whole, err string
	}{
		{begin + message + hole + "\n" + message, begin + message, ""},
		{begin + message + hole + message + message + hole, begin + message, ""},
		{begin + message[:20] + hole + "\n" + message, begin, ""},
		{begin + hole + "\n" + end, "", "move that file away and rerun its steps"},
		{begin + hole + "\n" + message + end + message, "", "byte 61: invalid character"},
	} {
		path := filepath.Join(t.TempDir(), LogFile)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := openLog(path, func(int64, Record) {})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v", c.text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := string(read(t, path)); got != c.whole || log.size != int64(len(c.whole)) {
			t.Errorf("%q: %d bytes, %q", c.text, log.size, got)
		}
		log.file.Close()
	}
}
