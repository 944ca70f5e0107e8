package brief

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/recovery"
)

// doubts lists the attempts without a recorded end, the interrupted ones, the findings, and what could not be checked.
func (w *writer) doubts() section {
	s := section{title: "What is in doubt or failed, and the evidence", all: w.command("pawl status", "")}
	w.addFindings(&s, pawl.Bad)
	left := w.leftRunning()
	first := min(maxRunningFirst, len(left))
	s.add(left[:first]...)
	for _, o := range slices.Backward(w.Operations) { // the newest first, in case some do not fit
		s.add(w.operation(o))
	}
	s.add(left[first:]...)
	for _, d := range w.Doubts {
		if d.Found != Live {
			s.add(w.doubt(d))
		}
	}
	for _, end := range w.unfinished() {
		s.add(w.ending(end))
	}
	w.addFindings(&s, pawl.Warn)
	for _, d := range w.Doubts {
		if d.Found == Live && !w.isReaders(d) {
			s.add(w.doubt(d))
		}
	}
	for _, why := range w.Unchecked {
		s.add("not checked: " + w.plain(why))
	}
	return s
}

// isReaders reports whether an attempt is the reader's own.
func (w *writer) isReaders(d Doubt) bool { return w.Inside != nil && w.Inside.Token == d.Token }

// addFindings adds the findings of a level.
func (w *writer) addFindings(s *section, level pawl.Level) {
	for _, f := range w.Findings {
		if f.Level == level {
			s.add(w.finding(f))
		}
	}
}

func (w *writer) finding(f pawl.Finding) string {
	text := map[pawl.Level]string{pawl.Bad: "wrong: ", pawl.Warn: "warning: "}[f.Level] + w.plain(f.What)
	if f.Where != "" {
		text += " (" + w.code(f.Where) + ")"
	}
	if f.Evidence != "" {
		text += ": " + w.quote(f.Evidence)
	}
	if f.Hint != "" {
		text += "; see " + w.code(f.Hint)
	}
	return text
}

// doubt describes the state in which an attempt was found, with evidence and verdict.
func (w *writer) doubt(d Doubt) string {
	name := w.code(d.Title()) + " attempt " + strconv.Itoa(d.Attempt) + ", started " + at(d.Started)
	text := ""
	switch d.Found {
	case Live:
		text = "still running: " + name + "; its supervisor (process " + strconv.Itoa(d.PID) + ") holds its lock: do not start it again"
	case NotBegun:
		text = "not started: " + name + ": the intent was recorded, but nothing was started"
	case Ended:
		text = "ended meanwhile: " + name + ", ended " + at(d.Ended) + " according to its exit record; no engine has processed that yet"
	case Lost:
		text = "in doubt: " + name + ": its supervisor is gone and left no exit record"
	default:
		text = "in doubt: " + name + ": its records are unreadable"
	}
	for _, evidence := range d.Evidence {
		text += "; " + w.plain(evidence)
	}
	if v := d.Verdict; v != nil && d.Found != Live {
		text += "; verdict: " + w.verdict(*v, d.Found == Lost)
	}
	return text + "; files: " + w.code(d.Folder)
}

// verdict returns what a resume does, with the reasons. crashed reports whether the attempt left no exit record.
func (w *writer) verdict(v pawl.Verdict, crashed bool) string {
	text := w.plain(recovery.VerdictText(v, crashed))
	if len(v.Reasons) > 0 {
		text += " (" + w.plain(strings.Join(v.Reasons, "; ")) + ")"
	}
	return text
}

// unfinished returns the last attempts of unfinished work that ended without success and have no successor yet.
func (w *writer) unfinished() []*pawl.AttemptEnded {
	var found []*pawl.AttemptEnded
	for _, s := range w.steps {
		if s.state == nil || s.state.Finished() || s.state.Status == pawl.AwaitsReview {
			continue
		}
		tries := []*pawl.Retries{&s.state.Retries}
		if s.state.Items != nil {
			for _, index := range slices.Sorted(maps.Keys(s.state.Items.Retries)) {
				tries = append(tries, s.state.Items.Retries[index])
			}
		}
		for _, t := range tries {
			if t.Live == nil && t.Last != nil && t.Last.Outcome != pawl.WaitsFor {
				found = append(found, t.Last)
			}
		}
	}
	return found
}

// notJudged says that what ended an attempt was not a decision about its work.
const notJudged = "; its work was not rejected"

// ending describes how an attempt ended without success. It keeps an agent from mistaking a timeout or a crash for a
// person's denial.
func (w *writer) ending(end *pawl.AttemptEnded) string {
	name := w.code(end.Title()) + " attempt " + strconv.Itoa(end.Attempt)
	after := ""
	if end.Stats != nil && end.Stats.Seconds >= 0.05 {
		after = " after " + seconds(end.Stats.Seconds)
	}
	files := "; files: " + w.code(w.folder(end.AttemptRef))
	if why := w.Killed[end.Token]; why != "" {
		return "interrupted: " + name + " was terminated by pawl's watchdog" + after + w.because(why) + notJudged + files
	}
	switch end.Reason {
	case pawl.ReasonTimeout, pawl.ReasonStalled:
		return "interrupted: " + name + " was terminated by pawl's watchdog" + after + w.because(end.Why) + notJudged + files
	case pawl.ReasonBudget:
		return "interrupted: " + name + " was terminated by pawl" + after + ", because a budget is used up" + w.because(end.Why) + notJudged + files
	case pawl.ReasonOutdated:
		return "interrupted: " + name + " was terminated by pawl" + after + w.because(end.Why) + notJudged + files
	case pawl.ReasonAbort:
		return "interrupted: " + name + " was stopped on request" + after + w.because(end.Why) + notJudged + files
	}
	switch end.Outcome {
	case pawl.Lost:
		return "interrupted: " + name + " crashed" + after + w.because(end.Why) + notJudged + files
	case pawl.NotStarted:
		return "interrupted: " + name + " crashed before it started" + notJudged
	case pawl.Blocked:
		return "blocked: " + name + " reported that it cannot continue" + w.because(end.Why) + files
	}
	return "failed: " + name + after + w.because(end.Why) + files
}

// seconds formats a duration given in seconds.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return pawl.Duration(d.Round(time.Second)).String()
}

// folder returns the path of an attempt's output and records.
func (w *writer) folder(ref pawl.AttemptRef) string {
	return ".pawl/runs/" + w.run + "/steps/" + ref.Name() + "/" + strconv.Itoa(ref.Attempt)
}
