//go:build linux

package temporal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// slowPlan has a step on the queue that writes a line into LOG when it begins, waits until GO exists, and changes a file.
func (s *site) slowPlan() (begun, release string) {
	s.Helper()
	outside := s.TempDir()
	begun, release = filepath.Join(outside, "begun"), filepath.Join(outside, "go")
	s.write(filepath.Join(s.project, "plan.yaml"), fmt.Sprintf(`
name: slow
steps:
  - id: train
    on: {queue: gpu}
    outputs: [model.txt]
    run: |
      echo $$ >> %s
      until test -e %s; do sleep 0.05; done
      echo trained on $(cat data.txt) > model.txt
`, begun, release))
	s.write(filepath.Join(s.project, "data.txt"), "data\n")
	return begun, release
}

func (s *site) release(path string) {
	s.Helper()
	s.write(path, "")
}

// finished checks that the step ran once, under the token of the only attempt.
func (s *site) finished(begun string) {
	s.Helper()
	if got := s.read("model.txt"); got != "trained on data\n" {
		s.Errorf("model.txt: %q", got)
	}
	if n := lines(begun); n != 1 {
		s.Errorf("the step ran %d times", n)
	}
	if tokens := s.attempts("train"); len(tokens) != 1 {
		s.Errorf("attempts: %v", tokens)
	}
}

// TestFilesTravel: a step gets the files of the step before, and the next one the files that it changed; steps on other queues stay here.
func TestFilesTravel(t *testing.T) {
	t.Run("folder", func(t *testing.T) { newSite(t).filesTravel() })
	t.Run("S3", func(t *testing.T) {
		s, _ := newStoreSite(t)
		s.filesTravel()
	})
}

func (s *site) filesTravel() {
	t := s.T
	s.worker()
	s.worker()
	s.write(filepath.Join(s.project, "plan.yaml"), `
name: travel
steps:
  - {id: make, run: "mkdir data; seq 3 > data/in.txt", outputs: [data/in.txt]}
  - {id: double, needs: [make], on: {queue: gpu}, run: "echo here is $HOME; sed p data/in.txt > data/out.txt", outputs: [data/out.txt]}
  - {id: count, needs: [double], run: "wc -l < data/out.txt > count.txt", outputs: [count.txt]}
  - {id: fail, needs: [double], on: {queue: gpu}, run: "echo complaint >&2; exit 3", continue_on_error: true}
  - {id: each, needs: [double], on: {queue: gpu}, foreach: {items: [a, b, c, d, e]}, run: "echo $PAWL_ITEM > each.$PAWL_ITEM"}
`)
	out := s.pawl(0, "run", "plan.yaml")
	if got := strings.TrimSpace(s.read("count.txt")); got != "6" {
		t.Errorf("count.txt: %q\n%s", got, out)
	}
	for _, item := range []string{"a", "b", "c", "d", "e"} {
		if got := s.read("each." + item); got != item+"\n" {
			t.Errorf("each.%s: %q", item, got)
		}
	}
	if got := s.pawl(0, "output", "double"); !strings.Contains(got, "here is") || strings.Contains(got, s.home) {
		t.Errorf("the step was not performed by a worker: %s", got)
	}
	if got := s.pawl(0, "output", "--stderr", "fail"); !strings.Contains(got, "complaint") {
		t.Errorf("output of a step that failed: %s", got)
	}
}

// TestWorkerKilled: a worker that was killed and started again finds its step, and finishes it under the same token.
func TestWorkerKilled(t *testing.T) {
	s := newSite(t)
	w := s.worker()
	begun, release := s.slowPlan()
	run := s.start("run", "plan.yaml")
	eventually(t, "the step begins", func() bool { return lines(begun) > 0 })
	w.kill()
	other := s.worker() // gets nothing
	w.start()
	eventually(t, "the worker joins", func() bool { return strings.Contains(w.said.String(), "joining") })
	s.release(release)
	run.wait(0)
	s.finished(begun)
	if strings.Contains(other.said.String(), "train") {
		t.Errorf("the other worker: %s", other.said.String())
	}
}

// TestServerKilled: a step outlives the server.
func TestServerKilled(t *testing.T) {
	s := newSite(t)
	s.worker()
	begun, release := s.slowPlan()
	run := s.start("run", "plan.yaml")
	eventually(t, "the step begins", func() bool { return lines(begun) > 0 })
	s.server.Kill()
	s.release(release)
	s.server.Restart()
	run.wait(0)
	s.finished(begun)
}

// TestStoreKilled: while the object store is gone, a worker keeps its result, and an engine its step.
func TestStoreKilled(t *testing.T) {
	s, store := newStoreSite(t)
	w := s.worker()
	begun, release := s.slowPlan()
	run := s.start("run", "plan.yaml")
	eventually(t, "the step begins", func() bool { return lines(begun) > 0 })
	if err := store.Kill(); err != nil {
		t.Fatal(err)
	}
	s.release(release)
	eventually(t, "the worker waits", func() bool { return strings.Contains(w.said.String(), "trying again") })
	if err := store.Restart(); err != nil {
		t.Fatal(err)
	}
	run.wait(0)
	s.finished(begun)
}

// TestEngineKilled: the next engine joins the step by its ID; after a kill of the engine alone, and of everything on its machine.
func TestEngineKilled(t *testing.T) {
	for name, kill := range map[string]func(s *site, run *process){
		"engine":  func(_ *site, run *process) { run.kill() },
		"machine": func(s *site, _ *process) { s.machineDies() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.worker()
			begun, release := s.slowPlan()
			run := s.start("run", "plan.yaml")
			eventually(t, "the step begins", func() bool { return lines(begun) > 0 })
			kill(s, run)
			resume := s.start("resume", "--yes")
			s.release(release)
			resume.wait(0)
			s.finished(begun)
		})
	}
}

// TestStop: pawl stop ends the step on its worker.
func TestStop(t *testing.T) {
	s := newSite(t)
	s.worker()
	begun, _ := s.slowPlan()
	run := s.start("run", "plan.yaml")
	eventually(t, "the step begins", func() bool { return lines(begun) > 0 })
	s.pawl(0, "stop")
	run.wait(3)
	data, err := os.ReadFile(begun)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the step's process ends", func() bool {
		_, err := os.Stat("/proc/" + strings.TrimSpace(string(data)))
		return err != nil
	})
}

// TestWorkerGone: the attempt of a worker that does not come back is lost after the lease, and judged. A step that may run again does, under
// another token.
func TestWorkerGone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the lease of a minute")
	}
	s := newSite(t)
	w := s.worker()
	begun, release := s.slowPlan()
	run := s.start("run", "plan.yaml")
	eventually(t, "the step begins", func() bool { return lines(begun) > 0 })
	killed := time.Now()
	w.kill()
	s.worker()
	eventually(t, "another attempt begins", func() bool { return lines(begun) > 1 })
	if took := time.Since(killed); took < 50*time.Second {
		t.Errorf("judged after %s", took)
	}
	s.release(release)
	run.wait(0)
	if tokens := s.attempts("train"); len(tokens) != 2 || tokens[0] == tokens[1] {
		t.Errorf("attempts: %v", tokens)
	}
}
