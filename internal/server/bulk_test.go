package server

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pawl/internal/server/client"
	"pawl/internal/tokens"
	"pawl/test/stories/storytest"
)

// lookPlan waits at a gate.
var lookPlan = map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: look, gate: {type: human_verify, ask: Good?}}\n"}

// bulk sends a request about an action in several projects.
func (w *world) bulk(body map[string]any) (b client.Bulk) {
	w.Helper()
	if err := json.Unmarshal([]byte(w.want(200, "POST", "/api/bulk", body).text), &b); err != nil {
		w.Fatal(err)
	}
	return b
}

// counted counts the projects of an action, begins it, and returns what it was to do and what it did, by project.
func (w *world) counted(body map[string]any) (before, after map[string]string) {
	w.Helper()
	b := w.bulk(map[string]any{"action": body["action"], "projects": body["projects"]})
	before, after = map[string]string{}, map[string]string{}
	for _, p := range b.Projects {
		before[p.Project] = p.Will + p.Refused
	}
	if b.State != client.BulkCounted || b.Done != 0 {
		w.Errorf("counted: %+v", b)
	}
	for range 2 { // the second one only shows it
		w.bulk(map[string]any{"token": b.Token, "why": body["why"]})
	}
	if !storytest.Until(func() bool {
		if err := json.Unmarshal([]byte(w.want(200, "GET", "/api/bulk/"+b.Token, nil).text), &b); err != nil {
			w.Fatal(err)
		}
		return b.State == client.BulkDone
	}) {
		w.Fatalf("never done: %+v", b)
	}
	failed := 0
	for _, p := range b.Projects {
		if p.Result != nil {
			after[p.Project] = fmt.Sprint(p.Result.Status)
			if !p.Result.Success {
				failed++
			}
		}
	}
	if b.Done != len(after) || b.Done != b.Possible || b.Failed != failed || b.Count != len(b.Projects) {
		w.Errorf("%d of %d done, %d failed: %+v", b.Done, b.Possible, b.Failed, b)
	}
	return before, after
}

// knows has the server of a world serve the projects of others, too.
func (w *world) knows(others ...*world) {
	for _, o := range others {
		w.api.learn(o.api.knownProject(o.id))
	}
}

func wantAll(t *testing.T, what string, got map[string]string, want map[string]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestBulk acts in each project alone: one is paused already, one has no run, and one does not exist. Nothing is done before the token is
// sent, and all of it once.
func TestBulk(t *testing.T) {
	t.Parallel()
	a, b, empty := newWorld(t, lookPlan), newWorld(t, lookPlan), newWorld(t, nil)
	for _, w := range []*world{a, b} {
		w.pawl(3, "run", "plan.yaml")
	}
	a.want(200, "POST", "/api/projects/"+a.id+"/pause", map[string]any{"why": "dinner"})
	ids := []string{b.id, a.id, empty.id, "nothing", b.id}
	before, after := a.counted(map[string]any{"action": "pause", "projects": ids, "why": "lunch"})
	wantAll(t, "counted", before, map[string]string{
		a.id: "dinner", b.id: pauseAction.does, empty.id: "no runs yet (a plan or a session of an attached agent starts one)", "nothing": "no project nothing",
	})
	wantAll(t, "pause", after, map[string]string{b.id: "200"})
	if n := strings.Count(b.pawl(0, "log"), "run paused: lunch"); n != 1 {
		t.Errorf("paused %d times", n)
	}
	before, after = a.counted(map[string]any{"action": "resume", "projects": []string{a.id, b.id}, "why": ""})
	wantAll(t, "counted", before, map[string]string{a.id: "ask you about look", b.id: "ask you about look"})
	wantAll(t, "resume", after, map[string]string{a.id: "200", b.id: "200"})
	audit, err := os.ReadFile(a.api.audit.path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(audit), `"do":"pause-project","path":"/api/projects/`+b.id+`/pause"`); n != 2 {
		t.Errorf("%d lines of the audit about the pause of one project, want 2", n)
	}
}

// TestBulkInput: a token is that of the client who counted, and expires.
func TestBulkInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	one := map[string]any{"action": "pause", "projects": []string{w.id}}
	w.want(403, "POST", "/api/bulk", one, bearer(w.token(tokens.Read)))
	for _, bad := range []map[string]any{
		{}, {"action": "done", "projects": []string{w.id}}, {"action": "pause"}, {"action": "pause", "projects": []string{}},
		{"action": "pause", "projects": []string{w.id}, "filter": map[string]any{}}, {"action": "pause", "filter": map[string]any{"state": "x"}},
	} {
		w.want(400, "POST", "/api/bulk", bad)
	}
	b := w.bulk(one)
	other := bearer(w.token(tokens.Operate))
	w.want(404, "POST", "/api/bulk", map[string]any{"token": b.Token}, other)
	w.want(404, "GET", "/api/bulk/"+b.Token, nil, other)
	w.api.bulks.known[0].at = time.Now().Add(-bulkLasts - time.Second)
	w.want(409, "POST", "/api/bulk", map[string]any{"token": b.Token})
	last := ""
	for range maxBulks + 1 {
		last = w.bulk(one).Token
	}
	if n := len(w.api.bulks.known); n != maxBulks {
		t.Errorf("%d actions are remembered", n)
	}
	w.want(404, "GET", "/api/bulk/"+b.Token, nil)
	w.want(200, "GET", "/api/bulk/"+last, nil)
}

// TestBulkFilter retries the failed step of each project that a filter selects, unless its run has changed since the projects were counted.
func TestBulkFilter(t *testing.T) {
	t.Parallel()
	failing := func(run string) map[string]string {
		return map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: work, run: \"" + run + "\"}\n"}
	}
	a, b, c, good := newWorld(t, failing("exit 7")), newWorld(t, failing("exit 7")), newWorld(t, failing("exit 8")), newWorld(t, failing("true"))
	for _, w := range []*world{a, b, c} {
		w.pawl(4, "run", "plan.yaml")
		w.look()
	}
	good.pawl(0, "run", "plan.yaml")
	good.look()
	a.knows(b, c, good)
	list := a.want(200, "GET", "/api/projects?failing=true&limit=1", nil)
	if got := fmt.Sprint(list.body["reasons"]); got != "[map[projects:2 reason:exit code 7] map[projects:1 reason:exit code 8]]" {
		t.Errorf("reasons %s", got)
	}
	if n := len(a.want(200, "GET", "/api/projects?failing=true&reason=exit+code+8", nil).body["projects"].([]any)); n != 1 {
		t.Errorf("%d projects with exit code 8", n)
	}
	counted := a.bulk(map[string]any{"action": "retry", "filter": map[string]any{"failing": true, "reason": "exit code 7"}})
	if counted.Count != 2 || counted.Possible != 2 || counted.Projects[0].Will != "rerun step work: exit code 7" {
		t.Errorf("%+v", counted)
	}
	b.pawl(0, "retry", "work", "--message", "by hand")
	a.bulk(map[string]any{"token": counted.Token})
	if !storytest.Until(func() bool {
		return a.want(200, "GET", "/api/bulk/"+counted.Token, nil).body["state"] == client.BulkDone
	}) {
		t.Fatal("never done")
	}
	got := map[string]any{}
	for _, p := range a.want(200, "GET", "/api/bulk/"+counted.Token, nil).body["projects"].([]any) {
		of := p.(map[string]any)
		got[of["project"].(string)] = of["result"].(map[string]any)["status"]
	}
	if got[a.id] != 200.0 || got[b.id] != 412.0 || !strings.Contains(a.pawl(0, "log"), "queued for retry") {
		t.Errorf("results %v, want 200 and 412", got)
	}
	if strings.Contains(c.pawl(0, "log"), "retry") {
		t.Error("retried, though the filter does not select it")
	}
}

// TestSelection: what people look for in a long list.
func TestSelection(t *testing.T) {
	t.Parallel()
	now := time.Now()
	long, short := now.Add(-2*time.Hour), now.Add(-time.Minute)
	var waiting, fresh, answered, retried, failed watched
	waiting.Status, waiting.Waiting, waiting.Gates = "waiting", &long, 1
	fresh.Status, fresh.Waiting, fresh.Gates = "active", &short, 1
	answered.Status, answered.Updated = "waiting", long // a blocker or a review
	retried.Status, retried.Retrying = "active", true
	failed.Status, failed.FailedStep, failed.Reason = "failed", "x", "missing output"
	all := map[string]*watched{"waiting": &waiting, "fresh": &fresh, "answered": &answered, "retried": &retried, "failed": &failed}
	for want, f := range map[string]Selection{
		"answered fresh waiting": {Waiting: true}, "answered waiting": {Seconds: 3600}, "retried": {Retrying: true}, "failed": {Failing: true, Reason: "missing output"},
		"": {Reason: "timed out"},
	} {
		var got []string
		for _, name := range []string{"answered", "failed", "fresh", "retried", "waiting"} {
			if f.selects(all[name], now) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v selects %q, want %q", f, got, want)
		}
	}
	for why, want := range map[string]string{
		"exit code 7": "exit code 7", "timed out after 1s (timeout: 1s)": "timed out", "check chk failed (exit code 1)": "check chk failed",
		"2 of 3 items failed: x: exit code 3; y: exit code 3": "items failed", "ended by SIGKILL, not by pawl": "ended by SIGKILL, not by pawl",
	} {
		if got := reasonOf(why); got != want {
			t.Errorf("reasonOf(%q) = %q, want %q", why, got, want)
		}
	}
}
