package engine_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/engine/enginetest"
)

// untilBeat changes a file until the run has a heartbeat checkpoint that fits, as a running step does.
func untilBeat(p *enginetest.Project, fits func(n int, c pawl.Checkpoint) bool) (found pawl.Checkpoint) {
	p.Helper()
	change := 0
	p.Until("heartbeat checkpoints", func() bool {
		change++
		p.Write("work.txt", strings.Repeat("x", change))
		for i, c := range beatsOf(p) {
			if fits(i+1, c) {
				found = c
				return true
			}
		}
		return false
	})
	return found
}

func beatsOf(p *enginetest.Project) (beats []pawl.Checkpoint) {
	p.Helper()
	for _, s := range enginetest.Payloads[pawl.CheckpointSaved](p) {
		if s.Kind == pawl.CheckpointHeartbeat {
			beats = append(beats, s.Checkpoint)
		}
	}
	return beats
}

// A step of every kind has checkpoints while it runs.
func TestHeartbeatsOfEachKindOfStep(t *testing.T) {
	t.Parallel()
	const held = "until test -e go; do sleep 0.01; done"
	for name, c := range map[string]struct{ plan, why string }{
		"run":     {"steps: [{id: a, run: '" + held + "'}]", "running: a"},
		"agent":   {"steps: [{id: a, agent: {use: command, prompt: Do it, command: '" + held + "'}}]", "running: a"},
		"kernel":  {`steps: [{id: a, kernel: {driver: python, code: "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"}}]`, "running: a"},
		"foreach": {"steps: [{id: a, parallel: 2, foreach: {items: [x, y]}, run: '" + held + "'}]", "running: a/x and 1 more"},
		"service": {"steps: [{id: a, run: sleep 1000, service: {ready: 'true'}}, {id: b, run: '" + held + "'}]", "running: a and 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			p.Config.Snapshots.Every = pawl.Duration(20 * time.Millisecond)
			e := p.Start("name: demo\n" + c.plan + "\n")
			beat := untilBeat(p, func(n int, beat pawl.Checkpoint) bool { return n > 1 && beat.Why == c.why })
			p.Write("go", "")
			p.Check(e.Wait())
			if len(beat.Live) == 0 || beat.Step != "" || beat.Snapshot.Record == "" {
				t.Errorf("%+v", beat)
			}
		})
	}
}

// A heartbeat checkpoint never hides the last good one.
func TestHeartbeatIsNotTheLastGoodOne(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Config.Snapshots.Every = pawl.Duration(20 * time.Millisecond)
	e := p.Start("name: demo\nsteps: [{id: a, run: touch a}, {id: b, run: 'until test -e go; do sleep 0.01; done'}]\n")
	p.UntilEvent("step.done", 1)
	before := len(beatsOf(p))
	untilBeat(p, func(n int, _ pawl.Checkpoint) bool { return n > before })
	s := p.State()
	if s.LastGood == nil || s.LastGood.Step != "a" || s.LastSave.Kind != pawl.CheckpointHeartbeat {
		t.Errorf("last good %+v, last %+v", s.LastGood, s.LastSave)
	}
	p.Write("go", "")
	p.Check(e.Wait())
}

// If there is no room for a checkpoint, a note says so once, and the step still completes.
func TestHeartbeatAboveTheQuota(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("noise.bin", noise(64<<10))
	p.Config.Snapshots.Quota, p.Config.Snapshots.Every = 1<<10, pawl.Duration(time.Millisecond)
	var notices []string
	p.Config.Notice = func(text string) {
		notices = append(notices, text)
		p.Check(os.WriteFile(p.Path("go"), nil, 0o600))
	}
	p.Check(p.Do("name: demo\nsteps: [{id: a, run: 'until test -e go; do sleep 0.01; done; sleep 0.2'}]\n"))
	if len(notices) != 1 || !strings.HasPrefix(notices[0], "no checkpoint of the running steps: ") || !strings.Contains(notices[0], "quota") {
		t.Errorf("notices %q", notices)
	}
	if n := len(beatsOf(p)); n > 0 {
		t.Errorf("%d checkpoints", n)
	}
	p.WantStatus(pawl.Done, "a")
}
