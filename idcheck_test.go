package pawl_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pawl"
)

// TestForgedIDs: an event with an id that leads out of its folder does not fit. It changes nothing, and is reported.
func TestForgedIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	for _, bad := range []string{"..", ".", "../../x", "a/b", "/etc", "a\x00", "a b", "\u202e", long} {
		for _, event := range []struct {
			kind pawl.EventType
			data map[string]any
		}{
			{pawl.RunCreated{}.Event(), map[string]any{"run": "../" + bad, "kind": "plan", "name": "n"}},
			{pawl.AttemptStarted{}.Event(), map[string]any{"step": bad, "attempt": 1, "token": "t"}},
			{pawl.AttemptStarted{}.Event(), map[string]any{"step": "s", "item": bad, "attempt": 1, "token": "t"}},
			{pawl.AttemptStarted{}.Event(), map[string]any{"step": "s", "attempt": 1, "token": bad}},
			{pawl.AttemptStarted{}.Event(), map[string]any{"step": "s", "attempt": 1, "token": "t", "key": map[string]any{"definition": "d", "needs": map[string]string{bad: "1"}}}},
			{pawl.GateOpened{}.Event(), map[string]any{"id": bad, "ask": "?"}},
			{pawl.CheckpointSaved{}.Event(), map[string]any{"id": bad, "kind": "manual"}},
			{pawl.StepDone{}.Event(), map[string]any{"step": bad}},
			{pawl.FilesRestored{}.Event(), map[string]any{"checkpoint": "0123abcd", "from": "../" + bad, "before": "0123abcd"}},
			{pawl.Progressed{}.Event(), map[string]any{"step": "s", "text": "x", "source": map[string]any{"step": bad, "attempt": 1}}},
		} {
			data, err := json.Marshal(event.data)
			if err != nil {
				t.Fatal(err)
			}
			s := pawl.NewState()
			s.Apply(pawl.Event{Seq: 1, Time: time.Now(), Type: event.kind, Data: data})
			if s.RejectedCount != 1 || !strings.Contains(s.RejectedEvents[0].Why, "invalid ") {
				t.Errorf("%s %s: %+v", event.kind, data, s.RejectedEvents)
			}
		}
	}
}
