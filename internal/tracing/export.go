package tracing

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"pawl/internal/oneline"
)

// Limits of an export.
const (
	tries     = 3
	firstWait = 500 * time.Millisecond // before the second try, doubled before the third
	maxWait   = 5 * time.Second        // that a collector can ask for
	maxAnswer = 64 << 10               // bytes that are read of an answer
	maxReason = 200                    // bytes of it that a note contains
)

// exporter sends spans to a collector, as OTLP in JSON over HTTP. Its failures do not fail the run: it counts the lost spans and keeps the
// first reason.
type exporter struct {
	settings
	agent  string
	client *http.Client    // Defaults to one that follows no redirect.
	life   context.Context // when it ends, nothing is sent any more: the SDK ends no export in Shutdown

	mu     sync.Mutex // guards what follows
	lost   int        // spans
	reason error
}

// ExportSpans sends spans. It never fails, because the SDK would print the error.
func (x *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(x.life, func() { cancel(context.Cause(x.life)) })()
	lost := len(spans)
	body, err := json.Marshal(requestOf(spans))
	if err == nil {
		lost, err = x.send(ctx, body, len(spans))
	}
	if err != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.lost += lost
		if x.reason == nil {
			x.reason = err
		}
	}
	return nil
}

// Shutdown does nothing: nothing is buffered here.
func (*exporter) Shutdown(context.Context) error { return nil }

// note returns a warning if spans are lost, else "".
func (x *exporter) note() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lost == 0 {
		return ""
	}
	spans := "spans were"
	if x.lost == 1 {
		spans = "span was"
	}
	return fmt.Sprintf("traces: %d %s not exported: %v", x.lost, spans, x.reason)
}

// send sends n spans, and returns how many of them the collector has not taken.
func (x *exporter) send(ctx context.Context, body []byte, n int) (lost int, err error) {
	if ctx.Err() != nil {
		return n, context.Cause(ctx)
	}
	wait := firstWait
	for try := 1; ; try++ {
		pause, rejected, err := x.post(ctx, body)
		if err == nil {
			return 0, nil
		}
		if pause < 0 || try == tries {
			if rejected > 0 {
				n = min(n, rejected)
			}
			return n, err
		}
		timer := time.NewTimer(max(wait, min(pause, maxWait)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return n, err
		case <-timer.C:
		}
		wait *= 2
	}
}

// post sends a request once. A negative pause means that another try would fail too. rejected is how many spans the collector refused;
// 0: all.
func (x *exporter) post(ctx context.Context, body []byte) (pause time.Duration, rejected int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, x.timeout, fmt.Errorf("no answer within %s", x.timeout))
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url, bytes.NewReader(body))
	if err != nil {
		return -1, 0, errors.New("invalid URL")
	}
	for name, value := range x.headers {
		q.Header.Set(name, value)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("User-Agent", x.agent)
	answer, err := cmp.Or(x.client, client).Do(q)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok { // it contains the URL, which may be a secret
			err = failed.Err
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return 0, 0, err
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // the status decides
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return time.Duration(max(seconds, 0)) * time.Second, 0, errors.New(answer.Status)
	}
	if answer.StatusCode/100 != 2 {
		return -1, 0, errors.New(answer.Status)
	}
	rejected, err = refused(said)
	return -1, rejected, err
}

// refused returns how many spans a collector refused that took the others.
func refused(answer []byte) (n int, err error) {
	var r exportResponse
	if json.Unmarshal(answer, &r) != nil {
		return 0, nil // some collectors answer with a text
	}
	rejected, err := r.PartialSuccess.RejectedSpans.Int64()
	if err != nil || rejected <= 0 {
		return 0, nil
	}
	return int(min(rejected, 1<<30)), errors.New("refused by the collector: " + oneline.Clip(r.PartialSuccess.ErrorMessage, maxReason))
}

// client follows no redirect: headers may be keys.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
