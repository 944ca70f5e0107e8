package notify_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/notify"
)

var notice = pawl.Notice{
	Version: 1, ID: "gate-1", Kind: pawl.NoticeGate, Title: "Is it right?", Text: "two\nlines", Run: "tour-20261101-120000-abcd",
	Plan: "tour", Project: "/home/ann/tour", Host: "lab", Status: pawl.StatusActive, Step: "look",
	Gate: &pawl.NoticeGated{ID: "3f2a91c0", Type: pawl.HumanVerify, Ask: "Is it right?"}, Time: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
}

// received is a request as the server saw it.
type received struct {
	header http.Header
	body   string
}

// server answers with the given statuses in turn; the last one repeats.
func server(t *testing.T, statuses ...int) (url string, requests func() []received) {
	t.Helper()
	var mu sync.Mutex
	var seen []received
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			t.Errorf("%s, %v", r.Method, err)
		}
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, received{r.Header, string(body)})
		status := statuses[min(len(seen), len(statuses))-1]
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		io.WriteString(w, "said "+r.Header.Get("Authorization")+" "+r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []received {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

var quick = notify.Sender{Timeout: 10 * time.Second, Pause: time.Millisecond}

func TestWebhook(t *testing.T) {
	t.Parallel()
	url, requests := server(t, 204)
	d := pawl.Delivery{Key: "k1", Notice: notice, Webhook: url + "/hook", Headers: map[string]string{"Authorization": "Bearer s3cret", "X-Team": "docs"}}
	if tries, err := quick.Send(t.Context(), d); err != nil || tries != 1 {
		t.Fatalf("%d tries, %v", tries, err)
	}
	got := requests()[0]
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Idempotency-Key": "k1", "Authorization": "Bearer s3cret", "X-Team": "docs", "User-Agent": "pawl",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
		}
	}
	// The body is documented in docs/plan.md; receivers depend on it.
	const want = `{"version":1,"id":"gate-1","kind":"gate","title":"Is it right?","text":"two\nlines","run":"tour-20261101-120000-abcd",` +
		`"plan":"tour","project":"/home/ann/tour","host":"lab","status":"active","gate":{"id":"3f2a91c0","type":"human_verify","ask":"Is it right?"},` +
		`"step":"look","time":"2026-11-01T12:00:00Z"}`
	if diff := cmp.Diff(want, got.body); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTriesAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		statuses []int
		tries    int
		err      string
	}{
		{[]int{503, 429, 200}, 3, ""},
		{[]int{500}, 3, "the server returned 500 Internal Server Error: said [redacted] [redacted]"},
		{[]int{404}, 1, "the server returned 404 Not Found: said [redacted] [redacted]"},
		{[]int{307}, 1, "the server redirects (status 307)"},
		{[]int{502, 301}, 2, "the server redirects (status 301)"},
	} {
		url, requests := server(t, c.statuses...)
		d := pawl.Delivery{Key: "k1", Notice: notice, Webhook: url + "/services/T0/s3cret", Headers: map[string]string{"Authorization": "Bearer s3cret"}}
		tries, err := quick.Send(t.Context(), d)
		if tries != c.tries || len(requests()) != c.tries {
			t.Errorf("%v: %d tries, %d requests", c.statuses, tries, len(requests()))
		}
		for _, r := range requests() {
			if r.header.Get("Idempotency-Key") != "k1" {
				t.Errorf("%v: key %q", c.statuses, r.header.Get("Idempotency-Key"))
			}
		}
		if err == nil != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%v: %v", c.statuses, err)
		}
	}
}

// TestUnreachable: nobody listens, the URL is not allowed, or the server never answers.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	impatient := notify.Sender{Timeout: 50 * time.Millisecond, Pause: time.Millisecond}
	for webhook, want := range map[string]struct {
		tries int
		err   string
	}{
		"http://127.0.0.1:1":                           {3, "connection refused"},
		"http://" + silent.Addr().String() + "/s3cret": {3, "no answer within 50ms"},
		"http://192.0.2.1/s3cret":                      {1, "a webhook must use https"}, // an address of no machine, RFC 5737
		"https://ann:s3cret@example.com":               {1, "no user and password"},
	} {
		tries, err := impatient.Send(t.Context(), pawl.Delivery{Notice: notice, Webhook: webhook})
		if tries != want.tries || err == nil || !strings.Contains(err.Error(), want.err) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %d tries, %v", webhook, tries, err)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := `printf '%s|' "$PAWL_NOTICE_KIND" "$PAWL_NOTICE_TITLE" "$PAWL_NOTICE_TEXT" "$PAWL_NOTICE_KEY" "$PAWL_RUN" "$PAWL_PROJECT" "$TOKEN" > env; cat > body`
	d := pawl.Delivery{Key: "k1", Notice: notice, Command: script, Dir: dir, Environ: append(os.Environ(), "TOKEN=t")}
	if tries, err := quick.Send(t.Context(), d); err != nil || tries != 1 {
		t.Fatalf("%d tries, %v", tries, err)
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil || string(env) != "gate|Is it right?|two\nlines|k1|tour-20261101-120000-abcd|/home/ann/tour|t|" {
		t.Errorf("%q, %v", env, err)
	}
	body, err := os.ReadFile(filepath.Join(dir, "body"))
	if err != nil {
		t.Fatal(err)
	}
	var got pawl.Notice
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(notice, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestCommandFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := pawl.Delivery{Notice: notice, Command: `echo x >> tries; echo no route >&2; false; echo never`, Dir: dir, Environ: os.Environ()}
	tries, err := quick.Send(t.Context(), d)
	if tries != 3 || err == nil || !strings.Contains(err.Error(), "exit status 1: no route") {
		t.Errorf("%d tries, %v", tries, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "tries")); err != nil || string(data) != "x\nx\nx\n" {
		t.Errorf("%q, %v", data, err)
	}
	impatient := notify.Sender{Timeout: 50 * time.Millisecond, Pause: time.Millisecond}
	hasty := notify.Sender{Limit: 50 * time.Millisecond, Pause: time.Hour}
	if tries, err := hasty.Send(t.Context(), d); tries != 1 || err == nil || !strings.Contains(err.Error(), "exit status 1: no route") {
		t.Errorf("the limit for all tries: %d tries, %v", tries, err)
	}
	d.Command = "sleep 1000 & sleep 1000"
	hasty.Timeout = time.Hour
	if _, err := hasty.Send(t.Context(), d); err == nil || !strings.Contains(err.Error(), "not delivered within 50ms") {
		t.Errorf("the limit for all tries: %v", err)
	}
	if _, err := impatient.Send(t.Context(), d); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("a command that hangs: %v", err)
	}
}
