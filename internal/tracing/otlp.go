package tracing

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The messages of the OpenTelemetry protocol, in their JSON encoding: ids are hex, 64-bit integers are strings, enumerations are numbers.
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
		SchemaURL  string       `json:"schemaUrl,omitempty"`
	}
	resource struct {
		Attributes []keyValue `json:"attributes,omitempty"`
	}
	scopeSpans struct {
		Scope     scope  `json:"scope"`
		Spans     []span `json:"spans"`
		SchemaURL string `json:"schemaUrl,omitempty"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	span struct {
		TraceID           string     `json:"traceId"`
		SpanID            string     `json:"spanId"`
		ParentSpanID      string     `json:"parentSpanId,omitempty"`
		Flags             uint32     `json:"flags,omitempty"`
		Name              string     `json:"name"`
		Kind              int        `json:"kind"`
		StartTimeUnixNano string     `json:"startTimeUnixNano"`
		EndTimeUnixNano   string     `json:"endTimeUnixNano"`
		Attributes        []keyValue `json:"attributes,omitempty"`
		DroppedAttributes int        `json:"droppedAttributesCount,omitempty"`
		Status            status     `json:"status"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
	keyValue struct {
		Key   string   `json:"key"`
		Value anyValue `json:"value"`
	}
	anyValue struct {
		String *string  `json:"stringValue,omitempty"`
		Bool   *bool    `json:"boolValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
	}

	// exportResponse is the answer of a collector.
	exportResponse struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"` // a number, or a string of digits
			ErrorMessage  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
)

// requestOf returns the request that exports spans of one provider, thus of one resource and one scope.
func requestOf(spans []sdktrace.ReadOnlySpan) exportRequest {
	first := spans[0]
	from := resourceSpans{Resource: resource{attributesOf(first.Resource().Attributes())}, SchemaURL: first.Resource().SchemaURL()}
	of := first.InstrumentationScope()
	all := scopeSpans{Scope: scope{of.Name, of.Version}, SchemaURL: of.SchemaURL}
	for _, s := range spans {
		all.Spans = append(all.Spans, spanOf(s))
	}
	from.ScopeSpans = []scopeSpans{all}
	return exportRequest{[]resourceSpans{from}}
}

// Flags of a span, beyond those of its context: whether its parent is in another process.
const (
	hasIsRemote = 1 << 8
	isRemote    = 1 << 9
)

func spanOf(s sdktrace.ReadOnlySpan) span {
	id := s.SpanContext()
	encoded := span{
		TraceID: id.TraceID().String(), SpanID: id.SpanID().String(), Flags: uint32(id.TraceFlags()) | hasIsRemote,
		Name: s.Name(), Kind: int(s.SpanKind()), // of the same numbers
		StartTimeUnixNano: strconv.FormatInt(s.StartTime().UnixNano(), 10), EndTimeUnixNano: strconv.FormatInt(s.EndTime().UnixNano(), 10),
		Attributes: attributesOf(s.Attributes()), DroppedAttributes: s.DroppedAttributes(),
	}
	if parent := s.Parent(); parent.SpanID().IsValid() {
		encoded.ParentSpanID = parent.SpanID().String()
		if parent.IsRemote() {
			encoded.Flags |= isRemote
		}
	}
	switch s.Status().Code {
	case codes.Ok:
		encoded.Status.Code = 1
	case codes.Error:
		encoded.Status.Code, encoded.Status.Message = 2, s.Status().Description
	}
	return encoded
}

func attributesOf(attributes []attribute.KeyValue) []keyValue {
	encoded := make([]keyValue, len(attributes))
	for i, a := range attributes {
		encoded[i] = keyValue{string(a.Key), valueOf(a.Value)}
	}
	return encoded
}

// valueOf encodes a value. pawl has no lists.
func valueOf(v attribute.Value) anyValue {
	switch v.Type() {
	case attribute.BOOL:
		b := v.AsBool()
		return anyValue{Bool: &b}
	case attribute.INT64:
		n := strconv.FormatInt(v.AsInt64(), 10)
		return anyValue{Int: &n}
	case attribute.FLOAT64:
		f := v.AsFloat64()
		return anyValue{Double: &f}
	}
	text := v.String()
	return anyValue{String: &text}
}

// parseID reads an id in hex, of which not all digits are zero.
func parseID(id []byte, text string) bool {
	if len(text) != hex.EncodedLen(len(id)) {
		return false
	}
	if _, err := hex.Decode(id, []byte(text)); err != nil {
		return false
	}
	for _, b := range id {
		if b != 0 {
			return true
		}
	}
	return false
}
