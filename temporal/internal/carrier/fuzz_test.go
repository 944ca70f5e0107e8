package carrier

import (
	"encoding/json"
	"strings"
	"testing"

	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"pawl/internal/dispatch"
)

// FuzzReport: whatever a worker reports, a result is a SHA-256, and texts are one short line without control characters.
func FuzzReport(f *testing.F) {
	for _, report := range []string{`{"outcome":"finished","result":"` + strings.Repeat("ab", 32) + `"}`, `{"outcome":"refused","why":"no\u001b[2J"}`, `[]`, `7`} {
		payloads, err := converter.GetDefaultDataConverter().ToPayloads(json.RawMessage(report))
		if err != nil {
			f.Fatal(err)
		}
		f.Add("json/plain", payloads.Payloads[0].Data)
	}
	f.Add("binary/plain", []byte(`{"outcome":"finished"}`))
	f.Fuzz(func(t *testing.T, encoding string, data []byte) {
		payload := &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: data}
		r, err := parseReport(&activitypb.ActivityExecutionOutcome{
			Value: &activitypb.ActivityExecutionOutcome_Result{Result: &commonpb.Payloads{Payloads: []*commonpb.Payload{payload}}},
		})
		if err != nil {
			return
		}
		if (r.Outcome == dispatch.Finished) != (len(r.Result) == 64) || len(r.Why) > maxWhy || strings.ContainsFunc(r.Why, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			t.Errorf("%+v", r)
		}
	})
}
