package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"pawl"
	"pawl/internal/schema"
)

// TestOutputOfEvents checks that the schema of events describes the data of each type.
func TestOutputOfEvents(t *testing.T) {
	t.Parallel()
	data, err := schema.Output("events", reflect.TypeFor[pawl.Event]())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pawl.Payloads() {
		if !strings.Contains(string(data), `"const": "`+string(p.Event())+`"`) {
			t.Errorf("nothing of %s", p.Event())
		}
	}
	events := resolve(t, data)
	line := `{"seq":1,"batch":1,"time":"2026-01-01T00:00:00Z","epoch":0,"by":{"kind":"engine"},"type":"gate.opened","data":%}`
	for content, good := range map[string]bool{
		`{"id":"x","type":"human_verify","ask":"Right?"}`:            true,
		`{"id":"x","type":"human_verify","ask":"Right?","new":true}`: true, // of a later version
		`{"id":7,"type":"human_verify","ask":"Right?"}`:              false,
		`{"id":"x"}`: false,
		`"text"`:     false,
	} {
		var v any
		if err := json.Unmarshal([]byte(strings.Replace(line, "%", content, 1)), &v); err != nil {
			t.Fatal(err)
		}
		if err := events.Validate(v); (err == nil) != good {
			t.Errorf("%s: %v", content, err)
		}
	}
}

func resolve(t *testing.T, data []byte) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
