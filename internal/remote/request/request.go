// Package request sends requests to the HTTP servers that store remotes.
//
// A server may be hostile or broken. So an answer has a limit of bytes, a connection without progress is closed, and a redirect is never
// followed. Requests that failed on the way, and those that the server could not serve now, are repeated. They must be idempotent. If
// none succeeds, the error wraps remote.ErrUnreachable.
package request

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/disk"
	"pawl/internal/oneline"
	"pawl/internal/remote"
)

// A Client sends requests.
type Client struct {
	http    *http.Client
	Allowed []string      // hosts, with their ports, that may be reached without TLS. Loopback addresses always may.
	Idle    time.Duration // after which a connection without progress is closed. Defaults to one minute.
	Pause   time.Duration // before the first repetition. Each further one waits twice as long. Defaults to 200 ms.
	Tries   int           // at each request. Defaults to 6.
}

// New returns a client. allowed are the hosts that may be reached without TLS.
func New(allowed []string) *Client {
	c := &Client{Allowed: allowed, Idle: time.Minute, Pause: 200 * time.Millisecond, Tries: 6}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 20 * time.Second}).DialContext, TLSHandshakeTimeout: 20 * time.Second,
		IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 8, MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, Protocols: new(http.Protocols),
	}
	transport.Protocols.SetHTTP1(true)
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

// Request is a request.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
	Limit  int64                             // bytes of the answer, if it is a success
	Sign   func(request *http.Request) error // adds credentials; called at each try
}

// Answer is what the server answered.
type Answer struct {
	Status   int
	Header   http.Header
	Body     []byte // of an error, at most its first 64 KiB
	Repeated bool   // an earlier try may have had its effect, although its answer was lost
}

// OK reports whether the request was a success.
func (a *Answer) OK() bool { return a.Status/100 == 2 }

const (
	maxError = 64 << 10 // bytes of an error that are read
	maxPause = 20 * time.Second
)

// Do sends a request until the server gives an answer that is final. An error status is not an error. The error wraps disk.ErrTooLarge if the
// answer exceeds its limit.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	if err := c.Check(r.URL); err != nil {
		return nil, err
	}
	pause, repeated := c.Pause, false
	for try := 1; ; try++ {
		answer, err := c.once(ctx, r)
		if answer != nil {
			answer.Repeated = repeated
		}
		final := err == nil && !temporary(answer.Status) || err != nil && permanent(err)
		if final || try >= c.Tries || ctx.Err() != nil {
			return answer, describe(ctx, r.URL, err)
		}
		repeated = true
		if err := sleep(ctx, max(pause/2+rand.N(pause), retryAfter(answer))); err != nil {
			return nil, err
		}
		pause = min(2*pause, maxPause)
	}
}

// Check returns an error if a URL would send credentials or content in the clear.
func (c *Client) Check(u *url.URL) error {
	switch {
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q is not an https URL", u.Redacted())
	case u.User != nil:
		return errors.New("a URL must not have credentials")
	case u.Scheme == "http" && !Loopback(u.Hostname()) && !slices.Contains(c.Allowed, u.Host):
		return fmt.Errorf("http://%s is not encrypted; use https, or allow this host in your own settings: remotes: {allow_http: [%q]}", u.Host, u.Host)
	}
	return nil
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// once sends a request once.
func (c *Client) once(ctx context.Context, r Request) (*Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(c.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	progress := func() { idle.Reset(c.Idle) }
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	if len(r.Body) > 0 {
		request.Body, request.ContentLength = io.NopCloser(watched{bytes.NewReader(r.Body), progress}), int64(len(r.Body))
	}
	if r.Header != nil {
		request.Header = r.Header.Clone()
	}
	if r.Sign != nil {
		if err := r.Sign(request); err != nil {
			return nil, &finalError{err}
		}
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	defer response.Body.Close()
	a := &Answer{Status: response.StatusCode, Header: response.Header}
	limit := r.Limit
	if !a.OK() {
		limit = maxError
	} else if response.ContentLength > limit && r.Method != http.MethodHead {
		return nil, &finalError{disk.ErrTooLarge}
	}
	a.Body, err = io.ReadAll(io.LimitReader(watched{response.Body, progress}, limit+1))
	switch {
	case err != nil && a.OK():
		return nil, causeOf(ctx, err)
	case int64(len(a.Body)) > limit && a.OK():
		return nil, &finalError{disk.ErrTooLarge}
	}
	return a, nil
}

// watched calls progress at each read.
type watched struct {
	io.Reader
	progress func()
}

func (w watched) Read(p []byte) (int, error) {
	w.progress()
	return w.Reader.Read(p)
}

var errIdle = errors.New("the connection made no progress")

// causeOf returns the cause of an error of a request with a context that may have ended.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// finalError is an error that no repetition can change.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// temporary reports whether a server that answers with this status may serve the request later.
func temporary(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	}
	return false
}

// permanent reports whether a request that failed with this error fails again.
func permanent(err error) bool {
	if _, final := errors.AsType[*finalError](err); final {
		return true
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return name.IsNotFound
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	return untrusted || unknown || noTLS
}

// describe adds the host to an error. It removes the URL, whose query may have a signature.
func describe(ctx context.Context, u *url.URL, err error) error {
	if err == nil || errors.Is(err, disk.ErrTooLarge) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	final := permanent(err)
	if err = fmt.Errorf("ask %s: %w", u.Host, err); !final {
		err = unreachable{err}
	}
	return err
}

// unreachable is an error that wraps remote.ErrUnreachable too.
type unreachable struct{ error }

func (e unreachable) Unwrap() []error { return []error{e.error, remote.ErrUnreachable} }

// retryAfter returns how long the server asks to wait.
func retryAfter(a *Answer) time.Duration {
	if a == nil {
		return 0
	}
	seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(min(seconds, 3600))*time.Second, maxPause)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// StatusError is an answer that is not a success.
type StatusError struct {
	Host    string
	Status  int
	Code    string // that the server gave
	Message string // that the server gave
}

// Unwrap returns remote.ErrUnreachable if the server could not serve the request now.
func (e *StatusError) Unwrap() error {
	if temporary(e.Status) {
		return remote.ErrUnreachable
	}
	return nil
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s answered %d", e.Host, e.Status)
	if said := strings.TrimSpace(e.Code + " " + e.Message); said != "" {
		text += ": " + oneline.Clip(oneline.Printable(said), 300)
	}
	return text
}
