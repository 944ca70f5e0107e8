package request

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"pawl/internal/remote"
)

// TestUnreachable: who asks can tell an outage from an answer that stays the same.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	c := New(nil)
	c.Pause, c.Tries = time.Millisecond, 2
	ask := func(address string) error {
		_, err := c.Do(t.Context(), Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: address}})
		return err
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{ask("127.0.0.1:1"), true},
		{ask("example.com"), false}, // without TLS
		{&StatusError{Status: http.StatusServiceUnavailable}, true},
		{&StatusError{Status: http.StatusForbidden}, false},
	} {
		if c.err == nil || errors.Is(c.err, remote.ErrUnreachable) != c.want {
			t.Errorf("%v: want unreachable: %t", c.err, c.want)
		}
	}
}
