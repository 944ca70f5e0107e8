package gyoshu

import (
	"cmp"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/textedit/jsonedit"
)

// Queue is the list of jobs that the workers of a run share: queue/{runId}.json.
type Queue struct {
	Status string // ACTIVE, COMPLETED, FAILED
	Jobs   []Job
	Stale  time.Duration // age of the last heartbeat from which a claim is stale
	Tries  int64         // of a job
}

// Job is a part of a stage's work.
type Job struct {
	ID, Stage, Kind string
	Status          string // PENDING, CLAIMED, DONE, FAILED, lower case in older files
	Worker          string
	Claimed, Beat   time.Time
	Attempt, Most   int64
	Line            int
}

// defaultStale is Gyoshu's default.
const defaultStale = 5 * time.Minute

// ReadQueue parses a queue. Jobs without an id are skipped.
func ReadQueue(data []byte) (*Queue, error) {
	root, err := jsonedit.Read(data)
	if err != nil {
		return nil, err
	}
	jobs, err := listIn(root, "jobs")
	if err != nil {
		return nil, err
	}
	q := &Queue{Status: strings.ToUpper(root.Get("status").Text()), Stale: defaultStale, Tries: defaultTries}
	if ms, ok := root.Get("config", "staleClaimMs").Int(); ok && ms > 0 {
		q.Stale = time.Duration(ms) * time.Millisecond
	}
	if n, ok := root.Get("config", "maxJobAttempts").Int(); ok && n > 0 {
		q.Tries = n
	}
	for _, v := range jobs {
		if j := jobOf(v); j.ID != "" {
			j.Most = cmp.Or(j.Most, q.Tries)
			q.Jobs = append(q.Jobs, j)
		}
	}
	return q, nil
}

func jobOf(v *jsonedit.Value) Job {
	text := func(key string) string { return v.Get(key).Text() }
	at := func(key string) time.Time {
		at, _, _ := format.ParseTime(text(key))
		return at
	}
	attempt, _ := v.Get("attempt").Int()
	most, _ := v.Get("maxAttempts").Int()
	return Job{ID: text("jobId"), Stage: text("stageId"), Kind: text("kind"), Status: strings.ToUpper(text("status")), Worker: text("claimedBy"),
		Claimed: at("claimedAt"), Beat: at("heartbeatAt"), Attempt: attempt, Most: most, Line: v.Line()}
}

// IsStale reports whether a job's claim is stale, because its worker sent no heartbeat for too long. The worker may still be
// alive.
func (q *Queue) IsStale(j Job, now time.Time) bool {
	beat := j.Beat
	if beat.IsZero() {
		beat = j.Claimed
	}
	return j.Status == "CLAIMED" && !beat.After(now) && now.Sub(beat) >= q.Stale
}

// item returns a job as an item of its stage's step.
func (q *Queue) item(j Job, now time.Time) (pawl.ItemStatus, string) {
	switch {
	case j.Status == "DONE":
		return pawl.ItemIsDone, ""
	case j.Status == "FAILED":
		return pawl.ItemFailed, ""
	case q.IsStale(j, now):
		return pawl.ItemPending, "its claim is stale"
	case j.Status == "CLAIMED":
		return pawl.ItemRunning, ""
	}
	return pawl.ItemPending, ""
}
