package pawl_test

import (
	"encoding/json"
	"testing"

	"pawl"
)

// FuzzStepFiles reads anything as result.json and as an event. What a state accepts, it can store
// and read again.
func FuzzStepFiles(f *testing.F) {
	f.Add([]byte(`{"progress":{"done":1,"total":2},"checkpoint":"x"}`), "progress")
	f.Add([]byte(`{"status":"done","outputs":{"a":1}}`), "step.done")
	f.Add([]byte(`{"step":"a","attempt":1,"token":"t"}`), string(pawl.AttemptStarted{}.Event()))
	f.Add([]byte(`{"step":"..","item":"/","attempt":-1}`), string(pawl.ItemDone{}.Event()))
	f.Fuzz(func(t *testing.T, data []byte, kind string) {
		_, _ = pawl.ParseResult(data)
		s := pawl.NewState()
		created, err := pawl.NewEvent(pawl.Author{}, pawl.RunCreated{Run: "r-20260101-000000-0000", Name: "r"})
		if err != nil {
			t.Fatal(err)
		}
		created.Seq = 1
		s.Apply(created)
		s.Apply(pawl.Event{Seq: 2, Type: pawl.EventType(kind), Data: data})
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
		s.Clone()
		for step := range s.Steps {
			if _, err := pawl.ParseStepID(string(step)); err != nil && step != "" {
				t.Error(err)
			}
		}
	})
}
