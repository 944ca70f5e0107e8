package server

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/server/client"
	"pawl/internal/tokens"
)

// TestBulk acts in each project alone: one is paused already, one has no run, and one does not exist.
func TestBulk(t *testing.T) {
	t.Parallel()
	plan := map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: look, gate: {type: human_verify, ask: Good?}}\n"}
	a, b, empty := newWorld(t, plan), newWorld(t, plan), newWorld(t, nil)
	for _, w := range []*world{a, b} {
		w.pawl(3, "run", "plan.yaml")
	}
	a.want(200, "POST", "/api/projects/"+a.id+"/pause", nil)
	bulk := func(action, key string) map[string]string {
		t.Helper()
		body := map[string]any{"action": action, "why": "lunch", "projects": []string{b.id, a.id, empty.id, "nothing", b.id}}
		answer := a.want(200, "POST", "/api/bulk", body, "Idempotency-Key: "+key)
		got := map[string]string{}
		for _, r := range answer.body["results"].([]any) {
			result := r.(map[string]any)
			got[result["project"].(string)] = fmt.Sprint(result["status"], " ", result["success"])
		}
		return got
	}
	want := map[string]string{a.id: "409 false", b.id: "200 true", empty.id: "404 false", "nothing": "404 false"}
	for range 2 { // the second one is a repetition
		if got := bulk("pause", "bulk-"+a.id); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("pause: %v, want %v", got, want)
		}
	}
	if n := strings.Count(b.pawl(0, "log"), "run paused: lunch"); n != 1 {
		t.Errorf("paused %d times", n)
	}
	want[a.id], want[b.id] = "200 true", "200 true"
	if got := bulk("stop", "stop-"+a.id); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("stop: %v, want %v", got, want)
	}
	audit, err := os.ReadFile(a.api.audit.path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(audit), `"do":"pause-project","path":"/api/projects/`+b.id+`/pause"`); n != 2 {
		t.Errorf("%d lines of the audit about the pause of one project, want 2", n)
	}
	a.want(403, "POST", "/api/bulk", map[string]any{"action": "pause", "projects": []string{b.id}}, bearer(a.token(tokens.Read)))
	a.want(400, "POST", "/api/bulk", map[string]any{"action": "done", "projects": []string{b.id}})
	a.want(400, "POST", "/api/bulk", map[string]any{"action": "pause", "projects": []string{}})
}

// TestLateBulk: an action that takes too long is told as such, and does not hold up the results of the others. A panic about one project
// is its result.
func TestLateBulk(t *testing.T) {
	t.Parallel()
	a, hold, late := documented(newRecovery(Config{})), make(chan struct{}), make(chan struct{})
	results := a.eachOfBulk([]string{"a", "b"}, time.Second, func(id string, _ time.Time) client.BulkResult {
		if id == "a" {
			<-hold
			defer close(late)
		}
		return client.BulkResult{Project: id, Status: http.StatusOK}
	})
	if results[0].Status != http.StatusGatewayTimeout || results[0].Project != "a" || results[1].Status != http.StatusOK {
		t.Errorf("%+v", results)
	}
	close(hold)
	<-late
	bad := action{verb: "pause", allowed: func(pawl.RunStatus) bool { panic("a bug") }}
	w := newWorld(t, map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: a, run: 'true'}\n"})
	w.pawl(0, "run", "plan.yaml")
	if one := w.api.oneOfBulk(t.Context(), w.id, bad, "", time.Now().Add(time.Hour)); one.Status != http.StatusInternalServerError || !strings.Contains(one.Detail, "a bug") {
		t.Errorf("%+v", one)
	}
	w.want(400, "POST", "/api/bulk", map[string]any{"action": "pause", "projects": []string{strings.Repeat("x", maxProjectID+1)}})
}
