package projectstate_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/evidence"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/projectstate"
)

// lines returns the id, status and agent of each step.
func lines(r format.Project) []string {
	var all []string
	for _, p := range r.Phases {
		for _, s := range p.Steps {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", s.ID, s.Status, s.Agent)))
		}
	}
	return all
}

// TestReadProgram reads the table as the program made it.
func TestReadProgram(t *testing.T) {
	t.Parallel()
	r, findings := read(t, fixture(t, "program.sql"), testEnv("src/tables.py"))
	if r.Name != "ferry" || r.ID != first || r.Goal != "Timetables that cannot be wrong" || r.Status != pawl.StatusInterrupted || r.Native != "active" {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff([]string{"08 done data_dev", "read_tides done", "write_tables running backend_dev", "deploy pending"}, lines(r)); diff != "" {
		t.Error(diff)
	}
	steps := r.Phases[0].Steps
	if want := time.Date(2026, 2, 28, 10, 15, 0, 0, time.UTC); !steps[1].Ended.Equal(want) || !steps[0].Ended.Equal(want.Add(-45*time.Minute)) {
		t.Errorf("ended %v, %v", steps[0].Ended, steps[1].Ended)
	}
	if p := steps[2].Partial; p == nil || p.Last != "Created file src/tables.py" || len(p.Created) != 1 || p.Created[0] != "src/tables.py" {
		t.Errorf("%+v", p)
	}
	if r.Percent != 50 || r.Position.StepID != "write_tables" || r.Next != "continue task write_tables as backend_dev: Created file src/tables.py (named-file)" {
		t.Errorf("%d%% %+v %s", r.Percent, r.Position, r.Next)
	}
	if r.Facts["metadata note"] != "it's late" || r.Facts["metadata tests_passing"] != "true" || r.Facts["phase"] != "implementation" {
		t.Errorf("%v", r.Facts)
	}
	if len(r.Checkpoints) != 1 || r.Checkpoints[0].Step != "read_tides" || !r.Checkpoints[0].Valid || r.Checkpoints[0].Reason != "hourly" {
		t.Errorf("%+v", r.Checkpoints)
	}
	if !r.Updated.Equal(time.Date(2026, 2, 28, 10, 30, 0, 250_000_000, time.UTC)) {
		t.Error(r.Updated)
	}
	finds(t, findings, pawl.Warn, "project "+second+" (paused) exists too, and is not imported with it")
	if len(worst(findings)) != 2 {
		t.Error(findings)
	}
}

// TestReadDocument reads the table the decision's text, as pg_dump writes it.
func TestReadDocument(t *testing.T) {
	t.Parallel()
	r, _ := read(t, fixture(t, "document.sql"), testEnv("src/tables.py"))
	if r.ID != first || r.Name != "project-7b1d9a52" || !r.Updated.Equal(time.Date(2026, 2, 28, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff([]string{"write_tables running backend_dev"}, lines(r)); diff != "" {
		t.Error(diff)
	}
	if p := r.Phases[0].Steps[0].Partial; p == nil || len(p.Modified) != 1 {
		t.Errorf("%+v", p)
	}
	if r.Facts["metadata path"] != `c:\x` {
		t.Errorf("%q", r.Facts["metadata path"])
	}
}

// TestTheDecisionsOwnText reads the statements as they stand in the decision: the table, its indexes, the upsert.
func TestTheDecisionsOwnText(t *testing.T) {
	t.Parallel()
	files := fixture(t, "decision.sql")
	r, findings := read(t, files, testEnv("auth.py"))
	if diff := cmp.Diff([]string{"implement_auth running backend_dev"}, lines(r)); diff != "" || len(findings) > 0 || r.Status != pawl.StatusInterrupted {
		t.Error(diff, findings, r.Status)
	}
	if r.Facts["last action"] != "Created file auth.py" || r.Facts["metadata files_modified"] != "3" || r.Facts["metadata tests_passing"] != "true" {
		t.Error(r.Facts)
	}
	finds(t, projectstate.Format().Verify(files, testEnv("auth.py")), pawl.Bad, "project_id is not unique")
	s := newTeller(t, files, first)
	s.Plan.Phases[0].Steps[0].ID = "implement_auth"
	before := string(files[0].Data)
	s.done("implement_auth")
	s.write()
	head, tail := before[:strings.Index(before, "VALUES ('")], before[strings.Index(before, "\nON CONFLICT"):]
	if out := string(s.files[0].Data); !strings.HasPrefix(out, head) || !strings.HasSuffix(out, tail) || !strings.Contains(out, "'Completed implement_auth', 'active', '{\"files_modified\": 3, \"tests_passing\": true, \"completed_tasks\"") {
		t.Error(out)
	}
}

// The newest row of a project counts, the last one of those of one time; the decision's upsert adds rows, or fails.
func TestDuplicatesTheNewestCounts(t *testing.T) {
	t.Parallel()
	r, findings := read(t, fixture(t, "document.sql"), testEnv())
	if r.Position.StepID != "write_tables" {
		t.Error(r.Position)
	}
	finds(t, findings, pawl.Bad, "project "+first+" has another row; the newest one is used")
	r, _ = read(t, fixture(t, "document.sql", "2026-02-28 12:00:00+02", "2026-02-28 09:00:00+00"), testEnv())
	if r.Position.StepID != "write_tables" {
		t.Error("of one time the higher id counts", r.Position)
	}
	r, _ = read(t, fixture(t, "document.sql", "2026-02-28 12:00:00+02", "2026-02-28 10:00:00+02"), testEnv())
	if r.Position.StepID != "read_tides" {
		t.Error("the newer time counts", r.Position)
	}
	finds(t, projectstate.Format().Verify(fixture(t, "document.sql"), testEnv()), pawl.Bad, "project_id is not unique: every update by ON CONFLICT (project_id) fails")
}

// A task that has no agent is put before a person: the program would hand it out again, to nobody.
func TestATaskWithoutAgentIsAsked(t *testing.T) {
	t.Parallel()
	system := projectstate.Format().Select(second)
	r, findings := system.Read(fixture(t, "document.sql"), format.Env{Now: noon})
	if len(r.Gates) != 1 || r.Gates[0].Step != "implement_auth" || !strings.Contains(r.Gates[0].Ask, `its last action is "Completed implement_auth"`) || r.Gates[0].Answer != "" {
		t.Errorf("%+v", r.Gates)
	}
	if lines(r)[0] != "implement_auth running" || !strings.HasPrefix(r.Next, "a person decides whether task implement_auth is done") {
		t.Error(lines(r), r.Next)
	}
	finds(t, findings, pawl.Warn, "task implement_auth has no agent")
	finds(t, system.Verify(fixture(t, "document.sql"), testEnv()), pawl.Bad, "so the program would assign it to nobody")
}

// A current task that is among the completed ones is done, whoever has it.
func TestACompletedTaskIsNotCurrent(t *testing.T) {
	t.Parallel()
	files := fixture(t, "program.sql", `'["08", "read_tides"]','["write_tables", "deploy"]'`, `'["08", "write_tables"]','["write_tables", "deploy"]'`)
	r, _ := read(t, files, testEnv())
	if diff := cmp.Diff([]string{"08 done data_dev", "write_tables done", "deploy pending"}, lines(r)); diff != "" || r.Next != "task deploy" {
		t.Error(diff, r.Next)
	}
	findings := projectstate.Format().Verify(files, testEnv("src/tables.py"))
	finds(t, findings, pawl.Bad, "task write_tables is current and completed")
	finds(t, findings, pawl.Bad, "task write_tables is completed and pending")
}

// A task whose recorded outcome is a failure is not done.
func TestAFailedTaskIsNotDone(t *testing.T) {
	t.Parallel()
	r, _ := read(t, fixture(t, "program.sql", `{"outcome": "success"}`, `{"outcome": "failed"}`), testEnv())
	if lines(r)[0] != "08 failed data_dev" {
		t.Error(lines(r))
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	r, findings := read(t, fixture(t, "inserts.sql"), testEnv("a.py"))
	if len(r.Gates) != 2 || r.Gates[0].Ask != "The third identical failure" || r.Gates[0].Native != "loop_detected" || r.Gates[0].Answer != "" || r.Gates[0].Step != "refactor" ||
		r.Gates[1].Answer != "approved" || r.Gates[1].Step != "" {
		t.Errorf("%+v", r.Gates)
	}
	if len(r.Decisions) != 1 || r.Decisions[0].Choice != "denied" || r.Decisions[0].Why != "not now" || r.Decisions[0].By != "ann" {
		t.Errorf("%+v", r.Decisions)
	}
	if len(findings) > 0 {
		t.Error(findings)
	}
}

// Each project is read alone: one whose row is broken stops none of the others.
func TestProjectsAreReadAlone(t *testing.T) {
	t.Parallel()
	files := fixture(t, "program.sql", `'["task_1", "task_2"]','{}'`, `'["task_1"','nonsense'`)
	r, _ := read(t, files, testEnv())
	if r.ID != first || len(lines(r)) != 4 {
		t.Errorf("%+v", r)
	}
	r, findings := projectstate.Format().Select(second).Read(files, format.Env{Now: noon})
	if r.ID != second || r.Status != pawl.StatusPaused || len(lines(r)) != 1 {
		t.Errorf("%+v", r)
	}
	finds(t, findings, pawl.Bad, "pending_tasks is not valid JSON")
	finds(t, findings, pawl.Bad, "metadata is not valid JSON")
	if r, _ = projectstate.Format().Select(third).Read(files, format.Env{Now: noon}); r.Status != pawl.StatusCompleted || r.Percent != 100 {
		t.Errorf("%+v", r)
	}
	if r, _ = projectstate.Format().Select("ferry").Read(files, format.Env{Now: noon}); r.ID != first {
		t.Error("it is not found by its name")
	}
	for begin, want := range map[string]string{first: first, first[:len(first)-1]: "", "7b1d": "", "": first} {
		if r, _ = projectstate.Format().Select(begin).Read(files, format.Env{Now: noon}); r.ID != want {
			t.Errorf("%q: %s", begin, r.ID)
		}
	}
	one := fixture(t, "document.sql", second, "another")
	if r, _ = projectstate.Format().Select("ano").Read(one, format.Env{Now: noon}); r.ID != "another" {
		t.Error(r.ID)
	}
	if r, findings = projectstate.Format().Select("x").Read(files, format.Env{Now: noon}); r.Name != "" || len(worst(findings)) < 3 {
		t.Error("another one was read", findings)
	}
}

// The program ignores an unknown status. pawl asks a person, and the project can be resumed.
func TestAnUnknownStatusIsAsked(t *testing.T) {
	t.Parallel()
	r, findings := read(t, fixture(t, "inserts.sql", "'active'", "'Thinking'"), testEnv())
	if r.Status != pawl.StatusInterrupted || r.Native != "Thinking" {
		t.Error(r.Status, r.Native)
	}
	finds(t, findings, pawl.Bad, `status "Thinking" is not one of`)
	if len(r.Gates) != 3 || r.Gates[0].Purpose != pawl.ForRebuilt || !strings.Contains(r.Gates[0].Ask, `"Thinking"`) || r.Gates[0].Answer != "" || !strings.HasSuffix(r.Resume, "review it first") {
		t.Errorf("%+v %s", r.Gates, r.Resume)
	}
}

// A failed project is not resumed before a person has approved, whatever is left of it; until then its row is unchanged.
func TestAFailedProjectIsAsked(t *testing.T) {
	t.Parallel()
	files := fixture(t, "inserts.sql", "'active'", "'failed'")
	r, _ := read(t, files, testEnv())
	if g := r.Gates[0]; r.Status != pawl.StatusFailed || g.Purpose != pawl.ForRebuilt || !g.Halts() || !strings.Contains(g.Ask, `is "failed", and its last action is "It's half done". Continue with it?`) {
		t.Errorf("%s %+v", r.Status, r.Gates)
	}
	s := newTeller(t, files, first)
	gate := r.Gates[0].Gate
	gate.ID = gate.Identify()
	s.AddEach(pawl.GateOpened{Gate: gate})
	says(t, s.write(), "status", "failed")
	s.AddEach(pawl.GateAnswered{Gate: gate.ID, Answer: pawl.Approved})
	says(t, s.write(), "status", "active")
}

// Times without a zone are UTC, times in the future are ignored, and recent activity may still continue.
func TestTimes(t *testing.T) {
	t.Parallel()
	r, findings := read(t, fixture(t, "inserts.sql", "2026-02-28T10:00:00Z", "2026-02-28 11:55:00"), testEnv())
	if r.Status != pawl.StatusActive || !r.Updated.Equal(noon.Add(-5*time.Minute)) {
		t.Error(r.Status, r.Updated)
	}
	finds(t, findings, pawl.OK, "times without a zone are taken as UTC")
	r, findings = read(t, fixture(t, "inserts.sql", "2026-02-28T10:00:00Z", "2026-02-28T16:00:00Z"), testEnv())
	if !r.Updated.IsZero() || r.Status != pawl.StatusInterrupted {
		t.Error(r.Updated, r.Status)
	}
	finds(t, findings, pawl.Warn, "is in the future")
	_, findings = read(t, fixture(t, "inserts.sql", "2026-02-28T10:00:00Z", "yesterday"), testEnv())
	finds(t, findings, pawl.Warn, `is not a time: "yesterday"`)
}

// What the last action names is looked for, and never outside of the project.
func TestTheLastActionIsChecked(t *testing.T) {
	t.Parallel()
	_, findings := read(t, fixture(t, "program.sql"), testEnv())
	finds(t, findings, pawl.Warn, "the last action names src/tables.py, which is missing")
	finds(t, projectstate.Format().Verify(fixture(t, "program.sql"), testEnv()), pawl.Bad, "the last action created src/tables.py, which is missing")
	for _, name := range []string{"/etc/passwd", "../x.py", `..\x.py`, "nul.py", "~/x.py", "https://example.org/x.py/../../../x"} {
		env := testEnv()
		env.Exists = func(path string) bool {
			t.Errorf("%s was looked for", path)
			return false
		}
		read(t, fixture(t, "program.sql", "Created file src/tables.py", "Created file "+name), env)
	}
}

// The prompt counts tests as tests, and an hour from the last action on as recent, however long ago that is.
func TestThePromptsFactsHold(t *testing.T) {
	t.Parallel()
	r, _ := read(t, fixture(t, "program.sql"), testEnv("test_x.py", "src/tables.py", "pom.xml", "latest.txt", "src/b.py"))
	for _, want := range []string{
		"Project Goal: Timetables", "Current Task: write_tables\n", "Total files: 5\n", "Source files: 2\n", "Test files: 1\n", "Config files: 1\n",
		"Recently modified: 3 files\n", "Task History: 2 tasks completed",
	} {
		if !strings.Contains(r.Prompt, want) {
			t.Errorf("no %q in\n%s", want, r.Prompt)
		}
	}
}

// TestTheCurrentTaskIsJudged: by the rules of the decision's guide, whatever the last action says and whichever files changed.
func TestTheCurrentTaskIsJudged(t *testing.T) {
	t.Parallel()
	many := func(n int) []string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("f%d.py", i))
		}
		return names
	}
	for _, c := range []struct {
		action, updated string
		files           []string // changed at noon
		word            pawl.VerdictWord
		rule            string
	}{
		{"Created file src/tables.py", "10:00", []string{"src/tables.py"}, pawl.Continue, "named-file"},
		{"Created file src/tables.py", "10:00", many(60), pawl.Restart, "named-file-missing"},
		{"Working on tables", "10:00", []string{"a.py"}, pawl.Restart, "unclear"},
		{"Working on tables", "10:00", many(51), pawl.HumanReview, "extensive-change"},
		{"Working on tables", "10:00", nil, pawl.HumanReview, "no-recent-change"},
		{"Created file src/tables.py", "10:00", nil, pawl.HumanReview, "no-recent-change"},
		{"Completed refactor", "10:00", []string{"src/tables.py"}, pawl.HumanReview, "said-done"},
		{"Working on tables", "25:00", []string{"a.py"}, pawl.HumanReview, "no-time"},
	} {
		env := testEnv(c.files...)
		env.Scan = func(since time.Time, _ ...string) evidence.Census {
			census := evidence.Census{Since: since}
			for _, name := range c.files {
				census.Add(name, noon, noon)
			}
			return census
		}
		r, _ := read(t, fixture(t, "inserts.sql", "It''s half done", c.action, "28T10:00", "28T"+c.updated, "'pending'", "'denied'"), env)
		if want := fmt.Sprintf("%s (%s): ", c.word, c.rule); !strings.HasPrefix(r.Facts["verdict"], want) || !strings.Contains(r.Next, "("+c.rule+")") {
			t.Errorf("%s, %d files: %q, next %q, want %s", c.action, len(c.files), r.Facts["verdict"], r.Next, want)
		}
		asked := slices.ContainsFunc(r.Gates, func(g format.Gate) bool { return g.Purpose == pawl.ForStart && g.Step == "refactor" })
		if prompt := format.PlanOf(r, "claude").Steps()[0].Agent.Prompt; asked != (c.word == pawl.HumanReview) || strings.Contains(prompt, "How to continue: ") == asked {
			t.Errorf("%s: asked is %v; the agent is told %q", c.rule, asked, prompt)
		}
	}
	for _, status := range []string{"paused", "failed", "completed"} {
		if r, _ := read(t, fixture(t, "inserts.sql", "'active'", "'"+status+"'"), testEnv()); r.Facts["verdict"] != "" {
			t.Errorf("%s: %s", status, r.Facts["verdict"])
		}
	}
}

// A value that only a database can compute is reported with its column; if it is more than a time, a gate asks about it.
func TestWhatIsNotReadIsTold(t *testing.T) {
	t.Parallel()
	r, findings := read(t, fixture(t, "inserts.sql", "'refactor'", "CAST('refactor' AS varchar(100))", "'2026-02-28T10:00:00Z')", "TIMESTAMP '2026-02-28 10:00:00')"), testEnv("a.py"))
	if r.Facts["task"] != "refactor" || r.Updated.IsZero() || len(worst(findings)) > 0 {
		t.Errorf("%v %v %v", r.Facts, r.Updated, worst(findings))
	}
	r, findings = read(t, fixture(t, "inserts.sql", "'refactor'", "lower('REFACTOR')", "'2026-02-28T10:00:00Z')", "now())"), testEnv("a.py"))
	finds(t, findings, pawl.Bad, "current_task_id is unknown: only a database can evaluate lower('REFACTOR')")
	finds(t, findings, pawl.Warn, "updated_at is unknown: only a database can evaluate now()")
	if g := r.Gates[0]; g.Purpose != pawl.ForRebuilt || !strings.Contains(g.Ask, "current_task_id is unknown") {
		t.Errorf("nobody is asked: %+v", r.Gates)
	}
}

// A roll-back to a time brings back what there was then; the program takes the state before the change before.
func TestRollbackToATime(t *testing.T) {
	t.Parallel()
	rolled := func(state string) format.Files {
		return fixture(t, "program.sql", "COMMIT;", `INSERT INTO project_state_transactions VALUES('00000000000000000000000000000003','`+first+
			`','2026-02-28 10:20:00.000000','rollback_state','{"restore_at": "2026-02-28T10:00:00+00:00"}','tester','{"completed_tasks": ["08", "read_tides"]}');
INSERT INTO project_state_transactions VALUES('00000000000000000000000000000004','`+first+
			`','2026-02-28 10:25:00.000000','update_state','{}','tester','`+state+"');\nCOMMIT;")
	}
	wrong := "the rollback 00000000000000000000000000000003 restored a state other than the one at 2026-02-28T10:00:00+00:00"
	finds(t, projectstate.Format().Verify(rolled(`{"completed_tasks": []}`), testEnv()), pawl.Bad, wrong)
	for _, f := range projectstate.Format().Verify(rolled(`{"completed_tasks": ["08"]}`), testEnv()) {
		if strings.Contains(f.What, "roll-back") {
			t.Error(f)
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	findings := projectstate.Format().Verify(fixture(t, "program.sql"), testEnv("src/tables.py"))
	if len(worst(findings)) > 0 {
		t.Error(findings)
	}
	finds(t, findings, pawl.OK, "the table has the schema of the program; rows: 3")
	finds(t, findings, pawl.OK, "is active, with 2 tasks completed and 2 pending")
	for what, change := range map[string][]string{
		"has no state":                          {"10:15:00.000000','record_task_completion'", "10:15:00.000000','record_task_completion'", "VALUES('00000000000000000000000000000002','" + first, "VALUES('00000000000000000000000000000002','x"},
		"payload is not a JSON object":          {`'{"active_task_id": null, "completed_tasks": ["08"]}'`, `'['`},
		"is completed but has unfinished tasks": {"'paused'", "'completed'"},
		"a row without project_id":              {"VALUES('" + third, "VALUES('"},
	} {
		finds(t, projectstate.Format().Verify(fixture(t, "program.sql", change...), testEnv("src/tables.py")), pawl.Bad, what)
	}
	late := testEnv()
	late.Now = noon.AddDate(0, 1, 0)
	finds(t, projectstate.Format().Verify(fixture(t, "program.sql"), late), pawl.Warn, "no activity for 28 days")
	finds(t, projectstate.Format().Verify(nil, testEnv()), pawl.Bad, "no table")
}

// However the file was written, the same is read.
func TestLenient(t *testing.T) {
	t.Parallel()
	want, _ := read(t, fixture(t, "document.sql"), testEnv())
	for name, files := range map[string]format.Files{
		"CRLF":   fixture(t, "document.sql", "\n", "\r\n"),
		"BOM":    {{Path: "document.sql", Data: append([]byte("\ufeff"), fixture(t, "document.sql")[0].Data...)}},
		"no end": {{Path: "document.sql", Data: []byte(strings.TrimRight(string(fixture(t, "document.sql")[0].Data), "\n"))}},
	} {
		got, _ := read(t, files, testEnv())
		got.Doubt, want.Doubt = nil, nil // it holds a function
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(name, diff)
		}
	}
	cut := fixture(t, "inserts.sql")
	cut[0].Data = cut[0].Data[:len(cut[0].Data)-60]
	r, findings := read(t, cut, testEnv())
	if r.ID != first {
		t.Error("what stands before the cut was not read")
	}
	finds(t, findings, pawl.Bad, "unterminated string")
}

// TestDamagedDumpsAreTold: of a dump that breaks off before its row, or that is UTF-16, it is said what is wrong, and where.
func TestDamagedDumpsAreTold(t *testing.T) {
	t.Parallel()
	whole := string(fixture(t, "inserts.sql")[0].Data)
	row := strings.Index(whole, "INSERT INTO project_state ") + len("INSERT INTO project_state ")
	for name, c := range map[string]struct{ data, what, hint string }{
		"in a text":    {whole[:strings.Index(whole, first)+3], "unterminated string", "restore"},
		"before a row": {whole[:row], "the last statement is incomplete", "restore"},
		"UTF-16":       {"\xff\xfe" + strings.ReplaceAll("\x00"+whole, "", "\x00"), "it is UTF-16", "iconv -f UTF-16 -t UTF-8 dump.sql"},
	} {
		r, findings := read(t, format.Files{{Path: "dump.sql", Data: []byte(c.data)}}, testEnv())
		if r.Name != "" || len(findings) == 0 {
			t.Fatalf("%s: %+v %+v", name, r, findings)
		}
		if f := findings[0]; f.Level != pawl.Bad || !strings.Contains(f.What, c.what) || !strings.HasPrefix(f.Where, "dump.sql:") || !strings.HasPrefix(f.Hint, c.hint) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// FuzzRead reads any text as a dump. Nothing panics, what is read is plain data, and nothing is looked for outside.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"program.sql", "document.sql", "inserts.sql", "decision.sql"} {
		f.Add(fixture(f, name)[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		env := testEnv()
		env.Exists = func(path string) bool {
			if clean, err := format.Inside(path); err != nil || clean != path {
				t.Fatalf("%q was looked for", path)
			}
			return false
		}
		files := format.Files{{Path: "x.sql", Data: data}}
		r, findings := read(t, files, env)
		if _, err := json.Marshal([]any{r, findings, projectstate.Format().Verify(files, env)}); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, p := range r.Phases {
			for _, s := range p.Steps {
				if id := strings.ToLower(string(s.ID)); seen[id] || pawl.StepIDOf(string(s.ID)) != s.ID {
					t.Fatalf("step %q", s.ID)
				}
				seen[strings.ToLower(string(s.ID))] = true
			}
		}
	})
}

// However much is found, it is found in time that grows with it: with the square of it this would last until the tests are given up.
func TestFindingsTakeNoTime(t *testing.T) {
	t.Parallel()
	files := fixture(t, "inserts.sql")
	data := append([]byte{}, files[0].Data...)
	for i := range 100_000 {
		data = fmt.Appendf(data, "INSERT INTO project_state_snapshots (id, project_id) VALUES ('%d', 'p%d');\n", i, i)
	}
	files[0].Data = data
	if n := len(projectstate.Format().Verify(files, testEnv())); n < 100_000 {
		t.Errorf("%d findings", n)
	}
}
