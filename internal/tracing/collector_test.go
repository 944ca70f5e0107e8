package tracing_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// The messages that the protocol defines, as far as pawl sends them. An unknown field is an error.
type (
	request struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes []attribute }
			SchemaURL  string `json:"schemaUrl"`
			ScopeSpans []struct {
				Scope     struct{ Name, Version string }
				SchemaURL string `json:"schemaUrl"`
				Spans     []received
			}
		}
	}
	received struct {
		TraceID           string `json:"traceId"`
		SpanID            string `json:"spanId"`
		ParentSpanID      string `json:"parentSpanId"`
		Flags             uint32
		Name              string
		Kind              int
		StartTimeUnixNano int64 `json:",string"`
		EndTimeUnixNano   int64 `json:",string"`
		Attributes        []attribute
		Status            struct {
			Code    int
			Message string
		}
	}
	attribute struct {
		Key   string
		Value struct {
			StringValue *string
			BoolValue   *bool
			IntValue    *int64 `json:",string"`
			DoubleValue *float64
		}
	}
)

// has returns an attribute as text, "" if the span has none of the name.
func (r received) has(name string) string { return valueIn(r.Attributes, name) }

func valueIn(attributes []attribute, name string) string {
	for _, a := range attributes {
		if a.Key != name {
			continue
		}
		switch v := a.Value; {
		case v.StringValue != nil:
			return *v.StringValue
		case v.IntValue != nil:
			return fmt.Sprint(*v.IntValue)
		case v.DoubleValue != nil:
			return fmt.Sprint(*v.DoubleValue)
		}
	}
	return ""
}

// collector is an HTTP server that takes traces.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []received
	bodies  strings.Builder // of all requests
	headers http.Header     // of the last one
	service string
	faults  []string
	answer  func(w http.ResponseWriter) bool // nil: takes all; false: it has answered, and nothing is taken
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(func() {
		c.Close()
		for _, fault := range c.faults {
			t.Error(fault)
		}
	})
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	c.bodies.Write(body)
	c.headers = r.Header
	if c.answer != nil && !c.answer(w) {
		return
	}
	var q request
	strict := json.NewDecoder(strings.NewReader(string(body)))
	strict.DisallowUnknownFields()
	if decodeErr := strict.Decode(&q); err != nil || decodeErr != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost {
		c.faults = append(c.faults, fmt.Sprintf("%s %s: %v, %v: %s", r.Method, r.URL, err, decodeErr, body))
	}
	for _, of := range q.ResourceSpans {
		c.service = valueIn(of.Resource.Attributes, "service.name")
		for _, in := range of.ScopeSpans {
			if in.Scope.Name != "pawl" || !strings.HasPrefix(in.SchemaURL, "https://opentelemetry.io/schemas/") || in.SchemaURL != of.SchemaURL {
				c.faults = append(c.faults, fmt.Sprintf("scope %+v, schemas %q and %q", in.Scope, in.SchemaURL, of.SchemaURL))
			}
			c.spans = append(c.spans, in.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"partialSuccess":{}}`)
}

// got returns the spans that the collector has taken.
func (c *collector) got() []received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]received(nil), c.spans...)
}
