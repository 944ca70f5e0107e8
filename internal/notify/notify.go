// Package notify sends notices to people: it runs a command, or posts JSON to a webhook.
//
// Send ends within the limits of its Sender, whatever the receiver does, and leaves no process behind. It tries again after failures
// that may pass. A receiver gets the same idempotency key each time. It follows no redirects and sends nothing without encryption,
// except to this machine. Its errors contain neither the URL nor the headers of a webhook, which may be secrets.
//
// It reads no configuration and decides nothing about when a notice is due.
package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/command"
	"pawl/internal/oneline"
	"pawl/internal/stepenv"
)

// Sender sends notices. The zero value has the defaults.
type Sender struct {
	Timeout time.Duration // for each try. Defaults to 10s.
	Limit   time.Duration // for all tries and pauses. Defaults to pawl.NoticeLimit.
	Pause   time.Duration // before the second try, doubled before the third. Defaults to 1s.
	Agent   string        // User-Agent of webhooks. Defaults to pawl.
}

// Tries is how often a notice is tried.
const Tries = 3

// Limits of what a receiver answers.
const (
	maxOutput = 1 << 20  // bytes that a command may print
	maxAnswer = 64 << 10 // bytes that are read of a server's answer
	maxReason = 200      // bytes of it that an error contains
)

// permanent is an error after which another try would fail too.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Send sends a notice and returns how often it tried. It returns at once when ctx ends.
func (s Sender) Send(ctx context.Context, d pawl.Delivery) (tries int, err error) {
	body, err := json.Marshal(d.Notice)
	if err != nil {
		return 0, fmt.Errorf("encode notice: %w", err)
	}
	limit := cmp.Or(s.Limit, pawl.NoticeLimit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not delivered within %s", limit))
	defer cancel()
	pause := cmp.Or(s.Pause, time.Second)
	for tries = 1; ; tries++ {
		err = s.try(ctx, d, body)
		if _, final := errors.AsType[permanent](err); err == nil || final || tries == Tries || ctx.Err() != nil {
			return tries, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return tries, err
		case <-timer.C:
		}
		pause *= 2
	}
}

func (s Sender) try(ctx context.Context, d pawl.Delivery, body []byte) error {
	limit := cmp.Or(s.Timeout, 10*time.Second)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	var err error
	if d.Command != "" {
		err = run(ctx, d, body)
	} else {
		err = s.post(ctx, d, body, true)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// run runs the command of a delivery, with the notice in its environment and on its standard input.
func run(ctx context.Context, d pawl.Delivery, body []byte) error {
	n := d.Notice
	environ := d.Environ[:len(d.Environ):len(d.Environ)]
	for _, v := range [][2]string{
		{"PAWL_NOTICE_KIND", string(n.Kind)}, {"PAWL_NOTICE_TITLE", n.Title}, {"PAWL_NOTICE_TEXT", n.Text}, {"PAWL_NOTICE_ID", n.ID},
		{"PAWL_NOTICE_KEY", d.Key}, {"PAWL_RUN", string(n.Run)}, {"PAWL_RUN_STATUS", string(n.Status)}, {"PAWL_PROJECT", n.Project},
	} {
		environ = append(environ, v[0]+"="+strings.ReplaceAll(v[1], "\x00", ""))
	}
	_, err := command.Run(ctx, command.Command{
		Args: []string{"/bin/sh", "-e", "-c", d.Command}, Dir: d.Dir, Environ: environ, Input: append(body, '\n'), MaxOutput: maxOutput, MaxError: maxReason, RunAs: d.RunAs,
	})
	return err
}

// Post posts JSON to a webhook once. Unless private is true, a name in the URL must not have an address of a private network.
func (s Sender) Post(ctx context.Context, webhook string, headers map[string]string, body []byte, private bool) error {
	limit := cmp.Or(s.Timeout, 10*time.Second)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	err := s.post(ctx, pawl.Delivery{Webhook: webhook, Headers: headers}, body, private)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// post posts a notice to a webhook.
func (s Sender) post(ctx context.Context, d pawl.Delivery, body []byte, private bool) error {
	if err := stepenv.CheckWebhook(d.Webhook); err != nil {
		return permanent{err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Webhook, bytes.NewReader(body))
	if err != nil {
		return permanent{errors.New("invalid URL")} // without the URL
	}
	for name, value := range d.Headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/json")
	if d.Key != "" {
		request.Header.Set("Idempotency-Key", d.Key)
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", cmp.Or(s.Agent, "pawl"))
	}
	response, err := client(private || named(request)).Do(request)
	if err != nil {
		return hide(fmt.Errorf("no answer: %w", withoutURL(err)), d)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // the status decides
	return hide(verdict(response, answer), d)
}

// named reports whether the user has named where the connection goes: by an address, as localhost, or as a proxy.
func named(request *http.Request) bool {
	host := request.URL.Hostname()
	_, err := netip.ParseAddr(host)
	proxy, _ := http.ProxyFromEnvironment(request) // the client reports the error
	return err == nil || strings.EqualFold(host, "localhost") || proxy != nil
}

// publicOnly refuses a connection to an address that is not of the Internet: whoever controls a name could otherwise have pawl reach
// services of this machine and its network.
func publicOnly(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := to.Addr().Unmap()
	inside := !ip.IsGlobalUnicast() || ip.IsPrivate()
	for _, network := range []string{"100.64.0.0/10", "64:ff9b::/96"} { // of providers; IPv4 addresses in IPv6 ones
		inside = inside || netip.MustParsePrefix(network).Contains(ip)
	}
	if inside {
		return fmt.Errorf("the name has the private address %s; use private: true if it is meant", ip)
	}
	return nil
}

// client returns a client for one request, which follows no redirect.
func client(private bool) *http.Client {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	if !private {
		dialer.Control = publicOnly
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxAnswer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// verdict returns the error of an answer, nil for success.
func verdict(response *http.Response, answer []byte) error {
	code := response.StatusCode
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return permanent{fmt.Errorf("the server redirects (status %d), and pawl follows no redirect; use the URL that it redirects to", code)}
	}
	text := fmt.Sprintf("the server returned %d %s", code, http.StatusText(code))
	if said := oneline.Clip(oneline.Printable(string(answer)), maxReason); said != "" {
		text += ": " + said
	}
	if code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500 {
		return errors.New(text)
	}
	return permanent{errors.New(text)}
}

// withoutURL removes the request from an error of a client.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// hide removes the values of the headers and the URL from an error.
func hide(err error, d pawl.Delivery) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	secrets := []string{d.Webhook}
	if u, wrong := url.Parse(d.Webhook); wrong == nil {
		secrets = append(secrets, u.RequestURI())
	}
	for _, value := range d.Headers {
		secrets = append(secrets, value)
		if _, token, ok := strings.Cut(value, " "); ok { // Bearer TOKEN
			secrets = append(secrets, token)
		}
	}
	for _, secret := range secrets {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	if _, final := errors.AsType[permanent](err); final {
		return permanent{errors.New(text)}
	}
	return errors.New(text)
}
