package history

import (
	"encoding/json"
	"testing"
)

// FuzzRequest reads anything as a request for a checkpoint. What is read can be stored.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"run":"../x","kind":"tool","why":"w","session":"claude:1"}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := parseRequest(data)
		if w == nil {
			return
		}
		if _, err := json.Marshal(w); err != nil {
			t.Error(err)
		}
		w.Session.Agent()
		w.Session.Native()
	})
}
