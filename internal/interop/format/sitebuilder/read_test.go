package sitebuilder_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/sitebuilder"
	"pawl/internal/planfile"
)

// TestRead reads a team in all shapes that the document shows.
func TestRead(t *testing.T) {
	t.Parallel()
	r, findings := read(t, team(t))
	var steps []string
	for _, s := range r.Phases[0].Steps {
		steps = append(steps, fmt.Sprintf("%s %s %s (%s) %d/%d", s.ID, s.Agent, s.Status, s.Native, s.Done, s.Total))
	}
	if diff := cmp.Diff([]string{
		"T040 technical done (complete) 2/2", "T001 content pending (complete) 29/29", "T003 content pending (pending) 0/0",
		"T010 community pending (blocked) 0/0", "T060 migration running (in_progress) 19/29", "T061 migration pending (in_progress) 10/29",
		"T100 polish pending () 0/0",
	}, steps); diff != "" {
		t.Errorf("steps: -want +got\n%s", diff)
	}
	if r.Status != pawl.StatusActive || r.Native != "~40% complete" || !r.Updated.Equal(now.Add(-4*time.Minute)) || r.Percent != (100+99+0+65+65+34+0)/7 {
		t.Errorf("%s %q %s %d%%", r.Status, r.Native, r.Updated, r.Percent)
	}
	if !r.Created.Equal(time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)) {
		t.Errorf("created %s", r.Created)
	}
	if r.Position.StepID != "T060" || r.Position.Step != 5 || r.Position.Item != 19 || r.Position.ItemTotal != 29 {
		t.Errorf("%+v", r.Position)
	}
	s := formattest.Step(t, r, "T060")
	if s.Name != "Convert the leaflets" || !strings.HasPrefix(s.Resume, "Continue from leaflet-20") || s.Reviews["agent_5"] != 71 || s.Facts["reviews_open"] != "agent_4" {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]format.Claim{{Path: "docs/content-extraction/leaflets/leaflet-01.md"}, {Path: "docs/content-extraction/INDEX.json"}}, s.Claims); diff != "" {
		t.Errorf("claims: -want +got\n%s", diff)
	}
	if s.Items[0].Outputs[0] != "docs/content-extraction/leaflets/leaflet-01.md" || s.Items[2].Status != pawl.ItemRunning {
		t.Errorf("%+v", s.Items)
	}
	if d := formattest.Step(t, r, "T040"); d.Facts["effort"] != "1.5 h of about 1 h (S)" || d.Ended.IsZero() {
		t.Errorf("%+v", d)
	}
	want(t, findings, pawl.Warn, "STATUS.md:23", "is in the future")
}

// TestReadsWithoutLoss: every scalar of every checkpoint is somewhere in what was read.
func TestReadsWithoutLoss(t *testing.T) {
	t.Parallel()
	files := team(t)
	r, _ := read(t, files)
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".json") {
			continue
		}
		var v any
		if err := json.Unmarshal(f.Data, &v); err != nil {
			t.Fatal(err)
		}
		name := strings.Split(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(f.Path, points), ".json"), "-complete"), "-")[1]
		data, err := json.Marshal([]any{formattest.Step(t, r, pawl.StepID(name)), r.Blockers})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range scalars(v) {
			if !strings.Contains(string(data), text) {
				t.Errorf("%s: %q is lost in %s", f.Path, text, data)
			}
		}
	}
}

func scalars(v any) []string {
	var all []string
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			all = append(all, scalars(inner)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, scalars(inner)...)
		}
	case string:
		all = append(all, v)
	case float64:
		if v != 0 {
			all = append(all, fmt.Sprint(v))
		}
	}
	return all
}

// TestLineEndsAndMarksDoNotMatter: CRLF, a byte order mark, no final newline.
func TestLineEndsAndMarksDoNotMatter(t *testing.T) {
	t.Parallel()
	files := team(t)
	plain, _ := read(t, files)
	for name, change := range map[string]func(string) string{
		"CRLF":             func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"mark":             func(s string) string { return "\uFEFF" + s },
		"no final newline": func(s string) string { return strings.TrimSuffix(s, "\n") },
	} {
		var others format.Files
		for _, f := range files {
			others = append(others, format.File{Path: f.Path, Data: []byte(change(string(f.Data)))})
		}
		r, _ := read(t, others)
		if diff := cmp.Diff(plain, r); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestUnmetCriteriaAreNotDone: the original must dispatch such a task again, and its own rule forbids it.
func TestUnmetCriteriaAreNotDone(t *testing.T) {
	t.Parallel()
	r, _ := read(t, team(t))
	s := formattest.Step(t, r, "T001")
	if s.Status != pawl.Pending || s.Why != "it is marked complete, but is not: links_work; review by agent_4: 60, below the minimum of 70" {
		t.Errorf("%s %s", s.Status, s.Why)
	}
	prompt := format.PlanOf(r, "claude").Step("T001").Agent.Prompt
	if !strings.Contains(prompt, "Do only that") || !strings.Contains(prompt, "- links_work") || strings.Contains(prompt, "page_written") || strings.Contains(prompt, "who we are") {
		t.Errorf("%s", prompt)
	}
	short, _ := read(t, one("content-T1.json", `{"status":"complete","subtasks":{"total":3,"completed":2}}`))
	if s := formattest.Step(t, short, "T1"); s.Status != pawl.Pending || !strings.Contains(s.Why, "subtasks: 2 of 3") {
		t.Errorf("%s %s", s.Status, s.Why)
	}
}

// TestClaimedFilesAreLookedFor: what is not there is not done, whoever says so.
func TestClaimedFilesAreLookedFor(t *testing.T) {
	t.Parallel()
	witness := sitebuilder.Format()
	r, _ := witness.Read(team(t), testEnv("site/style.css", "docs/content-extraction/leaflets/08.md"))
	if s := formattest.Step(t, r, "T040"); s.Status != pawl.Done {
		t.Errorf("its file is there: %s", s.Status)
	}
	if items := formattest.Step(t, r, "T060").Items; items[0].Status != pawl.ItemPending || items[1].Status != pawl.ItemIsDone || items[1].Outputs[0] != "docs/content-extraction/leaflets/08.md" {
		t.Errorf("%+v", items)
	}
	r, findings := witness.Read(team(t), testEnv())
	if s := formattest.Step(t, r, "T040"); s.Status != pawl.Pending || !strings.Contains(s.Goal, "recreate site/style.css") {
		t.Errorf("%s %s", s.Status, s.Goal)
	}
	want(t, findings, pawl.Warn, "technical-T040-complete.json", "1 of its claimed files are missing: site/style.css")
}

// TestNewerClockCounts: of updated_at and last_beat the newer one, unless it has not come yet.
func TestNewerClockCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		updated, beat string
		status        pawl.StepStatus
	}{
		{"2026-03-02T10:35:00Z", "2026-03-02T08:00:00Z", pawl.Running},
		{"2026-03-02T08:00:00Z", "2026-03-02T10:35:00Z", pawl.Running},
		{"2026-03-02T08:00:00Z", "2026-03-02T16:00:00Z", pawl.Pending},
		{"2026-03-02T08:00:00Z", "2026-03-02T08:00:00Z", pawl.Pending},
		{"2026-03-02T10:35:00", "", pawl.Running},
		{"2026-03-02T11:35:00+01:00", "", pawl.Running},
		{"yesterday", "", pawl.Pending},
	} {
		files := one("content-T1.json", fmt.Sprintf(`{"status":"in_progress","updated_at":%q,"heartbeat":{"last_beat":%q}}`, c.updated, c.beat))
		r, findings := read(t, files)
		if s := formattest.Step(t, r, "T1"); s.Status != c.status {
			t.Errorf("%s %s: %s", c.updated, c.beat, s.Status)
		}
		odd := c.updated == "yesterday" || len(c.updated) == 19 || strings.Contains(c.beat, "T16")
		if odd != (len(findings) > 0) {
			t.Errorf("%s %s: %+v", c.updated, c.beat, findings)
		}
	}
}

// TestOneScaleOfSilence: ten minutes are a time-out, thirty a stall. The original has three scales that differ.
func TestOneScaleOfSilence(t *testing.T) {
	t.Parallel()
	for minutes, word := range map[int]string{9: "", 11: "timed out", 29: "timed out", 31: "stalled"} {
		at := now.Add(-time.Duration(minutes) * time.Minute).Format(time.RFC3339)
		r, _ := read(t, one("content-T1.json", `{"status":"in_progress","updated_at":"`+at+`"}`))
		if why := formattest.Step(t, r, "T1").Why; !strings.HasPrefix(why, word) || word == "" && why != "" {
			t.Errorf("after %d minutes: %q", minutes, why)
		}
	}
}

// TestIDsAreTakenAsWritten: 08 is not a number, and two agents may have a task of the same name.
func TestIDsAreTakenAsWritten(t *testing.T) {
	t.Parallel()
	r, findings := read(t, one("content-08.json", `{"task_id":"08"}`, "content-010.json", `{"task_id":10}`, "polish-T1.json", `{}`, "content-t1.json", `{}`, "plain.json", `{"agent":"content"}`))
	var ids []string
	for _, s := range r.Phases[0].Steps {
		ids = append(ids, string(s.ID))
	}
	if diff := cmp.Diff([]string{"010", "08", "plain", "content-t1", "polish-T1"}, ids); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	want(t, findings, pawl.Warn, "content-010.json:1", `task_id is "10", but its file name says "010"`)
}

// TestArchiveAndCurrent: the archived checkpoint counts where the current one is older or not there.
func TestArchiveAndCurrent(t *testing.T) {
	t.Parallel()
	const older, newer = `"updated_at":"2026-03-02T09:00:00Z"`, `"updated_at":"2026-03-02T10:00:00Z"`
	for _, c := range []struct {
		current, archived string
		status            pawl.StepStatus
	}{
		{"", `{"status":"complete"}`, pawl.Done},
		{`{"status":"in_progress",` + older + `}`, `{"status":"complete",` + newer + `}`, pawl.Done},
		{`{"status":"in_progress",` + newer + `}`, `{"status":"complete",` + older + `}`, pawl.Pending},
		{`{"status":"in_progress"}`, `{"status":"complete","completed_at":"2026-03-02T10:00:00Z"}`, pawl.Done},
	} {
		files := one("content-T1-complete.json", c.archived, "content-T1-complete-20260101-101010.json", `{"status":"blocked"}`)
		if c.current != "" {
			files = append(files, one("content-T1.json", c.current)...)
		}
		if r, _ := read(t, files); formattest.Step(t, r, "T1").Status != c.status || len(r.Phases[0].Steps) != 1 {
			t.Errorf("%s %s: %+v", c.current, c.archived, r.Phases[0].Steps)
		}
	}
}

// TestBrokenJSONIsReadLineByLine: what is cut off or has a comma too many tells what it can, and proves nothing.
func TestBrokenJSONIsReadLineByLine(t *testing.T) {
	t.Parallel()
	r, findings := read(t, one("content-T1.json", "{\n  \"status\": \"complete\",\n  \"task_title\": \"The page\",\n  \"progress_percent\": 80,\n  \"files_created\": [\"a\",]\n}\n"))
	s := formattest.Step(t, r, "T1")
	if s.Status != pawl.Pending || s.Native != "complete" || s.Name != "The page" || s.Facts["progress_percent"] != "80" {
		t.Errorf("%+v", s)
	}
	want(t, findings, pawl.Bad, "content-T1.json:5", "invalid JSON")
	for _, text := range []string{"", "[]", "null", "{", "\x00", `{"status": 7, "subtasks": 3, "errors": {}, "started_at": [], "resumable": "perhaps"}`} {
		if _, findings := read(t, one("content-T1.json", text)); len(findings) == 0 {
			t.Errorf("%q: nothing is found", text)
		}
	}
	_, findings = read(t, one("content-T1.json", `{"status":"blocked","status":"complete"}`))
	want(t, findings, pawl.Warn, "content-T1.json:1", `duplicate key "status"`)
}

// A checkpoint that is there and cannot be read leaves its task in the plan, begun and not done.
func TestUnreadCheckpointKeepsItsTask(t *testing.T) {
	t.Parallel()
	env := format.Env{Now: now, Unread: []string{points + "migration-T060.json", points + "technical-T002-complete.json", "docs/other.json"}}
	r, _ := sitebuilder.Format().Read(one("content-T001.json", `{"status":"complete"}`), env)
	if r.Count() != 3 {
		t.Errorf("the steps are %+v", r.Phases)
	}
	for _, id := range []pawl.StepID{"T060", "T002"} {
		if s := formattest.Step(t, r, id); s.Status != pawl.Pending || s.Why == "" {
			t.Errorf("task %s is %s: %s", id, s.Status, s.Why)
		}
	}
}

// TestPathsNeverLeadOutside: what a checkpoint claims is not looked for beyond the project.
func TestPathsNeverLeadOutside(t *testing.T) {
	t.Parallel()
	var asked []string
	env := format.Env{Now: now, Exists: func(name string) bool { asked = append(asked, name); return true }}
	files := one("content-T1.json", `{"status":"complete","files_created":["../x","/etc/passwd","a/../../b","C:\\x","nul.txt","~/x","ok.txt",7],
		"subtasks":{"items":[{"id":"i","status":"complete","output":"../../y"}]}}`)
	r, findings := sitebuilder.Format().Read(files, env)
	if !slices.Equal(asked, []string{"ok.txt"}) || len(formattest.Step(t, r, "T1").Claims) != 1 {
		t.Errorf("asked for %v, claims %v", asked, formattest.Step(t, r, "T1").Claims)
	}
	if len(findings) != 7 {
		t.Errorf("%+v", findings)
	}
}

// TestRegistry: dependencies that are known become needs, also where they go in circles.
func TestRegistry(t *testing.T) {
	t.Parallel()
	r, findings := read(t, team(t))
	if diff := cmp.Diff([]pawl.StepID{"T040", "T060"}, formattest.Step(t, r, "T001").Needs); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	open := edited(t, team(t), points+"content-T001.json", `"status": "complete"`, `"status": "in_progress"`)
	want(t, findings, pawl.Warn, "TASK-REGISTRY.md", `task T001 depends on "T999", which does not exist`)
	r, _ = read(t, open)
	if s := formattest.Step(t, r, "T001"); !strings.Contains(s.Goal, "It is complete when:\n- It says who we are\n- It links to all others\n- It has a head with: title, date\n\nWhen a criterion is met") || s.Facts["tests_passing"] != "HTML is valid" {
		t.Errorf("%q %v", s.Goal, s.Facts)
	}
	if diff := cmp.Diff([]pawl.StepID{"T001"}, formattest.Step(t, r, "T003").Needs); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	circle := format.Files{{Path: base + "tasks/TASK-REGISTRY.md", Data: []byte("```yaml\nid: A\ndependencies: [B]\n```\n```yaml\nid: B\ndependencies: [C]\n```\n```yaml\nid: C\ndependencies: [A]\n```\n```yaml\nid: 08\nbad: a: b\n```\n")}}
	r, findings = read(t, circle)
	data, err := planfile.Write(format.PlanOf(r, "claude"))
	if err != nil {
		t.Errorf("%v\n%s", err, data)
	}
	want(t, findings, pawl.Warn, "TASK-REGISTRY.md", "tasks C and A depend on each other")
	want(t, findings, pawl.Warn, "TASK-REGISTRY.md:15", "invalid YAML")
	formattest.Step(t, r, "08")
}

// TestStatusAlone: where there is nothing but STATUS.md its streams are the work.
func TestStatusAlone(t *testing.T) {
	t.Parallel()
	r, _ := read(t, format.Files{*team(t).Find(base + "progress/STATUS.md")})
	if s := r.Phases[0].Steps; len(s) != 2 || s[0].Status != pawl.Pending || s[0].Native != "**Leaflets in progress**" || s[1].Status != pawl.Done || r.Percent != (88+100)/2 {
		t.Errorf("%+v %d", s, r.Percent)
	}
	first := "# Orchestration Status\r\n\r\n**Phase**: Pre-initialization\r\n\r\n## Stream Progress\r\n\r\n| Stream | Progress | Active Agent | Status |\r\n|---|---|---|---|\r\n| CONTENT | 0% | — | Waiting for TECHNICAL |\r\n"
	r, findings := read(t, format.Files{{Path: "progress/STATUS.md", Data: []byte(first)}})
	if s := formattest.Step(t, r, "CONTENT"); s.Status != pawl.Pending || r.Facts["status.phase"] != "Pre-initialization" || len(findings) > 0 {
		t.Errorf("%+v %v %v", s, r.Facts, findings)
	}
}

// TestRowsAreWork: a task that only the table of checkpoints lists is work, unless it is complete there. Of a task that has a
// checkpoint, and of a stream, the row says nothing new.
func TestRowsAreWork(t *testing.T) {
	t.Parallel()
	const table = "## Active Checkpoints\n\n| Agent | Task | Progress | Last Update | Status |\n|---|---|---|---|---|\n" +
		"| content | T001 | 0% | — | not started |\n| polish | t060 | 5% | — | in_progress |\n| community | T002 | 0% | — | blocked |\n| technical | T040 | 100% | — | complete |\n"
	files := one("migration-T060.json", `{"agent": "migration", "task_id": "T060", "status": "in_progress"}`, "../STATUS.md", table)
	files[1].Path = base + "progress/STATUS.md"
	r, findings := read(t, files)
	var steps []string
	for _, s := range r.Phases[0].Steps {
		steps = append(steps, string(s.ID)+" "+string(s.Status)+" "+s.Agent+" "+s.Native)
	}
	if diff := cmp.Diff([]string{"T060 pending migration in_progress", "T001 pending content not started", "T002 pending community blocked"}, steps); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	want(t, findings, pawl.Warn, "STATUS.md:8", `task "T040" is complete here, but has no checkpoint; it is not imported`)
	if len(r.Blockers) != 1 || r.Blockers[0].Step != "T002" {
		t.Errorf("%+v", r.Blockers)
	}
	streams := format.Files{{Path: base + "progress/STATUS.md", Data: []byte("## Stream Progress\n\n| Stream | Progress | Active Agent | Status |\n|---|---|---|---|\n| CONTENT | 0% | — | Ready |\n\n" + table)}}
	if r, _ := read(t, streams); len(r.Phases[0].Steps) != 1 {
		t.Errorf("the streams are the work: %+v", r.Phases[0].Steps)
	}
}

// TestMessages: unread messages become notes, and requests to people block the tasks that need them.
func TestMessages(t *testing.T) {
	t.Parallel()
	r, findings := read(t, team(t))
	if r.Facts["inbox.content"] != "1 pending: MSG-20260302100000-technical The gallery is ready" {
		t.Errorf("%v", r.Facts)
	}
	var blockers []string
	for _, b := range r.Blockers {
		blockers = append(blockers, string(b.Step)+" "+b.Text)
	}
	if diff := cmp.Diff([]string{"T010 Cannot find Leaflet20.pdf", "T010 ESC-001: Payment account"}, blockers); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	want(t, findings, pawl.Warn, "human-escalations.md:5", "ESC-001 has been waiting for an answer from Treasurer since 2026-02-27")
}

// TestResumeRule: what the original's --resume takes, and what it should have taken.
func TestResumeRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ checkpoint, resume, prompt string }{
		{`{"status":"in_progress","updated_at":"2026-03-02T10:00:00Z","resumable":true,"subtasks":{"total":3,"completed":1,"items":[{"id":"b","status":"pending"}]},"resume_instructions":"take b"}`,
			"task T1 is resumable", "/dispatch-sitebuilder content T1 --resume\n\nTask T1\n\ntake b\n\nSubtasks that are not complete: b\n\n1 of 3 subtasks are complete.\n"},
		{`{"status":"in_progress","updated_at":"2026-03-02T10:39:00Z"}`, "still running: content was last active at 2026-03-02T10:39:00Z; wait until 2026-03-02T10:49:00Z", ""},
		{`{"status":"in_progress","resumable":false}`, "task T1 is marked not resumable, but is not complete", "/dispatch-sitebuilder content T1\n\nTask T1\n"},
		{`{"status":"blocked","errors":["x"]}`, "task T1 is blocked: clear what blocks it first", ""},
		{`{"status":"complete","resumable":false,"acceptance_criteria_met":{"good":true,"fast":false}}`, "task T1 is marked complete, but does not meet all criteria: dispatch only the missing work",
			"/dispatch-sitebuilder content T1\n\nTask T1\n\nIt is complete except for the following. Do only that, and leave the rest unchanged:\n- fast\n"},
		{`{"status":"complete","resumable":false}`, "there is nothing to resume: everything is complete", ""},
	} {
		r, _ := read(t, one("content-T1.json", c.checkpoint))
		if !strings.HasPrefix(r.Resume, c.resume) || c.prompt != "" && r.Prompt != c.prompt {
			t.Errorf("%s\n%s\n%s", c.checkpoint, r.Resume, r.Prompt)
		}
	}
	r, _ := read(t, one("content-T1.json", `{"status":"in_progress","updated_at":"2026-03-02T08:00:00Z"}`, "content-T2.json", `{"status":"in_progress","updated_at":"2026-03-02T09:00:00Z"}`))
	if r.Position.StepID != "T2" {
		t.Errorf("the latest is resumed: %s", r.Position.StepID)
	}
}

// TestAPersonIsAskedFirst: a gate opens before a task that must not be resumed, or that somebody may be working on.
func TestAPersonIsAskedFirst(t *testing.T) {
	t.Parallel()
	for checkpoint, asks := range map[string]string{
		`{"status":"in_progress","updated_at":"2026-03-02T10:39:00Z"}`:                                     "its agent was last active at 2026-03-02T10:39:00Z",
		`{"status":"in_progress","updated_at":"2026-03-02T10:39:00Z","resumable":false}`:                   "its agent was last active",
		`{"status":"in_progress","updated_at":"2026-03-02T08:39:00Z","resumable":false}`:                   "is marked not resumable. Continue",
		`{"status":"blocked","errors":["x"],"resumable":false,"resume_instructions":"ask\nHarper"}`:        "is marked not resumable (ask Harper)",
		`{"status":"in_progress","updated_at":"2026-03-02T08:39:00Z"}`:                                     "",
		`{"status":"complete","resumable":false}`:                                                          "",
		`{"status":"complete","resumable":false,"acceptance_criteria_met":{"good":true,"fast":false}}`:     "", // see TestUnmetCriteriaAreNotDone
		`{"status":"blocked","resumable":false,"errors":[{"type":"skipped","message":"a person did so"}]}`: "",
	} {
		r, _ := read(t, one("content-T1.json", checkpoint))
		if asked := len(r.Gates) == 1 && r.Gates[0].Step == "T1" && r.Gates[0].Answer == ""; asked != (asks != "") || asked && !strings.Contains(r.Gates[0].Ask, asks) {
			t.Errorf("%s: %+v", checkpoint, r.Gates)
		}
	}
}

// TestAnotherTeamIsNamed: of two teams the one in the usual folder is read, and the other is reported.
func TestAnotherTeamIsNamed(t *testing.T) {
	t.Parallel()
	files := format.Files{{Path: "progress/checkpoints/a-1.json", Data: []byte("{}")}, {Path: points + "b-2.json", Data: []byte("{}")}}
	r, findings := read(t, files)
	if len(r.Phases[0].Steps) != 1 || r.Phases[0].Steps[0].ID != "2" || !found(findings, pawl.Warn, "", "another team was found here") {
		t.Errorf("%+v %+v", r.Phases, findings)
	}
}

// TestVerifyNamesEveryFault: each fault by name, and what is good.
func TestVerifyNamesEveryFault(t *testing.T) {
	t.Parallel()
	findings := sitebuilder.Format().Verify(team(t), testEnv("site/style.css"))
	for _, w := range []struct {
		level       pawl.Level
		where, what string
	}{
		{pawl.Bad, "content-T001.json:2", "task T001 is marked complete, but is not: links_work"},
		{pawl.Warn, "community-T010.json:2", "task T010 is blocked: dependency_missing: Cannot find Leaflet20.pdf"},
		{pawl.Warn, "migration-T061.json:2", "task T061: stalled"},
		{pawl.OK, "technical-T040-complete.json:1", "task T040 of technical is complete"},
		{pawl.Warn, "STATUS.md:22", `STATUS.md says that community is "Completed", but its checkpoints say blocked`},
		{pawl.Warn, "migration-T060.json", "2 of its claimed files are missing"},
	} {
		want(t, findings, w.level, w.where, w.what)
	}
	odd := one("content-T1.json", `{"checkpoint_id":"x","status":"in_progress","resumable":false,"started_at":"2026-03-02T10:00:00Z","updated_at":"2026-03-02T09:00:00Z","progress_percent":120,
		"subtasks":{"total":1,"completed":2},"review_scores":{"agent_1":101}}`, "content-T2.json", `{"status":"blocked"}`, "content-T3.json", `{"status":"complete","resumable":true,"progress_percent":40,"subtasks":{"total":2,"completed":2}}`,
		"content-T4.json", `{"status":"merry"}`, "content-T5.json", `{"status":"in_progress","subtasks":{"total":2,"completed":0,"items":[{"id":"a","status":"complete"}]}}`)
	findings = sitebuilder.Format().Verify(odd, testEnv())
	for _, what := range []string{"not complete, but marked not resumable", "updated_at is before started_at", "progress is 120%, more than 100%", "2 subtasks are complete, more than the total of 1",
		"the score of agent_1 is 101", "does not end with its start time", "is blocked without a reason", "is complete, but marked resumable",
		"progress is stated as 40%", "the number of complete subtasks is 0, but the list has 1", `unknown status "merry"`} {
		if !slices.ContainsFunc(findings, func(f pawl.Finding) bool { return f.Level != pawl.OK && strings.Contains(f.What, what) }) {
			t.Errorf("not found: %s", what)
		}
	}
	if f := sitebuilder.Format().Verify(nil, testEnv()); len(f) != 1 || f[0].Level != pawl.Bad {
		t.Errorf("%+v", f)
	}
}

// BenchmarkRead reads a folder of 10,000 checkpoints.
func BenchmarkRead(b *testing.B) {
	var files format.Files
	whole := string(team(b).Find(points + "migration-T060.json").Data)
	for i := range 10_000 {
		name := fmt.Sprintf("T%05d", i)
		files = append(files, format.File{Path: points + "migration-" + name + ".json", Data: []byte(strings.Replace(whole, "T060", name, 2))})
	}
	for b.Loop() {
		sitebuilder.Format().Read(files, format.Env{Now: now})
	}
}
