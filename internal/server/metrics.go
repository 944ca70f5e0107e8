package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/tokens"
)

// metrics counts what happens in the server. Runs, steps and projects are not labels, because their number has no limit.
type metrics struct {
	counters sync.Mutex // guards what follows
	requests map[requestKind]int
	starts   map[string]int // engines that the server started, by result
	sweeps   int
	lastTook time.Duration // of the last sweep
	lastEnd  time.Time
}

// requestKind is what is counted of an HTTP request.
type requestKind struct {
	route, method string
	code          int
}

// Results of starting an engine.
const (
	startResumed = "resumed"
	startRefused = "refused" // what `pawl resume` refuses: a changed plan, for example
	startHeld    = "held"    // another process holds the project
)

// countStart counts a start of an engine.
func (m *metrics) countStart(err error) {
	result := startResumed
	switch {
	case held(err):
		result = startHeld
	case err != nil:
		result = startRefused
	}
	m.counters.Lock()
	defer m.counters.Unlock()
	if m.starts == nil {
		m.starts = map[string]int{}
	}
	m.starts[result]++
}

// swept records a look at all projects.
func (m *metrics) swept(began time.Time) {
	m.counters.Lock()
	defer m.counters.Unlock()
	m.sweeps, m.lastTook, m.lastEnd = m.sweeps+1, time.Since(began), time.Now()
}

// counted counts the requests by route, method and code.
func (m *metrics) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var route string
		answer := &answerWriter{ResponseWriter: w}
		defer func() {
			m.counters.Lock()
			defer m.counters.Unlock()
			if m.requests == nil {
				m.requests = map[requestKind]int{}
			}
			m.requests[requestKind{cmp.Or(route, "none"), knownMethod(r.Method), cmp.Or(answer.code, http.StatusOK)}]++
		}()
		next.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), routeKey{}, &route)))
	})
}

// routeKey is the key of the route in a request's context.
type routeKey struct{}

// routed tells counted which route a request takes.
func routed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r)
		if route, ok := r.Context().Value(routeKey{}).(*string); ok && *route == "" { // else a mux below has set it
			_, path, found := strings.Cut(r.Pattern, " ")
			if *route = path; !found {
				*route = r.Pattern
			}
		}
	})
}

// knownMethod returns a method that the server knows, or "other": clients may send any word.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// answerWriter notes the status code of an answer.
type answerWriter struct {
	http.ResponseWriter
	code int
}

func (w *answerWriter) WriteHeader(code int) {
	if w.code == 0 && code >= http.StatusOK {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// metricsHandler serves the metrics to programs on this machine, and to others with a token that may read.
func (a *api) metricsHandler() http.Handler {
	show := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(a.exposition(time.Now())) // the client has gone
	})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if fromThisMachine(req) {
			show(w, req)
			return
		}
		a.authenticate(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if !clientOf(req.Context()).May(tokens.Read) {
				problem(http.StatusForbidden, "the metrics need the right read", "").write(w)
				return
			}
			show(w, req)
		})).ServeHTTP(w, req)
	})
}

// fromThisMachine reports whether a request comes from a program on this machine, and was not forwarded by a proxy on it.
func fromThisMachine(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback() && r.Header.Get("Forwarded") == "" && r.Header.Get("X-Forwarded-For") == ""
}

// exposition returns the metrics in the text format of Prometheus.
func (r *recovery) exposition(now time.Time) []byte {
	var e exposition
	e.family("pawl_info", "gauge", "Version of the server.")
	e.sample("pawl_info", 1, "version", r.Version)
	r.projectMetrics(&e, now)
	r.metrics.write(&e)
	r.hookMetrics(&e)
	return e.Bytes()
}

// statuses are the statuses of runs, as the API shows them.
var statuses = []pawl.RunStatus{pawl.StatusActive, pawl.StatusWaiting, pawl.StatusPaused, pawl.StatusInterrupted, pawl.StatusCompleted, pawl.StatusFailed}

// projectMetrics writes what the server saw at its last look at the projects.
func (r *recovery) projectMetrics(e *exposition, now time.Time) {
	count := map[pawl.RunStatus]int{}
	var engines, gates, unreadable, refused, ready int
	oldest := now
	r.mu.Lock()
	for _, s := range r.known {
		if s.Status == "" {
			if s.Error != "" {
				unreadable++
			}
			continue
		}
		count[s.Status]++
		if s.engine {
			engines++
		}
		if s.Recovery == "not resumed" {
			refused++
		}
		gates += s.Gates
		if s.Waiting != nil && s.Waiting.Before(oldest) {
			oldest = *s.Waiting
		}
	}
	if r.done {
		ready = 1
	}
	r.mu.Unlock()
	e.family("pawl_projects", "gauge", "Projects with a run, by the status of their current run.")
	for _, status := range statuses {
		e.sample("pawl_projects", float64(count[status]), "status", string(status))
	}
	e.single("pawl_projects_unreadable", "gauge", "Projects that the server could not read.", float64(unreadable))
	e.single("pawl_projects_not_resumed", "gauge", "Projects whose run the server should resume and could not.", float64(refused))
	e.single("pawl_engines", "gauge", "Engines that work on runs.", float64(engines))
	e.single("pawl_gates_open", "gauge", "Open gates of the current runs.", float64(gates))
	e.single("pawl_gates_oldest_seconds", "gauge", "Time that the oldest open gate has been open; 0 if none is.", now.Sub(oldest).Seconds())
	e.single("pawl_ready", "gauge", "1 if the server has looked at all projects since its start.", float64(ready))
}

// hookMetrics writes what became of the messages to webhooks.
func (r *recovery) hookMetrics(e *exposition) {
	if !r.hooks.Configured() {
		return
	}
	counts := r.hooks.Counts()
	e.single("pawl_webhook_messages_waiting", "gauge", "Messages to webhooks that wait for their delivery.", float64(counts.Waiting))
	e.family("pawl_webhook_tries_total", "counter", "Requests to webhooks, by result.")
	e.sample("pawl_webhook_tries_total", float64(counts.Delivered), "result", "delivered")
	e.sample("pawl_webhook_tries_total", float64(counts.Failed), "result", "failed")
	e.single("pawl_webhook_messages_dropped_total", "counter", "Messages to webhooks that the server gave up.", float64(counts.Dropped))
}

// write writes the counters.
func (m *metrics) write(e *exposition) {
	m.counters.Lock()
	defer m.counters.Unlock()
	e.family("pawl_recovery_starts_total", "counter", "Engines that the server started for interrupted runs, by result.")
	for _, result := range []string{startResumed, startRefused, startHeld} {
		e.sample("pawl_recovery_starts_total", float64(m.starts[result]), "result", result)
	}
	e.single("pawl_sweeps_total", "counter", "How often the server looked at all projects.", float64(m.sweeps))
	e.single("pawl_sweep_duration_seconds", "gauge", "Time that the last look at all projects took.", m.lastTook.Seconds())
	if !m.lastEnd.IsZero() {
		e.single("pawl_sweep_timestamp_seconds", "gauge", "When the last look at all projects ended, in Unix time.", float64(m.lastEnd.UnixMilli())/1000)
	}
	e.family("pawl_http_requests_total", "counter", "Answered HTTP requests, by route, method and status code.")
	for _, q := range slices.SortedFunc(maps.Keys(m.requests), func(a, b requestKind) int {
		return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.method, b.method), cmp.Compare(a.code, b.code))
	}) {
		e.sample("pawl_http_requests_total", float64(m.requests[q]), "route", q.route, "method", q.method, "code", fmt.Sprint(q.code))
	}
}

// exposition is a text in the format of Prometheus, version 0.0.4.
type exposition struct{ bytes.Buffer }

func (e *exposition) family(name, kind, help string) {
	fmt.Fprintf(e, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// single writes a family of one sample.
func (e *exposition) single(name, kind, help string, value float64) {
	e.family(name, kind, help)
	e.sample(name, value)
}

// labelValue escapes the value of a label.
var labelValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// sample writes a line; labels are pairs of a name and a value.
func (e *exposition) sample(name string, value float64, labels ...string) {
	e.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		open := "{"
		if i > 0 {
			open = ","
		}
		fmt.Fprintf(e, `%s%s="%s"`, open, labels[i], labelValue.Replace(labels[i+1]))
	}
	if len(labels) > 0 {
		e.WriteByte('}')
	}
	fmt.Fprintf(e, " %g\n", value)
}
