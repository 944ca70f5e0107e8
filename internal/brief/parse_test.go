package brief_test

import (
	"encoding/json"
	"testing"

	"pawl/internal/brief"
)

// FuzzParse: a brief that was written is read, and anything else is no reason to panic.
func FuzzParse(f *testing.F) {
	for _, s := range situations() {
		data, err := json.Marshal(brief.Make(s.facts(f), brief.Options{}))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := brief.Parse(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := brief.Parse(again); err != nil || read.Text != b.Text || read.HandsOver() != b.HandsOver() {
			t.Errorf("%v: %s", err, again)
		}
	})
}
