package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pawl/internal/kernel"
	"pawl/internal/kernel/kerneltest"
)

// kernels returns the ids of the kernels on a server.
func kernels(t testing.TB, server kernel.Server) (ids []string) {
	t.Helper()
	api, err := newAPI(server)
	if err != nil {
		t.Fatal(err)
	}
	defer api.client.CloseIdleConnections()
	var all []model
	if err := api.call(t.Context(), http.MethodGet, nil, &all, "kernels"); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids
}

// connections returns how many connections the server has to kernels.
func connections(t testing.TB, server kernel.Server) (n int) {
	t.Helper()
	api, err := newAPI(server)
	if err != nil {
		t.Fatal(err)
	}
	defer api.client.CloseIdleConnections()
	var all []struct {
		Connections int `json:"connections"`
	}
	if err := api.call(t.Context(), http.MethodGet, nil, &all, "kernels"); err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		n += k.Connections
	}
	return n
}

// proxy forwards connections to a server until they are cut.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex // guards the rest
	conns []net.Conn
	down  bool // new connections are refused
}

func startProxy(t testing.TB, server kernel.Server) (*proxy, kernel.Server) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: strings.Trim(strings.TrimPrefix(server.URL, "http://"), "/")}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.forward(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.cut(true)
		all.Wait()
	})
	return p, kernel.Server{URL: "http://" + listener.Addr().String(), Token: server.Token}
}

func (p *proxy) forward(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer to.Close()
	p.mu.Lock()
	down := p.down
	p.conns = append(p.conns, from, to)
	p.mu.Unlock()
	if down {
		return
	}
	go func() { _, _ = io.Copy(to, from); to.Close() }()
	_, _ = io.Copy(from, to)
}

// cut closes all connections. While down, new ones are closed, too.
func (p *proxy) cut(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// waitFor is a cell that prints one line, waits until a file exists, and prints another line.
func waitFor(path string) string {
	return fmt.Sprintf("import os, time\nprint('before', flush=True)\nwhile not os.path.exists(%q): time.sleep(0.01)\nprint('after', flush=True)\n"+
		"open(%q, 'w').close()\n'done'", path, path+".done")
}

func write(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCut cuts the connection in the middle of a cell. What the kernel prints meanwhile, and the end of the cell, arrive later.
func TestCut(t *testing.T) {
	server := startServer(t)
	for name, driver := range map[string]Driver{"v1": {}, "default": {defaultProtocol: true}} {
		t.Run(name, func(t *testing.T) {
			p, through := startProxy(t, server)
			k := kerneltest.Start(t, driver, kernel.Spec{Server: through})
			k.Cell("first", "x = 5")
			for i := range 3 {
				id := kernel.CellID(fmt.Sprint("cut-", i))
				path := filepath.Join(t.TempDir(), "go")
				ended := make(chan kernel.Ending)
				go func() { ended <- k.Cell(id, waitFor(path)) }()
				k.AwaitOutput(id, "before")
				p.cut(true)
				for connections(t, server) > 0 { // what the server sends before it notices is lost
				}
				write(t, path)
				for { // the cell ends while there is no connection
					if _, err := os.Stat(path + ".done"); err == nil {
						break
					}
				}
				p.cut(false)
				if ending := <-ended; ending.Status != kernel.OK || k.Output(id) != "before\nafter\n" {
					t.Errorf("%+v, printed %q", ending, k.Output(id))
				}
			}
			if ending := k.Cell("last", "print(x)"); ending.Status != kernel.OK || k.Output("last") != "5\n" {
				t.Errorf("%+v, printed %q", ending, k.Output("last"))
			}
		})
	}
	if left := kernels(t, server); len(left) > 0 {
		t.Errorf("kernels are left on the server: %v", left)
	}
}

// A kernel that the server has restarted is dead, and no kernel is left after Close: restarted while connected, while the connection
// was cut, by a person, and deleted.
func TestRestarts(t *testing.T) {
	server := startServer(t)
	call := func(t *testing.T, method string, path ...string) {
		t.Helper()
		api, err := newAPI(server)
		if err != nil {
			t.Fatal(err)
		}
		defer api.client.CloseIdleConnections()
		if err := api.call(t.Context(), method, nil, nil, path...); err != nil {
			t.Fatal(err)
		}
	}
	// The server interrupts a cell before it restarts or deletes its kernel.
	const deaf = "import time\nprint('before', flush=True)\nwhile True:\n    try: time.sleep(1)\n    except KeyboardInterrupt: pass"
	for _, test := range []struct {
		name string
		code string
		harm func(t *testing.T, p *proxy, id string)
		why  string
	}{
		{"killed", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", func(*testing.T, *proxy, string) {}, "found dead by the server, which started an empty kernel in its place"},
		{"killed while cut", "import os, signal, time\nprint('before', flush=True)\ntime.sleep(1)\nos.kill(os.getpid(), signal.SIGKILL)", func(t *testing.T, p *proxy, id string) {
			p.cut(true)
			for old, now := childOf(t, id), ""; now == "" || now == old; {
				now = childOf(t, id)
			}
			p.cut(false)
		}, "restarted on the server"},
		{"restarted", deaf, func(t *testing.T, _ *proxy, id string) {
			call(t, http.MethodPost, "kernels", id, "restart")
		}, "the kernel died: "},
		{"deleted", deaf, func(t *testing.T, _ *proxy, id string) {
			call(t, http.MethodDelete, "kernels", id)
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, through := startProxy(t, server)
			k := kerneltest.Start(t, Driver{}, kernel.Spec{Server: through})
			ended := make(chan kernel.Ending)
			go func() { ended <- k.Cell("c", test.code) }()
			if strings.Contains(test.code, "before") {
				k.AwaitOutput("c", "before")
			}
			test.harm(t, p, k.Info().KernelID)
			if ending := <-ended; ending.Status != kernel.Lost || ending.Death == nil || !strings.Contains(ending.Why, test.why) {
				t.Errorf("%+v", ending)
			}
			<-k.Done()
			if _, err := k.Execute(t.Context(), kernel.Cell{ID: "after", Code: "print('executed')"}); !errors.Is(err, kernel.ErrDead) {
				t.Errorf("a cell after death: %v", err)
			}
			if err := k.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if left := kernels(t, server); len(left) > 0 {
				t.Errorf("kernels are left on the server: %v", left)
			}
		})
	}
}

// TestGivenUp: the server is gone for longer than the driver waits.
func TestGivenUp(t *testing.T) {
	server := startServer(t)
	p, through := startProxy(t, server)
	k := kerneltest.Start(t, Driver{Reconnect: time.Millisecond}, kernel.Spec{Server: through})
	ended := make(chan kernel.Ending)
	go func() { ended <- k.Cell("c", "import time\nprint('before', flush=True)\ntime.sleep(3600)") }()
	k.AwaitOutput("c", "before")
	p.cut(true)
	if ending := <-ended; ending.Status != kernel.Lost || !strings.Contains(ending.Why, "the kernel may still run on the server") {
		t.Errorf("%+v", ending)
	}
	if err := k.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "may still run on the Jupyter server") {
		t.Errorf("close without a server: %v", err)
	}
	p.cut(false)
	if err := k.Close(t.Context()); err != nil {
		t.Errorf("close again: %v", err)
	}
	if left := kernels(t, server); len(left) > 0 {
		t.Errorf("kernels are left on the server: %v", left)
	}
}

// TestAttach: another process attaches to a kernel, idle or busy, with the same session.
func TestAttach(t *testing.T) {
	server := startServer(t)
	p, through := startProxy(t, server)
	first := kerneltest.Start(t, Driver{}, kernel.Spec{Server: through, Session: "one"})
	first.Cell("set", "x = 5")
	path := filepath.Join(t.TempDir(), "go")
	running := make(chan struct{})
	go func() {
		defer close(running)
		_, _ = first.Execute(t.Context(), kernel.Cell{ID: "long", Code: waitFor(path)}) // the first process is gone before its end
	}()
	first.AwaitOutput("long", "before")
	p.cut(true)
	second := kerneltest.Start(t, Driver{}, kernel.Spec{Server: server, Session: "one", Extra: map[string]string{KernelID: first.Info().KernelID}})
	write(t, path)
	second.Await("the end of the cell", func(m kernel.Message) bool { return m.Cell == "long" && m.Kind == kernel.KindIdle })
	if text := second.Output("long"); !strings.HasSuffix(text, "after\n") {
		t.Errorf("the second process got %q", text)
	}
	if ending := second.Cell("get", "print(x)"); ending.Status != kernel.OK || second.Output("get") != "5\n" {
		t.Errorf("%+v, printed %q", ending, second.Output("get"))
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
	p.cut(false)
	<-first.Done()
	<-running
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}
	_, err := kerneltest.TryStart(t, Driver{}, kernel.Spec{Server: server, Extra: map[string]string{KernelID: first.Info().KernelID}})
	if err == nil || !strings.Contains(err.Error(), "the server has no such kernel") {
		t.Errorf("attach to a deleted kernel: %v", err)
	}
}

// TestAttachToBusy: another process can attach while a cell runs, also if the server says that the kernel is idle.
func TestAttachToBusy(t *testing.T) {
	server := startServer(t)
	first := kerneltest.Start(t, Driver{}, kernel.Spec{Server: server, Session: "one"})
	path := filepath.Join(t.TempDir(), "go")
	running := make(chan struct{})
	go func() {
		defer close(running)
		_, _ = first.Execute(t.Context(), kernel.Cell{ID: "long", Code: waitFor(path)})
	}()
	first.AwaitOutput("long", "before")
	second := kerneltest.Start(t, Driver{}, kernel.Spec{Server: saysIdle(t, server), Session: "two", Extra: map[string]string{KernelID: first.Info().KernelID}})
	write(t, path)
	<-running
	if ending := second.Cell("get", "print(1)"); ending.Status != kernel.OK || second.Output("get") != "1\n" {
		t.Errorf("%+v, printed %q", ending, second.Output("get"))
	}
}

// saysIdle returns a server that passes requests on, and says of each kernel that it is idle.
func saysIdle(t *testing.T, server kernel.Server) kernel.Server {
	t.Helper()
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.StatusCode != http.StatusOK {
			return nil
		}
		data, err := io.ReadAll(r.Body)
		r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(data, []byte(`"busy"`), []byte(`"idle"`))))
		return err
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return kernel.Server{URL: front.URL, Token: server.Token}
}

// TestAttachFails: a kernel to which another process could not attach keeps its variables.
func TestAttachFails(t *testing.T) {
	server := startServer(t)
	first := kerneltest.Start(t, Driver{}, kernel.Spec{Server: server, Session: "one"})
	first.Cell("set", "x = 5")
	_, err := kerneltest.TryStart(t, Driver{}, kernel.Spec{Server: server, StartLimit: 1, Extra: map[string]string{KernelID: first.Info().KernelID}})
	if err == nil || !strings.Contains(err.Error(), "attach to a remote kernel: the kernel was not ready within 1ns") {
		t.Errorf("attach: %v", err)
	}
	if ending := first.Cell("get", "print(x)"); ending.Status != kernel.OK || first.Output("get") != "5\n" {
		t.Errorf("%+v, printed %q", ending, first.Output("get"))
	}
}

// TestLimits: with limits, the server drops output, and the ending says so. Without, 5,000 displays and a large one arrive.
func TestLimits(t *testing.T) {
	const many = "for i in range(5000): display(i)"
	for name, limits := range map[string]string{"limits": "50", "none": "0"} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, "--ServerApp.iopub_msg_rate_limit="+limits)
			k := kerneltest.Start(t, Driver{}, kernel.Spec{Server: server})
			ending := k.Cell("c", many)
			n := 0
			for _, m := range k.Messages() {
				if m.Kind == kernel.KindDisplay {
					n++
				}
			}
			dropped := strings.Contains(ending.Why, "the server dropped output: IOPub message rate exceeded")
			if ending.Status != kernel.OK || dropped != (limits != "0") || dropped == (n == 5000) {
				t.Errorf("%+v with %d displays", ending, n)
			}
			if !strings.Contains(k.Info().ExtraLost, "iopub_msg_rate_limit=0") {
				t.Errorf("info %+v", k.Info())
			}
			if limits == "0" {
				k.Cell("large", "display({'text/plain': 'x' * (60 << 20)}, raw=True)")
				if !slices.ContainsFunc(k.Of("large"), func(m kernel.Message) bool { return len(m.Data["text/plain"]) == 60<<20+2 }) {
					t.Error("the large display is missing")
				}
			}
		})
	}
}

// TestGoroutines: no goroutine is left of a kernel that was closed.
func TestGoroutines(t *testing.T) {
	server := startServer(t)
	before := goleak.IgnoreCurrent()
	k := kerneltest.Start(t, Driver{}, kernel.Spec{Server: server})
	k.Cell("c", "1")
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}

// TestSilence: output that waits for a slow reader is no silence, also if the reply is there.
func TestSilence(t *testing.T) {
	const silence = time.Second
	server := startServer(t, "--ServerApp.iopub_msg_rate_limit=0")
	var n int
	k, err := Driver{}.Start(t.Context(), kernel.Spec{Server: server, Silence: silence}, func(m kernel.Message) {
		if m.Kind != kernel.KindDisplay {
			return
		}
		if n++; n%1000 == 1 {
			<-time.After(2 * silence)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ending, err := k.Execute(t.Context(), kernel.Cell{ID: "c", Code: "for i in range(2000): display(i)"})
	if err != nil || ending.Status != kernel.OK || n != 2000 {
		t.Errorf("%+v with %d displays, error %v", ending, n, err)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
