package rebuild

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
)

// name returns "step" or "step/item".
func (u Unit) name() string { return pawl.AttemptRef{Step: u.Step.ID, Item: u.Item}.Name() }

// newest returns the record of the newest attempt, nil for none.
func (u Unit) newest() *AttemptRecord {
	if len(u.Records) == 0 {
		return nil
	}
	newest := slices.MaxFunc(u.Records, func(a, b AttemptRecord) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return &newest
}

// ref returns the record's attempt with the item's current index.
func (u Unit) ref(rec *AttemptRecord) pawl.AttemptRef {
	return pawl.AttemptRef{Step: u.Step.ID, Item: u.Item, Index: max(u.Index, 0), Attempt: rec.Attempt, Token: rec.token()}
}

// token returns the attempt's token from its job, start or exit record.
func (rec *AttemptRecord) token() pawl.Token {
	switch {
	case rec.Job != nil:
		return rec.Job.Token
	case rec.Begun != nil:
		return rec.Begun.Token
	case rec.Exit != nil:
		return rec.Exit.Token
	}
	return ""
}

// endedWell reports whether the records say that the attempt succeeded.
func (rec *AttemptRecord) endedWell() bool {
	x := rec.Exit
	return x != nil && x.Token == rec.token() && x.Reason == pawl.ReasonExited && x.Exit != nil && *x.Exit == 0 &&
		pawl.Passed(x.Checks) && (rec.Result == nil || rec.Result.Status == pawl.ResultDone)
}

// ending describes how the attempt ended.
func (rec *AttemptRecord) ending() string {
	x := rec.Exit
	switch {
	case rec.Live:
		return "its supervisor is running"
	case x == nil && rec.Begun == nil:
		return "it crashed before it started"
	case x == nil:
		return "it started, and there is no exit record"
	case x.Token != rec.token():
		return "its exit record is of another attempt"
	case x.Reason != pawl.ReasonExited:
		return "terminated: " + string(x.Reason)
	case x.Exit == nil:
		return "ended by " + x.Signal
	case *x.Exit != 0:
		return fmt.Sprintf("exit code %d", *x.Exit)
	case !pawl.Passed(x.Checks):
		return "exit code 0, and checks fail"
	case rec.Result != nil && rec.Result.Status != pawl.ResultDone:
		return fmt.Sprintf("exit code 0, and it reported %s", rec.Result.Status)
	}
	return "exit code 0"
}

// finding is what was found out about a unit.
type finding struct {
	status     PartStatus // done, skipped, not done, running, in doubt
	claim      PartStatus // if in doubt: done or skipped
	confidence Confidence
	evidence   []string
	kept       bool           // the journal has it; nothing must be journaled
	rec        *AttemptRecord // the attempt's record; nil for none
}

func (f *finding) add(format string, args ...any) {
	f.evidence = append(f.evidence, fmt.Sprintf(format, args...))
}

// lower lowers the confidence and adds the reason.
func (f *finding) lower(to Confidence, format string, args ...any) {
	if f.confidence == Certain || to == Guess {
		f.confidence = to
	}
	f.add(format, args...)
}

// assess finds out the status of a unit.
func (r *rebuilder) assess(u Unit, key unitKey) finding {
	rec := u.newest()
	switch {
	case r.journaledFinished(u) && !r.unknownAttempt(u):
		return r.journaled(u)
	case u.Step.Gate != nil || rec == nil: // a gate's attempts only run its checks; a person finishes it
		return r.indirectEvidence(u)
	case rec.Job != nil && rec.Job.Run != r.Run:
		f := finding{status: PartInDoubt, claim: PartDone, confidence: Guess}
		f.add("the records in its folder are of run %s", rec.Job.Run)
		return f
	case !r.known[rec.token()] && rec.Attempt <= r.lastAttempt(u):
		f := finding{status: PartInDoubt, claim: PartDone, confidence: Guess}
		f.add("the records in its folder are of another attempt %d than the journal's", rec.Attempt)
		return f
	case r.known[rec.token()] && r.liveAttempt(u) == nil:
		return r.journaledEnd(u)
	case rec.endedWell():
		return r.endedWell(u, rec, key)
	case rec.Exit != nil || rec.Begun != nil || rec.Job != nil || rec.Live:
		return r.endedOtherwise(u, rec)
	}
	return r.indirectEvidence(u)
}

// lastAttempt returns the number of the unit's last journaled attempt, 0 for none.
func (r *rebuilder) lastAttempt(u Unit) int {
	st := r.state.Steps[u.Step.ID]
	switch {
	case st == nil:
	case u.Index < 0:
		return st.Retries.Attempt
	case st.Items != nil:
		return max(st.Items.NewestAttempt(u.Index), st.BaseAttempt)
	}
	return 0
}

// unknownAttempt reports whether there was an attempt after the intact part of the journal.
func (r *rebuilder) unknownAttempt(u Unit) bool {
	rec := u.newest()
	return rec != nil && rec.token() != "" && !r.known[rec.token()]
}

// journaledEnd accepts the journaled failure of the newest attempt, unless there is evidence of a later one.
func (r *rebuilder) journaledEnd(u Unit) finding {
	if heard := r.indirectEvidence(u); heard.status == PartInDoubt {
		return heard
	}
	f := finding{status: PartNotDone, confidence: Certain, kept: true}
	f.add("the journal has the end of attempt %d", u.newest().Attempt)
	return f
}

// journaledFinished reports whether the intact part of the journal has the unit as finished.
func (r *rebuilder) journaledFinished(u Unit) bool {
	st := r.state.Steps[u.Step.ID]
	if u.Index >= 0 {
		return st != nil && st.Items != nil && st.Items.Done.At(u.Index) != 0
	}
	return st.Finished() || st != nil && st.Status == pawl.AwaitsReview
}

// journaled accepts the journal, unless a newer view says that the work was reopened.
func (r *rebuilder) journaled(u Unit) finding {
	f := finding{status: PartDone, confidence: Certain, kept: true}
	st := r.state.Steps[u.Step.ID]
	if st.Status == pawl.Skipped {
		f.status = PartSkipped
	}
	f.add("recorded in the journal")
	if why := r.reopenedBy(u, -1); why != "" && u.Index < 0 && r.State.Seq > pawl.Seq(len(r.Journal)) {
		f.status, f.claim, f.kept = PartInDoubt, f.status, false
		f.lower(Guess, "%s", why)
	}
	return f
}

// reopenedBy returns how STATE.md contradicts that this attempt finished the step: it has as many attempts, but no end.
// With fewer attempts it is only older.
func (r *rebuilder) reopenedBy(u Unit, attempt int) string {
	if r.State == nil || u.Index >= 0 {
		return ""
	}
	row, there := r.State.Steps[u.Step.ID]
	if !there || row.Attempts < attempt {
		return ""
	}
	switch row.Status {
	case pawl.Pending, pawl.AwaitsGate, pawl.FailedForGood:
		return fmt.Sprintf("STATE.md: step is %s after %s", row.Status, counted(row.Attempts, "attempt"))
	case pawl.Running:
		if row.Attempts > max(attempt, 0) && attempt >= 0 || attempt < 0 {
			return fmt.Sprintf("STATE.md: step is running, attempt %d", row.Attempts)
		}
	}
	return ""
}

// endedWell looks for evidence against a successful attempt.
func (r *rebuilder) endedWell(u Unit, rec *AttemptRecord, key unitKey) finding {
	f := finding{status: PartDone, confidence: Certain, rec: rec}
	f.add("attempt %d: %s", rec.Attempt, rec.ending())
	if rec.Job == nil {
		f.lower(Likely, "its job file is missing, so its definition cannot be compared")
	} else if !key.proven {
		f.lower(Likely, "its inputs are not proven to be unchanged")
	}
	if rec.ResultErr != "" {
		f.lower(Likely, "unreadable result file: %s", rec.ResultErr)
	}
	r.compareOutputs(u, &f)
	if n := r.newerElsewhere(u); n > rec.Attempt {
		f.lower(Guess, "there was an attempt %d without records", n)
	}
	if why := r.reopenedBy(u, rec.Attempt); why != "" {
		f.lower(Guess, "%s", why)
	}
	if need := r.unsureNeed(u); need != "" && f.confidence != Certain {
		f.lower(Guess, "the outputs of step %s, which it needs, are unknown", need)
	}
	if f.confidence != Certain {
		f.status, f.claim = PartInDoubt, PartDone
	}
	return f
}

// newerElsewhere returns the highest attempt number of the unit in a snapshot.
func (r *rebuilder) newerElsewhere(u Unit) int {
	n := 0
	for _, s := range r.Snapshots {
		if s.Step == u.Step.ID && s.Item == u.Item && s.Token != "" {
			n = max(n, s.Attempt)
		}
	}
	return n
}

// compareOutputs compares the current outputs with recorded ones.
func (r *rebuilder) compareOutputs(u Unit, f *finding) {
	if len(u.Step.Outputs) == 0 {
		return
	}
	if len(u.Missing) > 0 {
		f.lower(Guess, "missing: %s", firstNames(u.Missing))
		return
	}
	recorded, from := u.SnapshotOutputs, "in the newest snapshot"
	if len(recorded) == 0 && u.Index < 0 {
		recorded, from = r.Summaries[u.Step.ID].Outputs, "in its summary"
	}
	var changed []string
	compared := 0
	for _, path := range slices.Sorted(maps.Keys(recorded)) {
		now, there := u.Outputs[path]
		if !there {
			continue
		}
		compared++
		if now.SHA256 != recorded[path].SHA256 {
			changed = append(changed, path)
		}
	}
	switch {
	case len(changed) > 0:
		f.lower(Likely, "changed since: %s", firstNames(changed))
	case compared == len(u.Outputs):
		f.add("its outputs are unchanged, as %s", from)
	default:
		f.add("its outputs exist")
	}
}

// endedOtherwise leaves an attempt that failed or has no end to resume.
func (r *rebuilder) endedOtherwise(u Unit, rec *AttemptRecord) finding {
	f := finding{status: PartNotDone, confidence: Certain, rec: rec}
	switch {
	case rec.Live:
		f.status = PartRunning
	case rec.Exit == nil && rec.Begun != nil:
		f.status, f.claim = PartInDoubt, PartNotDone
	}
	f.add("attempt %d: %s", rec.Attempt, rec.ending())
	return f
}

// indirectEvidence weighs views, snapshots and commits for a unit without records.
func (r *rebuilder) indirectEvidence(u Unit) finding {
	f := finding{status: PartNotDone, claim: PartDone}
	r.addViews(u, &f)
	for _, s := range slices.Backward(r.Snapshots) {
		if s.Kind == pawl.CheckpointStep && s.Step == u.Step.ID && s.Item == u.Item {
			f.add("snapshot %s was taken when it finished", s.ID)
			break
		}
	}
	undone := r.addCommits(u, &f)
	if by := r.startedAfter(u); by != "" {
		f.add("step %s, which needs it, was started", by)
	}
	if len(f.evidence) == 0 && r.mayHaveBegun(u) {
		f.status, f.confidence = PartInDoubt, Guess
		f.add("it is not safe to rerun, and there is no evidence whether it started")
		return f
	}
	if len(f.evidence) == 0 {
		f.confidence, f.claim = Likely, ""
		f.add("%s", cmp.Or(undone, "no evidence that it finished"))
		return f
	}
	f.status, f.confidence = PartInDoubt, Likely
	if len(u.Missing) > 0 {
		f.lower(Guess, "missing: %s", firstNames(u.Missing))
	}
	if undone != "" {
		f.lower(Guess, "%s", undone)
	}
	if why := r.reopenedBy(u, 0); why != "" {
		f.lower(Guess, "%s", why)
	}
	if need := r.unsureNeed(u); need != "" {
		f.lower(Guess, "the outputs of step %s, which it needs, are unknown", need)
	}
	return f
}

// mayHaveBegun reports whether unsafe work without records may have started: no attempt left records, or there is
// evidence of one.
func (r *rebuilder) mayHaveBegun(u Unit) bool {
	if u.Step.MayRepeat() || u.Step.Gate != nil {
		return false
	}
	if r.State != nil && r.State.Steps[u.Step.ID].Attempts > 0 {
		return true
	}
	lived := func(s Snapshot) bool {
		return slices.ContainsFunc(s.Live, func(live pawl.AttemptRef) bool { return live.Step == u.Step.ID && live.Item == u.Item })
	}
	tried := func(u Unit) bool { return len(u.Records) > 0 }
	ran := len(r.Journal) > 0 || len(r.Snapshots) > 0 || r.State != nil
	return slices.ContainsFunc(r.Snapshots, lived) || ran && !slices.ContainsFunc(r.Units, tried)
}

// addViews adds what the views say about a finished step. They only count items.
func (r *rebuilder) addViews(u Unit, f *finding) {
	say := func(who string, status pawl.StepStatus) {
		switch status {
		case pawl.Skipped:
			if u.Index >= 0 {
				return // views report the step as a whole
			}
			f.claim = PartSkipped
		case pawl.Done, pawl.AwaitsReview:
		default:
			return
		}
		f.add("%s: step %s is %s", who, u.Step.ID, status)
	}
	say("SUMMARY-"+string(u.Step.ID)+".md", r.Summaries[u.Step.ID].Status)
	if r.State != nil {
		say("STATE.md", r.State.Steps[u.Step.ID].Status)
	}
}

// addCommits adds the newest commit that names the unit. It returns the commit that reverts it, or why the commit
// proves too little.
func (r *rebuilder) addCommits(u Unit, f *finding) (undone string) {
	for _, c := range r.Commits {
		step, item := c.names(r.Plan, u)
		switch {
		case !step:
		case c.reverts():
			return fmt.Sprintf("commit %.12s reverts it: %s", c.Hash, c.Subject)
		default:
			f.add("commit %.12s: %s", c.Hash, c.Subject)
			if u.Index >= 0 && !item {
				return "the commit does not say which items"
			}
			return ""
		}
	}
	return ""
}

// startedAfter returns a started step that needs this one. It started only after this one finished.
func (r *rebuilder) startedAfter(u Unit) pawl.StepID {
	if u.Index >= 0 {
		return ""
	}
	for _, other := range r.Units {
		if slices.Contains(r.order[other.Step.ID], u.Step.ID) && other.newest() != nil {
			return other.Step.ID
		}
	}
	return ""
}

// firstNames lists the first names and the number of the others.
func firstNames(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// rebuiltToken returns the token for an attempt without records. It is the same every time.
func rebuiltToken(run pawl.RunID, u Unit, attempt int) pawl.Token {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", run, u.name(), attempt))
	return pawl.Token(hex.EncodeToString(sum[:8]))
}

// times returns when a unit's work started and ended, as far as known.
func (r *rebuilder) times(u Unit, rec *AttemptRecord) (began, ended time.Time) {
	switch {
	case rec != nil && rec.Exit != nil:
		return rec.Exit.Started, rec.Exit.Ended
	case rec != nil && rec.Begun != nil:
		return rec.Begun.Started, time.Time{}
	}
	s := r.Summaries[u.Step.ID]
	return s.Started, s.Ended
}
