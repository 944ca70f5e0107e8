package events_test

import (
	"encoding/json"
	"testing"

	"pawl/internal/executor/events"
)

// FuzzParseLine reads anything as a line of events.jsonl. What is accepted can be written and read again.
func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"progress":{"done":1,"total":2}}`))
	f.Add([]byte(`{"progress":{"done":1,"total":2},"checkpoint":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		line, err := events.ParseLine(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := events.ParseLine(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	})
}
