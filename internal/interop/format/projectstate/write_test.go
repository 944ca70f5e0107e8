package projectstate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/projectstate"
	"pawl/internal/interop/tables/dump"
)

const ferryPlan = `
name: ferry
phases:
  - name: implementation
    steps:
      - {id: "08", run: x}
      - {id: read_tides, run: x}
      - {id: write_tables, agent: {use: claude, prompt: x}}
  - name: deployment
    steps:
      - {id: ask, gate: {type: human_verify, ask: "Deploy?"}}
      - {id: deploy, run: x}
`

// teller tells a run's events, a minute apart, and writes the files at any of them.
type teller struct {
	*formattest.Run
	files format.Files
}

// tell begins the run of a project that was imported, or with "" of pawl's own.
func newTeller(t testing.TB, files format.Files, imported string) *teller {
	s := &teller{Run: formattest.New(t, formattest.Plan(t, ferryPlan), noon), files: files}
	s.AddEach(pawl.RunCreated{Format: 1, Run: "ferry-20260228-120000-ab12", Project: "0195a000-0000-7000-8000-000000000001", Kind: pawl.PlanRun, Name: "ferry"},
		pawl.RunPlanned{Revision: 1, File: "plan.yaml", Steps: 5}, pawl.EngineStarted{Epoch: 1, PID: 1, Why: "run"})
	if imported != "" {
		s.AddEach(pawl.RunImported{System: projectstate.System, ID: imported})
	}
	return s
}

func ref(step pawl.StepID) pawl.AttemptRef {
	return pawl.AttemptRef{Step: step, Attempt: 1, Token: pawl.Token(step)}
}

func (s *teller) done(steps ...pawl.StepID) {
	s.T.Helper()
	for _, step := range steps {
		s.AddEach(pawl.AttemptStarted{AttemptRef: ref(step)}, pawl.StepDone{Step: step, Attempt: 1, Token: ref(step).Token})
	}
}

func (s *teller) view(engine bool) format.Export {
	return format.Export{Now: s.State.Updated, State: s.State, Plan: s.Plan, Status: s.State.StatusNow(engine), Trigger: format.Exported}
}

// write writes what differs, and returns the row.
func (s *teller) write() *dump.Row {
	s.T.Helper()
	written := projectstate.Format().Write(s.files, s.view(true))
	for _, f := range written {
		if old := s.files.Find(f.Path); old != nil {
			old.Data = f.Data
		} else {
			s.files = append(s.files, f)
		}
	}
	if again := projectstate.Format().Write(s.files, s.view(true)); len(again) > 0 {
		s.T.Fatalf("it is written twice: %s", cmp.Diff(string(s.files[0].Data), string(again[0].Data)))
	}
	return s.row()
}

func (s *teller) row() *dump.Row {
	s.T.Helper()
	id := s.State.Project
	if s.State.Import.ID != "" {
		id = s.State.Import.ID
	}
	var last *dump.Row
	for _, f := range s.files {
		d := dump.Read(f.Data)
		for _, p := range d.Problems {
			s.T.Fatal(p)
		}
		for _, row := range d.Table("project_state").Rows {
			if v, _ := row.Get("project_id"); v.Text == id {
				last = row
			}
		}
	}
	return last
}

// says fails unless the row has these values, "" for null.
func says(t testing.TB, row *dump.Row, want ...string) {
	t.Helper()
	if row == nil {
		t.Fatal("there is no row")
	}
	for i := 0; i < len(want); i += 2 {
		v, ok := row.Get(want[i])
		if !ok || v.Text != want[i+1] || v.Kind == dump.Null != (want[i+1] == "") {
			t.Errorf("%s is %q, want %q", want[i], v.Text, want[i+1])
		}
	}
}

// TestWriteARun follows a run from start to end in a new file.
func TestWriteARun(t *testing.T) {
	t.Parallel()
	s := newTeller(t, nil, "")
	says(t, s.write(), "status", "active", "active_task_id", "08", "active_agent_id", "pawl", "completed_tasks", "[]", "last_action", "",
		"pending_tasks", `["08", "read_tides", "write_tables", "ask", "deploy"]`, "current_phase", "implementation")
	s.done("08")
	says(t, s.write(), "last_action", "Completed 08", "active_task_id", "read_tides", "completed_tasks", `["08"]`)
	s.done("read_tides")
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("write_tables")})
	says(t, s.write(), "last_action", "Assigned write_tables to claude", "active_task_id", "write_tables", "active_agent_id", "claude",
		"pending_tasks", `["write_tables", "ask", "deploy"]`)
	s.AddEach(pawl.Progressed{AttemptRef: ref("write_tables"), Text: "it's 2\tof 3"})
	says(t, s.write(), "last_action", "it's 2 of 3")
	s.AddEach(pawl.StepDone{Step: "write_tables", Attempt: 1, Token: ref("write_tables").Token})
	gate := pawl.Gate{Step: "ask", Type: pawl.HumanVerify, Ask: "Deploy?"}
	gate.ID = gate.Identify()
	s.AddEach(pawl.GateOpened{Gate: gate})
	says(t, s.write(), "status", "active", "active_task_id", "ask", "active_agent_id", "person", "last_action", "Gate: Deploy?", "current_phase", "deployment")
	says(t, dump.Read(s.files[0].Data).Table("gates").Rows[0], "reason", "Deploy?", "status", "pending", "resolved_at", "", "agent_id", "person")
	s.AddEach(pawl.GateAnswered{Gate: gate.ID, Step: "ask", Answer: pawl.Approved, Why: "go"}, pawl.StepDone{Step: "ask"}, pawl.RunPaused{Why: "on holiday"})
	says(t, s.write(), "status", "paused", "active_task_id", "deploy", "last_action", "Paused: on holiday")
	says(t, dump.Read(s.files[0].Data).Table("gates").Rows[0], "status", "approved", "feedback", "go", "resolved_by", "person")
	s.AddEach(pawl.RunContinued{})
	s.done("deploy")
	s.AddEach(pawl.RunEnded{Status: pawl.StatusCompleted})
	says(t, s.write(), "status", "completed", "active_task_id", "", "active_agent_id", "", "pending_tasks", "[]", "last_action", "Completed deploy")
	r, findings := read(t, s.files, testEnv())
	if r.Status != pawl.StatusCompleted || r.Percent != 100 || len(lines(r)) != 5 {
		t.Errorf("read back: %+v", r)
	}
	env := testEnv()
	env.Now = s.State.Updated
	if found := worst(append(findings, projectstate.Format().Verify(s.files, env)...)); len(found) > 5 {
		t.Error(found)
	}

	failing := newTeller(t, nil, "")
	failing.done("08")
	failing.AddEach(pawl.AttemptStarted{AttemptRef: ref("read_tides")}, pawl.AttemptEnded{AttemptRef: ref("read_tides"), Outcome: pawl.Failed, Final: true}, pawl.RunEnded{Status: pawl.StatusFailed})
	row := failing.write()
	says(t, row, "status", "failed", "active_task_id", "read_tides")
	if meta, _ := row.Get("metadata"); !strings.Contains(meta.Text, `"task_results": {"08": {"outcome": "success"}`) {
		t.Errorf("the outcome of 08 is not in %s", meta.Text)
	}
}

// Whoever reads the row after a death finds a task with an agent, or none: never a finished one, never one of nobody's.
func TestNoTaskIsLeftToNobody(t *testing.T) {
	t.Parallel()
	s := newTeller(t, nil, "")
	for _, tell := range []func(){
		func() { s.AddEach(pawl.AttemptStarted{AttemptRef: ref("08")}) },
		func() { s.AddEach(pawl.EngineStopped{}) },
		func() { s.AddEach(pawl.EngineStarted{Epoch: 2, PID: 1}) },
		func() { s.AddEach(pawl.StepDone{Step: "08", Attempt: 1, Token: ref("08").Token}) },
		func() { s.AddEach(pawl.AttemptStarted{AttemptRef: ref("read_tides")}) },
		func() { s.AddEach(pawl.AttemptEnded{AttemptRef: ref("read_tides"), Outcome: pawl.Failed, Final: true}) },
		func() { s.AddEach(pawl.StepFailed{Step: "read_tides", Why: "exit code 1"}) },
		func() { s.AddEach(pawl.RunEnded{Status: pawl.StatusFailed}) },
	} {
		tell()
		s.write()
		r, _ := read(t, s.files, format.Env{Now: s.State.Updated.Add(10 * time.Minute)})
		if asks := len(r.Gates) > 0; asks != s.State.Ended() {
			t.Errorf("after %d: %+v", s.State.Seq, r.Gates)
		}
		for _, f := range projectstate.Format().Verify(s.files, format.Env{Now: s.State.Updated}) {
			if f.Level == pawl.Bad {
				t.Errorf("after %d: %v", s.State.Seq, f)
			}
		}
	}
	says(t, s.row(), "status", "failed", "active_task_id", "read_tides", "last_action", "Failed read_tides: exit code 1", "completed_tasks", `["08"]`)
}

// What is read and not changed is not written, and of what is changed only that part differs.
func TestOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"program.sql": {
			`'write_tables','backend_dev','["08", "read_tides"]','["write_tables", "deploy"]','{"tests_passing": true, "note": "it''s late", "task_results": {"08": {"outcome": "success"}}, "task_owners": {"08": "data_dev"}}','active','Created file src/tables.py'`,
			`'ask','person','["08", "read_tides", "write_tables"]','["deploy"]','{"tests_passing": true, "note": "it''s late", "task_results": {"08": {"outcome": "success"}, "read_tides": {"outcome": "success"}, "write_tables": {"outcome": "success"}}, "task_owners": {"08": "data_dev", "read_tides": "pawl", "write_tables": "claude"}, "pawl": {"run": "ferry-20260228-120000-ab12", "status": "active", "position": "fd172fc1aa7dd2bb"}}','active','Completed write_tables'`,
			"'implementation'", "'deployment'",
			"2026-02-28 10:30:00.250000", "2026-02-28 12:10:00.000000",
		},
		"document.sql": {
			"write_tables\tbackend_dev\tModified src/tables.py\tactive\t2026-02-28 12:00:00+02\t{\"files_modified\": 4, \"path\": \"c:\\\\\\\\x\"}",
			"ask\tperson\tCompleted write_tables\tactive\t2026-02-28 12:10:00.000000+00\t{\"files_modified\": 4, \"path\": \"c:\\\\\\\\x\", \"completed_tasks\": [\"08\", \"read_tides\", \"write_tables\"], " +
				"\"pending_tasks\": [\"ask\", \"deploy\"], \"task_results\": {\"08\": {\"outcome\": \"success\"}, \"read_tides\": {\"outcome\": \"success\"}, \"write_tables\": {\"outcome\": \"success\"}}, " +
				"\"task_owners\": {\"08\": \"pawl\", \"read_tides\": \"pawl\", \"write_tables\": \"claude\"}, \"pawl\": {\"run\": \"ferry-20260228-120000-ab12\", \"status\": \"active\", \"position\": \"6030c5cf18d72acf\"}}",
		},
		"inserts.sql": {
			"updated_at) VALUES", "updated_at, metadata) VALUES", "'refactor', 'backend_dev', 'It''s half done', 'active', '2026-02-28T10:00:00Z')",
			`'ask', 'person', 'Completed write_tables', 'active', '2026-02-28T12:10:00.000000Z', '{"completed_tasks": ["08", "read_tides", "write_tables"], "pending_tasks": ["ask", "deploy"], ` +
				`"task_results": {"08": {"outcome": "success"}, "read_tides": {"outcome": "success"}, "write_tables": {"outcome": "success"}}, "task_owners": {"08": "pawl", "read_tides": "pawl", "write_tables": "claude"}, ` +
				`"pawl": {"run": "ferry-20260228-120000-ab12", "status": "active", "position": "6030c5cf18d72acf"}}')`,
		},
	} {
		s := newTeller(t, fixture(t, name), first)
		before := string(s.files[0].Data)
		s.done("08", "read_tides", "write_tables")
		s.write()
		after := string(s.files[0].Data)
		if name == "program.sql" {
			var added string
			after, added = withoutLine(t, after, "'record_task_completion','{\"current_phase\"")
			if !strings.Contains(added, `"previous_state"`) && !strings.Contains(added, `"active_task_id": "write_tables"`) {
				t.Errorf("history: %s", added)
			}
			before = strings.Replace(before, want[2], want[3], 1)
			want = append(want[:2:2], want[4:]...)
		}
		if diff := cmp.Diff(changed(t, before, want...), after); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// withoutLine returns a text without the one line that holds this.
func withoutLine(t *testing.T, text, mark string) (rest, line string) {
	t.Helper()
	var b strings.Builder
	for l := range strings.Lines(text) {
		if strings.Contains(l, mark) {
			line += l
		} else {
			b.WriteString(l)
		}
	}
	if strings.Count(line, "\n") != 1 {
		t.Fatalf("%q is in %q", mark, line)
	}
	return b.String(), line
}

// Somebody changes the row, and it is written again at the same event, however often: each time it is another transaction.
func TestTransactionsAreToldApart(t *testing.T) {
	t.Parallel()
	s := newTeller(t, fixture(t, "program.sql"), first)
	for range 3 {
		s.write()
		s.files[0].Data = []byte(changed(t, string(s.files[0].Data), "'implementation','08'", "'implementation','theirs'"))
	}
	ids := map[string]bool{}
	rows := dump.Read(s.files[0].Data).Table("project_state_transactions").Rows
	for _, row := range rows {
		id, _ := row.Get("id")
		ids[id.Text] = true
	}
	if len(rows) != 5 || len(ids) != len(rows) {
		t.Errorf("%d transactions, %d ids", len(rows), len(ids))
	}
}

// A task is whose their program gave it to until pawl has it done by somebody else. That is added to the history, as is each last
// action, but not each sign of life.
func TestWhoDoesItIsSaid(t *testing.T) {
	t.Parallel()
	s := newTeller(t, fixture(t, "program.sql"), first)
	count := func() int { return len(dump.Read(s.files[0].Data).Table("project_state_transactions").Rows) }
	before := count()
	s.AddEach(pawl.StepDone{Step: "08", Adopted: "imported"}, pawl.StepDone{Step: "read_tides", Adopted: "imported"})
	says(t, s.write(), "active_agent_id", "backend_dev")
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("write_tables")})
	says(t, s.write(), "active_agent_id", "claude", "last_action", "Assigned write_tables to claude")
	if got := count(); got != before+2 {
		t.Errorf("%d transactions, before %d", got, before)
	}
	s.AddEach(pawl.Progressed{AttemptRef: ref("write_tables"), Text: "half"})
	v := s.view(true)
	v.Trigger = format.Beat
	s.files[0].Data = projectstate.Format().Write(s.files, v)[0].Data
	says(t, s.row(), "last_action", "half")
	if got := count(); got != before+2 {
		t.Errorf("%d transactions with a sign of life, before %d", got, before)
	}
}

// What a person said is the last action, until something else happens.
func TestAnAnswerIsAnAction(t *testing.T) {
	t.Parallel()
	s := newTeller(t, fixture(t, "inserts.sql"), first)
	gate := pawl.Gate{Step: "08", Type: pawl.HumanVerify, Ask: "Go on?"}
	gate.ID = gate.Identify()
	s.AddEach(pawl.GateOpened{Gate: gate})
	says(t, s.write(), "last_action", "Gate: Go on?")
	s.AddEach(pawl.GateAnswered{Gate: gate.ID, Step: "08", Answer: pawl.Rejected, Why: "no"})
	says(t, s.write(), "last_action", "Gate denied: Go on?")
	s.done("08")
	says(t, s.write(), "last_action", "Completed 08")
}

// The row is kept as it is when a person asks for a checkpoint, and each hour, once; older ones stay.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	s := newTeller(t, fixture(t, "program.sql"), first)
	s.done("08", "read_tides")
	s.AddEach(pawl.CheckpointSaved{Checkpoint: pawl.Checkpoint{ID: "1a2b3c4d", Kind: pawl.CheckpointManual, Why: "before it's changed"}})
	s.write()
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("write_tables")})
	s.write()
	for range 130 { // minutes
		s.AddEach(pawl.Progressed{AttemptRef: ref("write_tables"), Text: "on"})
		s.write()
	}
	var got []string
	for _, row := range dump.Read(s.files[0].Data).Table("project_state_snapshots").Rows {
		state := map[string]any{}
		v, _ := row.Get("state")
		if err := json.Unmarshal([]byte(v.Text), &state); err != nil {
			t.Fatal(err)
		}
		at, _ := row.Get("snapshot_at")
		by, _ := row.Get("taken_by")
		notes, _ := row.Get("notes")
		got = append(got, fmt.Sprint(at.Text, " ", by.Text, " ", notes.Text, " ", state["active_task_id"], " ", state["last_action"]))
	}
	want := []string{
		"2026-02-28 10:00:00.000000 system hourly read_tides <nil>",
		"2026-02-28 12:09:00.000000 pawl checkpoint 1a2b3c4d: before it's changed write_tables Completed read_tides",
		"2026-02-28 13:09:00.000000 pawl hourly write_tables on",
		"2026-02-28 14:09:00.000000 pawl hourly write_tables on",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What follows the state in the project's own row does; what somebody archived stays, and other projects do.
func TestTheProjectsRowFollows(t *testing.T) {
	t.Parallel()
	const theirs = "INSERT INTO projects VALUES('" + second + "','other','','active','2026-01-01 00:00:00');\n"
	for was, want := range map[string]string{"active": "paused", "archived": "archived"} {
		s := newTeller(t, fixture(t, "program.sql", "status VARCHAR(20), PRIMARY KEY", "status VARCHAR(20), updated_at DATETIME, PRIMARY KEY",
			"'Timetables that cannot be wrong','active');\n", "'Timetables that cannot be wrong','"+was+"','2026-01-01 00:00:00');\n"+theirs), first)
		s.AddEach(pawl.RunPaused{Why: "on holiday"})
		s.write()
		out := string(s.files[0].Data)
		if !strings.Contains(out, "wrong','"+want+"','2026-02-28 12:05:00.000000');\n"+theirs) {
			t.Error(out[:600])
		}
	}
}

// A project that the table does not have yet gets a row, and the sequence counts it.
func TestANewRow(t *testing.T) {
	t.Parallel()
	s := newTeller(t, fixture(t, "document.sql"), "")
	says(t, s.write(), "id", "4", "status", "active", "current_task_id", "08", "updated_at", "2026-02-28 12:03:00.000000+00")
	out := string(s.files[0].Data)
	if !strings.Contains(out, "\\\\\\\\x\"}\n4\t0195a000-0000-7000-8000-000000000001\t08\tpawl\t\\N\tactive\t") || !strings.Contains(out, "id_seq', 4, true)") {
		t.Error(out)
	}
	s = newTeller(t, fixture(t, "program.sql"), "")
	says(t, s.write(), "status", "active", "last_updated", "2026-02-28 12:03:00.000000", "created_at", "2026-02-28 12:01:00.000000")
}

// Where the rows leave their id to the database, a new one does too; one that has to name it takes none that the database gave.
func TestANewRowIsCountedAsTheOthers(t *testing.T) {
	t.Parallel()
	const made = "CREATE TABLE project_state (id INTEGER PRIMARY KEY, project_id VARCHAR(36) NOT NULL UNIQUE, status VARCHAR(50) NOT NULL);\n"
	const row = "INSERT INTO project_state (project_id, status) VALUES ('" + first + "', 'active');\n"
	for dump, want := range map[string]string{
		made + row: "", made + row + "INSERT INTO project_state VALUES (2, '" + second + "', 'active');\n": "3",
	} {
		s := newTeller(t, format.Files{{Path: "dump.sql", Data: []byte(dump)}}, "")
		got := s.write()
		if v, named := got.Get("id"); v.Text != want || named != (want != "") {
			t.Errorf("the id is %q, want %q, in\n%s", v.Text, want, s.files[0].Data)
		}
	}
}

// The file of an imported project is not changed before the run has made progress.
func TestNothingHappenedYet(t *testing.T) {
	t.Parallel()
	s := newTeller(t, fixture(t, "program.sql", `'["write_tables", "deploy"]'`, `'["deploy"]'`), first)
	s.Plan.Phases[0].Steps = s.Plan.Phases[0].Steps[2:]
	s.Plan.Phases[1].Steps = s.Plan.Phases[1].Steps[1:]
	for _, f := range projectstate.Format().Write(s.files, s.view(true)) {
		t.Errorf("%s was written:\n%s", f.Path, cmp.Diff(string(s.files[0].Data), string(f.Data)))
	}
	s.done("write_tables")
	says(t, s.write(), "last_action", "Completed write_tables", "completed_tasks", `["08", "read_tides", "write_tables"]`)
	if run := `"pawl": {"run": "`; !strings.Contains(string(s.files[0].Data), run) {
		t.Errorf("it does not say %s", run)
	}
}

// A time that is later than the run's last event stays; one that has not come yet does not.
func TestALaterTimeStays(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{"2026-02-28T12:30:00Z": "2026-02-28T12:30:00Z", "2026-02-28T19:00:00Z": "2026-02-28T12:06:00.000000Z"} {
		s := newTeller(t, fixture(t, "inserts.sql", "2026-02-28T10:00:00Z", written), first)
		s.done("08")
		v := s.view(true)
		v.Now = noon.Add(time.Hour)
		s.files = projectstate.Format().Write(s.files, v)
		says(t, s.row(), "updated_at", want, "last_action", "Completed 08")
	}
}

// A gate that came from the table is answered in its row.
func TestAnImportedGateIsAnswered(t *testing.T) {
	t.Parallel()
	s := newTeller(t, fixture(t, "inserts.sql"), first)
	gate := pawl.Gate{Step: "08", Type: pawl.HumanVerify, Ask: "The third identical failure"}
	gate.ID = gate.Identify()
	s.AddEach(pawl.GateOpened{Gate: gate}, pawl.GateAnswered{Gate: gate.ID, Step: "08", Answer: pawl.Rejected, Why: "it's not the same"})
	s.write()
	rows := dump.Read(s.files[0].Data).Table("gates").Rows
	says(t, rows[0], "status", "denied", "feedback", "it's not the same", "resolved_by", "person", "resolved_at", "2026-02-28T12:06:00.000000Z")
	if len(rows) != 3 {
		t.Errorf("%d gates", len(rows))
	}
}

// An answered question keeps its answer, and two questions with the same text are two.
func TestGatesAreToldApart(t *testing.T) {
	t.Parallel()
	s := newTeller(t, fixture(t, "inserts.sql"), first)
	for _, g := range []pawl.Gate{{Step: "08", Ask: "Start?"}, {Step: "08", Ask: "Go on?"}, {Step: "deploy", Ask: "Go on?"}} {
		g.Type = pawl.HumanVerify
		g.ID = g.Identify()
		s.AddEach(pawl.GateOpened{Gate: g})
		if g.Step == "08" {
			s.AddEach(pawl.GateAnswered{Gate: g.ID, Step: g.Step, Answer: pawl.Approved, Why: "yes"})
		}
		s.write()
	}
	rows := dump.Read(s.files[0].Data).Table("gates").Rows
	if len(rows) != 5 {
		t.Fatalf("%d gates", len(rows))
	}
	says(t, rows[2], "reason", "Start?", "feedback", "", "resolved_at", "2026-02-28T08:02:00Z")
	says(t, rows[3], "reason", "Go on?", "status", "approved", "feedback", "yes")
	says(t, rows[4], "reason", "Go on?", "status", "pending", "feedback", "")
}

// Somebody's migration, a text that breaks off and an unreadable list are left alone.
func TestWhatIsNotWrittenInto(t *testing.T) {
	t.Parallel()
	made, _, _ := strings.Cut(string(fixture(t, "program.sql")[0].Data), "INSERT INTO project_state ")
	s := newTeller(t, format.Files{{Path: "001_project_state.sql", Data: []byte(made)}}, "")
	s.write()
	if string(s.files[0].Data) != made || len(s.files) != 2 || s.files[1].Path != "project_state.sql" {
		t.Errorf("%+v", s.files)
	}
	whole := string(fixture(t, "program.sql")[0].Data)
	for name, text := range map[string]string{
		"somebody's":            "-- mine\n",
		"behind the row":        whole + "INSERT INTO x VALUES ('",
		"in the row":            whole[:strings.Index(whole, first)+3],
		"before the row":        made + "INSERT INTO project_state",
		"at a statement's end":  made,
		"something else behind": made + "INSERT INTO other VALUES (1",
	} {
		s = newTeller(t, format.Files{{Path: "project_state.sql", Data: []byte(text)}}, first)
		if out := projectstate.Format().Write(s.files, s.view(true)); len(out) > 0 {
			t.Errorf("%s: %s was written", name, out[0].Path)
		}
		if refuses := projectstate.Format().Refuses(s.files, s.State); len(refuses) == 0 || refuses[0].Level != pawl.Bad || !strings.HasPrefix(refuses[0].Where, "project_state.sql") {
			t.Errorf("%s: %+v", name, refuses)
		}
	}
}

// A text that changes its rows later on, or does not give them as they are, is not written into, and it is said in which line.
func TestWhatIsChangedLaterIsNotWritten(t *testing.T) {
	t.Parallel()
	whole := string(fixture(t, "inserts.sql")[0].Data)
	for _, later := range []string{
		"UPDATE project_state SET status = 'completed';", "DELETE FROM gates;", "INSERT INTO project_state SELECT * FROM old;",
		"INSERT INTO project_state (project_id, status) VALUES ('" + first + "', 'x') ON CONFLICT (project_id) DO UPDATE SET status = lower(EXCLUDED.status);",
	} {
		line := fmt.Sprintf("dump.sql:%d", strings.Count(whole, "\n")+1)
		files := format.Files{{Path: "dump.sql", Data: []byte(whole + later + "\n")}}
		for _, of := range []string{first, ""} { // there already, and new
			s := newTeller(t, files, of)
			s.done("08")
			if out := projectstate.Format().Write(s.files, s.view(true)); len(out) > 0 {
				t.Errorf("%s: written:\n%s", later, cmp.Diff(whole+later+"\n", string(out[0].Data)))
			}
			refuses := projectstate.Format().Refuses(s.files, s.State)
			if len(refuses) != 1 || refuses[0].Level != pawl.Bad || refuses[0].Where != line || !strings.HasPrefix(refuses[0].Hint, "load it into a database") {
				t.Errorf("%s: %+v", later, refuses)
			}
		}
		r, findings := read(t, files, testEnv())
		finds(t, findings, pawl.Bad, "")
		finds(t, projectstate.Format().Verify(files, testEnv()), pawl.Bad, "")
		if g := r.Gates[0]; g.Purpose != pawl.ForRebuilt || !strings.Contains(g.Ask, line) || g.Answer != "" {
			t.Errorf("%s: nobody is asked: %+v", later, g)
		}
	}
}

// Of rows of one key that which is loaded is read, and written.
func TestTheRowThatIsLoadedCounts(t *testing.T) {
	t.Parallel()
	const made = "CREATE TABLE project_state (id INTEGER PRIMARY KEY, project_id VARCHAR(36) UNIQUE, current_task_id TEXT, current_agent_id TEXT, last_action TEXT, status TEXT, metadata TEXT);\n"
	const row = "INSERT INTO project_state (project_id, current_task_id, current_agent_id, status) VALUES ('" + first + "', '08', '%s', '%s')"
	for end, want := range map[string]string{
		"ON CONFLICT (project_id) DO NOTHING": "active a", "ON CONFLICT (project_id) DO UPDATE SET status = EXCLUDED.status": "paused a",
		"ON CONFLICT (project_id) DO UPDATE SET status = 'completed', current_agent_id = EXCLUDED.current_agent_id": "completed b",
	} {
		files := format.Files{{Path: "dump.sql", Data: fmt.Appendf(nil, made+row+";\n"+row+" %s;\n", "a", "active", "b", "paused", end)}}
		r, findings := read(t, files, testEnv())
		if got := r.Native + " " + r.Facts["agent"]; got != want || len(worst(findings)) > 0 {
			t.Errorf("%s: %s, want %s, %v", end, got, want, worst(findings))
		}
		for _, f := range projectstate.Format().Verify(files, testEnv()) {
			if f.Level == pawl.Bad && want != "completed b" {
				t.Errorf("%s: %v", end, f)
			}
		}
		s := newTeller(t, files, first)
		s.done("08")
		s.AddEach(pawl.RunPaused{Why: "on holiday"})
		says(t, s.write(), "status", "paused", "current_task_id", "read_tides", "last_action", "Paused: on holiday")
	}
}

// If a file is named, the run's row is written to that file or the write fails; never to another file.
func TestTheFileThatIsNamedIsWritten(t *testing.T) {
	t.Parallel()
	made, _, _ := strings.Cut(string(fixture(t, "inserts.sql")[0].Data), "INSERT INTO project_state ")
	for data, refused := range map[string]string{
		made: "", "": "", "-- mine\n": "not a dump with rows of project_state",
		made + "COPY project_state FROM stdin WITH (FORMAT csv);\n1,x\n\\.\n": "COPY with options is not read",
		made + "INSERT INTO project_state SELECT * FROM old;\n":               "rows without VALUES are not read",
		made + "INSERT INTO project_state SET status = 'active';\n":           "rows without VALUES are not read",
	} {
		s := newTeller(t, format.Files{{Path: "dump.sql", Data: []byte(data), Named: true}}, "")
		out := projectstate.Format().Write(s.files, s.view(true))
		refuses := projectstate.Format().Refuses(s.files, s.State)
		if refused == "" && (len(out) != 1 || out[0].Path != "dump.sql" || len(refuses) > 0) {
			t.Errorf("%q: %+v %+v", data, out, refuses)
		}
		if refused != "" && (len(out) > 0 || len(refuses) != 1 || !strings.Contains(refuses[0].What, refused) || !strings.HasPrefix(refuses[0].Where, "dump.sql")) {
			t.Errorf("%q: %+v %+v", data, out, refuses)
		}
		if data == made && len(out) == 1 {
			s.files = out
			says(t, s.row(), "status", "active", "current_task_id", "08")
			if _, named := s.row().Get("id"); named {
				t.Errorf("its sequence does not count %s", out[0].Data)
			}
		}
	}
}

// A column that the row cannot take is not in the position that pawl signs: a second write changes nothing.
func TestAColumnThatTheRowCannotTakeIsNotSigned(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE project_state (project_id TEXT UNIQUE, current_task_id TEXT, last_action TEXT, status TEXT, metadata TEXT);\n"
	for _, tt := range []struct{ imported, rows string }{
		{first, "INSERT INTO project_state (project_id, status, metadata) VALUES ('" + first + "', 'active', NULL), ('x', 'active', NULL);\n"},
		{first, "COPY project_state (project_id, status, metadata) FROM stdin;\n" + first + "\tactive\t\\N\n\\.\n"},
		{"", "COPY project_state (project_id, status, metadata) FROM stdin;\nx\tactive\t\\N\n\\.\n"}, // a new row
	} {
		s := newTeller(t, format.Files{{Path: "dump.sql", Data: []byte(table + tt.rows)}}, tt.imported)
		s.done("08")
		s.write()
	}
}

// No table takes a NUL: it is written without, and signed without.
func TestANULIsNotWritten(t *testing.T) {
	t.Parallel()
	s := newTeller(t, fixture(t, "program.sql"), first)
	s.AddEach(pawl.AttemptStarted{AttemptRef: ref("08")}, pawl.Progressed{AttemptRef: ref("08"), Text: "half\x00way"})
	says(t, s.write(), "last_action", "halfway")
}

// FuzzWrite writes a run into any text. What was there is still there, and it is written once.
func FuzzWrite(f *testing.F) {
	for _, name := range []string{"program.sql", "document.sql", "inserts.sql"} {
		f.Add(fixture(f, name)[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newTeller(t, format.Files{{Path: "dump.sql", Data: data}}, first)
		before := dump.Read(data)
		s.done("08")
		for _, f := range projectstate.Format().Write(s.files, s.view(true)) {
			if f.Path != "dump.sql" {
				continue
			}
			after := dump.Read(f.Data)
			for _, table := range before.Tables {
				if got := after.Table(table.Name); got == nil || len(got.Rows) < len(table.Rows) {
					t.Fatalf("rows of %s were lost: %q", table.Name, f.Data)
				}
			}
			s.files[0].Data = f.Data
			if again := projectstate.Format().Write(s.files, s.view(true)); len(again) > 0 && again[0].Path == "dump.sql" {
				t.Fatalf("it is written twice:\n%s\n%s", f.Data, again[0].Data)
			}
		}
	})
}

// What is skipped is completed by nobody: it is in neither list, has no owner, and is read again as skipped.
func TestWhatIsSkippedIsNotCompleted(t *testing.T) {
	t.Parallel()
	s := newTeller(t, fixture(t, "program.sql"), first)
	s.done("08", "read_tides")
	s.AddEach(pawl.StepSkipped{Step: "write_tables", Why: "made by hand"})
	row := s.write()
	says(t, row, "completed_tasks", `["08", "read_tides"]`, "last_action", "Skipped write_tables: made by hand")
	meta, _ := row.Get("metadata")
	if want := `"write_tables": {"outcome": "skipped", "summary": "made by hand"}`; !strings.Contains(meta.Text, want) {
		t.Errorf("it does not say %s: %s", want, meta.Text)
	}
	if strings.Contains(meta.Text, `"write_tables": "claude"`) {
		t.Errorf("it has an owner: %s", meta.Text)
	}
	for _, row := range dump.Read(s.files[0].Data).Table("project_state_transactions").Rows {
		if change, _ := row.Get("change_type"); change.Text == "record_task_completion" && strings.Contains(payload(row), "write_tables") {
			t.Errorf("the history has it completed: %s", payload(row))
		}
	}
	r, _ := read(t, s.files, testEnv())
	for _, step := range r.Phases[0].Steps {
		if step.ID == "write_tables" && step.Status == pawl.Skipped && step.Why == "made by hand" {
			return
		}
	}
	t.Errorf("read back: %+v", r.Phases[0].Steps)
}

func payload(row *dump.Row) string {
	v, _ := row.Get("payload")
	return v.Text
}
