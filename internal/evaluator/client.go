package evaluator

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
	"net/url"
	"strconv"
	"time"

	"pawl/internal/config"
)

// transport sends requests to a server. It returns only complete answers with status 200: an answer that is too large or
// truncated, an error status or a redirect is an error. Keys are never sent to the target of
// a redirect, nor without encryption to another machine.
type transport struct{ base http.RoundTripper }

func newClient() *http.Client {
	return &http.Client{Transport: transport{&http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DisableKeepAlives:      true, // there is only one request
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}}}
}

// postJSON posts a body as JSON and returns the body of the answer.
func postJSON(ctx context.Context, client *http.Client, to string, body any, headers map[string]string) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode question: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, unwrapURL(err)
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// statusError is an error status of the server.
type statusError struct {
	code    int
	text    string
	request string // the server's request id, if any
}

func newStatusError(response *http.Response, body []byte) *statusError {
	id := cmp.Or(response.Header.Get("Request-Id"), response.Header.Get("X-Request-Id")) // Anthropic's header, and the common one
	return &statusError{response.StatusCode, message(body), oneLine(id, maxRequestID)}
}

// maxRequestID is the maximum size of a shown request id in bytes.
const maxRequestID = 100

func (e *statusError) Error() string {
	text := fmt.Sprintf("the server returned %d %s: %s", e.code, http.StatusText(e.code), e.text)
	if e.request != "" {
		text += " (request " + e.request + ")"
	}
	return text
}

// requireEncryption returns an error for a request that would send a key without encryption, unless to this machine.
func requireEncryption(request *http.Request) error {
	host := request.URL.Hostname()
	ip := net.ParseIP(host)
	if request.URL.Scheme == "https" || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	if request.Header.Get("X-Api-Key") == "" && request.Header.Get("Authorization") == "" {
		return nil
	}
	return fmt.Errorf("no key is sent to %s without encryption: use an https URL", request.URL.Host)
}

// RoundTrip sends a request and reads the complete answer.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := requireEncryption(request); err != nil {
		return nil, err
	}
	response, err := t.base.RoundTrip(request)
	if err != nil {
		return nil, &temporary{err: fmt.Errorf("no answer: %w", err)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch code := response.StatusCode; {
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	case err != nil:
		return nil, &temporary{err: fmt.Errorf("truncated answer: %w", err)}
	case code >= 300 && code < 400:
		return nil, fmt.Errorf("the server redirects to %q; if that is correct, set base_url to it", response.Header.Get("Location"))
	case code == http.StatusTooManyRequests || code >= 500:
		return nil, &temporary{newStatusError(response, body), retryAfter(response.Header.Get("Retry-After"), time.Now())}
	case code != http.StatusOK:
		return nil, newStatusError(response, body)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// retryAfter returns the delay of a Retry-After header, which is a number of seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(seconds, 0), 1e9)) * time.Second
	}
	if when, err := http.ParseTime(header); err == nil {
		return max(when.Sub(now), 0)
	}
	return 0
}

// message returns the message in an error body, or else the start of the body. Both APIs use the same format.
func message(body []byte) string {
	var wrapped struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &wrapped) == nil && wrapped.Error.Message != "" {
		return oneLine(wrapped.Error.Message, maxReason)
	}
	return oneLine(string(body[:min(len(body), maxReason)]), maxReason)
}

// unwrapURL removes the request from an error of a client.
func unwrapURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// price returns the cost of tokens in dollars; 0 if the price is unknown.
func price(p config.Price, input, output int64) float64 {
	return (float64(input)*p.Input + float64(output)*p.Output) / 1e6
}

// question is the user message. Its JSON escapes < and >, so the evidence cannot close the tag.
func question(evidence []byte) string { return fmt.Sprintf("<evidence>\n%s\n</evidence>", evidence) }
