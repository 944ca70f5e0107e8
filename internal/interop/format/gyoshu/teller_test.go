package gyoshu_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/gyoshu"
)

// teller tells a run's events, a minute apart.
type teller struct {
	*formattest.Run
	files format.Files
}

func newTeller(t testing.TB) *teller {
	s := &teller{Run: formattest.New(t, formattest.Plan(t, tidePlan), noon)}
	s.AddEach(pawl.RunCreated{Format: 1, Run: tideRun, Kind: pawl.PlanRun, Name: "tide-levels"},
		pawl.RunPlanned{Revision: 1, File: "plan.yaml", Steps: 4, Goal: "Predict tides"}, pawl.EngineStarted{Epoch: 1, PID: 1, Why: "run"})
	return s
}

func ref(step pawl.StepID, attempt int) pawl.AttemptRef {
	return pawl.AttemptRef{Step: step, Attempt: attempt, Token: pawl.Token(step) + pawl.Token(rune('0'+attempt))}
}

func (s *teller) start(step pawl.StepID, attempt int) {
	s.T.Helper()
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref(step, attempt)})
}

func (s *teller) done(step pawl.StepID, attempt int, outputs pawl.Outputs) {
	s.T.Helper()
	s.AddEach(pawl.StepDone{Step: step, Attempt: attempt, Token: ref(step, attempt).Token, Outputs: outputs, Stats: &pawl.AttemptStats{Seconds: 12.34}})
}

// cut ends an attempt by its limit, with the checkpoint that this takes.
func (s *teller) cut(step pawl.StepID, attempt int, id pawl.CheckpointID) {
	s.T.Helper()
	s.AddEach(pawl.AttemptEnded{AttemptRef: ref(step, attempt), Outcome: pawl.Failed, Reason: pawl.ReasonTimeout, Stats: &pawl.AttemptStats{Seconds: 240}},
		pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: id, Kind: pawl.CheckpointEmergency, Step: step}})
}

func (s *teller) view(why format.Trigger) format.Export {
	return format.Export{Now: noon.Add(24 * time.Hour), State: s.State, Plan: s.Plan, Status: s.State.StatusNow(true), Checkpoint: s.State.LastSave, Trigger: why}
}

// write writes the mirror, which written again does not change, and returns what was written.
func (s *teller) write(why format.Trigger) []string {
	s.T.Helper()
	before := slices.Clone(s.files)
	made := gyoshu.Format().Write(s.files, s.view(why))
	var paths []string
	for _, f := range made {
		paths = append(paths, f.Path)
		if old := before.Find(f.Path); old != nil && strings.HasSuffix(f.Path, "checkpoint.json") {
			s.T.Errorf("%s is written a second time", f.Path)
		}
	}
	s.files = formattest.With(s.files, made)
	if again := gyoshu.Format().Write(s.files, s.view(why)); len(again) > 0 {
		s.T.Errorf("%s: written again, %s differs", why, again[0].Path)
	}
	return paths
}

// wouldResume is what Gyoshu itself would make of the files: the newest checkpoint, whatever it is, and the number behind it.
func (s *teller) wouldResume() (id, stage string) {
	s.T.Helper()
	newest := ""
	for _, f := range s.files {
		if !strings.HasSuffix(f.Path, "/checkpoint.json") {
			continue
		}
		var m struct{ CheckpointID, StageID, CreatedAt string }
		if err := json.Unmarshal(f.Data, &m); err != nil {
			s.T.Fatal(err)
		}
		if m.CreatedAt == newest {
			s.T.Errorf("two checkpoints were made at %s", newest)
		}
		if m.CreatedAt > newest {
			newest, id, stage = m.CreatedAt, m.CheckpointID, m.StageID
		}
	}
	return id, stage
}

func (s *teller) manifest(prefix string) *gyoshu.Manifest {
	s.T.Helper()
	for _, r := range gyoshu.Records(s.files, "", "") {
		if strings.HasPrefix(r.ID, prefix) && r.Loads() {
			return r.Manifest
		}
	}
	s.T.Fatalf("there is no manifest %s…", prefix)
	return nil
}

// check has all manifests checked by the checkers, and reads what was written.
func (s *teller) check() {
	t, ok := s.T.(*testing.T)
	if !ok {
		return
	}
	root := t.TempDir()
	store(t, root, s.files)
	var paths []string
	for _, f := range s.files {
		if strings.HasSuffix(f.Path, "checkpoint.json") {
			paths = append(paths, filepath.Join(root, f.Path))
		}
	}
	for _, c := range checkers {
		for file, good := range checked(t, c, paths...) {
			if !good {
				t.Errorf("%s refuses %s", c[0], file)
			}
		}
	}
	r, found := gyoshu.Format().Read(s.files, format.Env{Now: noon.Add(24 * time.Hour)})
	if r.Status != pawl.StatusCompleted || r.Percent != 100 || r.ID != tideRun || r.Goal != "Predict tides" || len(r.Phases[0].Steps) != 4 {
		t.Errorf("%+v", r)
	}
	for _, f := range found {
		if f.Level == pawl.Bad {
			t.Errorf("%+v", f)
		}
	}
	if m := s.manifest("ckpt-000008"); len(m.Artifacts) != 1 || m.Artifacts[0] != (gyoshu.Artifact{Path: "out/tides.csv", SHA256: strings.Repeat("ab", 32), Size: 7}) {
		t.Errorf("artifacts %+v", m.Artifacts)
	}
}

// tideView is a moment of a run of the fixture's research.
func tideView(t testing.TB) format.Export {
	s := newTeller(t)
	s.start("S01_load_tides", 1)
	s.done("S01_load_tides", 1, csv)
	s.start("clean-2", 1)
	s.cut("clean-2", 1, "1badcafe")
	return s.view(format.Interrupted)
}

// changedLines compares the lines that a file lost and gained with those wanted.
func changedLines(t *testing.T, before, after format.Files, name string, want ...string) {
	t.Helper()
	old, now := strings.Split(string(before.Find(name).Data), "\n"), strings.Split(string(after.Find(name).Data), "\n")
	var got []string
	for i := range max(len(old), len(now)) {
		if i < len(old) && i < len(now) && old[i] == now[i] {
			continue
		}
		got = append(got, "-"+old[i], "+"+now[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -want +got\n%s", name, diff)
	}
}
