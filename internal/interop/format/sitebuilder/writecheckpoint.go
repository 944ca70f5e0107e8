package sitebuilder

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/interop/format"
)

// checkpoint updates a task's checkpoint, if the run has worked on it.
func (w *teamWriter) checkpoint(k *taskStep) {
	open, cleared := w.blockers(k.ID)
	if w.unchangedSinceImport(k, open, cleared) {
		if len(open) > 0 {
			k.taskStatus = blocked
		}
		return
	}
	current, archived := w.fileOf(k.agent, k.task)
	if k.state == nil {
		k.state = &pawl.StepState{Status: pawl.Pending}
	}
	st := k.state
	k.taskStatus = w.taskStatus(k, open)
	base := cmp.Or(w.files.File(current), w.files.File(archived))
	if k.imported = strings.HasPrefix(st.Adopted, "imported"); k.imported && w.found {
		return // unchanged since the import
	}
	name := current
	if base != nil && base.Path == archived && k.taskStatus == complete {
		name = archived
	}
	var data []byte
	if base != nil {
		data = base.Data
	}
	k.settled = name == archived || base != nil && bytes.Equal(data, w.files.Data(archived))
	e := w.begin(k, name, data)
	still := w.untouched(k, e, open, cleared)
	w.fill(e, k, open, cleared)
	if e.changed && !still {
		e.set(stamp(w.State.Updated), "updated_at")
	}
	k.touched = e.changed && !still || st.Attempts > 0 || len(cleared) > 0 || hasPawlError(e)
	k.percent = e.number("progress_percent")
	w.files.Put(name, e.text)
	if k.taskStatus == complete && name == current {
		w.archive(e, archived)
	}
}

// live returns the running attempts of a task; none if no engine runs the run.
func (w *teamWriter) live(k *taskStep) []*pawl.AttemptState {
	if w.Status == pawl.StatusInterrupted {
		return nil
	}
	return k.state.Live()
}

// taskStatus returns the status for a step's checkpoint, which has no other words.
func (w *teamWriter) taskStatus(k *taskStep, open []pawl.Blocker) taskStatus {
	switch st := k.state; {
	case st.Status == pawl.Done:
		return complete
	case st.Status == pawl.FailedForGood, st.Status == pawl.Skipped, st.Status == pawl.AwaitsGate, len(open) > 0 && len(w.live(k)) == 0:
		return blocked
	}
	return inProgress
}

// brokenMark is part of the name of an unreadable checkpoint's copy.
const brokenMark = ".broken-"

// begin returns an editor of a checkpoint. It keeps a copy of an unreadable one, and starts the new one with its readable
// part.
func (w *teamWriter) begin(k *taskStep, name string, data []byte) *editor {
	if e := edit(data); e != nil {
		return e
	}
	if len(data) > 0 {
		sum := sha256.Sum256(data)
		w.files.PutBroken(name+brokenMark+hex.EncodeToString(sum[:4]), slices.Clone(data), name)
		if e := repaired(data); len(e.root.Members) > 0 {
			e.changed = true
			return e
		}
	}
	e := edit([]byte("{}\n"))
	e.made = true
	started := k.state.Started
	if started.IsZero() {
		started = w.State.Updated
	}
	e.set(k.agent+"-"+k.task+"-"+started.UTC().Format("20060102-150405"), "checkpoint_id")
	e.set(k.agent, "agent")
	if called := names[k.agent]; called != "" {
		e.set(called, "agent_name")
	}
	e.set(k.task, "task_id")
	e.set(cmp.Or(k.Name, k.task), "task_title")
	return e
}

// fill sets the values of a step, in the order of the document's schema.
func (w *teamWriter) fill(e *editor, k *taskStep, open, cleared []pawl.Blocker) {
	st := k.state
	if said := meaning(e.says("status")); said != k.taskStatus && !(said == complete && w.awaitsReport(k)) || e.at("status") == nil {
		e.set(string(k.taskStatus), "status")
	}
	e.fill(w.percentOf(e, k), true, "progress_percent")
	if e.at("started_at") == nil && !st.Started.IsZero() {
		e.set(stamp(st.Started), "started_at")
	}
	if e.made {
		e.set(stamp(w.State.Updated), "updated_at")
	}
	w.completedAt(e, k)
	moved := w.subtasks(e, k)
	e.fill(w.percentOf(e, k), true, "progress_percent")
	w.claims(e, k)
	w.criteria(e, k)
	w.reviews(e, k)
	w.errors(e, k, open, cleared)
	if moved || e.made {
		w.context(e, k)
	}
	w.resumption(e, k, moved, open)
	w.heartbeat(e, k)
	w.effort(e, k)
}

// percentOf returns the progress, by the counts if there are any. An existing value that differs only by rounding stays.
func (w *teamWriter) percentOf(e *editor, k *taskStep) int {
	was, total := e.number("progress_percent"), e.number("subtasks", "total")
	if e.made && k.stream != nil {
		was = max(was, k.stream.percent())
	}
	now := was
	switch p := k.state.Progress; {
	case k.taskStatus == complete:
		return 100
	case total > 1 || e.at("subtasks", "items", "0") != nil:
		now = min(100*e.number("subtasks", "completed")/max(total, 1), 99)
		if was > now && was-now <= 1 {
			now = was
		}
	case p != nil && p.Done != nil:
		whole := 100.0
		if p.Total != nil && *p.Total > 0 {
			whole = *p.Total
		}
		now = int(min(max(100**p.Done/whole, 0), 99))
	}
	return min(now, 99) // also if it claims 100
}

// awaitsReport reports whether the running agent of a task is to call it complete in the checkpoint.
func (w *teamWriter) awaitsReport(k *taskStep) bool {
	return len(w.live(k)) > 0 && (w.asksUs(k, reportsDone) || w.asksUs(k, format.AllCriteria))
}

func (w *teamWriter) completedAt(e *editor, k *taskStep) {
	was, _, _ := format.ParseTime(e.says("completed_at"))
	switch {
	case k.taskStatus != complete:
		e.fill(nil, !was.IsZero(), "completed_at")
	case was.IsZero() || was.Before(k.state.Started.Truncate(time.Second)):
		e.setTime(k.state.Ended, "completed_at")
	}
}

// criteria marks the criteria as met whose check passed, with the evidence. The agent's own statements, and criteria without
// a check, stay as they are.
func (w *teamWriter) criteria(e *editor, k *taskStep) {
	last := k.state.Retries.Last
	ended := k.taskStatus == complete || k.state.Status == pawl.AwaitsReview
	proven := ended && k.state.Accept != "" && k.state.Accept == pawl.AcceptOf(k.Step)
	if !proven && e.root.Get("acceptance_evidence") != nil {
		e.remove("acceptance_evidence")
	}
	for _, name := range w.proofs(e, k) {
		was := e.at("acceptance_criteria_met", name)
		failed := last != nil && slices.Contains(last.Unmet, name)
		switch {
		case proven:
			e.set(true, "acceptance_criteria_met", name)
			e.set(w.evidence(k, name), "acceptance_evidence", name)
		case last != nil && len(last.Unmet) > 0 && !failed && k.Accept[name] != "":
			e.set(true, "acceptance_criteria_met", name)
		case was == nil, failed && len(w.live(k)) == 0:
			e.set(false, "acceptance_criteria_met", name)
		}
	}
	if e.made && e.at("acceptance_criteria_met") == nil {
		e.set(map[string]bool{}, "acceptance_criteria_met")
	}
}

// proofs returns the criteria that the step's checks cover. One check can cover all criteria of a checkpoint.
func (w *teamWriter) proofs(e *editor, k *taskStep) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(k.Accept)), func(name string) bool { return (name == allSubtasks || name == reportsDone) && w.asksUs(k, name) })
	if !w.asksUs(k, format.AllCriteria) || len(names) > 1 {
		return names
	}
	names = nil
	if all := e.at("acceptance_criteria_met"); all != nil {
		for _, m := range all.Members {
			names = append(names, m.Key)
		}
	}
	return names
}

// asksUs reports whether a check calls pawl verify on the task's own files.
func (w *teamWriter) asksUs(k *taskStep, check string) bool {
	return format.Asks(System, k.Accept[check])
}

// evidence returns the evidence that a criterion is met.
func (w *teamWriter) evidence(k *taskStep, name string) string {
	if (w.asksUs(k, name) || w.asksUs(k, format.AllCriteria)) && k.entry.selfReported(name) {
		return "attested by @" + k.agent + ", not checked otherwise"
	}
	return "checked by pawl at " + stamp(k.state.Ended) + ": passed"
}

func (w *teamWriter) reviews(e *editor, k *taskStep) {
	if e.made {
		e.set(map[string]int{}, "review_scores")
	}
	for _, by := range slices.Sorted(maps.Keys(k.Review)) {
		if e.root.Get("review_scores", by) == nil {
			e.set(nil, "review_scores", by)
		}
	}
	for _, by := range slices.Sorted(maps.Keys(k.state.Reviews)) {
		e.set(k.state.Reviews[by].Score, "review_scores", by)
	}
}

// resumption sets whether and how to resume. The agent's own statement stays until the work has progressed.
func (w *teamWriter) resumption(e *editor, k *taskStep, moved bool, open []pawl.Blocker) {
	may := k.taskStatus != complete && k.state.Status != pawl.Skipped
	e.fill(may, may, "resumable")
	was := e.says("resume_instructions")
	switch ours := strings.HasPrefix(was, ourMark); {
	case !may && (ours || e.made):
		e.set("", "resume_instructions")
	case may && (was == "" && (e.changed || k.state.Attempts > 0) || ours || moved):
		e.set(ourMark+w.goOn(e, k, open), "resume_instructions")
	}
}

// ourMark begins instructions that pawl wrote and may change.
const ourMark = "pawl: "

func (w *teamWriter) goOn(e *editor, k *taskStep, open []pawl.Blocker) string {
	if k.state.Status == pawl.AwaitsReview {
		return "only its reviews are missing: pawl review " + string(k.ID) + " --by NAME --score N"
	}
	var parts []string
	for _, b := range open {
		parts = append(parts, "clear what blocks it ("+oneLine(b.Text)+")")
	}
	if last := k.state.Retries.Last; last != nil && last.Why != "" && len(open) == 0 {
		parts = append(parts, "attempt "+strconv.Itoa(last.Attempt)+" ended: "+oneLine(last.Why))
	}
	if last := k.state.Retries.Last; last != nil && len(last.Unmet) > 0 {
		parts = append(parts, "not met: "+strings.Join(last.Unmet, ", "))
	}
	next := "continue with the task"
	if item := e.says("context", "next_to_process"); item != "" {
		next = "continue with " + item
	}
	return strings.Join(append(parts, next), "; ")
}

// heartbeat sets the time of the last activity.
func (w *teamWriter) heartbeat(e *editor, k *taskStep) {
	live := w.live(k)
	if len(live) == 0 {
		if e.says("heartbeat", "status") == "alive" {
			e.set("stopped", "heartbeat", "status")
		}
		return
	}
	var last time.Time
	for _, a := range live {
		last = newest(w.State.Updated, last, a.Started, a.Beat)
		if a.Progress != nil {
			last = newest(w.State.Updated, last, a.Progress.Time)
		}
	}
	e.setTime(last, "heartbeat", "last_beat")
	if every := int(cmp.Or(w.Beat, beatEvery) / time.Second); e.number("heartbeat", "interval_seconds") != every {
		e.set(every, "heartbeat", "interval_seconds")
	}
	e.set("alive", "heartbeat", "status")
}

// effort sets the actual time next to the estimate.
func (w *teamWriter) effort(e *editor, k *taskStep) {
	if k.state.Seconds <= 0 || len(w.live(k)) > 0 {
		return
	}
	e.set(hours(k.state.Seconds), "effort", "actual_hours")
	if estimate := k.estimated(); estimate > 0 {
		e.set(estimate, "effort", "estimated_hours")
	}
	e.set(k.state.Attempts, "effort", "attempts")
}

// estimated returns the estimate of the registry or the plan in hours; 0 if there is none. The plan's default does not
// count.
func (k *taskStep) estimated() float64 {
	if k.entry != nil && sizes[k.entry.estimate] > 0 {
		return sizes[k.entry.estimate]
	}
	if k.Estimate == pawl.Duration(pawl.DefaultEstimate) {
		return 0
	}
	return hours(time.Duration(k.Estimate).Seconds())
}

// archive copies a complete checkpoint to the archive. An older copy there is renamed by its time.
func (w *teamWriter) archive(e *editor, name string) {
	if old := edit(w.files.Data(name)); old != nil && old.says("completed_at") != e.says("completed_at") {
		if at, _, _ := format.ParseTime(old.says("completed_at")); !at.IsZero() {
			w.files.Put(strings.TrimSuffix(name, ".json")+at.Format("-20060102-150405")+".json", slices.Clone(old.text))
		}
	}
	w.files.Put(name, slices.Clone(e.text))
}
