package schema_test

import (
	"encoding/json"
	"testing"

	"pawl"
	"pawl/internal/schema"
)

// TestOf compares the schema of a struct with all that such a struct may hold.
func TestOf(t *testing.T) {
	t.Parallel()
	type Where struct { // exported, as all types that are embedded
		Line int `json:"line"`
	}
	type taken struct {
		*Where
		Text string          `json:"text" jsonschema:"what is said"`
		Kind pawl.MemoryKind `json:"kind,omitempty"`
		Of   []string        `json:"of,omitempty"`
		Done *float64        `json:"done,omitempty"`
	}
	got, err := schema.Of[taken]()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{"line":{"type":"integer"},"text":{"type":"string","description":"what is said"},` +
		`"kind":{"type":"string","enum":["pattern","gotcha","preference","decision","rejected","fragile"]},` +
		`"of":{"type":"array","items":{"type":"string"}},"done":{"type":"number"}},"required":["text"],"additionalProperties":false}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := schema.Of[struct{ F func() }](); err == nil {
		t.Error("a function has a schema")
	}
}

// TestOfResult: a schema of results allows null exactly where encoding/json writes it for nil.
func TestOfResult(t *testing.T) {
	t.Parallel()
	type part struct {
		Name *string `json:"name"`
	}
	type result struct {
		*part
		Word  *string           `json:"word"`
		Words []string          `json:"words"`
		Parts []*part           `json:"parts"`
		Map   map[string]*part  `json:"map"`
		Some  map[string]string `json:"some,omitempty"`
		Count *int              `json:"count,omitempty"`
	}
	data, err := schema.OfResult[result]()
	if err != nil {
		t.Fatal(err)
	}
	results := resolve(t, data)
	for _, r := range []result{{}, {Parts: []*part{nil, {}}, Map: map[string]*part{"a": nil, "b": {}}}} {
		var v any
		if text, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		} else if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		} else if err := results.Validate(v); err != nil {
			t.Errorf("%s: %v\n%s", text, err, data)
		}
	}
	for _, key := range []string{"some", "count"} {
		if results.Validate(map[string]any{"word": nil, "words": nil, "parts": nil, "map": nil, key: nil}) == nil {
			t.Errorf("null for %s, which is omitted", key)
		}
	}
}
