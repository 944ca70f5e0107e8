package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/notify"
	"pawl/internal/project"
	"pawl/test/stories/storytest"
)

// TestMain gives the tests of this package a user of their own.
func TestMain(m *testing.M) { os.Exit(main(m)) }

func main(m *testing.M) int {
	home, err := os.MkdirTemp("", "pawl-webhooks")
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	for name, value := range map[string]string{"PAWL_STATE": filepath.Join(home, "state"), "XDG_CONFIG_HOME": home} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	return storytest.Main(m)
}

// secretText has the 32 bytes that sign the messages of these tests.
const secretText = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// TestSign has an example that was computed with openssl, as Standard Webhooks describes.
func TestSign(t *testing.T) {
	t.Parallel()
	secret, err := parseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	if err != nil {
		t.Fatal(err)
	}
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, text := range []string{"", "whsec_", "whsec_c2hvcnQ=", strings.TrimPrefix(secretText, "whsec_"), "whsec_#" + secretText[7:], "whsec_" + strings.Repeat("YWFh", 30)} {
		if _, err := parseSecret(text); err == nil {
			t.Errorf("%q is a secret", text)
		}
	}
}

// receiver is a server that gets messages.
type receiver struct {
	*testing.T
	url string

	mu    sync.Mutex // guards what follows
	got   []string   // run and notice of each request
	ids   []string
	reply func(n int, w http.ResponseWriter) // to the nth request; nil: 204
}

func newReceiver(t *testing.T, reply func(int, http.ResponseWriter)) *receiver {
	x := &receiver{T: t, reply: reply}
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	x.url = server.URL
	return x
}

// ServeHTTP checks the signature as a receiver should.
func (x *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var n pawl.Notice
	if err = errors.Join(err, json.Unmarshal(body, &n)); err != nil {
		x.Error(err)
	}
	secret, err := parseSecret(secretText)
	if err != nil {
		x.Error(err)
	}
	var at int64
	if _, err := fmt.Sscan(r.Header.Get("webhook-timestamp"), &at); err != nil || time.Since(time.Unix(at, 0)).Abs() > time.Minute {
		x.Errorf("timestamp %q", r.Header.Get("webhook-timestamp"))
	}
	id := r.Header.Get("webhook-id")
	if want := sign(secret, id, time.Unix(at, 0), body); id == "" || r.Header.Get("webhook-signature") != want {
		x.Errorf("signature %q, want %q", r.Header.Get("webhook-signature"), want)
	}
	x.mu.Lock()
	x.got, x.ids = append(x.got, fmt.Sprint(n.Run, " ", n.ID)), append(x.ids, id)
	count := len(x.got)
	x.mu.Unlock()
	if x.reply != nil {
		x.reply(count, w)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (x *receiver) list() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]string{}, x.got...)
}

// await waits for so many requests.
func (x *receiver) await(n int) {
	x.Helper()
	if !storytest.Until(func() bool { return len(x.list()) >= n }) {
		x.Fatalf("got %q, want %d", x.list(), n)
	}
}

// hooks returns the receivers of a server whose state is in a folder.
func hooks(t *testing.T, folder string, list ...config.Webhook) *Hooks {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "secret"), []byte(secretText+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].SecretFile = "secret"
	}
	h, err := Open(Config{Folder: filepath.Join(folder, "webhooks"), Webhooks: list, Settings: folder, Say: t.Logf, Post: notify.Sender{}.Post})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// become makes a server the one that sends. A process that another test is starting may have the lock of the last one for a moment.
func become(t *testing.T, h *Hooks, now time.Time) {
	t.Helper()
	mine := storytest.Until(func() bool {
		mine, err := h.begin(now)
		if err != nil {
			t.Fatal(err)
		}
		return mine
	})
	if !mine {
		t.Fatal("the server does not send")
	}
}

// begun is hooks for a server that sends.
func begun(t *testing.T, folder string, now time.Time, list ...config.Webhook) *Hooks {
	t.Helper()
	h := hooks(t, folder, list...)
	become(t, h, now)
	t.Cleanup(func() { h.Close() })
	return h
}

// deliver sends until done. It returns when nothing is sent any more.
func (h *Hooks) deliverUntil(t *testing.T, done func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, x := range h.all {
		all.Go(func() { x.deliver(ctx) })
	}
	done()
	cancel()
	all.Wait()
}

// newProject makes a project with a plan.
func newProject(t *testing.T, plan string) *project.Project {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "plan.yaml"), []byte(plan), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	command(t, root, 0, "init")
	p, err := project.Find(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// command runs a command of pawl, and returns what it prints.
func command(t *testing.T, root string, code int, args ...string) string {
	t.Helper()
	cmd := exec.Command(storytest.Pawl(t), append([]string{"-C", root}, args...)...)
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("pawl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

const gatePlan = "name: demo\nsteps:\n- {id: look, gate: {type: decision, ask: Which?, options: [red, blue], expires: 90m, default: red}}\n"

// TestLook: each notice about a run is queued once: a gate, its expiry, and each end. What happened before the receiver was configured
// is not.
func TestLook(t *testing.T) {
	t.Parallel()
	p := newProject(t, gatePlan)
	command(t, p.Root, 3, "run", "plan.yaml")
	folder, now := t.TempDir(), time.Now()
	old := config.Webhook{Name: "old", URL: "http://127.0.0.1:1"}
	only := config.Webhook{Name: "only", URL: "http://127.0.0.1:1", On: []pawl.NoticeKind{pawl.NoticeExpiry}}
	late := config.Webhook{Name: "late", URL: "http://127.0.0.1:1"}
	h := begun(t, folder, now.Add(-time.Hour), old, only)
	later := begun(t, t.TempDir(), now.Add(time.Minute), late)
	want := func(what string, expected ...string) {
		t.Helper()
		var got []string
		for _, x := range []*hook{h.all[0], h.all[1], later.all[0]} {
			text := x.Name + ":"
			for _, lane := range x.lanes {
				for _, m := range lane {
					text += " " + m.Notice
				}
			}
			got = append(got, text)
		}
		if fmt.Sprint(got) != fmt.Sprint(expected) {
			t.Errorf("%s: %q, want %q", what, got, expected)
		}
	}
	look := func(at time.Time) {
		h.Look(t.Context(), p, at)
		later.Look(t.Context(), p, at)
	}
	look(now)
	want("a gate", "old: gate-1", "only:", "late:")
	look(now)
	look(now.Add(29 * time.Minute))
	want("nothing new", "old: gate-1", "only:", "late:")
	m, _ := h.all[0].take(now)
	h.all[0].settle(m, nil, false, now) // delivered
	look(now.Add(31 * time.Minute))
	want("it expires", "old: gate-1-expiry", "only: gate-1-expiry", "late: gate-1-expiry")
	command(t, p.Root, 0, "answer", "look", "blue")
	command(t, p.Root, 0, "resume")
	command(t, p.Root, 0, "retry", "look")
	command(t, p.Root, 3, "resume")
	command(t, p.Root, 0, "answer", "look", "blue")
	command(t, p.Root, 0, "resume")
	look(now.Add(32 * time.Minute))
	want("two ends", "old: gate-1-expiry end-1 end-2", "only: gate-1-expiry", "late: gate-1-expiry")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = begun(t, folder, now, old, only) // the next server
	look(now.Add(33 * time.Minute))
	want("another server", "old: gate-1-expiry end-1 end-2", "only: gate-1-expiry", "late: gate-1-expiry")
	for _, lost := range []string{"{", `{}`} { // lost: all is queued already
		if err := os.WriteFile(h.all[0].markPath(p), []byte(lost), 0o600); err != nil {
			t.Fatal(err)
		}
		h.all[0].marks = map[string]marks{}
		look(now.Add(34 * time.Minute))
		want("lost marks", "old: gate-1-expiry end-1 end-2", "only: gate-1-expiry", "late: gate-1-expiry")
	}
}

// message queues a notice of a run that does not exist.
func (h *Hooks) message(t *testing.T, run, id string, now time.Time) {
	t.Helper()
	n := pawl.Notice{Version: 1, ID: id, Kind: pawl.NoticeGate, Run: pawl.RunID(run), Time: now}
	if err := h.all[0].put(&project.Project{ID: "p"}, n.Run, []pawl.Notice{n}, now); err != nil {
		t.Fatal(err)
	}
	h.all[0].release()
}

// due makes all messages due.
func (h *Hooks) due() {
	x := h.all[0]
	x.guard.Lock()
	defer x.guard.Unlock()
	for _, lane := range x.lanes {
		lane[0].Next = time.Time{}
	}
	x.awake()
}

// TestDelivery: a receiver fails, redirects, hangs up and is slow. The messages of a run keep their order, and each try has the same id.
// The failure of one run does not hold up another one.
func TestDelivery(t *testing.T) {
	t.Parallel()
	slow, served := make(chan struct{}), make(chan struct{})
	x := newReceiver(t, func(n int, w http.ResponseWriter) {
		switch n {
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		case 3:
			panic(http.ErrAbortHandler)
		case 4:
			close(served)
			<-slow
		}
	})
	now := time.Now()
	h := begun(t, t.TempDir(), now, config.Webhook{Name: "ops", URL: x.url})
	h.message(t, "a", "gate-1", now)
	h.message(t, "a", "end-1", now)
	h.deliverUntil(t, func() {
		for n := range 3 {
			x.await(n + 1)
			if !storytest.Until(func() bool { return h.Counts().Failed == n+1 }) {
				t.Errorf("%+v", h.Counts())
			}
			h.due()
		}
		<-served
		h.message(t, "b", "gate-1", now)
		x.await(5)
		close(slow)
		x.await(6)
		if !storytest.Until(func() bool { return h.Counts().Waiting == 0 }) {
			t.Errorf("%+v", h.Counts())
		}
	})
	if got := fmt.Sprint(x.list()); got != "[a gate-1 a gate-1 a gate-1 a gate-1 b gate-1 a end-1]" {
		t.Errorf("got %s", got)
	}
	if c := h.Counts(); c != (Counts{Delivered: 3, Failed: 3}) {
		t.Errorf("%+v", c)
	}
	for _, id := range x.ids[1:4] {
		if id != x.ids[0] || id == x.ids[4] || id == x.ids[5] {
			t.Errorf("ids %q", x.ids)
		}
	}
}

// TestRestart: the next server sends what waits, in its order, and not before its time. Meanwhile another server does not send.
func TestRestart(t *testing.T) {
	t.Parallel()
	x := newReceiver(t, nil)
	to, folder, now := config.Webhook{Name: "ops", URL: x.url}, t.TempDir(), time.Now()
	h := begun(t, folder, now, to)
	h.message(t, "a", "gate-1", now)
	h.message(t, "a", "gate-2", now)
	h.message(t, "b", "gate-1", now)
	m, _ := h.all[0].take(now)
	h.all[0].settle(m, errors.New("refused"), false, now)
	other := hooks(t, folder, to)
	if mine, err := other.begin(now); mine || err != nil {
		t.Errorf("two servers send: %v", err)
	}
	if err := errors.Join(h.Close(), os.WriteFile(filepath.Join(folder, "webhooks/to-ops/queue/0000000000000009.json"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	become(t, other, now)
	t.Cleanup(func() { other.Close() })
	first, _ := other.all[0].take(now)
	none, wait := other.all[0].take(now)
	if first == nil || first.Run != "b" || none != nil || wait <= 4*time.Second || wait > firstPause {
		t.Errorf("%+v, %+v, %s", first, none, wait)
	}
	again, _ := other.all[0].take(now.Add(wait))
	if again == nil || again.Run != "a" || again.Notice != "gate-1" || again.Tries != 1 || again.Error != "refused" {
		t.Errorf("%+v", again)
	}
	other.all[0].settle(again, errors.New("refused"), false, now.Add(giveUp+time.Second))
	if next, _ := other.all[0].take(now); next == nil || next.Notice != "gate-2" || other.Counts().Dropped != 1 {
		t.Errorf("after the first was given up: %+v, %+v", next, other.Counts())
	}
}

// TestFull: what a receiver cannot take is queued later.
func TestFull(t *testing.T) {
	t.Parallel()
	p := newProject(t, gatePlan)
	command(t, p.Root, 3, "run", "plan.yaml")
	now := time.Now()
	h := begun(t, t.TempDir(), now.Add(-time.Hour), config.Webhook{Name: "ops", URL: "http://127.0.0.1:1"})
	x := h.all[0]
	for i := range maxWaiting {
		x.ids[fmt.Sprint(i)] = true
	}
	h.Look(t.Context(), p, now)
	if n := len(x.ids); n != maxWaiting {
		t.Errorf("%d messages", n)
	}
	delete(x.ids, "7")
	h.Look(t.Context(), p, now)
	if len(x.lanes) != 1 {
		t.Errorf("%v", x.lanes)
	}
}

// TestSecretFile: a secret that others can read is none.
func TestSecretFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "open")
	if err := errors.Join(os.WriteFile(path, []byte(secretText), 0o600), os.Chmod(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, "nothing"} {
		_, err := Open(Config{Folder: folder, Settings: folder, Webhooks: []config.Webhook{{Name: "ops", URL: "http://127.0.0.1:1", SecretFile: file}}})
		if err == nil || !strings.Contains(err.Error(), "webhook ops: ") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// server starts `pawl serve` of a user of its own, and waits until its receivers are known.
func server(t *testing.T, environ []string, about string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(storytest.Pawl(t), "serve")
	cmd.Env = environ
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	if !storytest.Until(func() bool { _, err := os.Stat(about); return err == nil }) {
		t.Fatal("the server does not begin")
	}
	return cmd
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// TestKilled kills the server with SIGKILL before it has seen a gate, then while it delivers the message. The third server delivers it.
func TestKilled(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	x := newReceiver(t, func(n int, _ http.ResponseWriter) {
		if n == 1 {
			<-hold
		}
	})
	t.Cleanup(func() { close(hold) })
	home := t.TempDir()
	root := filepath.Join(home, "work")
	settings := fmt.Sprintf("webhooks: [{name: ops, url: %q, secret_file: key}]\n", x.url)
	for path, text := range map[string]string{"pawl/config.yaml": settings, "pawl/key": secretText, "work/plan.yaml": gatePlan} {
		path = filepath.Join(home, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	environ := append(os.Environ(), "XDG_CONFIG_HOME="+home, "PAWL_STATE="+filepath.Join(home, "state"))
	about := filepath.Join(home, "state/serve/webhooks/to-ops/about.json")
	kill(server(t, environ, about))
	run := exec.Command(storytest.Pawl(t), "-C", root, "run", "plan.yaml")
	run.Env = environ
	if out, err := run.CombinedOutput(); run.ProcessState.ExitCode() != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	second := server(t, environ, about)
	x.await(1)
	kill(second)
	server(t, environ, about)
	x.await(2)
	if x.mu.Lock(); len(x.ids) != 2 || x.ids[0] != x.ids[1] || !strings.HasSuffix(x.got[0], " gate-1") {
		t.Errorf("%q %q", x.ids, x.got)
	}
	x.mu.Unlock()
}
