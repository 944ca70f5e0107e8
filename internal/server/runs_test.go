package server

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/server/client"
	"pawl/internal/tokens"
)

// runOf returns the current run.
func (w *world) runOf() string { return string(w.run().ID) }

// run names the current run.
func (w *world) run() client.Run {
	w.Helper()
	p, err := w.client().Project(w.Context(), w.id)
	if err != nil || p.Run == "" {
		w.Fatalf("%+v, %v", p, err)
	}
	return client.Run{Project: w.id, ID: p.Run}
}

// TestReadRun reads events in pages, and output in ranges, without secrets.
func TestReadRun(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	w := newWorld(t, map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: a, run: 'echo 0123456789; echo " + secret[:4] + "$(echo " + secret[4:] + "); echo err >&2'}\n"})
	w.pawl(0, "run", "plan.yaml")
	run := "/api/runs/" + w.runOf()
	seen, after := 0, 0.0
	for range 100 {
		page := w.want(200, "GET", fmt.Sprintf("%s/events?limit=3&after=%v", run, after), nil).body
		seen, after = seen+len(page["events"].([]any)), page["next"].(float64)
		if page["more"] == false {
			break
		}
	}
	if lines := strings.Count(w.pawl(0, "log", "--json"), "\n"); seen != lines || lines < 4 {
		t.Errorf("%d of %d events", seen, lines)
	}
	whole := w.want(200, "GET", run+"/steps/a/output", nil).text
	if strings.Contains(whole, secret) || !strings.HasPrefix(whole, "0123456789\n[redacted") {
		t.Errorf("output %q", whole)
	}
	if text := w.want(200, "GET", run+"/steps/a/output?stream=err", nil).text; text != "err\n" {
		t.Errorf("standard error %q", text)
	}
	for _, c := range []struct{ header, want string }{
		{"bytes=0-3", "0123"}, {"bytes=5-", whole[5:]}, {"bytes=11-19", "[redacted"}, {"bytes=-4", whole[len(whole)-4:]}, {"bytes=0-99999", whole}, {"bytes=-99999", whole},
	} {
		a := w.want(206, "GET", run+"/steps/a/output", nil, "Range: "+c.header)
		if a.text != c.want || !strings.HasSuffix(a.header.Get("Content-Range"), fmt.Sprint("/", len(whole))) {
			t.Errorf("%s: %q, %s", c.header, a.text, a.header.Get("Content-Range"))
		}
	}
	for _, bad := range []string{"bytes=99999-", "bytes=-", "bytes=a-b", "items=0-1", "bytes=3-1", "bytes=-0", "bytes=0-1,3-4"} {
		w.want(416, "GET", run+"/steps/a/output", nil, "Range: "+bad)
	}
	for _, path := range []string{"/steps/b/output", "/steps/a/output?attempt=7", "/steps/a/output?item=x", "/steps/..%2f..%2f..%2fproject.json/output"} {
		w.want(404, "GET", run+path, nil)
	}
	w.want(400, "GET", run+"/steps/a/output?stream=both", nil)
}

// TestRestore does what its dry run showed, and nothing else.
func TestRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a.txt": "one\n", "b.txt": "one\n", "plan.yaml": "name: demo\nsteps:\n- {id: a, run: 'echo two > a.txt; echo two > b.txt'}\n"})
	w.pawl(0, "run", "plan.yaml")
	run := "/api/runs/" + w.runOf()
	list := w.want(200, "GET", run+"/checkpoints", nil).body["checkpoints"].([]any)
	first := list[0].(map[string]any)["checkpoint"].(string)
	w.write("a.txt", "three\n")
	diff := w.want(200, "GET", run+"/diff?from="+first+"&path=a.txt", nil)
	if files := diff.body["files"].([]any); len(files) != 1 || !strings.Contains(diff.text, `{"op":"-","text":"two"}`) || !strings.Contains(diff.text, `{"op":"+","text":"three"}`) {
		t.Errorf("diff %s", diff.text)
	}
	w.want(404, "GET", run+"/diff?from=nothing", nil)
	w.want(400, "GET", run+"/diff?from="+first+"&path=../x", nil)
	ask := map[string]any{"checkpoint": first}
	for _, path := range []string{"..", "/etc", "a/../../b"} {
		w.want(400, "POST", run+"/restore", map[string]any{"checkpoint": first, "paths": []string{path}})
	}
	dry := w.want(200, "POST", run+"/restore", ask).body
	if changes := dry["changes"].([]any); len(changes) != 1 || dry["done"] != false {
		t.Fatalf("%v", dry)
	}
	w.write("b.txt", "precious\n") // after the client has seen what the restore would change
	ask["plan"] = dry["plan"]
	w.want(409, "POST", run+"/restore", ask)
	if text, err := os.ReadFile(filepath.Join(w.root, "b.txt")); err != nil || string(text) != "precious\n" {
		t.Errorf("b.txt has %q, %v", text, err)
	}
	ask["paths"] = []string{"a.txt"}
	w.want(409, "POST", run+"/restore", ask) // that plan was for all files
	delete(ask, "plan")
	ask["plan"] = w.want(200, "POST", run+"/restore", ask).body["plan"]
	if done := w.want(200, "POST", run+"/restore", ask).body; done["done"] != true || done["before"] == nil {
		t.Errorf("%v", done)
	}
	for name, want := range map[string]string{"a.txt": "two\n", "b.txt": "precious\n"} {
		if text, err := os.ReadFile(filepath.Join(w.root, name)); err != nil || string(text) != want {
			t.Errorf("%s has %q, %v", name, text, err)
		}
	}
	fork := map[string]any{"checkpoint": first}
	fork["plan"] = w.want(200, "POST", run+"/fork", fork).body["plan"]
	if done := w.want(200, "POST", run+"/fork", fork).body; done["done"] != true || done["run"] != w.runOf() || strings.HasSuffix(run, w.runOf()) {
		t.Errorf("%v", done)
	}
}

// TestFollow: a client that follows the changes sees each one once, also if it connects again, and learns that it missed some.
func TestFollow(t *testing.T) {
	t.Parallel()
	w, gate := waiting(t)
	go w.api.watch(t.Context())
	events, leave := w.follow("")
	w.want(200, "POST", at(gate, "/approve"), map[string]any{"shown": gate.Shown}, bearer(w.token(tokens.Approve)))
	last := ""
	for kinds := map[string]bool{}; !kinds["gate"] || !kinds["project"] || !kinds["run"]; {
		e := next(t, events)
		kinds[e["event"]], last = true, e["id"]
		if e["event"] == "gate" && !strings.Contains(e["data"], `"open":false`) {
			t.Errorf("%v", e)
		}
	}
	leave()
	w.api.hub.publish("project", "while away")
	events, leave = w.follow(last)
	for e := next(t, events); !strings.Contains(e["data"], "while away"); e = next(t, events) {
		if e["event"] == "reset" {
			t.Errorf("%v", e)
		}
	}
	leave()
	for range maxEvents + 1 {
		w.api.hub.publish("project", "more")
	}
	for _, cursor := range []string{last, "0", "99999999999999999", "x"} {
		events, leave = w.follow(cursor)
		if e := next(t, events); e["event"] != "reset" || e["id"] == "" {
			t.Errorf("%s: %v", cursor, e)
		}
		leave()
	}
	events, leave = w.follow("")
	defer leave()
	w.api.hub.close()
	if _, more := <-events; more {
		t.Error("the stream did not end with the server")
	}
}

func next(t *testing.T, events <-chan map[string]string) map[string]string {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(time.Minute):
		t.Fatal("no event")
		return nil
	}
}

// follow reads the stream of changes.
func (w *world) follow(last string) (events <-chan map[string]string, leave func()) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), "GET", w.url+"/api/events", nil)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+ownSecret)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
		w.Fatal(response, err)
	}
	sent := make(chan map[string]string, 2*maxEvents)
	go func() {
		defer close(sent)
		e := map[string]string{}
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			if lines.Text() == "" && e["event"] != "" {
				sent <- e
				e = map[string]string{}
			} else {
				e[name] = value
			}
		}
	}()
	return sent, func() { _ = response.Body.Close() }
}

// TestWindow compares ranges with slices.
func TestWindow(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 100)
	for _, header := range []string{"bytes=0-", "bytes=0-0", "bytes=999-", "bytes=10-19", "bytes=-1", "bytes=-10", "bytes=-5000", "bytes=990-5000"} {
		for _, chunk := range []int{1, 7, 10, 1000} {
			w, ok := parseRange(header)
			if !ok {
				t.Fatal(header)
			}
			for rest := text; rest != ""; {
				n := min(chunk, len(rest))
				_, _ = w.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			from, data := w.result()
			if string(data) != text[from:from+int64(len(data))] || w.total != int64(len(text)) || len(data) == 0 {
				t.Errorf("%s by %d: %d %q", header, chunk, from, data)
			}
		}
	}
}
