package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// TestCheckURL: a token goes to no server that others on the way could read it from.
func TestCheckURL(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"http://127.0.0.1:7778": true, "http://localhost:1/": true, "http://[::1]:1": true, "https://pawl.example.com/base": true,
		"http://example.com": false, "http://127.0.0.1.example.com": false, "ftp://127.0.0.1": false, "https://a:b@example.com": false,
		"": false, "127.0.0.1:7778": false, "https://example.com?x=1": false, "https://example.com#x": false,
	} {
		if err := CheckURL(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		} else if err != nil && pawl.KindOf(err) != pawl.KindUsage {
			t.Errorf("%q: %s", address, pawl.KindOf(err))
		}
	}
}

// clientOf returns a client of a server.
func clientOf(t *testing.T, do http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(do)
	t.Cleanup(server.Close)
	c, err := New(server.URL, "secret")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRedirect: the token does not follow a redirect.
func TestRedirect(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server got a request: %s %s", r.Method, r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Projects(t.Context()); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("%v", err)
	}
	if _, err := c.Act(t.Context(), "p", "pause", Action{}); err == nil {
		t.Error("no error")
	}
}

// TestBrokenConnection repeats a request once, with the same key.
func TestBrokenConnection(t *testing.T) {
	t.Parallel()
	var keys []string
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if len(keys) == 1 {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, `{"success":true,"run":"r"}`)
	})
	done, err := c.Act(t.Context(), "p/../q", "pause", Action{})
	if err != nil || done.Run != "r" || len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("%+v, %v, keys %q", done, err, keys)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Projects(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestProblems: an error has the kind that the command would have in the project's folder.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status       int
		kind, answer string
		want         pawl.Kind
		text         string
	}{
		{404, "application/problem+json", `{"detail":"no step x","kind":"usage","hint":"pawl status"}`, pawl.KindUsage, "no step x"},
		{404, "application/problem+json", `{"detail":"no run x"}`, pawl.KindNothing, "no run x"},
		{423, "application/problem+json", `{"detail":"held\u001b[2J"}`, pawl.KindHeld, `held`},
		{403, "application/problem+json", `{"detail":"no right"}`, pawl.KindDamaged, "no right"},
		{400, "application/problem+json", `{"errors":[{"location":"body.why","message":"too long"}]}`, pawl.KindUsage, "body.why: too long"},
		{409, "application/problem+json", `{"detail":"new","kind":"fun"}`, pawl.KindUsage, "new"},
		{429, "application/problem+json", `{"detail":"too many requests"}`, pawl.KindInternal, "too many requests"},
		{502, "text/html", `<html>`, pawl.KindInternal, "the server returned 502 Bad Gateway"},
	} {
		err := problemOf(c.status, c.kind, []byte(c.answer))
		if pawl.KindOf(err) != c.want || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%d %s: %s: %q", c.status, c.answer, pawl.KindOf(err), err)
		}
	}
}

// FuzzProblem: whatever a server answers, an error has a text and a kind with an exit code.
func FuzzProblem(f *testing.F) {
	f.Add(404, "application/problem+json", []byte(`{"detail":"no run","kind":"nothing","errors":[{"message":"x"}]}`))
	f.Fuzz(func(t *testing.T, status int, contentType string, data []byte) {
		if err := problemOf(status, contentType, data); err.Error() == "" || !slices.Contains(known, pawl.KindOf(err)) {
			t.Errorf("%q", err)
		}
	})
}

// TestOutput: an output whose connection breaks continues where it was; one without an end gives up.
func TestOutput(t *testing.T) {
	t.Parallel()
	var ranges []string
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		w.Header().Set(AttemptHeader, "3")
		switch len(ranges) {
		case 1:
			fmt.Fprint(w, "one ")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case 2, 3:
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, []string{"two ", "three"}[len(ranges)-2])
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			fmt.Fprint(w, `{"detail":"the output has 13 bytes"}`)
		}
	})
	var text strings.Builder
	attempt, n, err := c.Output(t.Context(), Run{ID: "r"}, Output{Step: "s"}, 0, &text)
	if err != nil || attempt != 3 || n != 13 || text.String() != "one two three" {
		t.Errorf("attempt %d, %d bytes, %q, %v", attempt, n, &text, err)
	}
	if got := fmt.Sprintf("%q", ranges); got != `["" "bytes=4-" "bytes=8-" "bytes=13-"]` {
		t.Errorf("ranges %s", got)
	}
	broken := clientOf(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, _, err := broken.Output(t.Context(), Run{ID: "r"}, Output{Step: "s"}, 0, &text); !errors.Is(err, errConnection) {
		t.Errorf("%v", err)
	}
}

// TestSamePage: a list that never ends is an error.
func TestSamePage(t *testing.T) {
	t.Parallel()
	c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"projects":[{"id":"a"}],"runs":[{"run":"a"}],"next":"a","more":true}`)
	})
	if _, err := c.Projects(t.Context()); !errors.Is(err, errSamePage) {
		t.Errorf("%v", err)
	}
	if _, err := c.Runs(t.Context(), "p"); !errors.Is(err, errSamePage) {
		t.Errorf("%v", err)
	}
	endless := clientOf(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"events":[],"next":0,"more":true}`) })
	if _, err := endless.Events(t.Context(), Run{ID: "r"}, 0, 0, func(EventLine) error { return nil }); !errors.Is(err, errSamePage) {
		t.Errorf("%v", err)
	}
}
