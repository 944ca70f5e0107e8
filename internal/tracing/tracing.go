// Package tracing exports runs as traces of OpenTelemetry: a span for each run, step, attempt and gate. It sends them to the collector that
// the user has configured, and nowhere else, as OTLP in JSON.
//
// The ids of the spans follow from those of the run, so the engines that work on a run, one after another, contribute to one trace. A span
// is exported when it ends. Spans contain names, times and outcomes: no prompts, no output, no texts that a step wrote. Names are redacted.
//
// Exporting never delays or fails a run. Spans that the collector does not take in time are lost, and Close says so.
package tracing

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/redact"
)

// Tracer exports what an engine does. It is not safe for concurrent use.
type Tracer struct {
	getenv   func(string) string
	version  string
	exporter *exporter
	err      error // of the settings: nothing is exported

	provider *sdktrace.TracerProvider // nil before the first use
	tracer   trace.Tracer
	quit     context.CancelCauseFunc  // ends what the exporter does
	started  map[pawl.Token]time.Time // attempts that run; nil before the first event
	clean    func(string) string
}

// New returns a tracer, or nil if the user has configured no collector: in the environment of this process, or in the own settings.
func New(c config.Traces, getenv func(string) string, version string) *Tracer {
	if off(getenv) {
		return nil
	}
	s, err := settingsOf(c, getenv)
	if s == nil && err == nil {
		return nil
	}
	t := &Tracer{getenv: getenv, version: version, err: err, clean: redact.OfProcess().Text}
	if err == nil {
		t.exporter = &exporter{settings: *s, agent: "pawl/" + version}
	}
	return t
}

// limit is how long Close waits for the collector.
const limit = 3 * time.Second

// Close sends what is left. It returns warnings for the user.
func (t *Tracer) Close(ctx context.Context) (notes []string) {
	if t.err != nil {
		return []string{"traces: " + t.err.Error()}
	}
	if t.provider == nil {
		return nil
	}
	defer time.AfterFunc(limit, func() { t.quit(fmt.Errorf("no answer within %s", limit)) }).Stop()
	_ = t.provider.Shutdown(ctx) // the exporter counts what is lost
	t.quit(nil)
	if note := t.exporter.note(); note != "" {
		return []string{note}
	}
	return nil
}

// open starts to export.
func (t *Tracer) open(ctx context.Context) {
	if t.provider != nil {
		return
	}
	var options []sdktrace.BatchSpanProcessorOption
	if t.getenv("OTEL_BSP_SCHEDULE_DELAY") == "" {
		options = append(options, sdktrace.WithBatchTimeout(time.Second)) // an engine that is killed loses little
	}
	from, err := sdkresource.New(ctx, sdkresource.WithSchemaURL(schemaURL), sdkresource.WithAttributes(
		attribute.String(serviceName, "pawl"), attribute.String(serviceVersion, t.version)), sdkresource.WithFromEnv())
	if err != nil { // what the user's variables name is left out
		from = sdkresource.NewWithAttributes(schemaURL, attribute.String(serviceName, "pawl"), attribute.String(serviceVersion, t.version))
	}
	t.exporter.life, t.quit = context.WithCancelCause(context.WithoutCancel(ctx))
	t.provider = sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(ids{}), sdktrace.WithResource(from), sdktrace.WithBatcher(t.exporter, options...))
	t.tracer = t.provider.Tracer("pawl", trace.WithInstrumentationVersion(t.version), trace.WithSchemaURL(schemaURL))
}

// NewTrace returns the trace of a run that has none: that of the process which started pawl, or a new one. The sampler of the environment
// decides whether it is exported.
func (t *Tracer) NewTrace(ctx context.Context, run pawl.RunID) *pawl.Trace {
	if t.err != nil {
		return nil
	}
	t.open(ctx)
	parent, given := parseParent(t.getenv("TRACEPARENT"))
	id := trace.TraceID(hash("trace", string(run), strconv.FormatInt(time.Now().UnixNano(), 10))[:16])
	if given {
		id = parent.TraceID()
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	_, probe := t.tracer.Start(withIDs(ctx, id, spanID("run", string(run))), "run") // never ended, so never exported
	made := &pawl.Trace{ID: id.String(), Sampled: probe.SpanContext().IsSampled()}
	if given {
		made.Parent = parent.SpanID().String()
	}
	return made
}

// Environ returns TRACEPARENT: the span of an attempt as the parent of what its programs do.
func (t *Tracer) Environ(s *pawl.State, ref pawl.AttemptRef) map[string]string {
	of, ok := runContext(s)
	if !ok || t.err != nil {
		return nil
	}
	flags := "00"
	if of.IsSampled() {
		flags = "01"
	}
	return map[string]string{"TRACEPARENT": "00-" + of.TraceID().String() + "-" + attemptID(ref).String() + "-" + flags}
}

// runContext returns the context of a run's own span. A journal from elsewhere can have a trace that is none.
func runContext(s *pawl.State) (trace.SpanContext, bool) {
	var id trace.TraceID
	if s.Trace == nil || !parseID(id[:], s.Trace.ID) {
		return trace.SpanContext{}, false
	}
	return contextOf(id, spanID("run", string(s.Run)), s.Trace.Sampled), true
}

func contextOf(id trace.TraceID, span trace.SpanID, sampled bool) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.TraceFlags(0).WithSampled(sampled), Remote: true})
}

// parseParent reads a header traceparent of W3C Trace Context: version, trace, span, flags.
func parseParent(text string) (parent trace.SpanContext, ok bool) {
	const size = len("00-00000000000000000000000000000000-0000000000000000-00")
	if len(text) < size || len(text) > size && (text[:2] == "00" || text[size] != '-') || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return parent, false
	}
	version, err := strconv.ParseUint(text[:2], 16, 8)
	flags, flagsErr := strconv.ParseUint(text[53:55], 16, 8)
	var id trace.TraceID
	var span trace.SpanID
	if err != nil || flagsErr != nil || version == 0xff || !parseID(id[:], text[3:35]) || !parseID(span[:], text[36:52]) {
		return parent, false
	}
	return contextOf(id, span, flags&1 == 1), true
}

// hash returns a hash of words. Tokens of attempts are secret, and cannot be derived from it.
func hash(words ...string) []byte {
	h := sha256.New()
	for _, word := range append([]string{"pawl span"}, words...) {
		h.Write([]byte(word))
		h.Write([]byte{0})
	}
	return h.Sum(nil)
}

func spanID(words ...string) trace.SpanID { return trace.SpanID(hash(words...)[:8]) }

func attemptID(ref pawl.AttemptRef) trace.SpanID { return spanID("attempt", string(ref.Token)) }

func stepID(run pawl.RunID, step pawl.StepID) trace.SpanID {
	return spanID("step", string(run), string(step))
}

// ids gives spans the ids that their context names.
type ids struct{}

type idsKey struct{}

type idPair struct {
	trace trace.TraceID
	span  trace.SpanID
}

func withIDs(ctx context.Context, id trace.TraceID, span trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, idPair{id, span})
}

// NewIDs returns the ids of the context.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	pair, _ := ctx.Value(idsKey{}).(idPair)
	return pair.trace, pair.span
}

// NewSpanID returns the id of the context.
func (g ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, span := g.NewIDs(ctx)
	return span
}

// ended is a span that has ended.
type ended struct {
	id         trace.SpanID
	parent     trace.SpanContext
	name       string
	kind       trace.SpanKind
	start, end time.Time
	attributes []attribute.KeyValue
	failed     string // why, in one of pawl's own words; empty: it did not fail
}

// export exports a span of the trace.
func (t *Tracer) export(ctx context.Context, in trace.TraceID, e ended) {
	t.open(ctx)
	if e.parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, e.parent)
	}
	_, s := t.tracer.Start(withIDs(ctx, in, e.id), t.clean(e.name), trace.WithTimestamp(e.start), trace.WithSpanKind(e.kind), trace.WithAttributes(e.attributes...))
	if e.failed != "" {
		s.SetStatus(codes.Error, e.failed)
	}
	if e.end.Before(e.start) { // clocks can jump
		e.end = e.start
	}
	s.End(trace.WithTimestamp(e.end))
}

// text returns an attribute without secrets.
func (t *Tracer) text(key, value string) attribute.KeyValue {
	return attribute.String(key, t.clean(value))
}
