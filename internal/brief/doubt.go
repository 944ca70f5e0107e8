package brief

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// doubts tells of every attempt whose end nobody has told, of those that were cut off, of what was found to be wrong,
// and of what could not be checked.
func (w *writer) doubts() section {
	s := section{title: "What is in doubt, and the evidence", all: w.command("pawl status", "")}
	w.found(&s, pawl.Bad)
	for _, o := range w.Operations {
		s.add(w.operation(o))
	}
	for _, d := range w.Doubts {
		if d.Found != Live {
			s.add(w.doubt(d))
		}
	}
	for _, end := range w.cutOff() {
		s.add(w.broken(end))
	}
	w.found(&s, pawl.Warn)
	for _, d := range w.Doubts {
		if d.Found == Live {
			s.add(w.doubt(d))
		}
	}
	for _, why := range w.Unchecked {
		s.add("not checked: " + w.plain(why))
	}
	return s
}

// found tells the findings of a level.
func (w *writer) found(s *section, level pawl.Level) {
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
		text += ": " + w.said(f.Evidence)
	}
	if f.Hint != "" {
		text += "; see " + w.code(f.Hint)
	}
	return text
}

// doubt says how an attempt was found, and what that means.
func (w *writer) doubt(d Doubt) string {
	name := w.code(d.Name()) + " attempt " + strconv.Itoa(d.Attempt) + ", started " + at(d.Started)
	text := ""
	switch d.Found {
	case Live:
		text = "still running: " + name + "; its supervisor (process " + strconv.Itoa(d.PID) + ") holds its lock: do not start it again"
	case NotBegun:
		text = "not begun: " + name + ": the intent is on record, and nothing was started"
	case Ended:
		text = "ended meanwhile: " + name + ", ended " + at(d.Ended) + " by its own record, and nobody has taken that up yet"
	case Lost:
		text = "in doubt: " + name + ": its supervisor is gone and left no record of how it ended"
	default:
		text = "in doubt: " + name + ": its records cannot be read"
	}
	for _, evidence := range d.Evidence {
		text += "; " + w.plain(evidence)
	}
	if v := d.Verdict; v != nil && d.Found != Live {
		text += "; the rules say: " + w.verdict(*v)
	}
	return text + "; its files: " + w.code(d.Folder)
}

// verdict says in words what is safe to do, and why.
func (w *writer) verdict(v pawl.Verdict) string {
	text := map[pawl.VerdictWord]string{
		pawl.Continue: "go on from what is there", pawl.Restart: "begin it again", pawl.Next: "take it as done", pawl.HumanReview: "ask a person",
	}[v.Word]
	if text == "" {
		text = w.code(string(v.Word))
	}
	if len(v.Reasons) > 0 {
		text += " (" + w.plain(strings.Join(v.Reasons, "; ")) + ")"
	}
	return text
}

// cutOff returns the last attempts of unfinished work that did not end by themselves, and after which none has started.
func (w *writer) cutOff() []*pawl.AttemptEnded {
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

// broken says how an attempt ended that did not finish its work. What a machine did is not to be taken for a person's no.
func (w *writer) broken(end *pawl.AttemptEnded) string {
	name := w.code(end.Name()) + " attempt " + strconv.Itoa(end.Attempt)
	after := ""
	if end.Stats != nil && end.Stats.Seconds >= 0.05 {
		after = " after " + seconds(end.Stats.Seconds)
	}
	files := "; its files: " + w.code(w.folder(end.AttemptRef))
	if why := w.Killed[end.Token]; why != "" {
		return "cut off: " + name + " was ended by pawl's watchdog" + after + w.because(why) + "; nobody refused anything" + files
	}
	switch end.Reason {
	case pawl.ReasonTimeout, pawl.ReasonStalled:
		return "cut off: " + name + " was ended by pawl's watchdog" + after + w.because(end.Why) + "; nobody refused anything" + files
	case pawl.ReasonBudget:
		return "cut off: " + name + " was ended by pawl" + after + ", because a budget is used up" + w.because(end.Why) + "; nobody refused anything" + files
	case pawl.ReasonOutdated:
		return "cut off: " + name + " was ended by pawl" + after + w.because(end.Why) + "; nobody refused anything" + files
	case pawl.ReasonAbort:
		return "cut off: " + name + " was ended on request" + after + w.because(end.Why) + "; that is no verdict on its work" + files
	}
	switch end.Outcome {
	case pawl.Lost:
		return "cut off: " + name + " was lost" + after + w.because(end.Why) + "; nobody refused anything" + files
	case pawl.NotStarted:
		return "cut off: " + name + " was lost before it began; nobody refused anything"
	case pawl.Blocked:
		return "blocked: " + name + " said that it cannot go on" + w.because(end.Why) + files
	}
	return "failed: " + name + after + w.because(end.Why) + files
}

// seconds says a running time for people.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return pawl.Duration(d.Round(time.Second)).String()
}

// folder returns where an attempt's output and records are.
func (w *writer) folder(ref pawl.AttemptRef) string {
	return ".pawl/runs/" + w.run + "/steps/" + ref.Name() + "/" + strconv.Itoa(ref.Attempt)
}
