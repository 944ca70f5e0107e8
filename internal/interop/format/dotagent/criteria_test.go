package dotagent_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
	"pawl/internal/interop/format/formattest"
)

// TestAStepIsDoneWhenItsFilesSaySo: what an agent is to leave is a criterion of its step, and met only by that.
func TestAStepIsDoneWhenItsFilesSaySo(t *testing.T) {
	t.Parallel()
	state := format.Files{{Path: "memory/state/phase.json", Data: []byte(`{"workflow_id":"wf-1","started_at":"2026-03-09T09:00:00Z","current_phase":"REQUIREMENTS","phase_status":"in_progress"}`)}}
	tasks := format.File{Path: "memory/state/execution.json", Data: []byte(`{"tasks":[{"id":"a","status":"failed","attempts":1}]}`)}
	long := now.Add(-24 * time.Hour)
	for name, test := range map[string]struct {
		step   pawl.StepID
		before []format.File // when the run is made
		left   []format.File // by the agent
		met    bool
	}{
		"nothing":                  {step: "requirements"},
		"demand":                   {step: "requirements", left: []format.File{{Path: "memory/reports/demand.json", Data: []byte(`{"goal":"tea"}`)}}, met: true},
		"demand of another":        {step: "requirements", left: []format.File{{Path: "memory/reports/demand.json", Data: []byte(`{"goal":"tea","workflow_id":"wf-0"}`)}}},
		"half a demand":            {step: "requirements", left: []format.File{{Path: "memory/reports/demand.json", Data: []byte(`{"goal":"te`)}}},
		"no design":                {step: "architects"},
		"a design":                 {step: "architects", left: []format.File{{Path: "memory/reports/designs/a.json", Data: []byte(`{"modules":1}`)}}, met: true},
		"designs are not final":    {step: "roundtable", left: []format.File{{Path: "memory/reports/designs/a.json", Data: []byte(`{"modules":1}`)}}},
		"final design":             {step: "roundtable", left: []format.File{{Path: "memory/reports/final_design.json", Data: []byte(`{"modules":1}`)}}, met: true},
		"no tasks":                 {step: "implementation"},
		"a task without an output": {step: "implementation", left: []format.File{tasks}},
		"all tasks":                {step: "implementation", left: []format.File{tasks, {Path: "memory/tasks/a/output.json", Data: []byte(`{"status":"verified"}`)}}, met: true},
		"verified":                 {step: "verification", left: []format.File{{Path: "memory/reports/verification.json", Data: []byte(`{"status":"pass"}`)}}, met: true},
		"it failed":                {step: "verification", left: []format.File{{Path: "memory/reports/verification.json", Data: []byte(`{"status":"fail"}`)}}},
		"as it was":                {step: "verification", before: []format.File{{Path: "memory/reports/verification.json", Data: []byte(`{"status":"pass"}`), Changed: long}}},
		"again": {step: "verification", before: []format.File{{Path: "memory/reports/verification.json", Data: []byte(`{"status":"pass"}`), Changed: long}},
			left: []format.File{{Path: "memory/reports/verification.json", Data: []byte(`{"status":"pass"}`), Changed: now}}, met: true},
		"no reflection":     {step: "reflection"},
		"reflection":        {step: "reflection", left: []format.File{{Path: "memory/reflections/wf-1.json", Data: []byte(`{"learned":1}`)}}, met: true},
		"a task's word":     {step: "a", before: []format.File{tasks}},
		"a task's output":   {step: "a", before: []format.File{tasks}, left: []format.File{{Path: "memory/tasks/a/output.json", Data: []byte(`{"status":"pre_complete"}`)}}, met: true},
		"its output failed": {step: "a", before: []format.File{tasks}, left: []format.File{{Path: "memory/tasks/a/output.json", Data: []byte(`{"status":"failed"}`)}}},
		"its old output":    {step: "a", before: []format.File{tasks, {Path: "memory/tasks/a/output.json", Data: []byte(`{"status":"pre_complete"}`), Changed: long}}},
		"a file it claims": {step: "a", before: []format.File{tasks}, left: []format.File{{Path: "memory/tasks/a/output.json",
			Data: []byte(`{"status":"pre_complete","files_modified":[{"path":"a.go"}]}`)}}},
	} {
		before := slices.Concat(state, test.before)
		r, _ := dotagent.Format().Read(before, testEnv(before))
		criteria := slices.Collect(maps.Keys(formattest.Step(t, r, test.step).Criteria))
		if len(criteria) != 1 {
			t.Errorf("%s: criteria %v", name, criteria)
			continue
		}
		after := slices.DeleteFunc(slices.Clone(before), func(f format.File) bool {
			return slices.ContainsFunc(test.left, func(g format.File) bool { return g.Path == f.Path })
		})
		after = append(after, test.left...)
		for i := range after {
			if after[i].Changed.IsZero() {
				after[i].Changed = now
			}
		}
		if met, why := dotagent.Format().CheckCriterion(after, testEnv(after), test.step, criteria[0]); met != test.met || why == "" {
			t.Errorf("%s: %q: %v, %s", name, criteria[0], met, why)
		}
	}
}

// TestWhatIsDoneHasNoCriterion: only unfinished work is checked.
func TestWhatIsDoneHasNoCriterion(t *testing.T) {
	t.Parallel()
	r, _ := reading(t, "outputs")
	for _, p := range r.Phases {
		for _, s := range p.Steps {
			if done := s.Gate != nil || s.Status == pawl.Done || s.Status == pawl.Skipped; done != (len(s.Criteria) == 0) {
				t.Errorf("%s: %s, %v", s.ID, s.Status, s.Criteria)
			}
		}
	}
}

func testEnv(files format.Files) format.Env {
	return format.Env{Now: now, Exists: func(name string) bool {
		return files.Find(name) != nil || slices.ContainsFunc(files, func(f format.File) bool { return strings.HasPrefix(f.Path, name+"/") })
	}}
}
