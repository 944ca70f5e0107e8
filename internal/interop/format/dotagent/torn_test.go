package dotagent_test

import (
	"testing"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
)

// A phase of whose tasks not all can be read is not done, whatever became of those that can be.
func TestReadTornExecution(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[pawl.StepID]pawl.StepStatus{
		`{"tasks":[{"id":"task-001","status":"running"},{"id":"task-002","status":"running"},{"id":"task-0`: {
			"task-001": pawl.Done, "task-002": pawl.Pending, "rest-of-implementation": pawl.Pending,
		},
		`{"tasks":[{"id":"task-001","status":"running"},{"id":"task-002","status":"verif`: {
			"task-001": pawl.Done, "task-002": pawl.Pending, "rest-of-implementation": pawl.Pending,
		},
		`{"tasks":null}`: {"task-001": pawl.Done, "rest-of-implementation": pawl.Pending},
		`oops`:           {"task-001": pawl.Done, "rest-of-implementation": pawl.Pending},
		``:               {"task-001": pawl.Done, "rest-of-implementation": pawl.Pending},
		`[]`:             {"task-001": pawl.Done},
	} {
		r, findings := dotagent.Format().Read(tornAt(text), format.Env{Now: now})
		steps := r.Phases[2].Steps
		if len(steps) != len(want) || len(findings) == 0 {
			t.Errorf("%s: the steps are %+v", text, steps)
		}
		for _, s := range steps {
			if s.Status != want[s.ID] {
				t.Errorf("%s: step %s is %s", text, s.ID, s.Status)
			}
		}
		if at := r.Position.PhaseName; at != "IMPLEMENTATION" && text != "[]" {
			t.Errorf("%s: it stands in %s", text, at)
		}
	}
}

// An execution.json that is there and could not be read is as good as one of which nothing is whole.
func TestUnreadExecution(t *testing.T) {
	t.Parallel()
	files := tornAt("")
	files = append(files[:1], files[2])
	r, _ := dotagent.Format().Read(files, format.Env{Now: now, Unread: []string{"memory/state/execution.json"}})
	if steps := r.Phases[2].Steps; len(steps) != 2 || steps[0].Status != pawl.Done || steps[1].Status != pawl.Pending {
		t.Errorf("%+v", steps)
	}
}

// A task that is done, and of which no file says since when, was done when its output was written.
func TestReadEndOfTask(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"running", "pre_complete"} {
		r, _ := dotagent.Format().Read(tornAt(`{"tasks":[{"id":"task-001","status":"`+status+`"}]}`), format.Env{Now: now})
		if s := r.Phases[2].Steps[0]; s.Status != pawl.Done || !s.Ended.Equal(now.Add(-time.Hour)) {
			t.Errorf("%s: it is %s since %s", status, s.Status, s.Ended)
		}
	}
}

// A phase.json that is JSON, and no object, is a finding.
func TestReadPhaseThatIsAList(t *testing.T) {
	t.Parallel()
	files := format.Files{{Path: "memory/state/phase.json", Data: []byte("[]")}, {Path: "memory/reports/demand.json", Data: []byte(`{"goal":"g"}`)}}
	if _, findings := dotagent.Format().Read(files, format.Env{Now: now}); !finds(findings, "memory/state/phase.json:1: not an object") {
		t.Errorf("%+v", findings)
	}
	if findings := dotagent.Format().Verify(files, format.Env{Now: now}); !finds(findings, "memory/state/phase.json:1: not an object") {
		t.Errorf("%+v", findings)
	}
}

func tornAt(execution string) format.Files {
	at := now.Add(-time.Hour)
	return format.Files{
		{Path: "memory/state/phase.json", Changed: at, Data: []byte(`{"workflow_id":"wf-1","started_at":"2026-03-09T10:00:00Z","last_updated":"2026-03-09T12:00:00Z",` +
			`"current_phase":"IMPLEMENTATION","phase_status":"in_progress","completed_phases":[{"phase":"REQUIREMENTS","completed_at":"2026-03-09T11:00:00Z"},` +
			`{"phase":"ARCHITECTURE","completed_at":"2026-03-09T11:30:00Z"}],"user_checkpoints":[],"interruption_safe":true}`)},
		{Path: "memory/state/execution.json", Changed: at, Data: []byte(execution)},
		{Path: "memory/tasks/task-001/output.json", Changed: at, Data: []byte(`{"task_id":"task-001","status":"pre_complete","files_modified":[]}`)},
	}
}
