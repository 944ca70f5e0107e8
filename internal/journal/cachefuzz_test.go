package journal_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"pawl"
)

// FuzzCache opens a run with anything as its cached state, as it is and with its checksum made right. The state can be read and
// continued, and no step leads out of the run's folder.
func FuzzCache(f *testing.F) {
	r := newRun(f, "one", "two")
	state, err := r.State(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	if err := r.SaveState(state); err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(r.home(), "state.json")
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, false)
	f.Add(good[:len(good)/2], false)
	f.Add([]byte(`{"version":1,"seq":1,"state":{"steps":{"a":null},"sessions":{"x":null}}`), true)
	f.Add([]byte(`{"version":1,"state":{"steps":{"../../x":{}}}`), true)
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if sealed && len(data) > 0 {
			body := data[:len(data)-1]
			data = fmt.Appendf(nil, `%s,"sum":"%08x"}`, body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		log := r.again(t)
		defer log.Close()
		state, err := log.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		state.Clone()
		for step, st := range state.Steps {
			if _, err := pawl.ParseStepID(string(step)); err != nil || st == nil {
				t.Errorf("step %q: %v", step, st)
			}
		}
	})
}
