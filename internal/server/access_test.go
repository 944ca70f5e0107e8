package server

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/tokens"
)

// TestRights: each operation is refused without its right. The refusal names the right, and nothing is done.
func TestRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: look, gate: {type: human_verify, ask: ok?}}\n"})
	w.pawl(3, "run", "plan.yaml")
	d, err := document()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for path, item := range d.content["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			right, _ := op.(map[string]any)[rightKey].(string)
			if right == "" {
				continue
			}
			var others []tokens.Right
			for _, r := range tokens.Rights {
				if string(r) != right {
					others = append(others, r)
				}
			}
			target := strings.NewReplacer("{id}", w.id, "{run}", "x", "{step}", "x").Replace(path)
			a := w.want(http.StatusForbidden, strings.ToUpper(method), target, map[string]string{}, bearer(w.token(others...)))
			if a.body["right"] != right {
				t.Errorf("%s %s names the right %v, not %s", method, path, a.body["right"], right)
			}
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("only %d operations need a right", checked)
	}
	if status := w.want(200, "GET", "/api/projects/"+w.id, nil).body["status"]; status != "waiting" {
		t.Errorf("the project is %v", status)
	}
}

// TestUnknownClients: no token, a wrong one, that of another server and a revoked one are refused.
func TestUnknownClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	revoked := w.token(tokens.Read)
	w.want(200, "GET", "/api/session", nil, bearer(revoked))
	all, err := w.api.store.List(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range all {
		if found, err := w.api.store.Find(revoked, tokens.Client, time.Now()); err == nil && found.ID == token.ID {
			if _, err := w.api.store.Revoke(token.Name, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, header := range []string{"Authorization: ", "Authorization: Basic x", bearer(ownSecret + "0"), bearer(ownSecret[1:]), bearer(revoked), bearer("")} {
		for _, path := range []string{"/api/projects", "/api/session", "/api/events", "/api/gates"} {
			w.want(http.StatusUnauthorized, "GET", path, nil, header)
		}
	}
}

// login logs a browser in, and returns its cookie and its key.
func (w *world) login(rights ...tokens.Right) (cookie, key string) {
	w.Helper()
	code, err := w.api.store.Link("ann", rights, time.Now())
	if err != nil {
		w.Fatal(err)
	}
	a := w.want(200, "POST", "/api/login", map[string]string{"code": code}, "Authorization: ")
	set := a.header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "pawl_"} {
		if !strings.Contains(set, part) {
			w.Errorf("cookie %q without %s", set, part)
		}
	}
	w.want(http.StatusUnauthorized, "POST", "/api/login", map[string]string{"code": code}, "Authorization: ")
	cookie, _, _ = strings.Cut(set, ";")
	return "Cookie: " + cookie, "Pawl-Key: " + a.body["key"].(string)
}

// TestStolenCookie: a program on another port gets the cookie from the browser, and a page there has the browser send it.
func TestStolenCookie(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	cookie, key := w.login(tokens.Rights...)
	none := "Authorization: "
	if s := w.want(200, "GET", "/api/session", nil, none, cookie); s.body["name"] != "ann" || s.body["expires"] == nil {
		t.Errorf("session %v", s.body)
	}
	pause := "/api/projects/" + w.id + "/pause"
	w.want(http.StatusForbidden, "POST", pause, nil, none, cookie)                           // the program has no key
	w.want(http.StatusForbidden, "POST", pause, nil, none, cookie, "Pawl-Key: "+key)         // and guesses none
	w.want(http.StatusForbidden, "POST", pause, nil, none, cookie, "Pawl-Key: "+cookie[20:]) // nor makes it of the cookie
	for _, from := range []string{"same-site", "cross-site"} {
		w.want(http.StatusForbidden, "GET", "/api/projects", nil, none, cookie, "Sec-Fetch-Site: "+from)
		w.want(http.StatusForbidden, "POST", pause, nil, none, cookie, key, "Sec-Fetch-Site: "+from)
	}
	w.want(http.StatusForbidden, "GET", "/api/projects", nil, none, cookie, "Origin: http://127.0.0.1:1")
	w.want(http.StatusForbidden, "POST", pause, nil, none, cookie, key, "Origin: http://127.0.0.1:1")
	w.want(http.StatusForbidden, "POST", pause, nil, none, cookie, key, "Origin: null")
	w.want(http.StatusNotFound, "POST", pause, nil, none, cookie, key) // the page itself: there is no run
	secret := strings.SplitN(cookie, "=", 2)[1]
	w.want(http.StatusUnauthorized, "GET", "/api/session", nil, bearer(secret)) // a session is no token
	w.want(http.StatusUnauthorized, "GET", "/api/session", nil, none, strings.Replace(cookie, "pawl_", "pawl_0", 1))
	w.want(http.StatusNoContent, "POST", "/api/logout", nil, none, cookie, key)
	w.want(http.StatusUnauthorized, "GET", "/api/session", nil, none, cookie)
}

// TestRebinding: a name that resolves to this machine does not reach the server.
func TestRebinding(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example"} {
		for _, path := range []string{"/api/projects", "/api/events", "/healthz", "/openapi.json"} {
			if a := w.call("GET", path, nil, "Host: "+host); a.status != http.StatusForbidden {
				t.Errorf("%s at %s: %d", path, host, a.status)
			}
		}
	}
}

// TestLogins: after five wrong codes in a minute, the right one has to wait too. What is refused then is not in the audit, so that it
// does not grow.
func TestLogins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.api.audit.path = filepath.Join(t.TempDir(), "audit.jsonl")
	for i := range loginsPerMinute {
		if i%2 == 0 {
			w.want(http.StatusUnauthorized, "POST", "/api/login", map[string]string{"code": "x"}, "Authorization: ")
		} else {
			w.want(http.StatusBadRequest, "POST", "/api/login", map[string]string{"other": "x"}, "Authorization: ")
		}
	}
	before := w.auditLines()
	for range 3 {
		w.want(http.StatusTooManyRequests, "POST", "/api/login", map[string]string{"code": "x"}, "Authorization: ")
	}
	if after := w.auditLines(); before == 0 || after != before {
		t.Errorf("%d lines became %d", before, after)
	}
	code, err := w.api.store.Link("ann", tokens.Default, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.want(http.StatusTooManyRequests, "POST", "/api/login", map[string]string{"code": code}, "Authorization: ")
	w.api.logins.minute = time.Now().Add(-time.Minute)
	w.want(200, "POST", "/api/login", map[string]string{"code": code}, "Authorization: ")
}

// auditLines counts the lines of the audit.
func (w *world) auditLines() int {
	w.Helper()
	data, err := os.ReadFile(w.api.audit.path)
	if err != nil {
		w.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

// TestTooManyCalls limits each token alone.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.api.calls.most = 3
	busy := bearer(w.token(tokens.Read))
	for range 3 {
		w.want(200, "GET", "/api/session", nil, busy)
	}
	if a := w.want(http.StatusTooManyRequests, "GET", "/api/session", nil, busy); a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	w.want(200, "GET", "/api/session", nil)
}

// TestBadInput: unknown keys, wrong types, large bodies and odd ids are refused, with the place.
func TestBadInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	retry := "/api/projects/" + w.id + "/retry"
	for body, place := range map[string]string{
		`{"step":"a","stepp":"b"}`: "body.stepp", `{"step":1}`: "body.step", `{"step":"a","items":[1]}`: "body.items[0]",
	} {
		a := w.want(http.StatusBadRequest, "POST", retry, body)
		if !strings.Contains(a.text, `"`+place+`"`) && !strings.Contains(a.text, `"location":"body"`) {
			t.Errorf("%s: %s", body, a.text)
		}
	}
	w.want(http.StatusBadRequest, "POST", retry, `{"step":`)
	w.want(http.StatusBadRequest, "POST", retry, `{}`)
	w.want(http.StatusBadRequest, "GET", "/api/projects?limit=0", nil)
	w.want(http.StatusRequestEntityTooLarge, "POST", retry, `{"why":"`+strings.Repeat("x", maxBody)+`"}`)
	w.want(http.StatusRequestEntityTooLarge, "POST", retry, `{"why":"`+strings.Repeat("x", maxBody)+`"}`, "Idempotency-Key: large")
	for _, id := range []string{"..", "%2e%2e", "..%2f..%2fetc", "%00", "x", "-", strings.Repeat("a", 64), w.id[:8], w.id + "%2f..", "*"} {
		for _, path := range []string{
			"/api/projects/" + id, "/api/projects/" + id + "/state", "/api/runs/" + id, "/api/runs/" + id + "/events", "/api/gates/" + id, "/api/gates/" + id + "~x",
			"/api/runs/" + id + "/steps/" + id + "/output", "/api/runs/" + id + "/checkpoints",
		} {
			if a := w.call("GET", path, nil); a.status != http.StatusNotFound && a.status != http.StatusMovedPermanently && a.status != http.StatusTemporaryRedirect && a.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", path, a.status, a.text)
			}
		}
	}
}

// TestAudit has a line before and a line after each write, and one for a refused one; none for reading.
func TestAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: look, gate: {type: human_verify, ask: ok?}}\n"})
	w.api.audit.path = filepath.Join(w.TempDir(), "audit.jsonl")
	w.pawl(3, "run", "plan.yaml")
	w.want(200, "GET", "/api/projects", nil)
	w.want(200, "POST", "/api/projects/"+w.id+"/pause", nil)
	w.want(403, "POST", "/api/projects/"+w.id+"/done", map[string]string{"step": "look"})
	data, err := os.ReadFile(w.api.audit.path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []auditLine
	for text := range strings.Lines(string(data)) {
		var line auditLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 3 || lines[0].Status != 0 || lines[1].Status != 200 || lines[0].Call != lines[1].Call || lines[2].Status != 403 {
		t.Fatalf("%s", data)
	}
	if l := lines[1]; l.Name != ownName || l.Token != ownToken || l.Right != tokens.Operate || l.Do != "pause-project" || !strings.Contains(l.Path, w.id) || l.From == "" {
		t.Errorf("%+v", l)
	}
	w.api.audit.path = filepath.Join(w.root, "plan.yaml", "audit.jsonl") // it cannot be written
	w.want(http.StatusServiceUnavailable, "POST", "/api/projects/"+w.id+"/stop", nil)
	if events := w.pawl(0, "log", "--json"); strings.Contains(events, "run.stopped") {
		t.Error("the run was stopped without a line in the audit")
	}
}
