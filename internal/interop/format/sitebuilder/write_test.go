package sitebuilder_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/sitebuilder"
	"pawl/internal/textedit"
)

// TestNothingChangedWritesNothing: a run that was imported, and has done nothing yet, leaves every byte as it is.
func TestNothingChangedWritesNothing(t *testing.T) {
	t.Parallel()
	for _, change := range []func(string) string{
		func(s string) string { return s }, func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		func(s string) string { return "\uFEFF" + strings.TrimSuffix(s, "\n") }, func(s string) string { return strings.ReplaceAll(s, "  ", "\t") },
	} {
		var files format.Files
		for _, f := range team(t) {
			files = append(files, format.File{Path: f.Path, Data: []byte(change(string(f.Data)))})
		}
		r, _ := read(t, files)
		s := imported(t, files)
		for _, f := range sitebuilder.Format().Write(files, s.view()) {
			if strings.HasSuffix(f.Path, "community-T010.json") || strings.HasSuffix(f.Path, "STATUS.md") {
				continue // an escalation blocks it too: see TestEscalationsAreErrorsToo
			}
			t.Errorf("%s differs (%s):\n%s", f.Path, r.Status, cmp.Diff(string(files.Find(f.Path).Data), string(f.Data)))
		}
	}
}

// TestEscalationsAreErrorsToo: what people are asked for stands among the errors of the task that waits for it.
func TestEscalationsAreErrorsToo(t *testing.T) {
	t.Parallel()
	s := imported(t, team(t))
	s.write()
	s.has("progress/checkpoints/community-T010.json", `"message": "ESC-001: Payment account"`, `{"type": "slow", "message": "the scanner is slow"`, `"message": "Cannot find Leaflet20.pdf"`)
	s.AddEach(pawl.BlockerCleared{ID: 2, How: "paid"})
	s.write()
	if strings.Contains(string(s.files.Find(points+"community-T010.json").Data), "ESC-001") {
		t.Error("it is cleared, and still an error")
	}
}

// TestOneChangeChangesOnlyThat: an item that is finished changes its entry, the counts and what follows from them.
func TestOneChangeChangesOnlyThat(t *testing.T) {
	t.Parallel()
	for _, eol := range []string{"\n", "\r\n"} {
		var files format.Files
		for _, f := range team(t) {
			files = append(files, format.File{Path: f.Path, Data: []byte(strings.ReplaceAll(string(f.Data), "\n", eol))})
		}
		s := imported(t, files)
		s.AddEach(pawl.BlockerCleared{ID: 2})
		s.files = formattest.With(s.files, sitebuilder.Format().Write(s.files, s.view()))
		before := slices.Clone(s.files)
		s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)})
		s.AddEach(pawl.ItemNamed{Step: "T060", Item: "leaflet-20", Status: pawl.ItemIsDone})
		got := s.write()
		if diff := cmp.Diff([]string{"progress/checkpoints/migration-T060.json", "messages/outbox-migration.md", "progress/STATUS.md"}, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if diff := cmp.Diff([]string{
			`-    "updated_at": "2026-03-02T10:35:00Z",`, `+    "updated_at": "2026-03-02T10:53:00Z",`, `-    "completed": 19,`, `+    "completed": 20,`,
			`-      {"id": "leaflet-20", "status": "in_progress", "output": null},`, `+      {"id": "leaflet-20", "status": "complete", "output": null},`,
			`-  "progress_percent": 65,`, `+  "progress_percent": 68,`, `-    "last_processed": "Leaflet19.pdf",`, `+    "last_processed": "leaflet-20",`,
			`-    "next_to_process": "Leaflet20.pdf",`, `+    "next_to_process": "leaflet-21",`, `-    "last_beat": "2026-03-02T10:36:00Z",`, `+    "last_beat": "2026-03-02T10:52:00Z",`,
			`-  "resume_instructions": "Continue from leaflet-20"`, `+  "resume_instructions": "pawl: continue with leaflet-21"`,
		}, changes(t, before, s.files, points+"migration-T060.json"), sortLines); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if diff := changes(t, before, s.files, base+"messages/outbox-migration.md"); !slices.Equal(diff, []string{"+@orchestrator: Task T060 progress: 68%"}) {
			t.Errorf("%v", diff)
		}
		if eol == "\r\n" {
			for _, f := range s.files {
				if strings.Count(string(f.Data), "\n") != strings.Count(string(f.Data), "\r\n") {
					t.Errorf("%s: line ends are mixed", f.Path)
				}
			}
		}
	}
}

var sortLines = cmp.Transformer("sort", func(lines []string) string {
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i] = lines[i][:1] + strings.TrimSpace(lines[i][1:])
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
})

const sitePlan = `
name: site
phases:
  - name: Migration
    steps:
      - {id: T060, name: Convert, run: x, estimate: 2h, foreach: {items: [a, "b c", d]}, outputs: ["out/$PAWL_ITEM.md"]}
  - name: Content Pages
    steps:
      - {id: T001, run: x, needs: [], accept: {links: x, titles: x}, review: {agent_4: 70}}
      - {id: T002, run: x, needs: []}
`

// TestMirrorOfARun follows a run from an empty folder to its end.
func TestMirrorOfARun(t *testing.T) {
	t.Parallel()
	s := newTeller(t, formattest.Plan(t, sitePlan), nil)
	if got := s.write(); len(got) > 0 {
		t.Errorf("nothing has begun, and %v are written", got)
	}
	s.items["T060"] = []format.Item{{ID: "a", Name: "a", Status: pawl.ItemIsDone}, {ID: string(pawl.ItemIDOf("b c")), Name: "b c", Status: pawl.ItemRunning}, {ID: "d", Name: "d", Status: pawl.ItemPending}}
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)})
	s.write()
	s.has("progress/checkpoints/migration-T060.json", `"checkpoint_id": "migration-T060-20260302-104400"`, `"agent_name": "Riley"`, `"progress_percent": 33`, `"id": "b c"`, `"output": "out/a.md"`,
		`"next_to_process": "b c"`, `"status": "alive"`, `"out/a.md"`+"\n  ],", `"completed_at": null`)
	s.has("messages/outbox-migration.md", "@orchestrator: Task T060 progress: 33%\n")
	s.has("progress/STATUS.md", "| Migration (Riley) | Active | T060 Convert | 2026-03-02T10:44:00Z |", "| migration | T060 | 33% | 2026-03-02T10:44:00Z | in_progress |", "| content_pages | T001 | 0% | — | not started |")

	for i := range s.items["T060"] {
		s.items["T060"][i].Status = pawl.ItemIsDone
	}
	s.AddEach(pawl.StepDone{Step: "T060", Attempt: 1, Token: ref("T060", 1).Token, Stats: &pawl.AttemptStats{Seconds: 5400}})
	s.write()
	s.has("progress/checkpoints/migration-T060.json", `"status": "complete"`, `"progress_percent": 100`, `"completed": 3`, `"actual_hours": 1.5`, `"estimated_hours": 2`, `"resumable": false`, `"status": "stopped"`)
	if string(s.files.Find(points+"migration-T060.json").Data) != string(s.files.Find(points+"migration-T060-complete.json").Data) {
		t.Error("the archived checkpoint is another one")
	}
	s.has("messages/outbox-migration.md", "## MSG-20260302104500-migration", "**Type**: notification", "Actual effort: 1.5 h, estimated: 2 h.")
	s.has("messages/inbox-orchestrator.md", "### MSG-20260302104500-migration")

	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T001", 1)},
		pawl.AttemptEnded{AttemptRef: ref("T001", 1), Outcome: pawl.Failed, Why: "check links failed", Unmet: []string{"links"}})
	s.write()
	s.has("progress/checkpoints/content_pages-T001.json", `"links": false`, `"titles": true`, `"agent_4": null`, `"message": "check links failed"`, `"resume_instructions": "pawl: attempt 1 ended: check links failed; not met: links; continue with the task"`)
	s.AddEach(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no | network", Step: "T001", Opened: now}})
	s.write()
	s.has("progress/checkpoints/content_pages-T001.json", `"status": "blocked"`, `"message": "no | network"`, `"blocking": true`)
	s.has("messages/inbox-supervisor.md", "BLOCKED: no | network", "pawl unblock 1")
	s.has("messages/inbox-supervisor.md", "**Type**: escalation\n**Priority**: critical\n**Status**: pending\n")
	s.AddEach(pawl.BlockerCleared{ID: 1})
	s.write()
	s.has("messages/inbox-supervisor.md", "**Type**: escalation\n**Priority**: critical\n**Status**: resolved\n")
	s.has("messages/outbox-content_pages.md", "**Status**: resolved\n")
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T001", 2)})
	done := s.done("T001", 2)
	done.Outputs = pawl.Outputs{"x.html": {SHA256: "ab", Size: 1}, "all/*": {SHA256: "cd", Files: 2}}
	s.AddEach(done, pawl.StepReviewed{Step: "T001", Reviewer: "agent_4", Score: 88})
	s.write()
	s.has("progress/checkpoints/content_pages-T001.json", `"status": "complete"`, `"links": true`, `"agent_4": 88`, `"errors": []`, `"x.html"`,
		`"links": "checked by pawl at 2026-03-02T10:51:00Z: passed"`)
	s.AddEach(pawl.StepSkipped{Step: "T002", Why: "not wanted"})
	s.write()
	s.has("progress/checkpoints/content_pages-T002.json", `"status": "blocked"`, `"resumable": false`, `"type": "skipped"`)

	r, findings := sitebuilder.Format().Read(s.files, format.Env{Now: now.Add(24 * time.Hour)})
	if r.Status != pawl.StatusCompleted || formattest.Step(t, r, "T060").Status != pawl.Done || formattest.Step(t, r, "T001").Status != pawl.Done || formattest.Step(t, r, "T002").Status != pawl.Skipped || len(r.Blockers) > 0 {
		t.Errorf("%s %+v %+v", r.Status, r.Phases, findings)
	}
}

// TestDoneAgainKeepsTheFormerArchive: a task that is opened again has its checkpoint in progress, and both completions.
func TestDoneAgainKeepsTheFormerArchive(t *testing.T) {
	t.Parallel()
	s := newTeller(t, formattest.Plan(t, "name: site\nphases: [{name: content, steps: [{id: T002, run: x}]}]\n"), nil)
	for attempt := range 2 {
		s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T002", attempt+1)})
		s.write()
		s.AddEach(pawl.StepDone{Step: "T002", Attempt: attempt + 1, Token: ref("T002", attempt+1).Token})
		s.write()
		if attempt == 0 {
			s.AddEach(pawl.StepReopened{Step: "T002", Why: "again"})
			s.write()
			s.has("progress/checkpoints/content-T002.json", `"status": "in_progress"`, `"completed_at": null`, `"resumable": true`)
		}
	}
	s.has("progress/checkpoints/content-T002-complete-20260302-104500.json", `"completed_at": "2026-03-02T10:45:00Z"`)
	s.has("progress/checkpoints/content-T002-complete.json", `"completed_at": "2026-03-02T10:48:00Z"`)
	if r, _ := read(t, s.files); len(r.Phases[0].Steps) != 1 {
		t.Errorf("%+v", r.Phases)
	}
}

// TestWhatCannotBeReadIsKept: a checkpoint with invalid JSON is replaced, and its copy is kept.
func TestWhatCannotBeReadIsKept(t *testing.T) {
	t.Parallel()
	const torn = `{"status": "in_pro`
	s := newTeller(t, formattest.Plan(t, sitePlan), one("migration-T060.json", torn))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)})
	for _, name := range s.write() {
		if strings.HasPrefix(name, "progress/checkpoints/migration-T060.json.broken-") && string(s.files.Find(base+name).Data) == torn {
			return
		}
	}
	t.Error("it is gone")
}

// TestWhatIsWholeOfABrokenOneStays: what replaces a checkpoint that is no JSON says what could be read of it.
func TestWhatIsWholeOfABrokenOneStays(t *testing.T) {
	t.Parallel()
	const torn = `{
  "agent": "migration",
  "task_id": "T060",
  "status": "in_progress",
  "subtasks": {"total": 29, "completed": 19, "items": [{"id": "post-01", "status": "complete"}, {"id": "po
  "progress_percent": 65,
  "files_modi`
	s := newTeller(t, formattest.Plan(t, sitePlan), one("migration-T060.json", torn))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)})
	s.write()
	s.has("progress/checkpoints/migration-T060.json", `"total": 29, "completed": 19`, `"id": "post-01"`, `"progress_percent": 65`, `"agent": "migration"`)
	for _, f := range s.files {
		if own := strings.Contains(f.Path, ".broken-"); own != format.Wanted(sitebuilder.Format().Archived, f.Path) {
			t.Errorf("%s is taken for somebody's output", f.Path)
		}
	}
	env := testEnv()
	if met, why := sitebuilder.Format().CheckCriterion(one("migration-T060.json", torn), env, "T060", "3_files_created"); met || !strings.Contains(why, "migration-T060.json cannot be read completely") {
		t.Errorf("%v: %s", met, why)
	}
}

// TestUntouchedStays: a blocked task that nothing happened to stays as it was found, to the byte; of one that says that it is
// complete, and is not, nobody is told that it is.
func TestUntouchedStays(t *testing.T) {
	t.Parallel()
	const blocked = `{"agent": "technical", "task_id": "T040", "status": "blocked", "progress_percent": 50, "updated_at": "2026-03-01T11:00:00Z",
  "errors": [{"type": "dependency_missing", "message": "no key", "timestamp": "2026-03-01T11:00:00Z", "blocking": true}], "resumable": true}`
	s := imported(t, one("technical-T040.json", blocked, "content-T001.json", `{"status": "complete", "progress_percent": 100, "acceptance_criteria_met": {"written": false}}`))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T001", 1)})
	s.write()
	if now := string(s.files.Find(points + "technical-T040.json").Data); now != blocked {
		t.Errorf("it is\n%s", now)
	}
	s.has("progress/checkpoints/content-T001.json", `"status": "in_progress"`, `"progress_percent": 99`)
	s.has("messages/outbox-content.md", "Task T001 progress: 99%")
}

// TestMessagesAreSaidOnce: also with others in the same second, and with messages in the boxes.
func TestMessagesAreSaidOnce(t *testing.T) {
	t.Parallel()
	files := append(team(t), format.File{Path: base + "messages/inbox-orchestrator.md", Data: []byte("# Inbox\n\n## PENDING MESSAGES\n\n*No pending messages*\n\n## ARCHIVED MESSAGES\n\nold\n")})
	s := newTeller(t, formattest.Plan(t, "name: site\nphases: [{name: content, steps: [{id: A, run: x, needs: []}, {id: B, run: x, needs: []}]}]\n"), files)
	for _, id := range []pawl.StepID{"A", "B"} {
		s.AddEach(pawl.AttemptStarted{AttemptRef: ref(id, 1)}, pawl.StepDone{Step: id, Attempt: 1, Token: ref(id, 1).Token, Summary: "# Made\n--- it\n**Status**: fine"})
		s.State.Steps[id].Ended = now
	}
	s.write()
	s.has("messages/outbox-content.md", "MSG-20260302104000-content", "MSG-20260302104001-content", "> # Made\n> --- it\n> **Status**: fine")
	s.has("messages/inbox-orchestrator.md", "## PENDING MESSAGES\n\n### MSG-20260302104000-content", "## ARCHIVED MESSAGES\n\nold\n")
	r, _ := read(t, s.files)
	if !strings.HasPrefix(r.Facts["inbox.orchestrator"], "2 pending: MSG-20260302104000-content Task A Complete; MSG-20260302104001-content Task B Complete") {
		t.Errorf("%v", r.Facts)
	}
	for _, file := range []string{"messages/outbox-content.md", "messages/inbox-orchestrator.md"} {
		before := string(s.files.Find(base + file).Data)
		s.Now = s.Now.Add(time.Minute)
		s.write()
		if again := string(s.files.Find(base + file).Data); again != before {
			t.Errorf("%s is written again:\n%s", file, again)
		}
	}
}

// TestRegistryAndStatusKeepTheRest: of the registry two keys change, of STATUS.md the rows of agents that have worked.
func TestRegistryAndStatusKeepTheRest(t *testing.T) {
	t.Parallel()
	s := imported(t, team(t))
	before := slices.Clone(s.files)
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T001", 1)}, pawl.StepDone{Step: "T001", Attempt: 1, Token: ref("T001", 1).Token, Stats: &pawl.AttemptStats{Seconds: 360}})
	s.write()
	if diff := cmp.Diff([]string{"-assigned_to: null", "+assigned_to: content", "+actual_hours: 0.1"}, changes(t, before, s.files, base+"tasks/TASK-REGISTRY.md")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	s.has("tasks/TASK-REGISTRY.md", "phase: 3\nstatus: complete\nassigned_to: content\n", "notes: Ask Morgan\nactual_hours: 0.1\n```")
	for _, line := range changes(t, before, s.files, base+"progress/STATUS.md") {
		if strings.HasPrefix(line, "-") && !strings.Contains(line, "Content (Harper)") && !strings.Contains(line, "Community (Morgan)") && !strings.Contains(line, "Last Updated") {
			t.Errorf("%s", line)
		}
	}
	s.has("progress/STATUS.md", "| Content (Harper) | Idle | — | 2026-03-02T10:52:00Z |", "| x | y |", "| Community (Morgan) | Blocked | T010 |", "**Overall Progress**: ~40% complete")
}

// TestEscalationsOfTheRun: what the run's tasks wait for a person for is escalated, once, and resolved when it is answered.
func TestEscalationsOfTheRun(t *testing.T) {
	t.Parallel()
	for _, eol := range []string{"\n", "\r\n"} {
		var files format.Files
		for _, f := range team(t) {
			files = append(files, format.File{Path: f.Path, Data: []byte(strings.ReplaceAll(string(f.Data), "\n", eol))})
		}
		for _, s := range []*teller{imported(t, files), newTeller(t, formattest.Plan(t, sitePlan), nil)} {
			for i := range s.State.Blockers {
				s.AddEach(pawl.BlockerCleared{ID: i + 1})
			}
			s.escalations(t)
		}
	}
}

func (s *teller) escalations(t *testing.T) {
	t.Helper()
	const name = "messages/human-escalations.md"
	esc := func(text string) string {
		return strings.ReplaceAll(text, "\n", textedit.EOL(s.files.Find(base+name).Data))
	}
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)},
		pawl.AttemptEnded{AttemptRef: ref("T060", 1), Outcome: pawl.Blocked, Why: "blocked", Blockers: []string{"no | network"}})
	s.AddEach(pawl.BlockerOpened{Blocker: pawl.Blocker{Text: "no | network", Step: "T060", Needs: "plug it in", Opened: now}})
	gate := pawl.Gate{Step: "T001", Type: pawl.HumanVerify, Ask: "Does it\nlook good?", Opened: now.Add(time.Minute)}
	gate.ID = gate.Identify()
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T001", 1)}, pawl.GateOpened{Gate: gate})
	s.write()
	n := strings.Count(string(s.files.Find(base+name).Data), "### ESC-")
	s.has(name, "no | network", esc("| **Raised By** | pawl |\n| **Status** | PENDING |\n\n**Action Required**:\n1. plug it in; then: pawl unblock "), ": Does it look good?", "| **Blocking Tasks** | T001 |")
	if n != 2 && n != 4 {
		t.Errorf("%d escalations:\n%s", n, s.files.Find(base+name).Data)
	}
	r, _ := read(t, s.files)
	waits := 0
	for _, b := range r.Blockers {
		if strings.Contains(b.Text, "network") || strings.Contains(b.Text, "look good") {
			waits++
		}
	}
	if waits != 2 {
		t.Errorf("read back, %d of them are waited for: %+v", waits, r.Blockers)
	}
	s.AddEach(pawl.BlockerCleared{ID: len(s.State.Blockers)}, pawl.GateAnswered{Gate: gate.ID, Step: "T001", Answer: pawl.Approved})
	s.write()
	if data := string(s.files.Find(base + name).Data); strings.Count(data, "PENDING") != 0 || strings.Count(data, "RESOLVED") != n || strings.Count(data, "### ESC-") != n {
		t.Errorf("all is answered:\n%s", data)
	}
	s.AddEach(pawl.AttemptEnded{AttemptRef: ref("T001", 1), Outcome: pawl.Failed, Final: true, Why: "x"}, pawl.StepFailed{Step: "T001", Why: "no tries are left"})
	s.write()
	s.has(name, ": FAILED: no tries are left", "pawl retry T001")
	s.AddEach(pawl.StepReopened{Step: "T001", Why: "again", Asked: true})
	s.write()
	if data := string(s.files.Find(base + name).Data); strings.Contains(data, "PENDING") {
		t.Errorf("it is tried again:\n%s", data)
	}
}

// TestInReview: what is done but for its reviews has its criteria met, and says what it waits for.
func TestInReview(t *testing.T) {
	t.Parallel()
	s := imported(t, format.Files{{Path: base + "tasks/TASK-REGISTRY.md", Data: []byte("```yaml\nid: T1\nstream: CONTENT\nstatus: pending\nacceptance_criteria: [It is short]\ndone_when: {review_scores: {agent_4: 70}}\n```\n")}})
	done := s.done("T1", 1)
	done.Review = s.Plan.Step("T1").Review
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T1", 1)}, done)
	s.write()
	s.has("progress/checkpoints/content-T1.json", `"status": "in_progress"`, `"It is short": true`, `"agent_4": null`, "only its reviews are missing: pawl review T1 --by NAME --score N")
	s.has("tasks/TASK-REGISTRY.md", "status: review\n")
	s.AddEach(pawl.StepReviewed{Step: "T1", Reviewer: "agent_4", Score: 88})
	s.write()
	s.has("progress/checkpoints/content-T1.json", `"status": "complete"`, `"agent_4": 88`)
	s.has("tasks/TASK-REGISTRY.md", "status: complete\n")
}

// TestAFailureThatIsOverIsResolved, as a message too.
func TestAFailureThatIsOverIsResolved(t *testing.T) {
	t.Parallel()
	s := newTeller(t, formattest.Plan(t, sitePlan), nil)
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T002", 1)}, pawl.AttemptEnded{AttemptRef: ref("T002", 1), Outcome: pawl.Failed, Final: true, Why: "x"}, pawl.StepFailed{Step: "T002", Why: "x"})
	s.write()
	s.has("messages/inbox-supervisor.md", "FAILED: T002", "**Status**: pending")
	s.AddEach(pawl.StepReopened{Step: "T002", Why: "again", Asked: true}, pawl.AttemptStarted{AttemptRef: ref("T002", 2)})
	s.write()
	for _, name := range []string{"messages/inbox-supervisor.md", "messages/outbox-content_pages.md", "messages/human-escalations.md"} {
		if data := string(s.files.Find(base + name).Data); strings.Contains(data, "pending") || strings.Contains(data, "PENDING |") {
			t.Errorf("%s:\n%s", name, data)
		}
	}
}

// TestClearedErrorsGo: an error whose blocker a person has cleared is taken out, and no other.
func TestClearedErrorsGo(t *testing.T) {
	t.Parallel()
	s := imported(t, team(t))
	s.AddEach(pawl.BlockerCleared{ID: 1, How: "found it"}, pawl.BlockerCleared{ID: 2})
	s.write()
	s.has("progress/checkpoints/community-T010.json", `"status": "in_progress"`, "\"errors\": [\n    {\"type\": \"slow\"")
	if strings.Contains(string(s.files.Find(points+"community-T010.json").Data), "Cannot find") {
		t.Error("it is cleared, and still an error")
	}
}

// TestWhatAnAgentSaysStays: as long as the work has not moved on, its instructions do, and its way of rounding.
func TestWhatAnAgentSaysStays(t *testing.T) {
	t.Parallel()
	s := imported(t, team(t))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T061", 1)}, pawl.AttemptStarted{AttemptRef: ref("T060", 1)})
	s.write()
	s.has("progress/checkpoints/migration-T061.json", `"progress_percent": 35`, `"next_to_process": "Walk11.pdf"`)
	s.has("progress/checkpoints/migration-T060.json", `"resume_instructions": "Continue from leaflet-20"`, `"next_to_process": "Leaflet20.pdf"`)
	s.has("progress/STATUS.md", "| Migration (Riley) | In Progress | T060 Convert the leaflets |")
}

// TestFinishedIsWhole: what a run has finished, its checks passed, is complete in all that its checkpoint says, or it would be
// dispatched again.
func TestFinishedIsWhole(t *testing.T) {
	t.Parallel()
	s := imported(t, team(t))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)})
	s.write()
	s.files = edited(t, s.files, points+"migration-T060.json", `"completed": 19`, `"completed": 27`) // as its agent says
	s.AddEach(pawl.ItemNamed{Step: "T060", Item: "leaflet-20", Status: pawl.ItemIsDone}, pawl.ItemNamed{Step: "T060", Item: "leaflet-21", Status: pawl.ItemIsDone}, s.done("T060", 1))
	s.write()
	s.has("progress/checkpoints/migration-T060.json", `{"id": "leaflet-21", "status": "complete", "output": null}`, `"completed": 29`, `"29_files_created": true`, `"next_to_process": null`)
	s.has("progress/checkpoints/migration-T060.json", `"29_files_created": "checked by pawl at 2026-03-02T10:54:00Z: passed"`, `"frontmatter_valid": "attested by @migration, not checked otherwise"`)
	r, _ := read(t, s.files)
	if got := formattest.Step(t, r, "T060"); got.Status != pawl.Done {
		t.Errorf("%s: %s", got.Status, got.Why)
	}
	s.AddEach(pawl.StepReopened{Step: "T060", Why: "again"})
	s.write()
	if strings.Contains(string(s.files.Find(points+"migration-T060.json").Data), "acceptance_evidence") {
		t.Error("it will rerun, and what was found of it before still stands")
	}
}

// TestNobodyEstimated: a plan's default is no estimate.
func TestNobodyEstimated(t *testing.T) {
	t.Parallel()
	s := newTeller(t, formattest.Plan(t, "name: site\nphases: [{name: migration, steps: [{id: T060, run: x}]}]\n"), nil)
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)}, pawl.StepDone{Step: "T060", Attempt: 1, Token: ref("T060", 1).Token, Stats: &pawl.AttemptStats{Seconds: 5400}})
	s.write()
	s.has("progress/checkpoints/migration-T060.json", `"actual_hours": 1.5`)
	s.has("messages/outbox-migration.md", "Actual effort: 1.5 h.\n")
	for _, f := range s.files {
		if strings.Contains(string(f.Data), "estimated") {
			t.Errorf("%s has an estimate, which nobody made", f.Path)
		}
	}
}

// TestStatusIsOfAllAgents: STATUS.md sums up all checkpoints that there are, also of tasks that the run has none of. Rows that
// others keep of their agents stay.
func TestStatusIsOfAllAgents(t *testing.T) {
	t.Parallel()
	files := one("technical-T040.json", `{"agent": "technical", "task_id": "T040", "status": "complete", "progress_percent": 100, "updated_at": "2026-03-02T09:00:00Z"}`,
		"polish-T090.json", `{"agent": "polish", "task_id": "T090", "task_title": "Shine", "status": "in_progress", "progress_percent": 40, "updated_at": "2026-03-02T09:30:00Z"}`,
		"content-T001.json", `{"agent": "content", "task_id": "T001", "status": "blocked", "updated_at": "2026-03-02T09:40:00Z"}`)
	files = append(files, format.File{Path: base + "progress/STATUS.md",
		Data: []byte("# Orchestration Status\n\n## Active Agents\n\n| Agent | Status | Current Task | Last Checkpoint |\n|---|---|---|---|\n| Content (Harper) | Ready | Of their own | — |\n")})
	s := newTeller(t, formattest.Plan(t, "name: site\nphases: [{name: migration, steps: [{id: T060, run: x}]}]\n"), files)
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)})
	s.write()
	s.has("progress/STATUS.md", "| Migration (Riley) | Active | T060 |", "| Technical (Devon) | Completed | — | 2026-03-02T09:00:00Z |", "| Polish (Quinn) | In Progress | T090 Shine | 2026-03-02T09:30:00Z |",
		"| Content (Harper) | Ready | Of their own | — |", "| technical | T040 | 100% | 2026-03-02T09:00:00Z | complete |", "| polish | T090 | 40% | 2026-03-02T09:30:00Z | in_progress |",
		"| content | T001 | 0% | 2026-03-02T09:40:00Z | blocked |")
}

// TestNothingIsCompleteThatNobodyCalledSo: the end of a task completes no subtask; what its agent's checkpoint says stays.
func TestNothingIsCompleteThatNobodyCalledSo(t *testing.T) {
	t.Parallel()
	s := imported(t, one("content-T001.json", `{"agent": "content", "task_id": "T001", "status": "in_progress", "subtasks": {"total": 4, "completed": 1, "items": [
		{"id": "p1", "status": "complete"}, {"id": "p2", "status": "failed"}, {"id": "p3", "status": "pending"}, {"id": "p4", "status": "pending"}]}}`))
	if check := s.Plan.Step("T001").Accept["all subtasks are complete"]; check != "pawl verify --as sitebuilder --step T001 --criterion='all subtasks are complete'" {
		t.Errorf("%q of %v", check, s.Plan.Step("T001").Accept)
	}
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T001", 1)})
	s.write()
	s.files = edited(t, s.files, points+"content-T001.json", `"p3", "status": "pending"`, `"p3", "status": "complete"`)
	s.AddEach(pawl.StepDone{Step: "T001", Attempt: 1, Token: ref("T001", 1).Token})
	s.write()
	s.has("progress/checkpoints/content-T001.json", `"completed": 2`, `{"id": "p2", "status": "failed"}`, `{"id": "p3", "status": "complete"}`, `{"id": "p4", "status": "pending"}`)
	if met, why := sitebuilder.Format().CheckCriterion(s.files, testEnv(), "T001", "all subtasks are complete"); met || !strings.Contains(why, "2 of 4 are complete") {
		t.Errorf("%v %s", met, why)
	}
	env := testEnv()
	env.Items = []format.Item{{ID: "p2", Status: pawl.ItemIsDone}, {ID: "p4", Status: pawl.ItemIsDone}}
	if met, why := sitebuilder.Format().CheckCriterion(s.files, env, "T001", "all subtasks are complete"); !met {
		t.Error(why)
	}
	env.Items = append(env.Items, format.Item{ID: "p4", Status: pawl.ItemFailed})
	if met, why := sitebuilder.Format().CheckCriterion(s.files, env, "T001", "all subtasks are complete"); met || !strings.Contains(why, "3 of 4 are complete") {
		t.Errorf("%v %s", met, why)
	}
}

// TestOneCheckForAll: where there are many tasks each has one check for all its criteria.
func TestOneCheckForAll(t *testing.T) {
	t.Parallel()
	r, _ := read(t, team(t))
	check := formattest.Step(t, r, "T060").Checks(sitebuilder.System, "", true)
	if len(check) != 1 || check["criteria"] != "pawl verify --as sitebuilder --step T060" {
		t.Fatalf("%v", check)
	}
	s := newTeller(t, formattest.Plan(t, "name: site\nphases: [{name: migration, steps: [{id: T060, run: x, accept: {criteria: pawl verify --as sitebuilder --step T060}}]}]\n"), team(t))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)}, pawl.AttemptEnded{AttemptRef: ref("T060", 1), Outcome: pawl.Failed, Why: "x", Unmet: []string{"criteria"}})
	s.write()
	s.has("progress/checkpoints/migration-T060.json", `"29_files_created": false`, `"frontmatter_valid": true`)
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 2)}, s.done("T060", 2))
	s.write()
	s.has("progress/checkpoints/migration-T060.json", `"29_files_created": true`, `"29_files_created": "checked by pawl`, `"frontmatter_valid": "attested by @migration, not checked otherwise"`)
	if strings.Contains(string(s.files.Find(points+"migration-T060.json").Data), `"criteria"`) {
		t.Error("the check is taken for a criterion")
	}
}

// TestWhatNobodyCheckedIsNotMet: the end of a step proves nothing of criteria that no check of it stands for.
func TestWhatNobodyCheckedIsNotMet(t *testing.T) {
	t.Parallel()
	s := newTeller(t, formattest.Plan(t, "name: site\nphases: [{name: migration, steps: [{id: T060, run: x}]}]\n"), team(t))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)}, s.done("T060", 1))
	s.write()
	s.has("progress/checkpoints/migration-T060.json", `"status": "complete"`, `"29_files_created": false`, `"frontmatter_valid": true`)
	if r, _ := read(t, s.files); formattest.Step(t, r, "T060").Status == pawl.Done {
		t.Error("it is believed to be complete")
	}
}

// TestWhatAnAgentAttestsStays: while it works, whatever a check said before, and a check that passed is proof.
func TestWhatAnAgentAttestsStays(t *testing.T) {
	t.Parallel()
	s := imported(t, team(t))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)},
		pawl.AttemptEnded{AttemptRef: ref("T060", 1), Outcome: pawl.Failed, Why: "check failed", Unmet: []string{"frontmatter_valid"}})
	s.write()
	s.has("progress/checkpoints/migration-T060.json", `"29_files_created": true`, `"frontmatter_valid": false`)
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 2)})
	s.files = edited(t, s.files, points+"migration-T060.json", `"frontmatter_valid": false`, `"frontmatter_valid": true`)
	s.write()
	s.has("progress/checkpoints/migration-T060.json", `"frontmatter_valid": true`)
}

// TestExportAtOnce: a run that is over is written as it would have been while it went on.
func TestExportAtOnce(t *testing.T) {
	t.Parallel()
	s := newTeller(t, formattest.Plan(t, sitePlan), nil)
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T001", 1)}, s.done("T001", 1))
	s.write()
	s.has("progress/checkpoints/content_pages-T001.json", `"links": true`, `"titles": true`, `"status": "complete"`)
}

// TestWhoIsAssignedStays: the registry's word on that is kept, and a status that means the same.
func TestWhoIsAssignedStays(t *testing.T) {
	t.Parallel()
	registry := "```yaml\nid: T1\nstatus: Running\nassigned_to: Harper\n```\n"
	s := imported(t, format.Files{{Path: base + "tasks/TASK-REGISTRY.md", Data: []byte(registry)}})
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T1", 1)})
	s.write()
	s.has("tasks/TASK-REGISTRY.md", registry)
	s.has("progress/checkpoints/harper-T1.json", `"agent": "harper"`)
}

// TestWhatWasCutOffIsNamed: the files that an attempt has left behind, those that it made and those that it changed.
func TestWhatWasCutOffIsNamed(t *testing.T) {
	t.Parallel()
	s := imported(t, team(t))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)}, pawl.AttemptEnded{AttemptRef: ref("T060", 1), Outcome: pawl.Lost, Why: "its supervisor was lost"})
	v := s.view()
	v.Partial = func(pawl.StepID) *format.Partial {
		return &format.Partial{Created: []string{"a.html", "docs/content-extraction/INDEX.json"}, Modified: []string{"b.html"}}
	}
	s.files = formattest.With(s.files, sitebuilder.Format().Write(s.files, v))
	s.has("progress/checkpoints/migration-T060.json", "leaflet-01.md\",\n    \"a.html\"\n  ]", "INDEX.json\",\n    \"b.html\"\n  ]", `"type": "attempt_ended"`, `"message": "its supervisor was lost"`)
}

// TestTheSnapshotsDecide: what an interrupted attempt left is unconfirmed, until the step is done and the snapshots around it show
// what it made. What the agent listed itself stays.
func TestTheSnapshotsDecide(t *testing.T) {
	t.Parallel()
	s := newTeller(t, formattest.Plan(t, "name: site\nphases: [{name: migration, steps: [{id: T060, run: x}]}]\n"), one("migration-T060.json",
		`{"agent": "migration", "task_id": "T060", "status": "in_progress", "files_created": ["said.md"], "files_modified": []}`))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)}, pawl.AttemptEnded{AttemptRef: ref("T060", 1), Outcome: pawl.Lost, Why: "lost"})
	left := format.Partial{Created: []string{"said.md", "a.md.tmp", "b.md"}, Modified: []string{"index.md"}}
	write := func(files format.StepFiles) {
		v := s.view()
		v.Partial = func(pawl.StepID) *format.Partial { return &left }
		v.Files = func(pawl.StepID) format.StepFiles { return files }
		for range 2 { // the second time nothing changes
			s.files = formattest.With(s.files, sitebuilder.Format().Write(s.files, v))
		}
	}
	write(format.StepFiles{})
	s.has("progress/checkpoints/migration-T060.json", `"files_created": ["said.md", "a.md.tmp", "b.md"]`, `"files_modified": ["index.md"]`)
	open := strings.Fields(strings.NewReplacer("[", " ", "]", " ", ",", " ").Replace(after(s, `"files_unconfirmed":`)))
	if !slices.Equal(open[:3], []string{`"a.md.tmp"`, `"b.md"`, `"index.md"`}) {
		t.Errorf("%v", open)
	}
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 2)})
	write(format.StepFiles{})
	s.has("progress/checkpoints/migration-T060.json", `"a.md.tmp", "b.md"]`, "files_unconfirmed")
	s.AddEach(s.done("T060", 2))
	write(format.StepFiles{Created: []string{"a.md", "b.md"}, Modified: []string{"old.md"}})
	s.has("progress/checkpoints/migration-T060-complete.json", `"files_created": ["said.md", "b.md", "a.md"]`, `"files_modified": ["old.md"]`)
	if text := string(s.files.Find(points + "migration-T060.json").Data); strings.Contains(text, "tmp") || strings.Contains(text, "files_un") {
		t.Errorf("%s", text)
	}
}

// after returns the text of T060's checkpoint after a key.
func after(s *teller, key string) string {
	_, text, _ := strings.Cut(string(s.files.Find(points+"migration-T060.json").Data), key)
	return text
}

// TestTheIntervalIsThatOfTheHeartbeats: a running task's heartbeat names the interval in the settings.
func TestTheIntervalIsThatOfTheHeartbeats(t *testing.T) {
	t.Parallel()
	s := newTeller(t, formattest.Plan(t, "name: site\nphases: [{name: migration, steps: [{id: T060, run: x}]}]\n"), one("migration-T060.json",
		`{"agent": "migration", "task_id": "T060", "status": "in_progress", "heartbeat": {"interval_seconds": 300}}`))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T060", 1)})
	v := s.view()
	v.Beat = time.Minute
	s.files = formattest.With(s.files, sitebuilder.Format().Write(s.files, v))
	s.has("progress/checkpoints/migration-T060.json", `"interval_seconds": 60`)
}

// TestRemovedErrorsStayAway: a blocker that somebody removed from the file is not listed again while it is open.
func TestRemovedErrorsStayAway(t *testing.T) {
	t.Parallel()
	listed := func(s *teller) format.ListedBlocker {
		return sitebuilder.Format().ListedBlockers(s.files, s.view())[1]
	}
	s := imported(t, one("community-T010.json", `{"agent": "community", "task_id": "T010", "status": "blocked", "errors": [{"type": "x", "message": "no  source", "blocking": true}]}`))
	if got := listed(s); !got.Listed || got.File != points+"community-T010.json" {
		t.Errorf("%+v", got)
	}
	s.files = edited(t, s.files, points+"community-T010.json", `{"type": "x", "message": "no  source", "blocking": true}`, "")
	if got := listed(s); got.Listed || got.File == "" {
		t.Errorf("%+v", got)
	}
	v := s.view()
	v.Removed = map[int]bool{1: true}
	if made := sitebuilder.Format().Write(s.files, v); !strings.Contains(string(made[0].Data), `"errors": []`) || strings.Contains(string(made[0].Data), "updated_at") {
		t.Errorf("%s", made[0].Data)
	}
	if made := sitebuilder.Format().Write(s.files, s.view()); !strings.Contains(string(made[0].Data), `"message": "no source"`) {
		t.Errorf("%s", made[0].Data)
	}
	silent := imported(t, one("community-T010.json", `{"agent": "community", "task_id": "T010", "status": "blocked"}`))
	if !listed(silent).Listed {
		t.Error("it is blocked, and does not say by what")
	}
	silent.files = edited(t, silent.files, points+"community-T010.json", `"blocked"`, `"in_progress"`)
	if listed(silent).Listed {
		t.Error("it is not blocked any more")
	}
}

// TestAStreamStays: a stream that STATUS.md alone tells of keeps its row, and gets no checkpoint, until something happens to
// it; then the rows of the others stay, and they are streams still.
func TestAStreamStays(t *testing.T) {
	t.Parallel()
	const status = "# Status\n\n## Stream Progress\n\n| Stream | Tasks | Complete | In Progress | Blocked | Status |\n|---|---|---|---|---|---|\n" +
		"| COMMUNITY | 4 | 2 | 0 | 2 | Blocked by ESC-001 |\n| WEB-SITE | 4 | 2 | 1 | 0 | going on |\n\n## Active Agents\n\n" +
		"| Agent | Status | Current Task | Last Checkpoint |\n|---|---|---|---|\n" +
		"| Community (Morgan) | Blocked | Payment/form integration | — |\n| Web-site (Quinn) | Idle | — | — |\n"
	s := imported(t, format.Files{{Path: base + "progress/STATUS.md", Data: []byte(status)}})
	for _, f := range sitebuilder.Format().Write(s.files, s.view()) {
		t.Errorf("%s was written:\n%s", f.Path, f.Data)
	}
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("WEB-SITE", 1)})
	s.files = formattest.With(s.files, sitebuilder.Format().Write(s.files, s.view()))
	s.AddEach(s.done("WEB-SITE", 1))
	s.files = formattest.With(s.files, sitebuilder.Format().Write(s.files, s.view()))
	s.has("progress/STATUS.md", "| Community (Morgan) | Blocked | Payment/form integration | — |\n| Web-site (Quinn) | Completed |", "| community | COMMUNITY | 50% | — | blocked |")
	s.has("progress/checkpoints/web_site-WEB-SITE-complete.json", `"status": "complete"`)
	for _, f := range s.files {
		if strings.Contains(strings.ToLower(f.Path), "community") {
			t.Errorf("%s was written", f.Path)
		}
	}
	var tasks []pawl.StepID
	r, _ := sitebuilder.Format().Read(s.files, format.Env{Now: now})
	for _, step := range r.Phases[0].Steps {
		tasks = append(tasks, step.ID)
	}
	if want := []pawl.StepID{"WEB-SITE", "COMMUNITY"}; !slices.Equal(tasks, want) {
		t.Errorf("afterwards there are the tasks %v, want %v", tasks, want)
	}
}

// TestEscalationsAreNumberedOnward: an id that any file of the team has is not given to something else.
func TestEscalationsAreNumberedOnward(t *testing.T) {
	t.Parallel()
	const status = "# Status\n\n## Stream Progress\n\n| Stream | Tasks | Complete | In Progress | Blocked | Status |\n|---|---|---|---|---|---|\n" +
		"| COMMUNITY | 4 | 2 | 0 | 2 | Blocked by ESC-001/003 |\n| MIGRATION | 9 | 8 | 1 | 0 | going on |\n\n## Escalations\n\n- ESC-001 Stripe: PENDING\n- ESC-002 EmbedSocial: PENDING\n"
	s := imported(t, format.Files{{Path: base + "progress/STATUS.md", Data: []byte(status)}})
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("MIGRATION", 1)},
		pawl.AttemptEnded{AttemptRef: ref("MIGRATION", 1), Outcome: pawl.Failed, Final: true, Why: "x"}, pawl.StepFailed{Step: "MIGRATION", Why: "no tries are left"})
	s.write()
	s.has("messages/human-escalations.md", "### ESC-004: FAILED: no tries are left")
}

// TestAnAgentOutlivesItsFile: whose a task is stands in the table too; a checkpoint that is gone is not made anew as another's.
func TestAnAgentOutlivesItsFile(t *testing.T) {
	t.Parallel()
	s := imported(t, one(
		"community-T201.json", `{"agent": "community", "task_id": "T201", "status": "in_progress", "progress_percent": 20}`,
		"content-T1.json", `{"agent": "content", "task_id": "T1", "status": "in_progress", "progress_percent": 20}`))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T1", 1)})
	s.write()
	s.has("progress/STATUS.md", "| community | T201 |")
	s.files = slices.DeleteFunc(s.files, func(f format.File) bool { return f.Path == points+"community-T201.json" })
	s.AddEach(s.done("T1", 1))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T201", 1)}, s.done("T201", 1))
	s.write()
	s.has("progress/checkpoints/community-T201-complete.json", `"agent": "community"`)
	s.has("progress/STATUS.md", "| community | T201 | 100% |", "| Community (Morgan) | Completed |")
	if strings.Contains(string(s.files.Find(base+"progress/STATUS.md").Data), "itebuilder |") {
		t.Errorf("there is another agent:\n%s", s.files.Find(base+"progress/STATUS.md").Data)
	}
}

const streams = "# Status\n\n## Stream Progress\n\n| Stream | Tasks | Complete | In Progress | Blocked | Status |\n|---|---|---|---|---|---|\n" +
	"| MIGRATION | 9 | 8 | 1 | 0 | going on |\n| TECHNICAL | 6 | 6 | 0 | 0 | ✅ **Complete** |\n\n## Active Agents\n\n" +
	"| Agent | Status | Current Task | Last Checkpoint |\n|---|---|---|---|\n" +
	"| Migration (Riley) | Active | Fungi image cataloguing | — |\n| Technical (Devon) | ✅ Completed | All deliverables | 2026-03-01T16:30:00Z |\n"

// TestAStreamsRowIsNotForgotten: the stream's row of STATUS.md is part of the step's prompt and is preserved.
func TestAStreamsRowIsNotForgotten(t *testing.T) {
	t.Parallel()
	s := imported(t, format.Files{{Path: base + "progress/STATUS.md", Data: []byte(streams)}})
	prompt := s.Plan.Step("MIGRATION").Agent.Prompt
	for _, want := range []string{"Fungi image cataloguing", "Tasks: 8 of 9 complete", "1 in progress", "going on"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt does not say %q: %s", want, prompt)
		}
	}
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("MIGRATION", 1)})
	s.write()
	s.has("progress/STATUS.md", "| Migration (Riley) | Active | Fungi image cataloguing |", "| migration | MIGRATION | 88% |", "| technical | TECHNICAL | 100% | — | complete |")
	s.AddEach(s.done("MIGRATION", 1))
	s.write()
	s.has("progress/STATUS.md", "| Migration (Riley) | Completed | Fungi image cataloguing |", "| migration | MIGRATION | 100% |",
		"| MIGRATION | 9 | 9 | 0 | 0 | Complete |\n| TECHNICAL | 6 | 6 | 0 | 0 | ✅ **Complete** |")
}

// TestAnUntouchedTaskGivesNoSignOfLife: a blocked task that the run has not worked on keeps its time, whatever is said of others.
func TestAnUntouchedTaskGivesNoSignOfLife(t *testing.T) {
	t.Parallel()
	blocked := `{"agent": "community", "task_id": "T201", "status": "blocked", "progress_percent": 20, "updated_at": "2026-03-01T08:00:00Z",
  "errors": [{"type": "missing_account", "message": "no Stripe account", "blocking": true}],
  "acceptance_criteria_met": {"forms work": false},
  "heartbeat": {"last_beat": "2026-03-01T08:00:00Z", "status": "alive"}}`
	s := imported(t, one("community-T201.json", blocked, "content-T1.json", `{"agent": "content", "task_id": "T1", "status": "in_progress", "progress_percent": 20}`))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T1", 1)})
	s.write()
	s.AddEach(s.done("T1", 1))
	s.write()
	s.has("progress/checkpoints/community-T201.json", `"updated_at": "2026-03-01T08:00:00Z"`)
	s.has("progress/STATUS.md", "| community | T201 | 20% | 2026-03-01T08:00:00Z | blocked |")
}

// TestNobodyLivesAfterADeath: once engine, supervisor and agent are dead, nothing is called active or alive.
func TestNobodyLivesAfterADeath(t *testing.T) {
	t.Parallel()
	s := imported(t, one("content-T1.json", `{"agent": "content", "task_id": "T1", "status": "in_progress", "progress_percent": 20}`))
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T1", 1)})
	s.write()
	s.has("progress/checkpoints/content-T1.json", `"alive"`)
	s.has("progress/STATUS.md", "| Content (Harper) | Active |")
	v := s.view()
	v.Status = pawl.StatusInterrupted
	s.files = formattest.With(s.files, sitebuilder.Format().Write(s.files, v))
	s.has("progress/checkpoints/content-T1.json", `"stopped"`, `"status": "in_progress"`)
	s.has("progress/STATUS.md", "| Content (Harper) | In Progress |")
}

// Each agent has one row, whatever its name is.
func TestAnAgentOfAnyNameHasOneRow(t *testing.T) {
	t.Parallel()
	for agent, row := range map[string]string{
		"\u00e9cole": "| \u00c9cole |", "\uFFFD": "| \uFFFD |", "\u00dfb": "| \u00dfb |", "\u0131x": "| Ix |", "**x**": "| **x** |", "\u2014\u2014": "| \u2014\u2014 |",
		`a|b`: `| A\|b |`, "web-dev": "| Web_dev |", `a/b\c`: "| A_b_c |", "a b": "| A b |", "\u01c6": "| \u01c4 |",
	} {
		s := imported(t, format.Files{{Path: base + "tasks/TASK-REGISTRY.md", Data: []byte("```yaml\nid: T1\ntitle: 'x\\|y'\nassigned_to: '" + agent + "'\nstatus: pending\n```\n")}})
		s.AddEach(pawl.AttemptStarted{AttemptRef: ref("T1", 1)})
		s.write()
		s.has("progress/STATUS.md", row+` Active | T1 x\\|y | 2026-03-02T10:44:00Z |`)
		s.AddEach(s.done("T1", 1))
		s.write()
		s.has("progress/STATUS.md", row+` Completed | T1 x\\|y | 2026-03-02T10:45:00Z |`)
		agents, _, _ := strings.Cut(string(s.files.Find(base+"progress/STATUS.md").Data), "## Active Checkpoints")
		if strings.Count(agents, "\n| ") != 2 { // the titles and the agent
			t.Errorf("%q has not one row:\n%s", agent, agents)
		}
	}
}
