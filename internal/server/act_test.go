package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/server/client"
	"pawl/internal/tokens"
)

// gatePlan has a step with an output, and a gate that shows it.
const gatePlan = `name: demo
steps:
- {id: draft, run: "test -e out.txt || echo one > out.txt", outputs: [out.txt]}
- {id: look, gate: {type: human_verify, ask: "Is it good?"}}
- {id: after, run: "true"}
`

// waiting makes a world whose run waits at a gate, and returns the gate.
func waiting(t *testing.T) (w *world, gate client.OpenGate) {
	t.Helper()
	w = newWorld(t, map[string]string{"plan.yaml": gatePlan})
	w.pawl(3, "run", "plan.yaml")
	w.look()
	return w, w.gate()
}

// gate returns the open gate of the project.
func (w *world) gate() client.OpenGate {
	w.Helper()
	list, err := w.client().Gates(w.Context(), w.id)
	if err != nil || len(list) != 1 {
		w.Fatalf("gates %v, %v", list, err)
	}
	return list[0]
}

func at(gate client.OpenGate, verb string) string { return "/api/gates/" + gate.ID + verb }

// TestManyGates: a list of gates does not read all projects, but those that wait longest.
func TestManyGates(t *testing.T) {
	t.Parallel()
	w, first := waiting(t)
	other, second := waiting(t)
	w.api.known[other.id] = other.api.known[other.id]
	if all := w.api.gatesOfAll(t.Context(), 2); all.More || len(all.Gates) != 2 || all.Gates[0].ID != first.ID || all.Gates[1].ID != second.ID {
		t.Errorf("%+v", all)
	}
	if some := w.api.gatesOfAll(t.Context(), 1); !some.More || len(some.Gates) != 1 || some.Gates[0].ID != first.ID {
		t.Errorf("%+v", some)
	}
}

// TestApprove approves exactly what a gate shows, under the name of the token.
func TestApprove(t *testing.T) {
	t.Parallel()
	w, gate := waiting(t)
	if p := w.want(200, "GET", "/api/projects/"+w.id, nil).body; p["gates"] != 1.0 || p["waiting_since"] == nil {
		t.Errorf("project %v", p)
	}
	if list := w.want(200, "GET", "/api/projects?waiting=true&q="+w.root, nil).body["projects"].([]any); len(list) != 1 {
		t.Errorf("waiting: %v", list)
	}
	if list := w.want(200, "GET", "/api/projects?failing=true&q="+w.root, nil).body["projects"].([]any); len(list) != 0 {
		t.Errorf("failing: %v", list)
	}
	w.want(200, "GET", at(gate, ""), nil)
	w.want(200, "GET", "/api/v1/gates/"+gate.ID, nil)
	if _, shown := gate.Outputs["out.txt"]; gate.Ask != "Is it good?" || !shown {
		t.Errorf("gate %+v", gate)
	}
	c, ctx, shown := w.client(tokens.Approve), t.Context(), client.Reply{Shown: gate.Shown, Why: "read it"}
	done, err := w.client().Answer(ctx, gate.ID, "approve", shown) // the server's own token has no such right
	w.refused(403, done, err)
	done, err = c.Answer(ctx, gate.ID, "approve", client.Reply{Shown: strings.Repeat("0", 64)})
	w.refused(409, done, err)
	done, err = c.Answer(ctx, gate.ID, "answer", client.Reply{Shown: gate.Shown, Option: "yes"})
	w.refused(409, done, err)
	may := bearer(w.token(tokens.Approve))
	w.want(400, "POST", at(gate, "/approve"), map[string]any{"why": "blind"}, may)
	w.want(400, "POST", at(gate, "/deny"), map[string]any{"shown": gate.Shown}, may)
	w.want(400, "POST", at(gate, "/approve"), map[string]any{"shown": gate.Shown, "resolved_by": "somebody else"}, may)
	done, err = c.Answer(ctx, gate.ID, "approve", shown)
	if log := w.pawl(0, "log", "--json"); err != nil || done.ResolvedBy == "" || !strings.Contains(log, `"name":"`+done.ResolvedBy+`"`) || !strings.Contains(log, `"via":"pawl serve"`) {
		t.Errorf("%+v, %v: %s", done, err, log)
	}
	done, err = c.Answer(ctx, gate.ID, "approve", shown)
	w.refused(404, done, err)
	w.want(404, "GET", at(gate, ""), nil)
}

// TestChangedGate: what a gate shows is edited after the client has seen it. The client's approval does not count, and the gate is not
// shown as it was any more.
func TestChangedGate(t *testing.T) {
	t.Parallel()
	w, gate := waiting(t)
	c, ctx, old := w.client(tokens.Approve), t.Context(), client.Reply{Shown: gate.Shown}
	w.write("out.txt", "forged\n")
	if now := w.gate(); now.Shown != "" || len(now.Changed) == 0 {
		t.Errorf("gate %+v", now)
	}
	for _, status := range []int{409, 404} { // then it is withdrawn
		done, err := c.Answer(ctx, gate.ID, "approve", old)
		w.refused(status, done, err)
	}
	w.pawl(3, "resume", "--yes") // asks again
	again := w.gate()
	done, err := c.Answer(ctx, again.ID, "approve", old)
	w.refused(409, done, err)
	if done, err := c.Answer(ctx, again.ID, "approve", client.Reply{Shown: again.Shown}); err != nil {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestDeny sends the steps back with the feedback, and an earlier step too.
func TestDeny(t *testing.T) {
	t.Parallel()
	w, gate := waiting(t)
	may := bearer(w.token(tokens.Approve))
	w.want(400, "POST", at(gate, "/deny"), map[string]any{"shown": gate.Shown, "feedback": "x", "to_step": "nothing"}, may)
	w.want(200, "POST", at(gate, "/deny"), map[string]any{"shown": gate.Shown, "feedback": "too short", "to_step": "draft"}, may)
	if log := w.pawl(0, "log", "--json"); !strings.Contains(log, "too short") || !strings.Contains(log, "step.reopened") {
		t.Error(log)
	}
}

// TestAnswer chooses an option.
func TestAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: which, gate: {type: decision, ask: which?, options: [red, blue]}}\n"})
	w.pawl(3, "run", "plan.yaml")
	gate, c, ctx := w.gate(), w.client(tokens.Approve), t.Context()
	done, err := c.Answer(ctx, gate.ID, "answer", client.Reply{Shown: gate.Shown, Option: "green"})
	w.refused(409, done, err)
	done, err = c.Answer(ctx, gate.ID, "approve", client.Reply{Shown: gate.Shown})
	w.refused(409, done, err)
	if done, err := c.Answer(ctx, gate.ID, "answer", client.Reply{Shown: gate.Shown, Option: "blue"}); err != nil {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestActions: pause, stop, retry, skip and done act like the commands. If-Match keeps a client from acting on what it has not seen.
func TestActions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: a, run: 'false'}\n- {id: b, run: 'true'}\n"})
	to := func(verb string) string { return "/api/projects/" + w.id + "/" + verb }
	w.want(404, "POST", to("pause"), nil)
	w.want(404, "GET", to("state"), nil)
	w.pawl(4, "run", "plan.yaml")
	w.look()
	if p := w.want(200, "GET", "/api/projects?failing=true&q="+w.root, nil).body["projects"].([]any); len(p) != 1 || p[0].(map[string]any)["failed_step"] != "a" {
		t.Errorf("failing: %v", p)
	}
	old := w.want(200, "GET", to("state"), nil).header.Get("ETag")
	if a := w.want(409, "POST", to("resume"), nil); a.body["state"] != "failed" || a.body["message"] != "Project not paused" || a.body["success"] != false {
		t.Errorf("%v", a.body)
	}
	w.want(409, "POST", to("stop"), nil)
	w.want(400, "POST", to("retry"), nil)
	w.want(400, "POST", to("pause"), map[string]any{"step": "a"})
	w.want(404, "POST", to("retry"), map[string]any{"step": "nothing"})
	w.want(200, "POST", to("retry"), map[string]any{"step": "a", "why": "again"}, "If-Match: "+old)
	w.want(412, "POST", to("skip"), map[string]any{"step": "a"}, "If-Match: "+old)
	w.want(200, "POST", to("pause"), map[string]any{"why": "lunch"})
	w.want(409, "POST", to("pause"), nil)
	dry := w.want(200, "POST", to("resume")+"?dry_run=true", nil).body
	if steps := dry["recovery"].(map[string]any)["steps"].([]any); len(steps) != 2 {
		t.Errorf("%v", dry)
	}
	w.want(200, "GET", to("recovery"), nil)
	w.want(200, "POST", to("stop"), nil)
	w.want(403, "POST", to("done"), map[string]any{"step": "a"})
	w.want(200, "POST", to("done"), map[string]any{"step": "a", "why": "by hand"}, bearer(w.token(tokens.Approve)))
	w.want(409, "POST", to("done"), map[string]any{"step": "a"}, bearer(w.token(tokens.Approve)))
	w.want(412, "POST", to("resume"), nil, "If-Match: "+old)
	w.want(200, "POST", to("skip"), map[string]any{"step": "b"})
}

// TestRepeats: a request with a key is done once, also if two come at the same time, and another body with the key is refused. A new
// server knows the key too.
func TestRepeats(t *testing.T) {
	t.Parallel()
	w, _ := waiting(t)
	ask := "/api/projects/" + w.id + "/pause"
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if a := w.call("POST", ask, map[string]any{"why": "x"}, "Idempotency-Key: k-"+w.id); a.status != 200 {
				t.Errorf("%d: %s", a.status, a.text)
			}
		})
	}
	all.Wait()
	if n := strings.Count(w.pawl(0, "log", "--json"), `"run.paused"`); n != 1 {
		t.Errorf("paused %d times", n)
	}
	w.want(http.StatusUnprocessableEntity, "POST", ask, map[string]any{"why": "y"}, "Idempotency-Key: k-"+w.id)
	w.want(409, "POST", ask, map[string]any{"why": "x"}, "Idempotency-Key: other-"+w.id)
	w.want(409, "POST", ask, map[string]any{"why": "x"}, "Idempotency-Key: k-"+w.id, bearer(w.token(tokens.Operate))) // of another client
	other := &repeats{folder: w.api.repeat.folder}                                                                    // of another server of this user
	again := httptest.NewRequest("POST", ask, strings.NewReader(`{"why":"x"}`))
	again.Header.Set(repeatHeader, "k-"+w.id)
	answer := httptest.NewRecorder()
	other.once(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("done again") })).
		ServeHTTP(answer, again.WithContext(context.WithValue(t.Context(), clientKey{}, tokens.Token{ID: ownToken})))
	if answer.Code != http.StatusOK || answer.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("not replayed: %d %s", answer.Code, answer.Body)
	}
}

// TestStartRun starts plans of the project only.
func TestStartRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": gatePlan, "deep/plan.yaml": "name: p\nparams: {who: {required: true}}\nsteps:\n- {id: look, gate: {type: human_action, ask: ok?}}\n"})
	to, may := "/api/projects/"+w.id+"/runs", bearer(w.token(tokens.Run))
	for _, plan := range []string{"", "../plan.yaml", "/etc/passwd", "nothing.yaml", ".pawl/project.json", "deep/../../x", "-", "deep"} {
		w.want(400, "POST", to, map[string]any{"plan": plan}, may)
	}
	w.want(403, "POST", to, map[string]any{"plan": "plan.yaml"})
	first := w.want(201, "POST", to, map[string]any{"plan": "deep/plan.yaml", "params": map[string]string{"who": "ann"}}, may).body["run"].(string)
	w.want(200, "GET", "/api/runs/"+first, nil)
	w.want(409, "POST", to, map[string]any{"plan": "deep/plan.yaml", "params": map[string]string{"who": "ann"}}, may)
	if list := w.want(200, "GET", to, nil).body["runs"].([]any); len(list) != 1 {
		t.Errorf("runs %v", list)
	}
	w.pawl(0, "stop")
}

// TestRetryFollowing reruns a step and all steps that need it, though its output stays the same. The gate among them asks again.
func TestRetryFollowing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": `name: demo
steps:
- {id: draft, run: "echo one > out.txt; echo >> draft.runs", outputs: [out.txt]}
- {id: other, needs: [], run: "echo >> other.runs"}
- {id: look, needs: [draft], gate: {type: human_verify, ask: "Is it good?"}}
- {id: after, needs: [look], run: "echo >> after.runs"}
- {id: never, needs: [after], run: "echo >> never.runs; test -e go"}
`})
	w.pawl(3, "run", "plan.yaml")
	w.want(200, "POST", at(w.gate(), "/approve"), map[string]any{"shown": w.gate().Shown}, bearer(w.token(tokens.Approve, tokens.Read)))
	w.pawl(4, "resume")
	w.write("go", "")
	w.want(200, "POST", "/api/projects/"+w.id+"/retry", map[string]any{"step": "draft", "why": "better", "following": true})
	w.pawl(3, "resume")
	w.want(200, "POST", at(w.gate(), "/approve"), map[string]any{"shown": w.gate().Shown}, bearer(w.token(tokens.Approve, tokens.Read)))
	w.pawl(0, "resume")
	for name, want := range map[string]int{"draft": 2, "other": 1, "after": 2, "never": 2} {
		data, err := os.ReadFile(filepath.Join(w.root, name+".runs"))
		if err != nil || len(data) != want {
			t.Errorf("%s ran %d times, want %d; %v", name, len(data), want, err)
		}
	}
}

// TestViewers: a gate says who else has opened it.
func TestViewers(t *testing.T) {
	t.Parallel()
	w, gate := waiting(t)
	one, other := bearer(w.token(tokens.Read)), bearer(w.token(tokens.Read))
	before := w.want(200, "GET", at(gate, ""), nil, one).body
	if before["viewers"] != nil {
		t.Errorf("viewers %v", before["viewers"])
	}
	events, _, _, _, _ := w.api.hub.after(w.api.hub.newest() - 1)
	if len(events) != 1 || events[0].kind != "gate" {
		t.Errorf("events %v", events)
	}
	after := w.want(200, "GET", at(gate, ""), nil, other).body
	if list, _ := after["viewers"].([]any); len(list) != 1 || after["shown"] != before["shown"] {
		t.Errorf("%v", after)
	}
	if list := w.want(200, "GET", at(gate, ""), nil, one).body["viewers"].([]any); len(list) != 1 {
		t.Errorf("viewers %v, want the other client", list)
	}
	var v viewers
	for i := range maxViewed + 5 {
		v.opened(strconv.Itoa(i), tokens.Token{ID: "x"}, time.Now())
	}
	if _, first := v.opened(strconv.Itoa(maxViewed+4), tokens.Token{ID: "x"}, time.Now()); first || len(v.gates) != maxViewed {
		t.Errorf("%d gates, first %v", len(v.gates), first)
	}
}
