package tracing

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pawl/internal/config"
)

// settings say where spans go.
type settings struct {
	url     string
	headers map[string]string
	timeout time.Duration // for each request
}

// off reports whether the user has switched traces off.
func off(getenv func(string) string) bool {
	return strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none"
}

// settingsOf returns the settings in the environment of this process, else those of the user's file; nil if neither names an endpoint.
func settingsOf(c config.Traces, getenv func(string) string) (*settings, error) {
	first := func(names ...string) string {
		for _, name := range names {
			if value := strings.TrimSpace(getenv(name)); value != "" {
				return value
			}
		}
		return ""
	}
	s := settings{url: first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), headers: map[string]string{}, timeout: 10 * time.Second}
	base := first("OTEL_EXPORTER_OTLP_ENDPOINT")
	switch {
	case s.url != "":
	case base != "":
		s.url = strings.TrimRight(base, "/") + "/v1/traces"
	case c.Endpoint != "":
		s.url, s.headers = strings.TrimRight(c.Endpoint, "/")+"/v1/traces", c.Headers
	default:
		return nil, nil
	}
	if protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol == "grpc" {
		return nil, errors.New("pawl sends traces by HTTP only: set OTEL_EXPORTER_OTLP_PROTOCOL to http/json, and the endpoint to the collector's port for HTTP, usually 4318")
	}
	if text := first("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"); text != "" {
		headers, err := parseHeaders(text)
		if err != nil {
			return nil, err
		}
		s.headers = headers
	}
	if text := first("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds, not %q", text)
		}
		s.timeout = time.Duration(n) * time.Millisecond
	}
	return &s, s.check()
}

// check returns an error for an endpoint to which pawl sends nothing. Headers, which may be keys, go by https or to this machine.
func (s *settings) check() error {
	u, err := url.Parse(s.url)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("the endpoint of traces must be a URL such as http://127.0.0.1:4318")
	case u.User != nil:
		return errors.New("the endpoint of traces must have no user and password in its URL; use OTEL_EXPORTER_OTLP_HEADERS")
	case u.Scheme == "http" && len(s.headers) > 0 && !loopback(u.Hostname()):
		return errors.New("the endpoint of traces must use https, because it gets headers; http with headers is only for this machine")
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// parseHeaders reads NAME=VALUE,…, with values as in URLs. Its errors do not contain values, which may be keys.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n\x00") {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS must have the form NAME=VALUE,NAME=VALUE")
		}
		headers[name] = value
	}
	return headers, nil
}
