package engine_test

import (
	"os"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/engine/enginetest"
)

// kindsOf returns the checkpoints of a run, in order, as kind and step.
func kindsOf(p *enginetest.Project) string {
	p.Helper()
	var words []string
	for _, e := range p.Events() {
		payload, err := e.Payload()
		p.Check(err)
		switch is := payload.(type) {
		case pawl.StepDone:
			if is.Save != nil {
				words = append(words, "done:"+string(is.Save.Kind)+":"+string(is.Step))
			}
		case pawl.CheckpointSaved:
			words = append(words, string(is.Checkpoint.Kind)+":"+string(is.Checkpoint.Step))
		}
	}
	return strings.Join(words, " ")
}

// Each finished step has a snapshot, each gate one of what it is about, and items theirs together.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.WantKind(p.Do(`name: demo
steps:
  - {id: one, run: echo one > one.txt}
  - {id: each, parallel: 1, foreach: {items: [x, y]}, run: echo $PAWL_ITEM > $PAWL_ITEM.txt}
  - {id: look, gate: {type: human_verify, ask: Right?}}
`), pawl.KindAtGate)
	if got := kindsOf(p); got != "done:step:one item:each done:step:each gate:look" {
		t.Errorf("checkpoints %s", got)
	}
	for _, d := range enginetest.Payloads[pawl.StepDone](p) {
		if d.Save.Snapshot.None != "" || d.Save.Snapshot.Tree == "" {
			t.Errorf("step %s: snapshot %+v", d.Step, d.Save.Snapshot)
		}
	}
}

// A step is done although there is no snapshot of it: its checkpoint says why.
func TestCheckpointsWithoutSnapshots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set func(*enginetest.Project)
		why string
	}{
		"switched off": {func(p *enginetest.Project) { p.Config.Snapshots.Off = true }, "disabled in .pawl/config.yaml"},
		"quota":        {func(p *enginetest.Project) { p.Config.Snapshots.Quota = 1 << 10 }, "quota"},
		"no store":     {func(p *enginetest.Project) { p.Write(".pawl/snapshots", "a file") }, "snapshots"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enginetest.New(t)
			p.Write("noise.bin", noise(64<<10))
			c.set(p)
			p.Check(p.Do("name: demo\nsteps: [{id: a, run: touch a.txt}]\n"))
			if d := enginetest.Payloads[pawl.StepDone](p); d[0].Save == nil || !strings.Contains(d[0].Save.Snapshot.None, c.why) {
				t.Errorf("checkpoint %+v", d[0].Save)
			}
		})
	}
}

// noise returns text that does not compress.
func noise(n int) string {
	var b strings.Builder
	x := uint64(88172645463325252)
	for b.Len() < n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b.WriteByte(byte(x))
	}
	return b.String()
}

// If a view cannot be written, the run continues and the engine prints a note.
func TestViewsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Create("name: demo\nsteps: [{id: a, run: touch a.txt}]\n")
	p.Check(os.MkdirAll(p.StateFile(p.Run)+"/in/the/way", 0o700))
	e := p.Resume()
	p.Check(e.Wait())
	if len(e.Notes) != 1 || !strings.HasPrefix(e.Notes[0], "views: ") {
		t.Errorf("notes %q", e.Notes)
	}
}

// What is learned and cannot be written into MEMORY.md stands in the journal, with why.
func TestMemoryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("lines", `{"learn":{"kind":"gotcha","text":"Keep it simple."}}`+"\n")
	p.Check(os.RemoveAll(p.Memory()))
	p.Check(os.Mkdir(p.Memory(), 0o700))
	e := p.Start("name: demo\nsteps: [{id: a, run: '" + emit + "'}]\n")
	p.Check(e.Wait())
	if m := enginetest.Payloads[pawl.MemoryLearned](p); len(m) != 1 || m[0].Unwritten == "" || len(e.Notes) != 1 {
		t.Errorf("learned %+v, notes %q", m, e.Notes)
	}
}
