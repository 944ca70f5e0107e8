//go:build linux

package courier_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/dispatch/order"
	"pawl/internal/supervise"
)

// TestStepOnWorker: a step gets the files of the project, and the project gets what the step changed, its output, events and exit code.
func TestStepOnWorker(t *testing.T) {
	s := newSite(t)
	s.write("data/in.txt", "one\n")
	s.write("data/old.txt", "old\n")
	s.write("same.txt", "same\n")
	s.write("gone/a.txt", "a\n")
	s.serve(s.worker("w1", "HF_TOKEN=x"))
	a := s.attempt(1, `
		cat data/in.txt; echo complaint >&2; echo "$GREETING ${HF_TOKEN:-no token}"
		echo two > data/new.txt; echo newer > data/old.txt; rm -r gone; mkdir -p "$PAWL_OUT/empty" made/by; echo x > made/by/x
		echo '{"progress": {"text": "half"}}' >> "$PAWL_EVENTS"; echo '{"status": "done", "summary": "fine"}' > "$PAWL_RESULT"
		chmod 700 same.txt; exit 3`)
	exit := a.carry()
	if exit.Reason != pawl.ReasonExited || exit.Exit == nil || *exit.Exit != 3 || exit.Seconds <= 0 {
		t.Errorf("exit %+v", exit)
	}
	if a.out.String() != "one\nhello no token\n" || a.err.String() != "complaint\n" {
		t.Errorf("output %q, errors %q", a.out.String(), a.err.String())
	}
	for name, want := range map[string]string{"data/in.txt": "one\n", "data/new.txt": "two\n", "data/old.txt": "newer\n", "made/by/x": "x\n", "same.txt": "same\n"} {
		if got := s.read(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"gone"} {
		if _, err := os.Lstat(filepath.Join(s.root, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	if info, err := os.Stat(filepath.Join(s.root, "same.txt")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode: %v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(s.root, "out/empty")); err != nil || !info.IsDir() {
		t.Errorf("empty folder: %v", err)
	}
	said, err := os.ReadFile(filepath.Join(a.dir, pawl.EventsFile))
	if err != nil || strings.Count(string(said), `"half"`) != 1 || !strings.Contains(string(said), "running on worker w1") {
		t.Errorf("events %s, %v", said, err)
	}
	result, err := os.ReadFile(filepath.Join(a.dir, pawl.ResultFile))
	if err != nil || !strings.Contains(string(result), "fine") {
		t.Errorf("result %s, %v", result, err)
	}
	if left, err := s.store.List(t.Context(), order.OutputPrefix(a.job.Token)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestConflict: a file that was changed on both sides, or removed here, is left as it is here, and nothing else is changed.
func TestConflict(t *testing.T) {
	for name, here := range map[string]func(s *site){
		"changed": func(s *site) { s.write("shared.txt", "mine") },
		"removed": func(s *site) { s.check(os.Remove(filepath.Join(s.root, "shared.txt"))) },
		"added":   func(s *site) { s.write("new.txt", "mine") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.write("shared.txt", "before")
			a := s.attempt(1, "echo theirs > shared.txt; echo theirs > new.txt; echo other > other.txt")
			here(s)
			shared, added := s.read("shared.txt"), s.read("new.txt")
			s.write("unrelated.txt", "changed here only")
			s.serve(s.worker("w1"))
			exit := a.carry()
			if exit.Reason != pawl.ReasonError || !strings.Contains(exit.Why, "changed here meanwhile") || !strings.Contains(exit.Why, ".txt") {
				t.Errorf("exit %+v", exit)
			}
			if s.read("shared.txt") != shared || s.read("new.txt") != added || !strings.HasPrefix(s.read("other.txt"), "<") {
				t.Errorf("shared %q, new %q, other %q", s.read("shared.txt"), s.read("new.txt"), s.read("other.txt"))
			}
		})
	}
}

// TestChangesHereStay: other files of the project may change meanwhile.
func TestChangesHereStay(t *testing.T) {
	s := newSite(t)
	s.write("folder/a", "a")
	s.write("folder/b", "b")
	a := s.attempt(1, "echo theirs > folder/a; mkdir new; echo x > new/x")
	s.write("folder/b", "mine")
	s.write("new/y", "mine")
	s.serve(s.worker("w1"))
	if exit := a.carry(); exit.Exit == nil || *exit.Exit != 0 {
		t.Errorf("exit %+v", exit)
	}
	if s.read("folder/a") != "theirs\n" || s.read("folder/b") != "mine" || s.read("new/x") != "x\n" || s.read("new/y") != "mine" {
		t.Errorf("%q %q %q %q", s.read("folder/a"), s.read("folder/b"), s.read("new/x"), s.read("new/y"))
	}
}

// TestSecrets: a secret is named in the order, and only a worker that has it and may give it starts the step.
func TestSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		environ, allowed []string
		want             string
	}{
		"not allowed": {[]string{"HF_TOKEN=x"}, nil, "start the worker with --variable HF_TOKEN"},
		"missing":     {nil, []string{"HF_TOKEN"}, "needs the variable HF_TOKEN, and worker w1 does not have it"},
		"given":       {[]string{"HF_TOKEN=x"}, []string{"HF_TOKEN"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			w := s.worker("w1", c.environ...)
			w.Variables = c.allowed
			s.serve(w)
			a := s.attempt(1, `test "$HF_TOKEN" = x; echo ran > ran.txt`)
			a.job.Away.Secrets = []string{"HF_TOKEN"}
			exit := a.carry()
			switch {
			case c.want == "" && (exit.Exit == nil || *exit.Exit != 0):
				t.Errorf("exit %+v", exit)
			case c.want != "" && (exit.Reason != pawl.ReasonError || !strings.Contains(exit.Why, c.want) || s.read("ran.txt") == "ran\n"):
				t.Errorf("exit %+v", exit)
			}
		})
	}
}

// TestNotAccepted: a worker performs nothing for other projects and remotes.
func TestNotAccepted(t *testing.T) {
	s := newSite(t)
	w := s.worker("w1")
	w.Projects = []string{"another"}
	s.serve(w)
	a := s.attempt(1, "echo ran > ran.txt")
	if exit := a.carry(); exit.Reason != pawl.ReasonError || !strings.Contains(exit.Why, "--project p") {
		t.Errorf("exit %+v", exit)
	}
	if s.read("ran.txt") == "ran\n" {
		t.Error("it ran")
	}
}

// TestStopped: a step that is stopped ends on its worker, and what it did comes back; one without a worker never starts.
func TestStopped(t *testing.T) {
	t.Run("running", func(t *testing.T) {
		s := newSite(t)
		s.serve(s.worker("w1"))
		a := s.attempt(1, `trap 'echo stopped > end.txt; exit 5' INT; echo begun; while :; do sleep 0.02; done`)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- a.courier().Run(ctx) }()
		a.eventually("it runs", func() bool {
			parts, err := s.store.List(t.Context(), order.OutputPrefix(a.job.Token))
			return err == nil && len(parts) > 0
		})
		cancel()
		s.check(<-over)
		if exit := a.delivered(); exit.Reason != pawl.ReasonAbort || s.read("end.txt") != "stopped\n" {
			t.Errorf("exit %+v; %s", exit, s.read("end.txt"))
		}
	})
	t.Run("waiting", func(t *testing.T) {
		s := newSite(t)
		a := s.attempt(1, "echo ran > ran.txt")
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- a.courier().Run(ctx) }()
		task := dispatch.Task{Run: run, Step: "train", Token: a.job.Token}
		a.eventually("it waits", func() bool {
			now, err := s.queue.Status(t.Context(), task.ID())
			return err == nil && now.State == dispatch.Waiting
		})
		cancel()
		s.check(<-over)
		if exit := a.delivered(); exit.Reason != pawl.ReasonAbort {
			t.Errorf("exit %+v", exit)
		}
	})
}

// TestKilledCourier: whenever a courier dies, the next one joins the task. The step runs once, and its output comes once.
func TestKilledCourier(t *testing.T) {
	s := newSite(t)
	a := s.attempt(1, `echo once >> "$COUNT"; echo first; until test -e "$GO"; do sleep 0.02; done; echo last; echo x > made.txt`)
	count, start := filepath.Join(t.TempDir(), "count"), filepath.Join(t.TempDir(), "go")
	a.job.Env = append(a.job.Env, "COUNT="+count, "GO="+start)
	kill := func(when string, holds func() bool) {
		ctx, cancel := context.WithCancel(t.Context())
		c := a.courier()
		queue := &dying{s.queue, ctx}
		c.Open = func(context.Context) (dispatch.Carrier, error) { return queue, nil }
		over := make(chan error, 1)
		go func() { over <- c.Run(context.WithoutCancel(ctx)) }()
		a.eventually(when, holds)
		cancel()
		if err := <-over; err == nil {
			t.Errorf("%s: it was not killed", when)
		}
	}
	task := dispatch.Task{Run: run, Step: "train", Token: a.job.Token}
	state := func(want dispatch.State) func() bool {
		return func() bool {
			now, err := s.queue.Status(t.Context(), task.ID())
			return err == nil && now.State == want
		}
	}
	kill("waiting", state(dispatch.Waiting))
	s.serve(s.worker("w1"))
	kill("running", state(dispatch.Running))
	kill("output", func() bool { return a.out.String() == "first\n" })
	s.check(os.WriteFile(start, nil, 0o600))
	a.eventually("it ends", state(dispatch.Ended))
	exit := a.carry()
	counted, err := os.ReadFile(count)
	if err != nil || string(counted) != "once\n" || exit.Exit == nil || *exit.Exit != 0 || a.out.String() != "first\nlast\n" || s.read("made.txt") != "x\n" {
		t.Errorf("ran %q, %v; exit %+v; output %q", counted, err, exit, a.out.String())
	}
	a.check(a.courier().Run(t.Context())) // everything is there
}

// dying is a carrier whose calls fail once its courier is to die.
type dying struct {
	Queue
	ctx context.Context
}

// TestNewerAttempt: the task of an earlier attempt ends before that of a newer one begins.
func TestNewerAttempt(t *testing.T) {
	s := newSite(t)
	s.serve(s.worker("w1"))
	alone := filepath.Join(t.TempDir(), "alone")
	script := `mkdir "$ALONE" || exit 9; trap 'rmdir "$ALONE"; exit 1' INT; echo begun; test -n "$QUICK" || while :; do sleep 0.02; done; rmdir "$ALONE"`
	first := s.attempt(1, script)
	first.job.Env = append(first.job.Env, "ALONE="+alone)
	ctx, cancel := context.WithCancel(t.Context())
	c := first.courier()
	c.Open = func(context.Context) (dispatch.Carrier, error) { return &dying{s.queue, ctx}, nil }
	over := make(chan error, 1)
	go func() { over <- c.Run(context.WithoutCancel(ctx)) }()
	first.eventually("it runs", func() bool { _, err := os.Stat(alone); return err == nil })
	cancel()
	if <-over == nil {
		t.Error("the first courier ended")
	}
	second := s.attempt(2, script)
	second.job.Env = append(second.job.Env, "ALONE="+alone, "QUICK=1")
	if exit := second.carry(); exit.Exit == nil || *exit.Exit != 0 {
		t.Errorf("exit %+v; %s", exit, second.err.String())
	}
	if supervise.Delivered(first.dir, first.job.Token) != nil {
		t.Error("the first attempt has a result")
	}
}

// TestUnreachable: while the queue does not answer, a courier waits, and a worker continues.
func TestUnreachable(t *testing.T) {
	s := newSite(t)
	s.queue.Lease = 20 * time.Second
	s.serve(s.worker("w1"))
	a := s.attempt(1, `touch "$HERE/begun"; until test -e "$HERE/go"; do sleep 0.02; done; echo x > made.txt`)
	here := t.TempDir()
	a.job.Env = append(a.job.Env, "HERE="+here)
	over := make(chan error, 1)
	go func() { over <- a.courier().Run(t.Context()) }()
	a.eventually("it runs", func() bool { _, err := os.Stat(filepath.Join(here, "begun")); return err == nil })
	s.queue.SetDown(true)
	a.eventually("the courier says so", func() bool {
		said, err := os.ReadFile(filepath.Join(a.dir, pawl.EventsFile))
		return err == nil && strings.Contains(string(said), "does not answer")
	})
	s.check(os.WriteFile(filepath.Join(here, "go"), nil, 0o600))
	s.queue.SetDown(false)
	s.check(<-over)
	if exit := a.delivered(); exit.Exit == nil || *exit.Exit != 0 || s.read("made.txt") != "x\n" {
		t.Errorf("exit %+v", exit)
	}
}
