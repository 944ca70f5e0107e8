package evaluator

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
	"time"

	"pawl/internal/config"
)

// wire carries requests to a server. An answer comes back whole or not at all: what is too large, cut off, an error or a
// redirect is an error. Keys are never sent to where a redirect points.
type wire struct{ transport http.RoundTripper }

func newClient() *http.Client {
	return &http.Client{Transport: wire{&http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DisableKeepAlives:      true, // one question, and nothing left behind
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
		return nil, plain(err)
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// refusal is an error that the server answered with.
type refusal struct {
	code    int
	text    string
	request string // the server's id of the request, where it gives one
}

func refused(response *http.Response, body []byte) *refusal {
	id := cmp.Or(response.Header.Get("Request-Id"), response.Header.Get("X-Request-Id")) // Anthropic's name, and that of others
	return &refusal{response.StatusCode, message(body), oneLine(id, maxRequestID)}
}

// maxRequestID is how many bytes of a request id are shown.
const maxRequestID = 100

func (r *refusal) Error() string {
	text := fmt.Sprintf("the server answers %d %s: %s", r.code, http.StatusText(r.code), r.text)
	if r.request != "" {
		text += " (request " + r.request + ")"
	}
	return text
}

// RoundTrip sends one request and reads all of its answer.
func (w wire) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.transport.RoundTrip(request)
	if err != nil {
		return nil, &passing{err: fmt.Errorf("no answer: %w", err)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch code := response.StatusCode; {
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	case err != nil:
		return nil, &passing{err: fmt.Errorf("the answer is cut off: %w", err)}
	case code >= 300 && code < 400:
		return nil, fmt.Errorf("the server sends us on to %q; if that is right, set base_url to it", response.Header.Get("Location"))
	case code == http.StatusTooManyRequests || code >= 500:
		return nil, &passing{refused(response, body), retryAfter(response.Header.Get("Retry-After"), time.Now())}
	case code != http.StatusOK:
		return nil, refused(response, body)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// retryAfter returns how long a server asks to wait: it says seconds, or when.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(seconds, 0), 1e9)) * time.Second
	}
	if when, err := http.ParseTime(header); err == nil {
		return max(when.Sub(now), 0)
	}
	return 0
}

// message returns what an error's body says, in the form that both wires share, or else its beginning.
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

// plain returns the error that a request came to, without the request.
func plain(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// price returns what tokens cost in dollars; 0 where no price is known.
func price(p config.Price, input, output int64) float64 {
	return (float64(input)*p.Input + float64(output)*p.Output) / 1e6
}

// question is what a model is asked, behind the prompt. Its JSON escapes < and >, so nothing in it can end it.
func question(evidence []byte) string { return fmt.Sprintf("<evidence>\n%s\n</evidence>", evidence) }
