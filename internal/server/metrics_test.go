package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/httpaccess"
	"pawl/internal/server/client"
)

// scrape reads the metrics as Prometheus does.
func scrape(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return families
}

// sampleOf returns the value of the sample with the labels, -1 if there is none.
func sampleOf(family *dto.MetricFamily, labels ...string) float64 {
	for _, m := range family.GetMetric() {
		has := map[string]string{}
		for _, label := range m.GetLabel() {
			has[label.GetName()] = label.GetValue()
		}
		match := len(has) == len(labels)/2
		for i := 0; i < len(labels); i += 2 {
			match = match && has[labels[i]] == labels[i+1]
		}
		if match {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return -1
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	now := time.Now()
	c := Config{Service: httpaccess.Service{Token: "0123456789abcdef"}, Version: "v\"1\\\n"}
	r := newRecovery(c)
	r.known = map[string]*watched{
		"a": {Project: client.Project{Status: pawl.StatusWaiting, Gates: 2, Waiting: new(now.Add(-time.Hour))}},
		"b": {Project: client.Project{Status: pawl.StatusActive}, engine: true},
		"c": {Project: client.Project{Status: pawl.StatusInterrupted, Recovery: "not resumed", Error: "the plan was edited"}},
		"d": {Project: client.Project{Recovery: "skipped", Error: "no such folder"}},
		"e": {Project: client.Project{Recovery: "left alone: no runs yet"}},
	}
	r.countStart(nil)
	r.countStart(errors.New("the plan was edited"))
	r.countStart(&CommandError{failure.Error{Kind: pawl.KindHeld}})
	r.swept(now)
	a, err := newAPI(r, now)
	if err != nil {
		t.Fatal(err)
	}
	site, err := httpaccess.Remote{}.Listen(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: a.handler(site), ReadHeaderTimeout: readHeader}
	go func() { _ = site.Serve(server) }() // ends with the test
	t.Cleanup(func() { _ = server.Close() })
	ask := func(path string, headers ...string) (int, string) {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			q.Header.Set(headers[i], headers[i+1])
		}
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	ask("/api/projects?limit=1", "Authorization", "Bearer 0123456789abcdef")
	ask("/api/projects/one", "Authorization", "Bearer 0123456789abcdef")
	ask("/api/projects/two", "Authorization", "Bearer 0123456789abcdef")
	ask("/api/projects")
	ask("/nowhere/at-all")
	ask("/healthz")
	code, text := ask("/metrics")
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	families := scrape(t, text)
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"pawl_info", []string{"version", c.Version}, 1},
		{"pawl_projects", []string{"status", "waiting"}, 1},
		{"pawl_projects", []string{"status", "active"}, 1},
		{"pawl_projects", []string{"status", "failed"}, 0},
		{"pawl_projects_unreadable", nil, 1},
		{"pawl_projects_not_resumed", nil, 1},
		{"pawl_engines", nil, 1},
		{"pawl_gates_open", nil, 2},
		{"pawl_ready", nil, 0},
		{"pawl_recovery_starts_total", []string{"result", "resumed"}, 1},
		{"pawl_recovery_starts_total", []string{"result", "refused"}, 1},
		{"pawl_recovery_starts_total", []string{"result", "held"}, 1},
		{"pawl_sweeps_total", nil, 1},
		{"pawl_http_requests_total", []string{"route", "/api/projects", "method", "GET", "code", "200"}, 1},
		{"pawl_http_requests_total", []string{"route", "/api/projects/{id}", "method", "GET", "code", "404"}, 2},
		{"pawl_http_requests_total", []string{"route", "/api/", "method", "GET", "code", "401"}, 1},
		{"pawl_http_requests_total", []string{"route", "none", "method", "GET", "code", "404"}, 1},
		{"pawl_http_requests_total", []string{"route", "/healthz", "method", "GET", "code", "200"}, 1},
	} {
		if got := sampleOf(families[want.name], want.labels...); got != want.value {
			t.Errorf("%s %q: %v, want %v", want.name, want.labels, got, want.value)
		}
	}
	if age := sampleOf(families["pawl_gates_oldest_seconds"]); age < 3600 || age > 3700 {
		t.Errorf("the oldest gate is %v s old", age)
	}
	guide, err := os.ReadFile("../../docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, family := range families {
		if !strings.Contains(string(guide), "`"+name) || family.GetHelp() == "" {
			t.Errorf("docs/server.md does not explain %s", name)
		}
	}
	for _, forwarded := range []string{"Forwarded", "X-Forwarded-For"} {
		if code, _ := ask("/metrics", forwarded, "192.0.2.1"); code != http.StatusUnauthorized {
			t.Errorf("a proxy gets the metrics without a token: %d", code)
		}
		if code, _ := ask("/metrics", forwarded, "192.0.2.1", "Authorization", "Bearer 0123456789abcdef"); code != http.StatusOK {
			t.Errorf("a proxy with the token: %d", code)
		}
	}
}

func TestFromThisMachine(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true, "192.0.2.1:1": false, "": false, "@": false} {
		if got := fromThisMachine(&http.Request{RemoteAddr: address}); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}
