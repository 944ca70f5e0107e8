package interop

import (
	"testing"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/interop/format"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// TestStepsOwnChange: what a step wrote into a file of the mirror, before its engine crashed, is no change of others. What changed before the
// step or after it is one.
func TestStepsOwnChange(t *testing.T) {
	t.Parallel()
	p, err := project.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &Mirror{Format: format.Format{Name: "sitebuilder"}, Dir: p.Root}
	began := time.Now().Add(-time.Hour)
	run := &pawl.State{Run: "demo-20261126-100000-0000", Mirror: &pawl.RunMirrored{System: "sitebuilder"}, Steps: map[pawl.StepID]*pawl.StepState{
		"a": {Started: began, Ended: began.Add(time.Minute)},
		"b": {},
	}}
	if err := disk.MakeFolders(p.RunDir(run.Run)); err != nil {
		t.Fatal(err)
	}
	if err := (&mirrorState{Mirror: run.Mirror.String(), Files: map[string][]string{"a.json": {runs.SHA256Hex([]byte("pawl's"))}}}).put(p, run.Run); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]string{-time.Second: "a.json", time.Second: "", time.Minute: "", 2 * time.Minute: "a.json"} {
		read := format.Files{{Path: "a.json", Data: []byte("the step's"), Changed: began.Add(after)}}
		if got := m.changedByOthers(p, run, read, []format.File{{Path: "a.json", Data: []byte("new")}}); got != want {
			t.Errorf("changed %v after the step began: %q, want %q", after, got, want)
		}
	}
}
