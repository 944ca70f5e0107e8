package request_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pawl/internal/remote/request"
)

// TestIdle: a server that stops in the middle of an answer is left, and asked again.
func TestIdle(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "4")
		_, _ = w.Write([]byte("ab"))
		if tries.Add(1) == 1 {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte("cd"))
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := request.New(nil)
	c.Idle, c.Pause = 2*time.Second, time.Millisecond
	a, err := c.Do(t.Context(), request.Request{Method: http.MethodGet, URL: at, Limit: 10})
	if err != nil || string(a.Body) != "abcd" || !a.Repeated {
		t.Errorf("%+v, %v", a, err)
	}
	tries.Store(0)
	c.Idle, c.Tries = 100*time.Millisecond, 1
	if _, err := c.Do(t.Context(), request.Request{Method: http.MethodGet, URL: at, Limit: 10}); err == nil || !strings.Contains(err.Error(), "no progress") {
		t.Errorf("%v", err)
	}
}
