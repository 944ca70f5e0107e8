package dotagent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
	"pawl/internal/interop/format/formattest"
)

// TestADeathBetweenPhasesIsAResume: dotagent resumes only work in progress, and writes complete between two phases.
func TestADeathBetweenPhasesIsAResume(t *testing.T) {
	t.Parallel()
	for fixture, want := range map[string]string{
		"between_complete": "resumable from ARCHITECTURE", "between_pending": "resumable from IMPLEMENTATION",
		"failed": "resumable: IMPLEMENTATION failed and will be tried again",
	} {
		r, findings := reading(t, fixture)
		if r.Resume != want || formattest.Step(t, r, "requirements").Status != pawl.Done || !finds(findings, "which makes dotagent start over") {
			t.Errorf("%s: %s %v", fixture, r.Resume, findings)
		}
	}
}

// TestTheStatusBelongsToNoPhase: the status complete proves nothing about the phase that the file names.
func TestTheStatusBelongsToNoPhase(t *testing.T) {
	t.Parallel()
	files := format.Files{{Path: "memory/state/phase.json", Data: []byte(`{"workflow_id":"w","current_phase":"REFLECTION","phase_status":"complete","completed_phases":[]}`)}}
	if r, _ := dotagent.Format().Read(files, format.Env{Now: now}); r.Status == pawl.StatusCompleted || r.Position.PhaseName != "REQUIREMENTS" {
		t.Errorf("%s %+v", r.Status, r.Position)
	}
}

// TestDesignsAreShownAgain: step 3 of the document has the roundtable called, its scenario 3 has the person asked. The person
// is asked, unless they said yes before.
func TestDesignsAreShownAgain(t *testing.T) {
	t.Parallel()
	r, _ := reading(t, "architecture_designs")
	if s := formattest.Step(t, r, "architects"); s.Status != pawl.Done {
		t.Errorf("the architects would be called again: %+v", s)
	}
	g := r.Gates[0]
	if g.Answer != "" || g.Step != "roundtable" || g.Type != pawl.DecisionFor || !slices.Equal(g.Options, []string{"monolith", "services"}) || g.ID != g.Identify() {
		t.Errorf("%+v", g)
	}
	r, _ = reading(t, "architecture_approved")
	if s := formattest.Step(t, r, "roundtable"); s.Status != pawl.Pending || slices.ContainsFunc(r.Gates, func(g format.Gate) bool { return g.Answer == "" }) {
		t.Errorf("it is asked what was answered: %+v", s)
	}
}

// TestUnsafeIsSuspectAndNoProof: interruption_safe is set and taken away in place.
func TestUnsafeIsSuspectAndNoProof(t *testing.T) {
	t.Parallel()
	for fixture, want := range map[string]string{
		"unsafe":     "interruption_safe is false and phase.json.tmp exists",
		"tmp_counts": "the complete phase.json.tmp is used instead",
		"torn":       "the file is truncated; completed phases",
	} {
		r, findings := reading(t, fixture)
		if r.ID != "wf-shop" || r.Resume != "resumable from ARCHITECTURE" || !finds(findings, want) {
			t.Errorf("%s: %s %s %v", fixture, r.ID, r.Resume, findings)
		}
	}
}

// TestAncientGoesByTheLastActivity, and not by when it was begun.
func TestAncientGoesByTheLastActivity(t *testing.T) {
	t.Parallel()
	_, findings := reading(t, "scenario4_ancient")
	if !finds(findings, "no activity for 29 days: archive it and start over, or resume with caution") {
		t.Errorf("%v", findings)
	}
	if _, findings := reading(t, "long_and_active"); finds(findings, "no activity for") {
		t.Errorf("%v", findings)
	}
}

// TestOneMissingReportIsOnePhase: it does not fail the whole state.
func TestOneMissingReportIsOnePhase(t *testing.T) {
	t.Parallel()
	r, findings := reading(t, "missing_report")
	if formattest.Step(t, r, "roundtable").Status != pawl.Pending || formattest.Step(t, r, "requirements").Status != pawl.Done || formattest.Step(t, r, "task-001").Status != pawl.Done {
		t.Errorf("%+v", r.Phases)
	}
	if !finds(findings, "memory/state/phase.json:1: ARCHITECTURE is marked done, but memory/reports/final_design.json is missing") {
		t.Errorf("%v", findings)
	}
}

// TestReportsOfOlderWorkflowsDoNotCount: dotagent archives the state, and not the reports, and then goes by whether they are there.
func TestReportsOfOlderWorkflowsDoNotCount(t *testing.T) {
	t.Parallel()
	for fixture, step := range map[string]pawl.StepID{"requirements_stale": "requirements", "verification_stale": "verification", "reflection": "reflection"} {
		if r, _ := reading(t, fixture); formattest.Step(t, r, step).Status != pawl.Pending {
			t.Errorf("%s: %+v", fixture, formattest.Step(t, r, step))
		}
	}
	other := format.Files{
		{Path: "memory/state/phase.json", Data: []byte(`{"workflow_id":"w","current_phase":"REQUIREMENTS","phase_status":"in_progress"}`)},
		{Path: "memory/reports/demand.json", Data: []byte(`{"workflow_id":"v","goal":"x"}`)},
	}
	if r, findings := dotagent.Format().Read(other, format.Env{Now: now}); formattest.Step(t, r, "requirements").Status != pawl.Pending || !finds(findings, "it belongs to workflow v") {
		t.Errorf("%+v %v", r, findings)
	}
}

// TestAFailedVerificationIsNoReasonToGoOn: that the report exists is all that dotagent asks.
func TestAFailedVerificationIsNoReasonToGoOn(t *testing.T) {
	t.Parallel()
	r, _ := reading(t, "verification_failed")
	if s := formattest.Step(t, r, "verification"); s.Status != pawl.FailedForGood || r.Position.PhaseName != "VERIFICATION" {
		t.Errorf("%+v", s)
	}
	for _, text := range []string{`{"passed":false}`, `{"verdict":"Rejected"}`, `{"success":false,"status":"done"}`} {
		files := format.Files{{Path: "memory/reports/demand.json", Data: []byte(text)}}
		if r, _ := dotagent.Format().Read(files, format.Env{Now: now}); formattest.Step(t, r, "requirements").Status == pawl.Done {
			t.Errorf("%s is believed", text)
		}
	}
}

// TestOutputsAreEvidence: an output that is torn, of an attempt before, of another task, or missing proves nothing.
func TestOutputsAreEvidence(t *testing.T) {
	t.Parallel()
	r, _ := reading(t, "outputs")
	for _, id := range []pawl.StepID{"task-001", "task-002", "task-003", "task-004", "task-005"} {
		if s := formattest.Step(t, r, id); s.Status == pawl.Done {
			t.Errorf("%+v", s)
		}
	}
	if s := formattest.Step(t, r, "task-006"); s.Status != pawl.Done {
		t.Errorf("%+v", s)
	}
}

// TestNothingLeadsOutside: no path that a file names is looked for outside of the project.
func TestNothingLeadsOutside(t *testing.T) {
	t.Parallel()
	for _, fixture := range []string{"outputs", "outside"} {
		a := archives(t)["testdata/read/"+fixture+".txtar"]
		files, env := unpacked(t, a)
		there := env.Exists
		env.Exists = func(name string) bool {
			if clean, err := format.Inside(name); err != nil || clean != name {
				t.Errorf("%q is looked for", name)
			}
			return there(name)
		}
		dotagent.Format().Verify(files, env)
		r, findings := dotagent.Format().Read(files, env)
		if !finds(findings, "is rejected: ") {
			t.Errorf("%v", findings)
		}
		for _, name := range pathsOf(r) {
			if clean, err := format.Inside(name); err != nil || clean != name {
				t.Errorf("%q is claimed", name)
			}
		}
	}
}

func pathsOf(r format.Project) []string {
	var list []string
	for _, p := range r.Phases {
		for _, s := range p.Steps {
			for _, c := range s.Claims {
				list = append(list, c.Path)
			}
		}
	}
	return list
}

// TestQuestions are dotagent's own, with their defaults.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for fixture, want := range map[string]format.Question{
		"empty":            {},
		"no_state":         {},
		"complete":         {},
		"implementation":   {Workflow: "wf-shop", Ask: "Resume workflow from IMPLEMENTATION?", Yes: true},
		"between_complete": {Workflow: "wf-shop", Ask: "Resume workflow from ARCHITECTURE?", Yes: true},
		"missing_report":   {Workflow: "wf-shop", Ask: "State appears corrupted. Start fresh?", Fresh: true},
		"out_of_order":     {Workflow: "wf-shop", Ask: "State appears corrupted. Start fresh?", Fresh: true},
		"unsafe":           {Workflow: "wf-shop", Ask: "Resume workflow from ARCHITECTURE?", Yes: true}, // suspect, and no proof
		"corrupted":        {Ask: "State appears corrupted. Start fresh?", Fresh: true},
	} {
		files, env := unpacked(t, archives(t)["testdata/read/"+fixture+".txtar"])
		got := dotagent.Format().ResumePrompt(files, env)
		if tells := strings.HasPrefix(got.Tell, "Resuming workflow ") && strings.Contains(got.Tell, "\nCompleted: "); tells != (got.Ask != "") {
			t.Errorf("%s tells %q", fixture, got.Tell)
		}
		got.Tell = ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", fixture, diff)
		}
		if got.Ask != "" && got.Afresh(got.Yes) {
			t.Errorf("%s: who only presses return loses the state", fixture)
		}
	}
}

// TestVerifyNamesEveryFault of a project, and what was found to be good.
func TestVerifyNamesEveryFault(t *testing.T) {
	t.Parallel()
	verify := func(fixture string) []pawl.Finding {
		files, env := unpacked(t, archives(t)["testdata/read/"+fixture+".txtar"])
		return dotagent.Format().Verify(files, env)
	}
	for fixture, wants := range map[string][]string{
		"empty": {"memory/state/phase.json: no state of dotagent found here"},
		"implementation": {
			": all 4 files that phases and tasks name exist", ": the times are plausible: none is in the future, the last one is less than a week old",
			": the completed phases are the first ones, in order", ": no write was interrupted", ": 1 of 2 tasks are done, none of them tried more than 3 times",
			": 0 workflows are archived",
		},
		"missing_report":      {"phase.json:1: ARCHITECTURE names memory/reports/final_design.json, which is missing", "VERIFICATION is marked as current, but ARCHITECTURE is not done"},
		"out_of_order":        {"ARCHITECTURE is listed as done before REQUIREMENTS", "REQUIREMENTS is listed as done twice", "REQUIREMENTS is the current phase, but a later phase is listed as done"},
		"odd":                 {"phase.json:4: last_updated 2031-01-01T00:00:00Z is in the future", "ARCHITECTURE has no completion time", "names no output"},
		"unsafe":              {"interruption_safe is false"},
		"corrupted":           {"phase.json:1: invalid JSON"},
		"scenario1_exhausted": {"task task-001 was tried 3 times; dotagent gives up after 3"},
		"scenario4_ancient":   {"no activity for 29 days"},
		"requirements_torn":   {"memory/reports/demand.json:1: invalid JSON"},
	} {
		findings := verify(fixture)
		for _, want := range wants {
			if !finds(findings, want) {
				t.Errorf("%s: %s is not told, but %+v", fixture, want, findings)
			}
		}
	}
	if !slices.ContainsFunc(verify("out_of_order"), func(f pawl.Finding) bool {
		return f.Level == pawl.Bad && strings.Contains(f.What, "listed as done before REQUIREMENTS")
	}) {
		t.Errorf("phases out of order are no fault: %+v", verify("out_of_order"))
	}
	if slices.ContainsFunc(verify("implementation"), func(f pawl.Finding) bool { return f.Level != pawl.OK }) {
		t.Errorf("%+v", verify("implementation"))
	}
}

// TestVerifyTellsTimesInNoOrder and archives that are too many.
func TestVerifyTellsTimesInNoOrder(t *testing.T) {
	t.Parallel()
	files := format.Files{{Path: "memory/state/phase.json", Data: []byte(`{"workflow_id":"w","started_at":"2026-03-09T09:00:00Z","last_updated":"2026-03-08T09:00:00Z","current_phase":"ARCHITECTURE","phase_status":"in_progress",
"completed_phases":[{"phase":"REQUIREMENTS","completed_at":"2026-03-07T09:00:00Z","output":"memory/reports/demand.json"}]}`)},
		{Path: "memory/reports/demand.json", Data: []byte(`{"goal":"x"}`)}, {Path: "memory/contracts/a.json", Data: []byte(`{`)}}
	for _, n := range "123456" {
		files = append(files, format.File{Path: "memory/state/.archive/w_2026020" + string(n) + "T000000Z/execution.json", Data: []byte("{}")})
	}
	findings := dotagent.Format().Verify(files, format.Env{Now: now})
	for _, want := range []string{
		"phase.json:2: REQUIREMENTS was completed before the workflow started", "phase.json:1: last_updated is before",
		"memory/state/.archive: there are 6 archives; dotagent keeps 5", "the archive has no phase.json", "memory/contracts/a.json:1: invalid JSON",
	} {
		if !finds(findings, want) {
			t.Errorf("%s is not told, but %+v", want, findings)
		}
	}
}

// TestReadsWithoutLoss: everything that the document's blocks have is in what is read, and unknown keys too.
func TestReadsWithoutLoss(t *testing.T) {
	t.Parallel()
	r, _ := reading(t, "odd")
	if r.Facts["phase.json team"] != `{"pm": "A"}` || formattest.Step(t, r, "08").Attempts != 3 || r.ID != "8" {
		t.Errorf("%+v", r)
	}
	r, _ = reading(t, "implementation")
	if !r.Created.Equal(time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)) || !r.Updated.Equal(time.Date(2026, 3, 9, 11, 30, 0, 0, time.UTC)) || len(r.Gates) != 2 || len(r.Memories) != 4 ||
		!strings.HasPrefix(r.Prompt, "Resuming workflow wf-shop from IMPLEMENTATION phase\nLast activity: 2026-03-09T11:30:00Z\nCompleted: REQUIREMENTS, ARCHITECTURE\n") {
		t.Errorf("%+v", r)
	}
	if s := formattest.Step(t, r, "requirements"); !s.Ended.Equal(time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC)) || s.Claims[0].Path != "memory/reports/demand.json" {
		t.Errorf("%+v", s)
	}
	r, _ = reading(t, "scenario1_exhausted")
	if s := formattest.Step(t, r, "task-001"); s.Resume != "retry with scope_reduction" || s.Facts["context_added"] != "the log; the contract" {
		t.Errorf("%+v", s)
	}
}

// TestATaskOfAPhaseThatIsDoneIsBelieved where its output was tidied away; of a phase that is not, it is done again.
func TestATaskOfAPhaseThatIsDoneIsBelieved(t *testing.T) {
	t.Parallel()
	const phases = `{"phase":"REQUIREMENTS"},{"phase":"ARCHITECTURE"}`
	for completed, want := range map[string]pawl.StepStatus{phases: pawl.Pending, phases + `,{"phase":"IMPLEMENTATION"}`: pawl.Done} {
		files := format.Files{
			{Path: "memory/state/phase.json", Data: []byte(`{"workflow_id":"w","current_phase":"IMPLEMENTATION","phase_status":"in_progress","completed_phases":[` + completed + `]}`)},
			{Path: "memory/state/execution.json", Data: []byte(`{"tasks":[{"id":"task-001","status":"verified"}]}`)},
		}
		if r, _ := dotagent.Format().Read(files, format.Env{Now: now}); formattest.Step(t, r, "task-001").Status != want {
			t.Errorf("%s: %+v", completed, formattest.Step(t, r, "task-001"))
		}
	}
}

// TestAnOutputTellsWhenItsTaskEnded, where nothing else does: not the time at which it is read.
func TestAnOutputTellsWhenItsTaskEnded(t *testing.T) {
	t.Parallel()
	made := now.Add(-time.Hour)
	r, _ := dotagent.Format().Read(format.Files{
		{Path: "memory/state/phase.json", Data: []byte(`{"workflow_id":"w","current_phase":"IMPLEMENTATION","phase_status":"in_progress"}`)},
		{Path: "memory/state/execution.json", Data: []byte(`{"tasks":[{"id":"one","status":"running"}]}`)},
		{Path: "memory/tasks/one/output.json", Data: []byte(`{"task_id":"one","status":"pre_complete"}`), Changed: made},
	}, format.Env{Now: now})
	for _, p := range r.Phases {
		for _, s := range p.Steps {
			if s.ID == "one" && (s.Status != pawl.Done || !s.Ended.Equal(made)) {
				t.Errorf("%s at %v", s.Status, s.Ended)
			}
		}
	}
}
