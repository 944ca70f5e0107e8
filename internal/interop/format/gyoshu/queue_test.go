package gyoshu_test

import (
	"strings"
	"testing"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/formattest"
	"pawl/internal/interop/format/gyoshu"
)

// queued is a queue in the style of somebody else, with jobs of two stages of the run, of one that it does not have, and
// of a step's own item.
const queued = "\xEF\xBB\xBF{ \"runId\":\"r\",\r\n" + `  "jobs": [
    {"jobId":"a", "stageId":"S01_load_tides", "status":"pending", "claimedBy":null, "claimedAt":null, "heartbeatAt":null, "note": "mine"},
    {"jobId":"b", "stageId":"S01_load_tides", "status":"CLAIMED", "claimedBy":"w2", "claimedAt":"2026-03-02T10:45:00.000Z"},
    {"jobId":"c", "stageId":"S09_other_stage", "status":"PENDING"},
    "odd", {"stageId":"S01_load_tides"}
  ],
  "status" : "ACTIVE"}`

// TestQueueIsKept: a queue that is there says which jobs are worked on, are done or were given back, and nothing else in
// it changes.
func TestQueueIsKept(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	name := "reports/tide-levels/queue/" + string(s.State.Run) + ".json"
	s.files = format.Files{{Path: name, Data: []byte(queued)}}
	now := func() string { return string(s.files.Find(name).Data) }
	s.write(format.Began)
	if now() != queued {
		t.Errorf("before anything began:\n%s", now())
	}
	s.start("S01_load_tides", 1)
	s.write(format.StepBegan)
	stamp := `"` + noon.AddDate(0, 0, 1).Format("2006-01-02T15:04:05.000Z") + `"`
	claimed := strings.Replace(queued, `"pending", "claimedBy":null, "claimedAt":null, "heartbeatAt":null`,
		`"claimed", "claimedBy":"pawl", "claimedAt":`+stamp+`, "heartbeatAt":`+stamp, 1)
	if now() != claimed {
		t.Errorf("claimed:\n%s", now())
	}
	s.cut("S01_load_tides", 1, "0badcafe")
	s.write(format.Interrupted)
	if now() != queued {
		t.Errorf("given back:\n%s", now())
	}
	s.start("S01_load_tides", 2)
	s.write(format.StepBegan)
	s.done("S01_load_tides", 2, nil)
	s.write(format.StepEnded)
	done := strings.Replace(strings.Replace(claimed, `"claimed"`, `"done"`, 1), `"CLAIMED"`, `"DONE"`, 1)
	if now() != done {
		t.Errorf("done:\n%s", now())
	}
}

// TestBrokenQueueStays: what is no queue is left alone.
func TestBrokenQueueStays(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"", "{", "[]", `{"jobs":{}}`, `{"jobs":[}`, "\x00"} {
		s := newTeller(t)
		s.start("S01_load_tides", 1)
		s.files = format.Files{{Path: "reports/tide-levels/queue/" + string(s.State.Run) + ".json", Data: []byte(broken)}}
		for _, path := range s.write(format.StepBegan) {
			if strings.Contains(path, "/queue/") {
				t.Errorf("%q is written over", broken)
			}
		}
	}
}

// TestQueueOfTheImportedRun: the queue of the imported run has the status of its jobs, and when all are done.
func TestQueueOfTheImportedRun(t *testing.T) {
	t.Parallel()
	s := newTeller(t)
	s.AddEach(pawl.RunImported{System: gyoshu.System, ID: "run-1"})
	const name = "reports/tide-levels/queue/run-1.json"
	s.files = format.Files{{Path: name, Data: []byte(`{"status":"ACTIVE","jobs":[{"jobId":"a","stageId":"S01_load_tides","status":"FAILED"}]}`)}}
	s.start("S01_load_tides", 1)
	s.write(format.StepBegan)
	s.done("S01_load_tides", 1, nil)
	s.write(format.StepEnded)
	if got, want := string(s.files.Find(name).Data), `{"status":"COMPLETED","jobs":[{"jobId":"a","stageId":"S01_load_tides","status":"DONE"}]}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// FuzzQueue: whatever a queue is, it is kept without a fault, once is enough, and what was JSON still is.
func FuzzQueue(f *testing.F) {
	for _, seed := range []string{queued, `{"jobs":[{"jobId":"a","stageId":"S01_load_tides","status":7,"status":"DONE","claimedBy":{}}]}`, `{"jobs":[[]],"status":null}`} {
		f.Add([]byte(seed))
	}
	states := map[string]func(*teller){
		"live": func(s *teller) { s.start("S01_load_tides", 1) },
		"done": func(s *teller) { s.start("S01_load_tides", 1); s.done("S01_load_tides", 1, nil) },
		"cut":  func(s *teller) { s.start("S01_load_tides", 1); s.cut("S01_load_tides", 1, "0badcafe") },
	}
	views := map[string]format.Export{}
	for name, tell := range states {
		s := newTeller(f)
		tell(s)
		views[name] = s.view(format.StepBegan)
	}
	const name = "reports/tide-levels/queue/" + tideRun + ".json"
	f.Fuzz(func(t *testing.T, data []byte) {
		for at, view := range views {
			files := format.Files{{Path: name, Data: data}}
			files = formattest.With(files, gyoshu.Format().Write(files, view))
			if again := gyoshu.Format().Write(files, view); len(again) > 0 {
				t.Errorf("%s: written again, %s differs\n%s", at, again[0].Path, again[0].Data)
			}
			_, before := gyoshu.ReadQueue(data)
			if _, after := gyoshu.ReadQueue(files.Find(name).Data); (before == nil) != (after == nil) {
				t.Errorf("%s: before %v, after %v\n%s", at, before, after, files.Find(name).Data)
			}
		}
	})
}
