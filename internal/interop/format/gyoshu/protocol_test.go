package gyoshu_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/gyoshu"
)

func TestIsStage(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"S01_load_data", "S99_run_step_again", "S00_a_b", "S10_a_b_", "S10_a__"} {
		if !gyoshu.IsStage(good) {
			t.Errorf("%s is none", good)
		}
	}
	for _, bad := range []string{"", "S02_eda", "S1_load_data", "s01_load_data", "S01_Load_data", "S01_load_data2", "S100_load_data", "S01__data", "S01_load_", "S01-load-data", "S01_load_data\n", "S٠١_a_b"} {
		if gyoshu.IsStage(bad) {
			t.Errorf("%q is one", bad)
		}
	}
}

func TestReadLoop(t *testing.T) {
	t.Parallel()
	l, err := gyoshu.ReadLoop(wanted(t, tides).Find("reports/" + title + "/auto/loop-state.json").Data)
	if err != nil || !l.Active || l.Iteration != 4 || l.Decision != gyoshu.Rework || *l.Trust != 72.5 || l.GoalReached != "NOT_MET" || l.Next != "check the model" {
		t.Errorf("%+v, %v", l, err)
	}
	if used := l.Exceeded(noon); !slices.Equal(used, []string{"maxToolCalls"}) { // reached is used up
		t.Errorf("used up: %v", used)
	}
	if used := l.Exceeded(noon.Add(75 * time.Minute)); !slices.Equal(used, []string{"maxToolCalls", "maxTimeMinutes"}) {
		t.Errorf("used up later: %v", used)
	}
	bare, err := gyoshu.ReadLoop([]byte(`{}`))
	want := &gyoshu.Loop{Most: 25, MostTries: 3, Budgets: gyoshu.Budgets{MostCycles: 25, MostCalls: 300, MostMinutes: 180}}
	if diff := cmp.Diff(want, bare); diff != "" || err != nil {
		t.Errorf("%v: -want +got\n%s", err, diff)
	}
	for _, none := range []string{"", "[]", `{"active":`} {
		if _, err := gyoshu.ReadLoop([]byte(none)); err == nil {
			t.Errorf("%q is the state of a loop", none)
		}
	}
	if data, err := json.Marshal(bare); err != nil || !strings.Contains(string(data), `"lastDecision":null`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestReadQueue(t *testing.T) {
	t.Parallel()
	q, err := gyoshu.ReadQueue(wanted(t, tides).Find("reports/" + title + "/queue/" + lastRun + ".json").Data)
	if err != nil || len(q.Jobs) != 3 || q.Stale != 5*time.Minute || q.Jobs[2].Status != "PENDING" || q.Jobs[2].Most != 3 {
		t.Fatalf("%+v, %v", q, err)
	}
	job := q.Jobs[1]
	for after, stale := range map[time.Duration]bool{0: false, 5*time.Minute - 1: false, 5 * time.Minute: true, time.Hour: true, -time.Hour: false} {
		if q.IsStale(job, job.Beat.Add(after)) != stale {
			t.Errorf("%s after its last sign of life it is stale: %v", after, !stale)
		}
	}
	job.Beat = time.Time{}
	if !q.IsStale(job, job.Claimed.Add(5*time.Minute)) || q.IsStale(q.Jobs[0], noon) {
		t.Error("a claim without a sign of life, or a job that is done")
	}
	for _, none := range []string{"", "{}", `{"jobs":{}}`} {
		if _, err := gyoshu.ReadQueue([]byte(none)); err == nil {
			t.Errorf("%q is a queue", none)
		}
	}
}

// TestLocksLieOutside: which locks there are of a research that is there, and of one that is written.
func TestLocksLieOutside(t *testing.T) {
	t.Parallel()
	locker := gyoshu.Format()
	all := locker.Locks(wanted(t, tides), nil, "/run/g")
	for _, want := range []string{"locks/notebook/b2e8b2109688.lock", "locks/report/4fc01032d197.lock", "locks/queue/6145336f065f.lock", "c7061e92b119/session.lock"} {
		if !slices.Contains(all, "/run/g/"+want) {
			t.Errorf("%s is not among %q", want, all)
		}
	}
	of := locker.Locks(nil, &pawl.State{Name: title, Run: lastRun}, "/run/g")
	if want := []string{"/run/g/locks/notebook/b2e8b2109688.lock", "/run/g/locks/report/4fc01032d197.lock", "/run/g/locks/queue/6145336f065f.lock"}; !slices.Equal(of, want) {
		t.Errorf("of a run %q, want %q", of, want)
	}
}

// TestHistory: what the report says of stages that were cut off is what happened to them.
func TestHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell func(*teller)
		row  string
		note string // empty: there is none
	}{
		{"at once", func(s *teller) { s.done("S01_load_tides", 1, nil) }, "✅ completed | 12.3s", ""},
		{"cut off", func(s *teller) { s.cut("S01_load_tides", 1, "0badcafe") }, "⚠️ interrupted | 240s", "1 stage(s) were interrupted, 0 were resumed."},
		{"given up when it was cut off", func(s *teller) {
			s.cut("S01_load_tides", 1, "0badcafe")
			s.AddEach(pawl.StepFailed{Step: "S01_load_tides", Why: "timeout"})
		}, "❌ failed | 240s", "1 stage(s) were interrupted, 0 were resumed."},
		{"cut off twice", func(s *teller) {
			s.cut("S01_load_tides", 1, "0badcafe")
			s.start("S01_load_tides", 2)
			s.cut("S01_load_tides", 2, "1badcafe")
		}, "⚠️ interrupted | 480s", "1 stage(s) were interrupted, 1 were resumed."},
		{"resumed, and given up", func(s *teller) {
			s.cut("S01_load_tides", 1, "0badcafe")
			s.start("S01_load_tides", 2)
			s.AddEach(pawl.AttemptEnded{AttemptRef: ref("S01_load_tides", 2), Outcome: pawl.Failed, Reason: pawl.ReasonExited, Stats: &pawl.AttemptStats{Seconds: 60}},
				pawl.StepFailed{Step: "S01_load_tides", Why: "it fails"})
		}, "❌ failed | 300s", "1 stage(s) were interrupted, 1 were resumed."},
		{"resumed", func(s *teller) {
			s.cut("S01_load_tides", 1, "0badcafe")
			s.start("S01_load_tides", 2)
			s.done("S01_load_tides", 2, nil)
		}, "✅ completed | 252.3s", "1 stage(s) were interrupted, 1 were resumed."},
	} {
		s := newTeller(t)
		s.start("S01_load_tides", 1)
		c.tell(s)
		s.write(format.Exported)
		report := string(s.files.Find("reports/tide-levels/README.md").Data)
		if !strings.Contains(report, "| S01_load_tides | "+c.row+" |\n") || c.note != "" && !strings.Contains(report, "\n*Note: "+c.note+"*\n") || c.note == "" && strings.Contains(report, "Note") {
			t.Errorf("%s:\n%s", c.name, report)
		}
	}
}

func TestWithBlock(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- GYOSHU:REPORT:X:BEGIN -->", "<!-- GYOSHU:REPORT:X:END -->"
	for _, c := range []struct{ report, want string }{
		{"", begin + "\na $& b\n\n" + end + "\n"},
		{"# R", "# R\n\n" + begin + "\na $& b\n\n" + end + "\n"},
		{"# R\r\n", "# R\r\n\r\n" + begin + "\r\na $& b\r\n\r\n" + end + "\r\n"},
		{"one\n" + begin + "\nold\n" + end + "\ntwo", "one\n" + begin + "\na $& b\n\n" + end + "\ntwo"},
		{"one\n" + begin + "\nopen", "one\n" + begin + "\nopen\n\n" + begin + "\na $& b\n\n" + end + "\n"},
	} {
		if diff := cmp.Diff(c.want, gyoshu.WithBlock(c.report, "X", "a $& b\n")); diff != "" {
			t.Errorf("%q: -want +got\n%s", c.report, diff)
		}
		once := gyoshu.WithBlock("\r"+c.report, "X", "a\n")
		if !strings.Contains(c.report, "open") && gyoshu.WithBlock(once, "X", "a\n") != once {
			t.Errorf("%q behind a lone carriage return: twice is not once", c.report)
		}
		if once := gyoshu.WithBlock(c.report, "X", "a\n"); !strings.Contains(c.report, "open") && gyoshu.WithBlock(once, "X", "a\n") != once {
			t.Errorf("%q: twice is not once", c.report)
		}
	}
}

func FuzzProtocol(f *testing.F) {
	for _, file := range wanted(f, tides) {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := gyoshu.ReadLoop(data); err == nil {
			l.Exceeded(noon)
		}
		if q, err := gyoshu.ReadQueue(data); err == nil {
			for _, j := range q.Jobs {
				q.IsStale(j, noon)
			}
		}
		gyoshu.WithBlock(string(data), "X", "text")
	})
}
