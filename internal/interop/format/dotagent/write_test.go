package dotagent_test

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
)

const shopPlan = `
name: shop
goal: a shop for tea
phases:
  - name: Requirements
    steps:
      - {id: pm, run: "true", outputs: [memory/reports/demand.json]}
  - name: Architecture
    steps:
      - {id: designers, run: "true", outputs: [memory/reports/designs/a.json]}
      - {id: choose, gate: {type: human_verify, ask: "Good?"}}
      - {id: final, run: "true"}
  - name: Implementation
    steps:
      - {id: task-001, name: The goods, run: "true", accept: {there: "true"}, outputs: [goods.txt]}
      - {id: task-002, run: "true", needs: []}
  - name: Verification
    steps:
      - {id: qa, run: "true"}
  - name: Reflection
    steps:
      - {id: look-back, run: "true"}
`

const shopRun = "shop-20260310-090000-abcd"

// updated is the time of the last change, which is that of another one where a change is written in two goes.
var updated = regexp.MustCompile(`"last_updated":"[^"]*"`)

// TestWriteARun follows a run through the five phases, and compares what was written at each moment with a golden.
func TestWriteARun(t *testing.T) {
	t.Parallel()
	s := begin(t, shopPlan, nil)
	var b strings.Builder
	tell := func(what string, status pawl.RunStatus) {
		fmt.Fprintf(&b, "== %s\n", what)
		for _, f := range s.write(status) {
			fmt.Fprintf(&b, "%s\n%s", f.Path, cmp.Or(string(f.Data), "(removed)\n"))
		}
		r, _ := dotagent.Format().Read(s.disk, format.Env{Now: s.Now})
		fmt.Fprintf(&b, "-> %s, %s\n", r.Resume, r.Next)
	}
	s.Add(pawl.EngineStarted{Epoch: 1, PID: 1})
	tell("begun", pawl.StatusActive)
	s.start("pm", 1)
	tell("pm runs", pawl.StatusActive)
	s.put("memory/reports/demand.json", `{"goal":"tea"}`)
	s.finish("pm", 1, "memory/reports/demand.json")
	tell("requirements done", pawl.StatusActive)
	s.start("designers", 1)
	s.put("memory/reports/designs/a.json", `{"a":1}`)
	s.finish("designers", 1, "memory/reports/designs/a.json")
	gate := pawl.Gate{Step: "choose", Type: pawl.HumanVerify, Ask: "Good?"}
	gate.ID = gate.Identify()
	s.Add(pawl.GateOpened{Gate: gate})
	tell("asked", pawl.StatusWaiting)
	s.Add(pawl.GateAnswered{Gate: gate.ID, Step: "choose", Answer: pawl.Approved})
	s.Add(pawl.StepDone{Step: "choose"})
	tell("approved", pawl.StatusActive)
	s.start("final", 1)
	s.finish("final", 1)
	tell("architecture done, and left no report", pawl.StatusActive)
	s.start("task-001", 1)
	s.start("task-002", 1)
	tell("two tasks run", pawl.StatusActive)
	s.Add(pawl.AttemptEnded{AttemptRef: pawl.AttemptRef{Step: "task-002", Attempt: 1, Token: "task-002-1"}, Outcome: pawl.Lost, Why: "its supervisor died"})
	s.finish("task-001", 1, "goods.txt")
	tell("one is done, one lost", pawl.StatusInterrupted)
	s.start("task-002", 2)
	tell("it is tried again", pawl.StatusActive)
	s.finish("task-002", 2)
	s.start("qa", 1)
	s.finish("qa", 1)
	s.start("look-back", 1)
	tell("the last phase", pawl.StatusActive)
	s.finish("look-back", 1)
	s.Add(pawl.RunEnded{Status: pawl.StatusCompleted})
	tell("completed", pawl.StatusCompleted)
	s.Add(pawl.EngineStopped{})
	tell("the engine stopped", pawl.StatusCompleted)
	golden(t, "testdata/run.golden", b.String())
}

// TestNothingChangedNothingIsWritten: a run that was made of a folder, and did nothing yet, leaves it as it is, to the byte.
func TestNothingChangedNothingIsWritten(t *testing.T) {
	t.Parallel()
	many := 0
	for name, a := range archives(t) {
		files, env := unpacked(t, a)
		r, findings := dotagent.Format().Read(files, env)
		findings = slices.DeleteFunc(findings, func(f pawl.Finding) bool { return strings.Contains(f.What, " happened ") })
		if r.Name == "" || len(findings) > 0 || r.Position.Complete || r.Facts["current phase"] != r.Position.PhaseName {
			continue // the state is behind, or at fault, and is brought up to date
		}
		many++
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			s := imported(t, strings.TrimSuffix(filepath.Base(name), ".txtar"))
			for _, f := range dotagent.Format().Write(s.disk, s.view(pawl.StatusInterrupted)) {
				t.Errorf("%s is written:\n%s", f.Path, f.Data)
			}
		})
	}
	if many < 8 {
		t.Errorf("only %d fixtures were tried", many)
	}
}

// TestOneChangeChangesOneThing: of files in any form only what differs is written, and all else stays.
func TestOneChangeChangesOneThing(t *testing.T) {
	t.Parallel()
	s := imported(t, "implementation")
	phase := "{\r\n\t\"workflow_id\" : \"wf-shop\", \"team\": {\"pm\": 1.50},\r\n\t\"started_at\":\"2026-03-08T09:00:00+00:00\",\r\n\t\"last_updated\":\"x\",\r\n\t\"current_phase\":\"IMPLEMENTATION\",\r\n" +
		"\t\"phase_status\":\"in_progress\",\r\n\t\"completed_phases\":[{\"phase\":\"REQUIREMENTS\",\"why\":1},{\"phase\":\"ARCHITECTURE\"}],\r\n\t\"user_checkpoints\":[],\r\n\t\"interruption_safe\":true\r\n}"
	execution := "{\n  \"note\": \"kept\",\n  \"tasks\": [\n    {\"id\": \"task-001\", \"status\": \"verified\", \"odd\": [1]},\n    {\"id\": \"task-002\", \"status\": \"pending\", \"attempts\": 0}\n  ]\n}"
	s.put("memory/state/phase.json", phase)
	s.put("memory/state/execution.json", execution)
	s.start("task-002", 1)
	out := s.write(pawl.StatusActive)
	if diff := gocmp.Diff([]string{"memory/state/execution.json", "memory/state/phase.json"}, names(out)); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	at := s.Now.Format("2006-01-02T15:04:05.000Z")
	want := strings.Replace(execution, `"pending", "attempts": 0}`, `"running", "attempts": 1, "started_at": "`+at+`", "output": "memory/tasks/task-002/output.json"}`, 1)
	if diff := gocmp.Diff(want, s.get("memory/state/execution.json")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := gocmp.Diff(strings.Replace(phase, `"x"`, `"`+at+`"`, 1), s.get("memory/state/phase.json")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestAttemptsGoOnWhereTheyWere: a task that had one attempt in dotagent has its second one in pawl.
func TestAttemptsGoOnWhereTheyWere(t *testing.T) {
	t.Parallel()
	s := imported(t, "scenario1_orphan")
	for attempt, want := range []string{`"status":"running","attempts":2`, `"status":"running","attempts":3`} {
		s.start("task-002", attempt+1)
		s.write(pawl.StatusActive)
		if got := s.get("memory/state/execution.json"); !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
		s.Add(pawl.AttemptEnded{AttemptRef: pawl.AttemptRef{Step: "task-002", Attempt: attempt + 1, Token: pawl.Token(fmt.Sprintf("task-002-%d", attempt+1))}, Outcome: pawl.Lost, Why: "lost"})
		s.write(pawl.StatusActive)
	}
}

// TestThePhaseIsNeverLeftComplete: at each moment of an unfinished run, dotagent can resume the written state.
func TestThePhaseIsNeverLeftComplete(t *testing.T) {
	t.Parallel()
	s := begin(t, shopPlan, nil)
	for _, step := range s.Plan.Steps() {
		if step.Gate != nil {
			gate := pawl.Gate{ID: "0badcafe", Step: step.ID, Type: pawl.HumanVerify, Ask: "Good?"}
			s.Add(pawl.GateOpened{Gate: gate}, pawl.GateAnswered{Gate: gate.ID, Step: step.ID, Answer: pawl.Approved}, pawl.StepDone{Step: step.ID})
		} else {
			s.start(step.ID, 1)
			s.write(pawl.StatusActive)
			s.finish(step.ID, 1)
		}
		s.write(pawl.StatusActive)
		if got := s.get("memory/state/phase.json"); !strings.Contains(got, `"phase_status":"in_progress"`) {
			t.Errorf("after %s: %s", step.ID, got)
		}
		if r, found := dotagent.Format().Read(s.disk, format.Env{Now: s.Now}); finds(found, "start over") {
			t.Errorf("after %s: %s %v", step.ID, r.Resume, found)
		}
	}
}

// TestAnotherWorkflowIsArchived: a new run finds the state of another one, and sets it aside.
func TestAnotherWorkflowIsArchived(t *testing.T) {
	t.Parallel()
	files, _ := unpacked(t, archives(t)["testdata/read/implementation.txtar"])
	for _, plan := range []string{shopPlan, "name: p\nsteps: [{id: task-001, run: x}]\n"} { // one that has tasks at once, and one later
		s := begin(t, plan, files)
		phase, execution := s.get("memory/state/phase.json"), s.get("memory/state/execution.json")
		s.write(pawl.StatusActive)
		const folder = "memory/state/.archive/wf-shop_20260309T113000Z/"
		if s.get(folder+"phase.json") != phase || s.get(folder+"execution.json") != execution {
			t.Errorf("it is not archived: %v", names(s.disk))
		}
		if r, _ := dotagent.Format().Read(s.disk, format.Env{Now: s.Now}); r.ID != shopRun {
			t.Errorf("the state is of %s", r.ID)
		}
		if s.get("memory/reports/demand.json") == "" || s.get("memory/tasks/task-001/output.json") == "" {
			t.Error("reports are gone")
		}
	}
}

// TestABrokenStateIsArchived: what cannot be read is not written over.
func TestABrokenStateIsArchived(t *testing.T) {
	t.Parallel()
	s := begin(t, shopPlan, format.Files{{Path: "memory/state/phase.json", Data: []byte("oops")}, {Path: "memory/state/execution.json", Data: []byte("[")}})
	s.disk = store(s.disk, dotagent.Format().Write(s.disk, s.view(pawl.StatusActive)), s.Now)
	s.write(pawl.StatusActive)
	for _, name := range []string{"phase.json", "execution.json"} {
		if !slices.ContainsFunc(s.disk, func(f format.File) bool {
			return strings.HasPrefix(f.Path, "memory/state/.archive/workflow_") && strings.HasSuffix(f.Path, name)
		}) {
			t.Errorf("%s is not archived: %v", name, names(s.disk))
		}
	}
}

// TestAnUnreadableExecutionIsArchived: the workflow continues.
func TestAnUnreadableExecutionIsArchived(t *testing.T) {
	t.Parallel()
	s := begin(t, shopPlan, nil)
	s.write(pawl.StatusActive)
	s.put("memory/state/execution.json", `{"tasks":[{"id":"task-0`)
	if out := names(dotagent.Format().Write(s.disk, s.view(pawl.StatusActive))); len(out) != 2 || !strings.HasPrefix(out[0], "memory/state/.archive/"+shopRun+"_") {
		t.Errorf("%v", out)
	}
}

// TestFiveArchivesAreKept, and what is no archive of a state, or has no time in its name, is left alone.
func TestFiveArchivesAreKept(t *testing.T) {
	t.Parallel()
	files, _ := unpacked(t, archives(t)["testdata/read/implementation.txtar"])
	for n := range 7 {
		folder := fmt.Sprintf("memory/state/.archive/old_2026020%dT000000Z/", n+1)
		files = append(files, format.File{Path: folder + "phase.json", Data: []byte("{}")}, format.File{Path: folder + "execution.json", Data: []byte("{}")})
	}
	files = append(files, format.File{Path: "memory/state/.archive/mine/phase.json", Data: []byte("{}")},
		format.File{Path: "memory/state/.archive/old_20260101T000000Z/notes.md", Data: []byte("mine")})
	s := begin(t, shopPlan, files)
	out := names(s.write(pawl.StatusActive))
	var gone []string
	for _, name := range out {
		if strings.HasPrefix(name, "-memory/state/.archive/") && strings.HasSuffix(name, "/") {
			gone = append(gone, name)
		}
	}
	want := []string{"-memory/state/.archive/old_20260201T000000Z/", "-memory/state/.archive/old_20260202T000000Z/", "-memory/state/.archive/old_20260203T000000Z/"}
	if diff := gocmp.Diff(want, gone); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if s.get("memory/state/.archive/mine/phase.json") == "" || s.get("memory/state/.archive/old_20260101T000000Z/notes.md") == "" {
		t.Error("what is no archive is gone")
	}
}

// TestArchivesOfOthersAreLetGoOfToo: the document names no form for the time in an archive's name.
func TestArchivesOfOthersAreLetGoOfToo(t *testing.T) {
	t.Parallel()
	files, _ := unpacked(t, archives(t)["testdata/read/implementation.txtar"])
	for _, name := range []string{ // the oldest first
		"wf-old_20251201_100000", "wf-old_2025-12-02T10:00:00Z", "wf_old_2025-12-03T10-00-00Z", "wf_old_2025-12-04_10-00-00", "wf-old_1764842400", "wf-old_1764928800000",
		"wf-old_2025-12-07", "wf-old_20251208T100000Z", "wf-old_2025-12-09T10:00:00.123+01:00", "wf-old_v2", "wf-old_12", "wf-old_99999999_100000",
	} {
		files = append(files, format.File{Path: "memory/state/.archive/" + name + "/phase.json", Data: []byte("{}")})
	}
	s := begin(t, shopPlan, files)
	s.write(pawl.StatusActive)
	var left []string
	for _, f := range s.disk {
		if name, in := strings.CutPrefix(f.Path, "memory/state/.archive/wf-old_"); in {
			left = append(left, strings.TrimSuffix(name, "/phase.json"))
		}
	}
	slices.Sort(left)
	want := []string{"12", "1764928800000", "2025-12-07", "2025-12-09T10:00:00.123+01:00", "20251208T100000Z", "99999999_100000", "v2"} // and the one that was made
	if diff := gocmp.Diff(want, left); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestArchivesLieInTheArchive: a workflow whose id is a path is archived below the archive nevertheless.
func TestArchivesLieInTheArchive(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"../../etc", "/etc/passwd", "a/b", "..", "", "con", "a\u0000b", strings.Repeat("x", 500)} {
		data := []byte(fmt.Sprintf(`{"workflow_id":%q,"current_phase":"REQUIREMENTS"}`, id))
		for _, f := range dotagent.Format().Archive(format.Files{{Path: "memory/state/phase.json", Data: data}}, now) {
			if clean, err := format.Inside(f.Path); err != nil || clean != f.Path || !strings.HasPrefix(f.Path, "memory/state/") {
				t.Errorf("%q is archived to %s", id, f.Path)
			}
			if f.Data != nil && !bytes.Equal(f.Data, data) {
				t.Errorf("%s is %s", f.Path, f.Data)
			}
		}
	}
}

// TestAPlanOfItsOwnPhases: phases that dotagent does not have are its implementation, and those that the plan lacks are done
// as far as the plan goes.
func TestAPlanOfItsOwnPhases(t *testing.T) {
	t.Parallel()
	s := begin(t, "name: p\ngoal: g\nsteps: [{id: one, run: x}, {id: two, run: x}]\n", nil)
	s.start("one", 1)
	s.write(pawl.StatusActive)
	r, found := dotagent.Format().Read(s.disk, format.Env{Now: s.Now})
	if r.Position.PhaseName != "IMPLEMENTATION" || r.Position.StepID != "one" || !strings.Contains(s.get("memory/reports/final_design.json"), `"status":"planned"`) {
		t.Errorf("%+v %v\n%s", r.Position, found, s.get("memory/reports/final_design.json"))
	}
	s.finish("one", 1)
	s.start("two", 1)
	s.finish("two", 1)
	s.Add(pawl.RunEnded{Status: pawl.StatusCompleted})
	s.write(pawl.StatusCompleted)
	if s.get("memory/state/phase.json") != "" {
		t.Error("the state is not archived")
	}
	for name, want := range map[string]string{"Demand": "REQUIREMENTS", "Design it": "ARCHITECTURE", "Make": "IMPLEMENTATION", "the QA": "VERIFICATION", "Retro": "REFLECTION"} {
		s := begin(t, "name: p\nphases: [{name: "+name+", steps: [{id: one, run: x}]}]\n", nil)
		s.start("one", 1)
		s.write(pawl.StatusActive)
		if got := s.get("memory/state/phase.json"); !strings.Contains(got, `"current_phase":"`+want+`"`) {
			t.Errorf("phase %q is not %s: %s", name, want, got)
		}
	}
}

// TestReportsOfOthersAreNeverTouched: a report of an older workflow is not overwritten; the new one gets another name.
func TestReportsOfOthersAreNeverTouched(t *testing.T) {
	t.Parallel()
	s := begin(t, "name: p\ngoal: g\nsteps: [{id: one, run: x}]\n", format.Files{{Path: "memory/reports/demand.json", Data: []byte(`{"goal":"old"}`), Changed: now.Add(-100 * time.Hour)}})
	s.write(pawl.StatusActive)
	if s.get("memory/reports/demand.json") != `{"goal":"old"}` || !strings.Contains(s.get("memory/state/phase.json"), `"output":"memory/reports/demand-`+shopRun+`.json"`) {
		t.Errorf("%v\n%s", names(s.disk), s.get("memory/state/phase.json"))
	}
}

// TestAReopenedPhaseIsNotDone: a step that is done again takes its phase out of those that are completed.
func TestAReopenedPhaseIsNotDone(t *testing.T) {
	t.Parallel()
	s := begin(t, shopPlan, nil)
	s.start("pm", 1)
	s.finish("pm", 1)
	s.write(pawl.StatusActive)
	s.Add(pawl.StepReopened{Step: "pm", Why: "rejected"})
	s.write(pawl.StatusActive)
	if got := s.get("memory/state/phase.json"); !strings.Contains(got, `"current_phase":"REQUIREMENTS"`) || !strings.Contains(got, `"completed_phases":[]`) {
		t.Error(got)
	}
}

// TestWhatNobodyApprovedIsNotApproved: an answer that autopilot gave is no user checkpoint.
func TestWhatNobodyApprovedIsNotApproved(t *testing.T) {
	t.Parallel()
	s := begin(t, shopPlan, nil)
	gate := pawl.Gate{ID: "0badcafe", Step: "choose", Type: pawl.HumanVerify, Ask: "Good?"}
	s.Add(pawl.GateOpened{Gate: gate}, pawl.GateAnswered{Gate: gate.ID, Step: "choose", Answer: pawl.Approved, Auto: true})
	s.write(pawl.StatusActive)
	if got := s.get("memory/state/phase.json"); !strings.Contains(got, `"user_checkpoints":[]`) {
		t.Error(got)
	}
}

// TestNothingArchivedIsWrittenOver: a second state of the same workflow and time gets another name.
func TestNothingArchivedIsWrittenOver(t *testing.T) {
	t.Parallel()
	const state = `{"workflow_id":"w","last_updated":"2026-03-09T11:30:00Z"}`
	disk := format.Files{{Path: "memory/state/.archive/w_20260309T113000Z/phase.json", Data: []byte("{}")}, {Path: "memory/state/phase.json", Data: []byte(state)}}
	disk = store(disk, dotagent.Format().Archive(disk, now), now)
	if f := disk.Find("memory/state/.archive/w_20260309T113000Z/phase.json"); string(f.Data) != "{}" {
		t.Errorf("%s", f.Data)
	}
	if f := disk.Find("memory/state/.archive/w_20260309T113000Z/phase.json.2"); f == nil || string(f.Data) != state {
		t.Errorf("%v", names(disk))
	}
}

// TestTasksByID: tasks that stand in an object are changed there, and others are added there.
func TestTasksByID(t *testing.T) {
	t.Parallel()
	s := begin(t, shopPlan, nil)
	s.write(pawl.StatusActive)
	s.put("memory/state/execution.json", `{"workflow_id":"`+shopRun+`","tasks":{"task-001":{"status":"pending"}}}`)
	s.start("pm", 1)
	s.start("task-001", 1)
	s.Add(pawl.StepSkipped{Step: "task-002", Why: "not needed"})
	s.write(pawl.StatusActive)
	got := s.get("memory/state/execution.json")
	if !strings.Contains(got, `"tasks":{"task-001":{"status":"running","attempts":1,`) || !strings.Contains(got, `"task-002":{"id":"task-002","status":"skipped",`) {
		t.Error(got)
	}
}

// TestPhasesNeverGoBack: a phase of the plan that is named after an earlier one of dotagent's is part of the one before it.
func TestPhasesNeverGoBack(t *testing.T) {
	t.Parallel()
	s := begin(t, "name: p\nphases:\n  - {name: Tests, steps: [{id: one, run: x}]}\n  - {name: Build, steps: [{id: two, run: x}]}\n", nil)
	s.start("one", 1)
	s.finish("one", 1)
	s.start("two", 1)
	s.write(pawl.StatusActive)
	if got := s.get("memory/state/phase.json"); !strings.Contains(got, `"current_phase":"VERIFICATION","phase_status":"in_progress"`) {
		t.Error(got)
	}
}

// TestAVerificationSaysWhatWasProven: the checks that passed, when, and of what; verified only where nothing is without any.
func TestAVerificationSaysWhatWasProven(t *testing.T) {
	t.Parallel()
	const plan = "name: p\nphases:\n  - {name: Build, steps: [{id: one, run: x%s}]}\n  - {name: Test, steps: [{id: qa, run: x%s}]}\n  - {name: Reflect, steps: [{id: back, run: x}]}\n"
	const check = `, accept: {good: "test -s one"}, outputs: [one]`
	for name, c := range map[string]struct{ one, qa, want, never string }{
		"all":  {check, check, `"status":"verified","summary":"all acceptance checks passed: 2, of 2 steps"`, `pre_complete`},
		"some": {check, "", `"status":"complete","summary":"acceptance checks passed: 1, of 1 steps; not checked: qa"`, `"verified"`},
		"none": {"", "", `"status":"complete","summary":"nothing was verified: no step has an acceptance check that passed"`, `"verified"`},
	} {
		s := begin(t, fmt.Sprintf(plan, c.one, c.qa), nil)
		s.start("one", 1)
		s.finish("one", 1, "one")
		s.start("qa", 1)
		s.finish("qa", 1, "one")
		s.write(pawl.StatusActive)
		got := s.get("memory/reports/verification.json")
		if !strings.Contains(got, c.want) || strings.Contains(got, c.never) {
			t.Errorf("%s: %s", name, got)
		}
		proof := `{"step":"one","check":"good","command":"test -s one","exit":0,"passed_at":"2026-03-10T09:03:00.000Z","outputs_sha256":{"one":"` + strings.Repeat("ab", 32) + `"}}`
		if strings.Contains(got, proof) != (c.one != "") {
			t.Errorf("%s: %s", name, got)
		}
		if r, _ := dotagent.Format().Read(s.disk, format.Env{Now: s.Now}); r.Position.PhaseName != "REFLECTION" {
			t.Errorf("%s: dotagent is at %s", name, r.Position.PhaseName)
		}
	}
}

// TestChecksOfAnotherPlanProveNothing: what passed is what the plan has now, or nothing.
func TestChecksOfAnotherPlanProveNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, "name: p\nphases: [{name: Build, steps: [{id: one, run: x, accept: {good: x}}, {id: two, run: x}]}]\n", nil)
	s.Add(pawl.StepDone{Step: "one", Accept: "0badcafe", Started: s.Now})
	s.start("two", 1)
	s.write(pawl.StatusActive)
	if got := s.get("memory/state/execution.json"); !strings.Contains(got, `"id":"one","status":"pre_complete"`) {
		t.Error(got)
	}
}

// TestReportsOfAnArchivedWorkflowAreNotNamed, however young they are, and whoever wrote them.
func TestReportsOfAnArchivedWorkflowAreNotNamed(t *testing.T) {
	t.Parallel()
	const plan = "name: p\nphases:\n  - {name: Build, steps: [{id: one, run: x}]}\n  - {name: Test, steps: [{id: qa, run: x}]}\n"
	young := now.Add(-3 * time.Hour).Add(30 * time.Second) // half a minute before the run
	disk := format.Files{
		{Path: "memory/state/phase.json", Data: []byte(`{"workflow_id":"old","current_phase":"VERIFICATION","phase_status":"in_progress"}`), Changed: young},
		{Path: "memory/reports/demand.json", Data: []byte(`{"goal":"another"}`), Changed: young},
		{Path: "memory/reports/final_design.json", Data: []byte(`{"workflow_id":"old","source":"pawl"}`), Changed: now.Add(time.Hour)},
		{Path: "memory/tasks/one/output.json", Data: []byte(`{"task_id":"one","status":"failed","source":"pawl"}`), Changed: young},
	}
	s := begin(t, plan, disk)
	s.start("one", 1)
	s.finish("one", 1)
	s.write(pawl.StatusActive)
	got := s.get("memory/state/phase.json")
	for _, name := range []string{"demand", "final_design"} {
		if !strings.Contains(got, `"output":"memory/reports/`+name+"-"+shopRun+`.json"`) || s.get("memory/reports/"+name+"-"+shopRun+".json") == "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if s.get("memory/reports/final_design.json") != `{"workflow_id":"old","source":"pawl"}` || s.get("memory/reports/demand.json") != `{"goal":"another"}` {
		t.Error("the archived workflow has lost its reports")
	}
	if got := s.get("memory/tasks/one/output.json"); !strings.Contains(got, `"status":"pre_complete"`) {
		t.Errorf("its output is still that of the archived workflow: %s", got)
	}
}

// TestCreatedIsNotModified: files whose origin is unknown count as neither.
func TestCreatedIsNotModified(t *testing.T) {
	t.Parallel()
	s := begin(t, "name: p\nsteps: [{id: one, run: x}]\n", nil)
	s.start("one", 1)
	s.finish("one", 1, "a", "b", "c", "d/*")
	v := s.view(pawl.StatusActive)
	v.Existed = func(_ pawl.StepID, name string) (existed, known bool) { return name == "a", name != "c" }
	s.disk = store(s.disk, dotagent.Format().Write(s.disk, v), s.Now)
	got := s.get("memory/tasks/one/output.json")
	for name, want := range map[string]string{"a": "modified", "b": "created", "c": "unknown", "d/*": "unknown"} {
		if !strings.Contains(got, `{"path":"`+name+`","change_type":"`+want+`"`) {
			t.Errorf("%s is not %s: %s", name, want, got)
		}
	}
}

// TestWhatIsSkippedIsNotComplete: nobody is told that a skipped step was done, neither by its phase nor by the phase's
// report, and who reads the files again skips it too.
func TestWhatIsSkippedIsNotComplete(t *testing.T) {
	t.Parallel()
	s := begin(t, strings.ReplaceAll(shopPlan, "designers", "architects"), nil)
	s.start("pm", 1)
	s.put("memory/reports/demand.json", `{"goal":"tea"}`)
	s.finish("pm", 1, "memory/reports/demand.json")
	s.Add(pawl.StepSkipped{Step: "architects", Why: "there is one design"}, pawl.StepSkipped{Step: "choose"}, pawl.StepSkipped{Step: "final", Why: "no time"})
	s.start("task-001", 1)
	s.finish("task-001", 1)
	s.Add(pawl.StepSkipped{Step: "task-002", Why: "not needed"})
	s.write(pawl.StatusActive)
	for name, want := range map[string][]string{
		"memory/state/phase.json": {
			`{"phase":"REQUIREMENTS","completed_at":"2026-03-10T09:03:00.000Z","output":"memory/reports/demand.json"}`,
			`"output":"memory/reports/final_design.json","status":"skipped","skipped":["architects","final"]}`,
			`"output":"memory/state/execution.json","status":"partial","skipped":["task-002"]}`,
		},
		"memory/reports/final_design.json": {`"status":"skipped","summary":"no step of this phase was done: architects was skipped (there is one design), final was skipped (no time)"`},
		"memory/state/execution.json":      {`"id":"task-002","status":"skipped"`, `"failure_reason":"skipped: not needed"`},
	} {
		for _, part := range want {
			if !strings.Contains(s.get(name), part) {
				t.Errorf("%s does not say %s:\n%s", name, part, s.get(name))
			}
		}
	}
	r, _ := dotagent.Format().Read(s.disk, format.Env{Now: s.Now})
	for _, step := range append(r.Phases[1].Steps, r.Phases[2].Steps[1]) {
		if step.Status != pawl.Skipped {
			t.Errorf("%s is read as %s", step.ID, step.Status)
		}
	}
	s.Add(pawl.StepReopened{Step: "final"})
	s.start("final", 1)
	s.finish("final", 1)
	s.write(pawl.StatusActive)
	if text := s.get("memory/state/phase.json"); !strings.Contains(text, `"status":"partial","skipped":["architects"]`) {
		t.Errorf("one of the two is done: %s", text)
	}
	s.Add(pawl.StepReopened{Step: "architects"})
	s.start("architects", 1)
	s.finish("architects", 1)
	s.write(pawl.StatusActive)
	if text := s.get("memory/state/phase.json"); strings.Contains(text, "architects") || !strings.Contains(text, `"skipped":["task-002"]`) {
		t.Errorf("both are done: %s", text)
	}
}

// TestAReflectionIsNamedWhereItLies: the agent wrote its reflection to its own file, and the phase's output names it.
func TestAReflectionIsNamedWhereItLies(t *testing.T) {
	t.Parallel()
	s := begin(t, strings.ReplaceAll(shopPlan, `{id: look-back, run: "true"}`,
		`{id: reflection, run: "true", accept: {left: pawl verify --as dotagent --step reflection}}`), nil)
	for _, id := range []pawl.StepID{"pm", "designers", "choose", "final", "task-001", "task-002", "qa"} {
		s.start(id, 1)
		s.finish(id, 1)
	}
	s.put("memory/reflections/2026-03.json", `{"workflow_id":"`+shopRun+`","learned":"x"}`)
	for _, id := range []pawl.StepID{"reflection"} {
		s.start(id, 1)
		s.finish(id, 1)
	}
	s.write(pawl.StatusActive)
	if text := s.get("memory/state/phase.json"); !strings.Contains(text, `"output":"memory/reflections/2026-03.json"`) {
		t.Errorf("it names something else: %s", text)
	}
}
