package gyoshu

import (
	"slices"
	"strings"

	"pawl"
	"pawl/internal/textedit"
	"pawl/internal/textedit/jsonedit"
)

// worker is by what name pawl claims a job.
const worker = "pawl"

// updateQueues updates the existing queues of the run, and of the run that it was imported from.
func (m *researchWriter) updateQueues() {
	for _, run := range slices.Compact([]string{m.run, m.State.Import.ID}) {
		if run == "" {
			continue
		}
		if file := m.files.File(queuePath(m.title, run)); file != nil {
			m.files.Put(file.Path, m.withQueue(file.Data))
		}
	}
}

// withQueue returns a queue that says which of its jobs are done, have failed, or are worked on by pawl. Jobs of stages
// that are no steps of the run, claims of others, and whatever else stands there stay as they are, and so does a file that
// is no queue.
func (m *researchWriter) withQueue(old []byte) []byte {
	q, err := ReadQueue(old)
	if err != nil {
		return old
	}
	root, err := jsonedit.Read(old)
	if err != nil {
		return old
	}
	var e queueEdit
	steps := map[string]pawl.StepID{}
	for id, stage := range m.stages {
		steps[stage], steps[string(id)] = id, id
	}
	open, failed := 0, 0
	for _, v := range root.Get("jobs").Items {
		j := jobOf(v)
		if id, ours := steps[j.Stage]; ours && j.ID != "" {
			j = m.updateJob(&e, v, j, id, q)
		}
		switch j.Status {
		case "DONE":
		case "FAILED":
			failed++
		default:
			open++
		}
	}
	switch {
	case len(q.Jobs) == 0:
	case open == 0 && failed == 0:
		e.word(root, "COMPLETED")
	case m.Status == pawl.StatusFailed:
		e.word(root, "FAILED")
	case q.Status != "FAILED":
		e.word(root, "ACTIVE")
	}
	return textedit.Apply(old, e.edits)
}

// updateJob updates the status of a job, and returns the job.
func (m *researchWriter) updateJob(e *queueEdit, v *jsonedit.Value, j Job, id pawl.StepID, q *Queue) Job {
	status := m.jobStatus(j, id)
	if status == j.Status && status != "CLAIMED" || status == "" {
		return j
	}
	now := instantOf(m.Now)
	switch {
	case status != "CLAIMED":
		e.word(v, status)
		if status == "PENDING" {
			e.set(v, "claimedBy", "null")
			e.set(v, "claimedAt", "null")
			e.set(v, "heartbeatAt", "null")
		}
	case j.Status != "CLAIMED":
		e.word(v, status)
		e.set(v, "claimedBy", quoted(worker))
		e.set(v, "claimedAt", quoted(now))
		e.set(v, "heartbeatAt", quoted(now))
	case m.Now.Sub(j.Beat) >= q.Stale/10:
		e.set(v, "heartbeatAt", quoted(now))
	}
	j.Status = status
	return j
}

// jobStatus returns how a job of a step stands; empty: that is for others to say.
func (m *researchWriter) jobStatus(j Job, id pawl.StepID) string {
	st := m.State.Steps[id]
	if st == nil {
		return ""
	}
	item, named := st.Named[pawl.ItemIDOf(j.ID)]
	ours := j.Status == "CLAIMED" && j.Worker == worker
	switch {
	case st.Status == pawl.Done, named && item.Status == pawl.ItemIsDone:
		return "DONE"
	case j.Status == "DONE":
		return ""
	case st.Status == pawl.FailedForGood, named && item.Status == pawl.ItemFailed:
		return "FAILED"
	case j.Status == "CLAIMED" && !ours:
		return ""
	case st.Retries.Live != nil && m.Status == pawl.StatusActive:
		return "CLAIMED"
	case ours:
		return "PENDING"
	}
	return ""
}

// queueEdit gathers what is to change in a queue.
type queueEdit struct{ edits []textedit.Edit }

// word sets a status.
func (e *queueEdit) word(v *jsonedit.Value, status string) {
	old := v.Get("status").Text()
	if strings.EqualFold(old, status) {
		return
	}
	if old != "" && old == strings.ToLower(old) {
		status = strings.ToLower(status) // as older files have it
	}
	e.set(v, "status", quoted(status))
}

// set sets a value that is there. What a queue does not have it is not given.
func (e *queueEdit) set(v *jsonedit.Value, key, text string) {
	if old := v.Get(key); old != nil {
		e.edits = append(e.edits, textedit.Edit{From: old.From, To: old.To, Text: text})
	}
}

func quoted(text string) string { return `"` + text + `"` }
