package server

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli/failure"
	"pawl/internal/project"
	"pawl/internal/server/client"
)

// TestMayStart starts no engine over and over again: not for a run whose engines die without finishing anything, and not for one that
// pawl resume refused, until the run changes.
func TestMayStart(t *testing.T) {
	t.Parallel()
	r := newRecovery(Config{})
	s := &pawl.State{Run: "demo", Seq: 10, Steps: map[pawl.StepID]*pawl.StepState{"a": {Status: pawl.Running}}}
	may := func(want bool) {
		t.Helper()
		if ok, why := r.mayStart("p", s); ok != want || ok == (why != "") {
			t.Errorf("%v, %q; want %v", ok, why, want)
		}
		s.Seq++
	}
	for range maxStarts {
		may(true)
	}
	may(false)
	s.Steps["a"].Status = pawl.Done
	may(true)
	r.tries["p"] = try{run: s.Run, starts: 1, finished: 1, refused: "the plan was edited", seq: s.Seq}
	may(false)
	may(true) // it has changed
	for range maxStarts - 2 {
		may(true)
	}
	may(false)
	s.Run = "another"
	may(true)
}

// TestHeldIsNoStart: while another process holds the project, no engine is started, so that none counts.
func TestHeldIsNoStart(t *testing.T) {
	t.Parallel()
	r := newRecovery(Config{})
	s := &pawl.State{Run: "demo", Seq: 10}
	for range 2 * maxStarts {
		if ok, why := r.mayStart("p", s); !ok {
			t.Fatal(why)
		}
		r.refused(t.Context(), &project.Project{ID: "p"}, s.Run, &CommandError{failure.Error{Kind: pawl.KindHeld}})
	}
}

// TestForget forgets projects that were removed from the registry, and has clients read the lists again.
func TestForget(t *testing.T) {
	t.Parallel()
	r := newRecovery(Config{})
	cursor := r.hub.newest()
	for _, id := range []string{"a", "b"} {
		r.known[id], r.tries[id] = &watched{Project: client.Project{ID: id}}, try{starts: 1}
	}
	r.forgetRemoved([]project.Entry{{ID: "b"}, {ID: "a"}})
	if events, _, _, _, _ := r.hub.after(cursor); len(r.known) != 2 || len(r.tries) != 2 || len(events) > 0 {
		t.Fatalf("known %v, tries %v, events %v", r.known, r.tries, events)
	}
	r.forgetRemoved([]project.Entry{{ID: "b"}})
	events, _, _, _, _ := r.hub.after(cursor)
	if r.known["a"] != nil || r.known["b"] == nil || len(r.tries) != 1 || len(events) != 1 || events[0].kind != "reset" {
		t.Errorf("known %v, tries %v, events %v", r.known, r.tries, events)
	}
}

// TestOlderLook: a look that took long does not replace the state that a later one saw.
func TestOlderLook(t *testing.T) {
	t.Parallel()
	r := newRecovery(Config{})
	look := func() watched { return watched{Project: client.Project{ID: "a"}, look: r.looks.Add(1)} }
	older, newer := look(), look()
	older.Status, older.seq, older.Recovery = pawl.StatusWaiting, 1, "resumed"
	newer.Status, newer.seq = pawl.StatusCompleted, 2
	r.learn(&newer)
	cursor := r.hub.newest()
	r.learn(&older)
	if s := r.known["a"]; s.Status != pawl.StatusCompleted || s.seq != 2 || s.Recovery != "resumed" {
		t.Errorf("%+v", s)
	}
	if events, _, _, _, _ := r.hub.after(cursor); len(events) != 1 || !strings.Contains(string(events[0].data), `"completed"`) {
		t.Errorf("%v", events)
	}
}

// TestExclusive: one caller at a time works on a name, and one that waits can give up.
func TestExclusive(t *testing.T) {
	t.Parallel()
	var x exclusive
	var atWork, most, total int
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			release, ok := x.acquire(t.Context(), "a")
			if !ok {
				t.Error("not acquired")
				return
			}
			defer release()
			atWork, total = atWork+1, total+1
			most = max(most, atWork)
			runtime.Gosched()
			atWork--
		})
	}
	all.Wait()
	if most != 1 || total != 50 || len(x.held) != 0 {
		t.Errorf("%d at once, %d in total, %d held", most, total, len(x.held))
	}
	release, _ := x.acquire(t.Context(), "a")
	defer release()
	if other, ok := x.acquire(t.Context(), "b"); !ok {
		t.Error("another name is held")
	} else {
		other()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := x.acquire(ended, "a"); ok {
		t.Error("two callers work on a name")
	}
}

// TestHubTrims keeps the newest events. A client's part of the older ones does not change meanwhile.
func TestHubTrims(t *testing.T) {
	t.Parallel()
	h := newHub(time.Now())
	first := h.newest()
	for i := range maxEvents {
		h.publish("run", i)
	}
	part, _, _, _, _ := h.after(first)
	for i := range 2 * maxEvents {
		h.publish("run", maxEvents+i)
	}
	for i, e := range part {
		if string(e.data) != strconv.Itoa(i) {
			t.Fatalf("event %d became %s", i, e.data)
		}
	}
	if len(h.events) != maxEvents || cap(h.events) > 4*maxEvents {
		t.Errorf("%d events in room for %d", len(h.events), cap(h.events))
	}
	if _, _, reset, _, _ := h.after(first); !reset {
		t.Error("no reset for a client that is too far behind")
	}
}

// TestWhy: what a resume would do with each step, also of a run that has failed.
func TestWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"plan.yaml": "name: demo\nsteps:\n- {id: first, run: \"true\"}\n- {id: second, run: \"exit 9\"}\n- {id: third, run: \"true\"}\n"})
	w.pawl(4, "run", "plan.yaml")
	w.look()
	run := string(w.api.knownProject(w.id).Run)
	var got []string
	for _, step := range w.want(200, "GET", "/api/runs/"+run+"/why", nil).body["steps"].([]any) {
		s := step.(map[string]any)
		got = append(got, fmt.Sprint(s["do"], " ", s["step"], ": ", s["why"]))
	}
	if want := "skip first: up to date, fail second: failed: exit code 9, wait third: needs step second, which failed"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.want(404, "GET", "/api/runs/nothing/why", nil)
}
