package tracing

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"pawl"
	"pawl/internal/config"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	user := config.Traces{Endpoint: "https://user.example/otlp/", Headers: map[string]string{"K": "user"}}
	for _, c := range []struct {
		config config.Traces
		env    string // NAME=VALUE, separated by spaces, without OTEL_EXPORTER_OTLP_
		want   string // URL and headers, or an error
	}{
		{config.Traces{}, "", "none"},
		{user, "", "https://user.example/otlp/v1/traces map[K:user] 10s"},
		{user, "ENDPOINT=http://10.0.0.7:4318", "http://10.0.0.7:4318/v1/traces map[] 10s"},
		{user, "ENDPOINT=http://localhost:4318/ HEADERS=a=b%20c,%20d=e TIMEOUT=250", "http://localhost:4318/v1/traces map[%20d:e a:b c] 250ms"},
		{user, "TRACES_ENDPOINT=https://x.example/own ENDPOINT=http://y.example TRACES_HEADERS=a=1 HEADERS=b=2", "https://x.example/own map[a:1] 10s"},
		{user, "ENDPOINT=http://10.0.0.7:4318 HEADERS=a=b", "must use https"},
		{user, "ENDPOINT=http://[::1]:4318 HEADERS=a=b", "http://[::1]:4318/v1/traces map[a:b] 10s"},
		{user, "ENDPOINT=https://u:p@x.example", "no user and password"},
		{user, "ENDPOINT=collector:4317", "must be a URL"},
		{user, "ENDPOINT=http://localhost:4317 PROTOCOL=grpc", "by HTTP only"},
		{user, "ENDPOINT=http://localhost:4318 PROTOCOL=http/protobuf", "http://localhost:4318/v1/traces map[] 10s"},
		{user, "ENDPOINT=http://localhost:4318 HEADERS=secret", "NAME=VALUE"},
		{user, "ENDPOINT=http://localhost:4318 HEADERS=a=%0a", "NAME=VALUE"},
		{user, "ENDPOINT=http://localhost:4318 TIMEOUT=soon", "number of milliseconds"},
	} {
		env := map[string]string{}
		for pair := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env["OTEL_EXPORTER_OTLP_"+name] = value
		}
		s, err := settingsOf(c.config, func(name string) string { return env[name] })
		got := "none"
		switch {
		case err != nil:
			got = err.Error()
		case s != nil:
			got = fmt.Sprint(s.url, " ", s.headers, " ", s.timeout)
		}
		if err == nil && got != c.want || err != nil && (!strings.Contains(got, c.want) || strings.Contains(got, "secret")) {
			t.Errorf("%q: %s, want %s", c.env, got, c.want)
		}
	}
}

func TestParseParent(t *testing.T) {
	t.Parallel()
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for text, want := range map[string]bool{
		good: true, strings.Replace(good, "-01", "-00", 1): true, "01" + good[2:]: true, "01" + good[2:] + "-more": true,
		"": false, good + "-more": false, "ff" + good[2:]: false, good[:54]: false, "01" + good[2:] + "more": false, "zz" + good[2:]: false,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false, "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": false,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x": false, "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": false,
	} {
		parent, ok := parseParent(text)
		if ok != want || ok && (parent.TraceID().String() != good[3:35] || parent.SpanID().String() != good[36:52] || parent.IsSampled() != strings.Contains(text, "-01")) {
			t.Errorf("%q: %v, %+v", text, ok, parent)
		}
	}
}

// TestForeignTrace: a journal that came from elsewhere can contain anything in place of the trace.
func TestForeignTrace(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "x", "00000000000000000000000000000000", "4bf92f3577b34da6a3ce929d0e0e473\n", strings.Repeat("4", 64)} {
		s := pawl.NewState()
		s.Trace = &pawl.Trace{ID: id, Sampled: true}
		if env := (&Tracer{}).Environ(s, pawl.AttemptRef{}); env != nil {
			t.Errorf("%q: %v", id, env)
		}
	}
}

// stub returns spans as the SDK hands them to an exporter.
func stub(n int) []sdktrace.ReadOnlySpan {
	stubs := make(tracetest.SpanStubs, n)
	for i := range stubs {
		stubs[i] = tracetest.SpanStub{Name: "s", Attributes: []attribute.KeyValue{attribute.Bool("b", true)}}
	}
	return stubs.Snapshots()
}

// TestExport tries again where that helps, within limits, and never fails.
func TestExport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []func(http.ResponseWriter)
		asked   int
		note    string
	}{
		"taken":       {nil, 1, ""},
		"later":       {[]func(http.ResponseWriter){code(503), code(429)}, 3, ""},
		"never":       {[]func(http.ResponseWriter){code(503), code(502), code(504)}, 3, "2 spans were not exported: 504 Gateway Timeout"},
		"refused":     {[]func(http.ResponseWriter){code(400)}, 1, "2 spans were not exported: 400 Bad Request"},
		"elsewhere":   {[]func(http.ResponseWriter){moved}, 1, "2 spans were not exported: 307 Temporary Redirect"},
		"partly":      {[]func(http.ResponseWriter){text(`{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`)}, 1, "1 span was not exported: refused by the collector: too old"},
		"as a number": {[]func(http.ResponseWriter){text(`{"partialSuccess":{"rejectedSpans":1}}`)}, 1, "1 span was not exported: refused by the collector: "},
		"a text":      {[]func(http.ResponseWriter){text("ok")}, 1, ""},
		"a warning":   {[]func(http.ResponseWriter){text(`{"partialSuccess":{"errorMessage":"hm"}}`)}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked++; asked <= len(c.answers) {
					c.answers[asked-1](w)
				}
			}))
			defer server.Close()
			x := &exporter{settings: settings{url: server.URL, headers: map[string]string{"Authorization": "Bearer secret"}, timeout: time.Minute}, life: t.Context()}
			if err := x.ExportSpans(t.Context(), stub(2)); err != nil {
				t.Error(err)
			}
			want := c.note
			if want != "" {
				want = "traces: " + want
			}
			if got := x.note(); asked != c.asked || got != want {
				t.Errorf("asked %d times, want %d; %q, want %q", asked, c.asked, got, want)
			}
		})
	}
}

func code(code int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(code) }
}

func text(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { fmt.Fprint(w, text) }
}

func moved(w http.ResponseWriter) {
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(http.StatusTemporaryRedirect)
}

// TestSilentCollector gives up: a run that has ended does not wait for it.
func TestSilentCollector(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		x := &exporter{settings: settings{url: "http://127.0.0.1:1", timeout: time.Minute}, client: &http.Client{Transport: silent(release)}}
		tracer := &Tracer{getenv: func(string) string { return "" }, exporter: x, clean: func(s string) string { return s }}
		s := pawl.NewState()
		s.Run, s.Name, s.Created = "demo", "demo", time.Now()
		s.Trace = tracer.NewTrace(t.Context(), s.Run)
		e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, pawl.RunEnded{Status: pawl.StatusCompleted})
		if err != nil {
			t.Fatal(err)
		}
		tracer.Record(t.Context(), e, s, &pawl.Plan{})
		began := time.Now()
		notes := tracer.Close(t.Context())
		if took := time.Since(began); took > limit || len(notes) != 1 || !strings.Contains(notes[0], "1 span was not exported: no answer within 3s") {
			t.Errorf("%s, %q", took, notes)
		}
	})
}

// silent is a connection over which nothing comes.
type silent chan struct{}

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-r.Context().Done():
	case <-s:
	}
	return nil, r.Context().Err()
}

func FuzzRefused(f *testing.F) {
	f.Add([]byte(`{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`))
	f.Add([]byte(`{"partialSuccess":{"rejectedSpans":-1}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		n, err := refused(answer)
		if (n > 0) != (err != nil) || n > 0 && !json.Valid(answer) {
			t.Errorf("%q: %d, %v", answer, n, err)
		}
	})
}

func FuzzParseParent(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	f.Add("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what")
	f.Fuzz(func(t *testing.T, text string) {
		if parent, ok := parseParent(text); ok != parent.IsValid() {
			t.Errorf("%q: %v, %+v", text, ok, parent)
		}
	})
}
