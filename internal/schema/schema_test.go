package schema_test

import (
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
